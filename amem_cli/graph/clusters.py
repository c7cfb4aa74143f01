"""A summary of the network, and groups of closely linked notes, each with a name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.language.words import words
from amem_cli.notes.note import SUPERSEDING

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph

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
    yield from filter(_is_subject, (graph.nodes[path].title for path in paths))
    yield from paths


def _tag_counts(graph: Graph, paths: Iterable[str]) -> Counter[str]:
    """How many of these notes have each tag; a nested one also counts for those it belongs to."""
    counts: Counter[str] = Counter()
    for path in paths:
        parts = [tag.split("/") for tag in graph.nodes[path].tags]
        counts.update({"/".join(tag[: at + 1]) for tag in parts for at in range(len(tag))})
    return counts


def _is_subject(title: str) -> bool:
    """Whether a title is neither a date nor a name that many vaults have."""
    return not title[:1].isdigit() and not _NAMELESS.issuperset(words(title))


@dataclass(frozen=True, slots=True)
class Overview:
    """A network in figures and examples.

    Attributes:
        orphans: notes without a link, newest first.
        missing: targets of broken links with the paths that link there, most first.
        disputes: links by which a note contradicts or supersedes another.
    """

    graph: Graph
    hubs: tuple[tuple[str, int], ...]
    clusters: tuple[Cluster, ...]
    orphans: tuple[str, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...]
    disputes: tuple[Edge, ...]


def overview(graph: Graph) -> Overview:
    """Summarise a network."""
    notes = graph.nodes
    orphans = sorted(graph.orphans(), key=lambda path: notes[path].created or "", reverse=True)
    missing: dict[str, list[str]] = defaultdict(list)
    for source, target in graph.broken:
        missing[target].append(source)
    return Overview(
        graph=graph,
        hubs=tuple((path, degree) for path, degree in _most_first(graph.degrees()) if degree > 1),
        clusters=tuple(clusters(graph)),
        orphans=tuple(orphans),
        missing=tuple(
            (target, tuple(missing[target]))
            for target, _ in _most_first({name: len(missing[name]) for name in missing})
        ),
        disputes=tuple(edge for edge in graph.edges if edge.relation in SUPERSEDING),
    )


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
