"""A summary of the network: hubs, clusters, bridges, orphans, missing notes, recent growth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from amem_cli.graph.clusters import Cluster, cluster_of, clusters
from amem_cli.graph.graph import public, vault_graph
from amem_cli.language.dates import parse_moment
from amem_cli.notes.note import SUPERSEDING

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.ports import VaultPorts
    from amem_cli.journal.events import Event

# Growth is that of the first of these spans (days) in which something was added.
GROWTH_SPANS = (7, 30)
_LEAST_CLUSTERS_OF_A_BRIDGE = 3
_EVENTS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Growth:
    """What was added to the vault lately.

    Attributes:
        days: how many days back; 0 if nothing was added.
        notes: paths of new notes with the day of each (ISO 8601), newest first.
        links: how many links the journal records, by `machine` and `person`.
        gaining: paths of older notes that got links, with how many; most first.
    """

    days: int = 0
    notes: tuple[tuple[str, str], ...] = ()
    links: Mapping[str, int] | None = None
    gaining: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """A network in figures and examples.

    Attributes:
        hubs: the most linked notes with their degree.
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


def vault_overview(ports: VaultPorts, *, private: bool = True) -> Overview:
    """Hubs, clusters, orphans, broken links and growth of the vault.

    Args:
        private: include private notes.
    """
    graph = vault_graph(ports.index)
    now = ports.clock.now()
    events = _latest_events(ports.index, now)
    if not private:
        hidden = {note.key for note in graph.nodes.values() if note.private}
        events = [event for event in events if (event.note or event.path) not in hidden]
        graph = public(graph)
    return overview(graph, growth(graph, events, now))


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
    for link in graph.broken:
        missing[link.target].append(link.source)
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


def growth(graph: Graph, events: Iterable[Event], now: datetime) -> Growth:
    """What was added lately: notes by their dates, links by the journal.

    Args:
        events: the journal's, oldest first, of at least the longest of `GROWTH_SPANS`.
        now: with its time zone.
    """
    events = list(events)
    for days in GROWTH_SPANS:
        recent = _growth_since(graph, events, now, days)
        if recent.notes or any((recent.links or {}).values()):
            return recent
    return Growth()


def _growth_since(graph: Graph, events: Iterable[Event], now: datetime, days: int) -> Growth:
    since = now - timedelta(days=days)
    new = sorted(
        (
            (note.created, path)
            for path, note in graph.nodes.items()
            if note.created and since <= _moment(note.created, now) <= now
        ),
        reverse=True,
    )
    fresh = {path for _, path in new}
    made = _links_made(event for event in events if since <= _moment(event.time, now))
    links = {who: sum(by == who for by in made.values()) for who in ("machine", "person")}
    by_key = {note.key: path for path, note in graph.nodes.items()}
    gained: dict[str, int] = defaultdict(int)
    for key, _ in made:
        path = by_key.get(key)
        if path is not None and path not in fresh:
            gained[path] += 1
    notes = tuple((path, created[:10]) for created, path in new)
    return Growth(days, notes, links, tuple(_most_first(gained)))


def _links_made(events: Iterable[Event]) -> dict[tuple[str, str], str]:
    """Who made the links that are new and were not undone, by note and text."""
    made: dict[tuple[str, str], str] = {}
    for event in events:
        for change in event.changes:
            if change.field != "links" or event.kind in ("baseline", "reject"):
                continue
            key = event.note or event.path
            before, after = set(change.before or ()), set(change.after or ())
            for text in before - after:
                made.pop((key, text), None)
            for text in after - before:
                made[key, text] = event.by
    return made


def _moment(text: str, now: datetime) -> datetime:
    """A moment; without a zone in the reader's own, long ago if the text is no date."""
    try:
        moment = parse_moment(text)
    except ValueError:
        return datetime.min.replace(tzinfo=timezone.utc)
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo or timezone.utc)


def _latest_events(index: MemoryIndex, now: datetime) -> list[Event]:
    """The journal's events of the longest span, and some older ones."""
    since = (now - timedelta(days=max(GROWTH_SPANS))).isoformat()
    limit = _EVENTS_AT_ONCE
    while True:
        events = index.events.read(limit=limit)
        # Times differ in their zone by less than the day that this leaves.
        if len(events) < limit or events[0].time[:10] < since[:10]:
            return events
        limit *= 4
