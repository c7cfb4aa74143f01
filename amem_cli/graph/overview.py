"""A summary of the network: hubs, clusters, bridges, orphans, missing notes, recent growth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from amem_cli.graph.clusters import Cluster, cluster_of, clusters
from amem_cli.graph.graph import of_link, shown_graph
from amem_cli.language.dates import parse_moment
from amem_cli.notes.note import SUPERSEDING

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph
    from amem_cli.index.memory_index import VaultPorts

# Growth is that of the first of these spans (days) in which something was added.
GROWTH_SPANS = (7, 30)
_LEAST_CLUSTERS_OF_A_BRIDGE = 3


@dataclass(frozen=True, slots=True)
class Growth:
    """What was added to the vault in so many days; 0 if nothing was.

    Attributes:
        notes: paths of new notes with the day of each (ISO 8601), newest first.
        links: how many of the links were made, as the journal has it, by `machine` and `person`.
        gaining: paths of older notes that got links, with how many; most first.
    """

    days: int = 0
    notes: tuple[tuple[str, str], ...] = ()
    links: Mapping[str, int] = field(default_factory=Counter)
    gaining: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """A network in figures and examples.

    Attributes:
        bridges: notes whose links reach several other clusters, with how many.
        orphans: notes without a link, newest first.
        missing: targets of broken links with the paths that link there, most first.
        disputes: links by which a note contradicts or supersedes another.
    """

    graph: Graph
    hubs: tuple[tuple[str, int], ...]
    clusters: tuple[Cluster, ...]
    bridges: tuple[tuple[str, int], ...]
    orphans: tuple[str, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...]
    disputes: tuple[Edge, ...]
    growth: Growth


def vault_overview(ports: VaultPorts, **which: bool) -> Overview:
    """Summarise a vault's network; `which` as for `shown_graph`."""
    graph = shown_graph(ports.index, **which)
    made = ports.index.link_history.first_made()
    return overview(graph, growth(graph, made, ports.clock.now()))


def overview(graph: Graph, growth: Growth) -> Overview:
    """Summarise a network."""
    groups = clusters(graph)
    notes = graph.nodes
    orphans = sorted(graph.orphans(), key=lambda path: notes[path].created or "", reverse=True)
    group = cluster_of(groups)
    bridges = {
        path: len({group[other] for other in near if other in group} - {group.get(path, -1)})
        for path, near in graph.neighbours().items()
    }
    missing: dict[str, list[str]] = defaultdict(list)
    for source, target in graph.broken:
        missing[target].append(source)
    return Overview(
        graph=graph,
        hubs=tuple((path, degree) for path, degree in _most_first(graph.degrees()) if degree > 1),
        clusters=tuple(groups),
        bridges=tuple(
            (path, count)
            for path, count in _most_first(bridges)
            if count >= _LEAST_CLUSTERS_OF_A_BRIDGE - 1
        ),
        orphans=tuple(orphans),
        missing=tuple(
            (target, tuple(missing[target]))
            for target, _ in _most_first({name: len(missing[name]) for name in missing})
        ),
        disputes=tuple(edge for edge in graph.edges if edge.relation in SUPERSEDING),
        growth=growth,
    )


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def growth(graph: Graph, made: Mapping[tuple[str, str], str], now: datetime) -> Growth:
    """What was added lately: notes by their dates, links by the moments when they were `made`.

    These are by the ids or paths of their notes; `now` has its time zone.
    """
    notes = graph.nodes
    moments = {
        edge: of_link(made, notes[edge.source].key, notes[edge.target]) or ""
        for edge in graph.edges
        if edge.kind == "property"
    }
    makers = graph.makers()
    for days in GROWTH_SPANS:
        since = now - timedelta(days=days)
        new = sorted(
            (
                (note.created, path)
                for path, note in notes.items()
                if since <= _moment(note.created, now) <= now
            ),
            reverse=True,
        )
        links = [edge for edge, moment in moments.items() if since <= _moment(moment, now)]
        if new or links:
            fresh = {path for _, path in new}
            return Growth(
                days,
                tuple((path, created[:10]) for created, path in new),
                Counter(makers[edge.source, edge.target] for edge in links),
                tuple(_most_first(Counter(e.source for e in links if e.source not in fresh))),
            )
    return Growth()


def _moment(text: str, now: datetime) -> datetime:
    """A moment; without a zone in the reader's own, long ago if the text is no date."""
    try:
        moment = parse_moment(text)
    except ValueError:
        return datetime.min.replace(tzinfo=timezone.utc)
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo or timezone.utc)
