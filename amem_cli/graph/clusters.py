"""Groups of closely linked notes, each with a name, and what stands out in the network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.language.words import words

if TYPE_CHECKING:
    from amem_cli.graph.graph import Graph

# A tag names a cluster if half of its notes have it, this many times as often as other notes.
_SHARE_OF_A_TAG = 0.5
_LIFT_OF_A_TAG = 2.0
# Titles that give a note's purpose, not its subject.
_NAMELESS = frozenset({"index", "readme", "home", "untitled", "moc", "inbox", "note", "notes"})


class Cluster(NamedTuple):
    """Notes that belong together, most linked first; no two clusters share a name."""

    name: str
    paths: list[str]


def clusters(graph: Graph) -> list[Cluster]:
    """Groups of closely linked notes, largest first; notes without links are in none.

    Louvain communities (Blondel et al. 2008) with a fixed seed: the same vault gives the same
    clusters.
    """
    import networkx

    communities = networkx.community.louvain_communities(graph.network(), seed=0)
    groups = [set(group) for group in communities if len(group) > 1]
    near = graph.neighbours()
    tagged = _tag_counts(graph, graph.nodes)
    named_clusters: list[Cluster] = []
    taken: set[str] = set()
    for group in sorted(groups, key=lambda group: (-len(group), min(group))):
        # Links to notes outside of the group say nothing about it.
        degrees = {path: sum(other in group for other in near[path]) for path in group}
        paths = sorted(group, key=lambda path: (-degrees[path], path))
        names = _names(graph, paths, tagged)
        name = next(name for name in names if name.casefold() not in taken)
        taken.add(name.casefold())
        named_clusters.append(Cluster(name, paths))
    return named_clusters


def cluster_of(clusters: Sequence[Cluster]) -> dict[str, int]:
    """The number of each note's cluster by the note's path."""
    return {path: number for number, cluster in enumerate(clusters) for path in cluster.paths}


def _names(graph: Graph, paths: Sequence[str], tagged: Mapping[str, int]) -> Iterator[str]:
    """Names for a cluster, the best first; the last is one that no other cluster has."""
    own = _tag_counts(graph, paths)
    rest = len(graph.nodes) - len(paths) + 1
    for tag, count in sorted(own.items(), key=lambda each: (-each[1], each[0].casefold())):
        elsewhere = (tagged[tag] - count + 0.5) / rest
        share = count / len(paths)
        if share >= _SHARE_OF_A_TAG and share >= _LIFT_OF_A_TAG * elsewhere:
            yield f"#{tag}"
    for title in (graph.nodes[path].title for path in paths):
        # It is neither a date nor a name that many vaults have.
        if not title[:1].isdigit() and not _NAMELESS.issuperset(words(title)):
            yield title
    yield from paths


def _tag_counts(graph: Graph, paths: Iterable[str]) -> Counter[str]:
    """How many of these notes have each tag; a nested one also counts for those it belongs to."""
    counts: Counter[str] = Counter()
    for path in paths:
        parts = [tag.split("/") for tag in graph.nodes[path].tags]
        counts.update({"/".join(tag[: at + 1]) for tag in parts for at in range(len(tag))})
    return counts


def hubs(graph: Graph) -> list[tuple[str, int]]:
    """Notes that are linked with several others, and with how many, most first."""
    linked = [(path, degree) for path, degree in graph.degrees().items() if degree > 1]
    return sorted(linked, key=lambda item: (-item[1], item[0]))


def unwritten(graph: Graph) -> list[tuple[str, list[str]]]:
    """Targets of broken links with the paths that link there, most first."""
    missing: dict[str, list[str]] = defaultdict(list)
    for source, target in graph.broken:
        missing[target].append(source)
    return sorted(missing.items(), key=lambda item: (-len(item[1]), item[0]))
