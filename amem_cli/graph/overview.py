"""A summary of the network: hubs, clusters, orphans, missing notes, disputes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.graph.clusters import Cluster, clusters
from amem_cli.notes.note import SUPERSEDING

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph


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
