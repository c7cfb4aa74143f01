"""Tells what happened to a note, or to the vault, from the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.journal.events import Event
from amem_cli.journal.provenance import undone_events

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex


@dataclass(frozen=True, slots=True)
class Entry:
    """One event with the names that explain it.

    Attributes:
        title: of the note that changed.
        because: title of the note that gave rise to the change, where that is another one.
        undone_by: id of the event that took this one back, or empty.
        elsewhere: the note asked about is the cause, the change was in another note.
    """

    event: Event
    title: str
    because: str = ""
    undone_by: str = ""
    elsewhere: bool = False


def history(index: MemoryIndex, note: str, *, limit: int) -> list[Entry]:
    """What happened, oldest first.

    Args:
        note: id or path: only this note, with what it brought about in others; empty: all.
        limit: the newest so many events.
    """
    if not note:
        events = index.events.read(limit=limit)
    else:
        found = {event.id: event for event in index.events.read(note)}
        found.update({event.id: event for event in index.events.triggered_by(note)})
        events = sorted(found.values(), key=lambda event: event.id)[-limit:]
    titles = {summary.key: summary.title for summary in index.notes.summaries()}
    undone = _undone(index, events)
    return [
        Entry(
            event=event,
            title=_title(event, titles),
            because=_because(event, titles),
            undone_by=undone.get(event.id, ""),
            elsewhere=bool(note) and (event.note or event.path) != note,
        )
        for event in events
    ]


def _title(event: Event, titles: Mapping[str, str]) -> str:
    return titles.get(event.note) or titles.get(event.path) or event.path or event.note


def _because(event: Event, titles: Mapping[str, str]) -> str:
    if not event.trigger or event.trigger in (event.note, event.path):
        return ""
    return titles.get(event.trigger, event.trigger)


def _undone(index: MemoryIndex, events: list[Event]) -> dict[str, str]:
    notes = {event.note or event.path for event in events}
    found: dict[str, str] = {}
    for note in notes - {""}:
        found |= undone_events(index.events.read(note))
    return found
