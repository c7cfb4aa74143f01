"""History: what happened to a note, or to the vault, by the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.index.records import with_key
from amem_cli.journal.events import Event
from amem_cli.journal.provenance import undone_events

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One event with the names that explain it, such as the title of the note that changed.

    `because` is the title of the note that caused the change, if that is another one, `undone_by`
    the id of the event that undid this one; `elsewhere` if the given note caused it in another.
    """

    event: Event
    title: str
    because: str = ""
    undone_by: str = ""
    elsewhere: bool = False


def taken_back(index: MemoryIndex) -> list[str]:
    """Paths of notes of which a person undid what amem wrote, since amem last wrote anything."""
    undos = index.events.undone_last()
    undone = undone_events(undos)
    paths: dict[str, None] = {}
    for undo in undos:
        causes = (each for each in index.events.find(undo.cause) if each.id == undo.cause)
        if undo.id in undone or not any(each.by == "machine" for each in causes):
            continue
        # By its path, as a note loses its id with the first change.
        own = undo.trigger in ("", undo.note, undo.path)
        key = undo.path if own else undo.trigger
        paths |= {note.path: None for note in with_key(index.notes.find(key), key)}
    return list(paths)


def history(index: MemoryIndex, note: str, *, limit: int) -> list[HistoryEntry]:
    """What happened, oldest first: the newest `limit` events.

    With `note` (id or path) only those of this note, and what it caused in others.
    """
    if note:
        both = (*index.events.read(note), *index.events.triggered_by(note))
        events = sorted({event.id: event for event in both}.values(), key=lambda each: each.id)
        events = events[-limit:]
    else:
        events = index.events.read(limit=limit)
    titles = {summary.key: summary.title for summary in index.notes.summaries()}
    undone: dict[str, str] = {}
    # Of each whole history: the `undo` of an event may be beyond the limit.
    for key in {event.note or event.path for event in events} - {""}:
        undone |= undone_events(index.events.read(key))
    return [
        HistoryEntry(
            event=event,
            title=titles.get(event.note) or titles.get(event.path) or event.path or event.note,
            because=(
                titles.get(event.trigger, event.trigger)
                if event.trigger not in (event.note, event.path)
                else ""
            ),
            undone_by=undone.get(event.id, ""),
            elsewhere=bool(note) and (event.note or event.path) != note,
        )
        for event in events
    ]
