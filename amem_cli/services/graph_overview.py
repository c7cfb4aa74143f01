"""The network of a vault, looked over together with what the journal tells of its growth."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from amem_cli.core.graph import public
from amem_cli.core.graph_overview import GROWTH_SPANS, Overview, growth, overview
from amem_cli.services.stats import vault_graph

if TYPE_CHECKING:
    from datetime import datetime

    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.journal import Event
    from amem_cli.services.vault_ports import VaultPorts

_EVENTS_AT_ONCE = 500


def vault_overview(ports: VaultPorts, *, private: bool = True) -> Overview:
    """Hubs, clusters, orphans, broken links and growth of the vault.

    Args:
        private: private notes count too.
    """
    graph = vault_graph(ports.index)
    now = ports.clock.now()
    events = _latest_events(ports.index, now)
    if not private:
        hidden = {note.key for note in graph.nodes.values() if note.private}
        events = [event for event in events if (event.note or event.path) not in hidden]
        graph = public(graph)
    return overview(graph, growth(graph, events, now))


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
