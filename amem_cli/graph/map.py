"""The map of notes by meaning: their positions."""

from __future__ import annotations

import math
from collections.abc import Container
from importlib.util import find_spec
from typing import TYPE_CHECKING

from amem_cli.errors import SettingsError, extra_hint

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import Vectors

_PERPLEXITY = 30.0
_COMPONENTS = 50
_FEWEST_FOR_NEIGHBOURS = 5
_SEED = 0


def note_positions(index: MemoryIndex, among: Container[str]) -> dict[str, tuple[float, float]]:
    """The position of each of these notes that has a vector, by path; coordinates in -1..1.

    t-SNE (van der Maaten and Hinton 2008) of the principal components, with a fixed seed: the same
    vectors give the same map. A note's vector is the mean of its passages' vectors.
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


def check_map_package() -> None:
    """Raise `SettingsError` unless what lays out a map is installed."""
    if find_spec("sklearn") is None:
        raise SettingsError(
            "a map needs scikit-learn, which is not installed", hint=extra_hint("map")
        )


def _plane(vectors: Vectors) -> Vectors:
    """Shape (notes, 2)."""
    import numpy as np

    # Too few notes have no neighbourhoods, and neither have texts that are all the same.
    if len(vectors) < _FEWEST_FOR_NEIGHBOURS or bool((vectors == vectors[0]).all()):
        angles = np.arange(len(vectors)) * (2 * math.pi / len(vectors)) + math.pi / 2
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    components = min(_COMPONENTS, *vectors.shape)
    reduced = PCA(components, random_state=_SEED).fit_transform(vectors)
    perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)
    mapping = TSNE(perplexity=perplexity, init="pca", random_state=_SEED)
    plane: Vectors = mapping.fit_transform(reduced)
    return plane
