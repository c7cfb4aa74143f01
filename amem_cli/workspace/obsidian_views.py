"""What the files that amem writes for Obsidian show, gathered from a vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amem_cli.graph.clusters import clusters
from amem_cli.journal.events import follows_a_note
from amem_cli.journal.provenance import undone_events
from amem_cli.notes.names import name_key
from amem_cli.obsidian import Shown
from amem_cli.search.search import supersessions

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.workspace.queries import Queries

LATELY = 50
# So many of the newest events are looked through for links.
_EVENTS = 5_000


def shown_in_obsidian(vault: Queries) -> Shown:
    """What Obsidian cannot see in the notes themselves."""
    index, network = vault.index, vault.network()
    waiting = [note.path for note in index.queue.pending()]
    for link in vault.open_links(suggested_only=True):
        waiting += [link.source.path, link.target.path]
    waiting += [item.path for item in vault.proposals()]
    superseded = {}
    for path in sorted(supersessions(index)):
        if note := index.notes.summary(path):
            superseded[path] = _names(index, note)
    return Shown(
        linked=_lately_linked(index),
        waiting=list(dict.fromkeys(waiting)),
        orphans=network.orphans(),
        superseded=superseded,
        clusters={cluster.name: cluster.paths for cluster in clusters(network)},
        links=vault.ports.names.links,
    )


def _names(index: MemoryIndex, note: NoteSummary) -> list[str]:
    """The texts by which links in Obsidian name a note and no other."""
    path = note.path.removesuffix(".md")
    stem = path.rpartition("/")[2]
    is_unique = len(index.names.candidates(name_key(note.path))) == 1
    return list(dict.fromkeys([*([stem] if is_unique else []), path, note.path, *note.aliases]))


def _lately_linked(index: MemoryIndex) -> list[str]:
    paths = {note.key: note.path for note in index.notes.summaries()}
    events = index.events.read(limit=_EVENTS)
    undone = undone_events(events)
    linked: dict[str, None] = {}
    for event in reversed(events):
        is_new = event.kind == "link" and event.by == "machine" and event.links
        path = paths.get(event.note or event.path)
        if is_new and path and event.id not in undone and not follows_a_note(event):
            linked[path] = None
    return list(linked)[:LATELY]
