"""History: what happened to a note, or to the vault, by the journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.errors import NotFoundError
from amem_cli.journal.events import REMOVING, Event
from amem_cli.journal.provenance import undone_events

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex


# So many of the newest events are read first; mostly, the last change is among them.
_NEWEST = 200
# What a person did by one command, or a run of the memory process, has these events at its root.
_ROOTS = ("process", "edit", "move", *REMOVING)
_NO_CHANGE = ("process", "undo", "release", "baseline")


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
    return _entries(index, events, note)


def event_named(index: MemoryIndex, prefix: str) -> Event:
    """The event with this id, or the only one whose id begins so.

    Raises:
        NotFoundError: there is none, or more than one.
    """
    same = index.events.find(prefix) if prefix else []
    same = [event for event in same if event.id == prefix] or same
    if len(same) == 1:
        return same[0]
    if not same:
        raise NotFoundError(f"no event {prefix!r}", hint="`amem history` shows their ids.")
    some = ", ".join(f"{event.id} ({f'{event.kind} {event.path}'.rstrip()})" for event in same)
    raise NotFoundError(f"more than one event begins with {prefix!r}", hint=f"Such as {some}.")


def last_change(index: MemoryIndex) -> list[HistoryEntry]:
    """The newest change that counts still, with what it caused; empty if there is none.

    By undoing the first of these events all are undone. What was edited by hand, what was undone,
    and what an undo did, is no change in this sense.
    """
    limit = _NEWEST
    while True:
        events = index.events.read(limit=limit)
        # An `undo` is newer than what it undoes, so it is among the events read.
        undone = undone_events(events)
        for event in reversed(events):
            root = _root(index, event)
            if not _counts(event, undone) or root.kind == "undo" or root.id in undone:
                continue
            caused = index.events.caused_by(root.id) if root.kind in (*_ROOTS, "evolve") else []
            later = [each for each in caused if _counts(each, undone)]
            return _entries(index, [root, *later])
        if len(events) < limit:
            return []
        limit *= 10


def _root(index: MemoryIndex, event: Event) -> Event:
    """The event by whose undo this one is undone; itself, if a person decided on it alone."""
    causes = index.events.find(event.cause) if event.cause else []
    cause = next((each for each in causes if each.id == event.cause), event)
    # An accepted change has the relation of a link follow it.
    roots = ("evolve",) if event.review else (*_ROOTS, "undo")
    return cause if cause.kind in roots else event


def _counts(event: Event, undone: dict[str, str]) -> bool:
    """Whether an event changed anything, and was not undone."""
    if event.kind in _NO_CHANGE or event.id in undone:
        return False
    is_change = event.changes or event.splice or event.links_before or event.suggested
    return bool(is_change) or event.kind in REMOVING


def _entries(index: MemoryIndex, events: Sequence[Event], note: str = "") -> list[HistoryEntry]:
    # By path too: a note that caused a change may have got its id by the same write.
    titles = {
        name: each.title for each in index.notes.summaries() for name in (each.path, each.key)
    }
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
