"""Notes on a plane by their meaning: what is alike lies together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from amem_cli.graph.clusters import Cluster, clusters, named

if TYPE_CHECKING:
    from amem_cli.graph.graph import Graph
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import Vectors

if TYPE_CHECKING:
    Positions = dict[str, tuple[float, float]]

_PERPLEXITY = 30.0
_COMPONENTS = 50
_FEWEST_FOR_NEIGHBOURS = 5
_SEED = 0
_FEWEST_BY_MEANING = 8
_MOST_BY_MEANING = 14


def note_positions(index: MemoryIndex, among: Container[str]) -> Positions:
    """Where each of these notes that has a vector lies, by path; both coordinates in -1..1.

    The plane of t-SNE (van der Maaten and Hinton 2008) from the principal components on, with a
    fixed seed: the same vectors give the same map. A note's vector is the mean of its passages'.
    """
    vectors = index.vectors.of_all_notes()
    paths = sorted(path for path in vectors if path in among)
    if not paths:
        return {}
    import numpy as np

    plane = _plane(np.stack([vectors[path] for path in paths]))
    plane = plane - (plane.max(axis=0) + plane.min(axis=0)) / 2
    reach = float(np.abs(plane).max()) or 1.0
    return {path: (float(x), float(y)) for path, (x, y) in zip(paths, plane / reach, strict=True)}


def map_clusters(index: MemoryIndex, graph: Graph) -> tuple[list[Cluster], bool]:
    """The clusters that a map shows, and whether they are of meaning instead of links.

    Where links join less than half of the notes, the notes are grouped by their vectors.
    """
    found = clusters(graph)
    linked = sum(len(cluster.paths) for cluster in found)
    if 2 * linked >= len(graph.nodes) or len(graph.nodes) < _FEWEST_BY_MEANING:
        return found, False
    vectors = index.vectors.of_all_notes()
    paths = sorted(path for path in vectors if path in graph.nodes)
    if len(paths) < _FEWEST_BY_MEANING:
        return found, False
    return named(graph, _alike(paths, vectors)), True


def map_tags(graph: Graph) -> list[Cluster]:
    """The notes of each tag, the most used first; a note is with the rarest of its common tags.

    Of a nested tag the first part counts, and a tag that one note alone has does not.
    """
    tops = {path: _top_tags(note.tags) for path, note in graph.nodes.items()}
    counts = Counter(tag for tags in tops.values() for tag in tags)
    common = {tag for tag, _ in counts.most_common(_MOST_BY_MEANING) if counts[tag] > 1}
    groups: dict[str, list[str]] = {}
    for path, tags in tops.items():
        own = [tag for tag in tags if tag in common]
        if own:
            groups.setdefault(min(own, key=lambda tag: (counts[tag], tag)), []).append(path)
    order = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Cluster(f"#{tag}", paths) for tag, paths in order]


def _top_tags(tags: Sequence[str]) -> set[str]:
    return {tag.split("/", 1)[0].casefold() for tag in tags}


def _alike(paths: Sequence[str], vectors: Mapping[str, Vectors]) -> list[list[str]]:
    """Groups by k-means of the vectors."""
    import numpy as np
    from sklearn.cluster import KMeans

    count = max(2, min(_MOST_BY_MEANING, round(math.sqrt(len(paths) / 2))))
    grouping = KMeans(count, n_init=4, random_state=_SEED)
    numbers = grouping.fit_predict(_reduced(np.stack([vectors[path] for path in paths])))
    groups = [
        [path for path, own in zip(paths, numbers, strict=True) if own == number]
        for number in range(count)
    ]
    return [group for group in groups if group]


def _reduced(vectors: Vectors) -> Vectors:
    """The principal components; shape (notes, at most 50)."""
    from sklearn.decomposition import PCA

    components = min(_COMPONENTS, *vectors.shape)
    reduced: Vectors = PCA(components, random_state=_SEED).fit_transform(vectors)
    return reduced


def _plane(vectors: Vectors) -> Vectors:
    """Shape (notes, 2)."""
    # So few notes have no neighbourhoods, and neither have texts that are all the same.
    if len(vectors) < _FEWEST_FOR_NEIGHBOURS or bool((vectors == vectors[0]).all()):
        return _circle(len(vectors))
    reduced = _reduced(vectors)
    from sklearn.manifold import TSNE

    perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)
    mapping = TSNE(perplexity=perplexity, init="pca", random_state=_SEED)
    plane: Vectors = mapping.fit_transform(reduced)
    return plane


def _circle(count: int) -> Vectors:
    import numpy as np

    angles = np.arange(count) * (2 * math.pi / count) + math.pi / 2
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
