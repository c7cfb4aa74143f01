"""Takes back changes: one event, what built on it, or all that the machine did since a moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, time

from amem_cli.editing.undo_drafts import Reversal
from amem_cli.errors import NotFoundError, SettingsError, UsageError
from amem_cli.index.draft import VaultPorts
from amem_cli.index.sync import refresh
from amem_cli.journal.events import REMOVING, Event
from amem_cli.journal.provenance import undone_events
from amem_cli.language.dates import day_range, parse_moment

REVERSIBLE = ("construct", "link", "evolve", "edit", "undo")
_HINTS = {
    "add": "`amem rm` takes back a whole note.",
    "reject": "A proposal that was turned down changed nothing.",
    "release": "It only records what you edited.",
    "undo": "`amem rm` removes the note again.",
}
# How to do again what no `undo` of an `undo` does.
_AGAIN = {
    "merge": "`amem dedupe --merge` merges the notes again.",
    "remove": "`amem rm` removes the note again.",
}


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back, the newest first.

    Attributes:
        paths: the notes that changed.
        kept: what was left as it is, and why, one line each.
    """

    events: tuple[Event, ...]
    paths: tuple[str, ...]
    kept: tuple[str, ...] = ()


def undo(
    ports: VaultPorts, prefix: str, *, cascade: bool = False, keep_edits: bool = False
) -> Undone:
    """Reverse an event; a `process`, `remove` or `merge` with all that it did.

    A note that is as the event left it gets its exact bytes back. Where other parts of it changed
    since, the event's own fields are put back.

    Args:
        cascade: also take back later changes of the machine's that built on the event.
        keep_edits: take back what nobody edited since, and leave the rest.

    Raises:
        NotFoundError: no event, or more than one, begins with this id; or its note is gone.
        SettingsError: nothing was changed: the event has nothing to take back, was taken back
            already, or a field was edited or built on since.
    """
    with ports.changes.locked():
        event = _event(ports, prefix)
        undone = undone_events(ports.index.events.read(event.note or event.path))
        if event.id in undone:
            raise SettingsError(
                f"event {event.id} was taken back already",
                hint=_AGAIN.get(event.kind, f"amem undo {undone[event.id]} brings it back."),
            )
        caused = _consequences(ports, event)
        if event.kind == "process" and not caused and _all_consequences(ports, event):
            raise SettingsError(
                f"all that event {event.id} did was taken back already",
                hint="`amem history` names the events that bring it back.",
            )
        chosen = [event, *caused]
        chosen = [each for each in chosen if each.kind in (*REVERSIBLE, *REMOVING)]
        if not any(_did_something(each) for each in chosen):
            raise SettingsError(
                f"event {event.id} changed nothing", hint=_HINTS.get(event.kind, "")
            )
        scope = "merge" if event.kind == "merge" else event.scope
        return _take_back(ports, chosen, cascade=cascade, keep_edits=keep_edits, scope=scope)


def undo_since(ports: VaultPorts, since: str, *, keep_edits: bool = False) -> Undone:
    """Reverse all that the machine did since a moment, in all notes or in none.

    Args:
        since: an ISO 8601 date or time, days as `day_range` reads them, of which the first counts,
            or the beginning of an event's id, which is included.
        keep_edits: take back what nobody edited since, and leave the rest.

    Raises:
        UsageError: `since` is neither.
        SettingsError: nothing was changed; see `undo`.
    """
    with ports.changes.locked():
        first = _first_event(ports, since)
        events = ports.index.events.read()
        undone = undone_events(events)
        removals = {event.id for event in events if event.kind in REMOVING}
        chosen = [
            event
            for event in events
            if first(event)
            and event.by == "machine"
            and event.kind in ("construct", "link", "evolve")
            and (event.changes or event.links_before)
            and event.id not in undone
            and event.cause not in removals
        ]
        if not chosen:
            raise SettingsError(f"amem changed nothing since {since}", hint="See `amem history`.")
        return _take_back(ports, chosen, cascade=True, keep_edits=keep_edits, scope="since")


def _first_event(ports: VaultPorts, since: str) -> _Since:
    # An id begins with zeros until the year 2540; no date does.
    if since.startswith("00"):
        return _Since(event=_event(ports, since).id)
    now = ports.clock.now()
    try:
        moment = _moment(since, now)
    except ValueError:
        raise UsageError(
            f"--since {since!r} is neither a date nor an event",
            hint="Write it as 2026-03-02, 2026-03-02T15:00, 7d, yesterday or 'last week', or as an"
            " id of `amem history`.",
        ) from None
    return _Since(moment=moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo))


def _moment(text: str, now: datetime) -> datetime:
    """A date or time as it is written, or the beginning of the days that a text names."""
    try:
        return parse_moment(text)
    except ValueError:
        return datetime.combine(day_range(text, now.date())[0], time())


@dataclass(frozen=True, slots=True)
class _Since:
    event: str = ""
    moment: datetime | None = None

    def __call__(self, event: Event) -> bool:
        if self.moment is None:
            return event.id >= self.event
        try:
            time = datetime.fromisoformat(event.time)
        except ValueError:
            return False
        return (time if time.tzinfo else time.replace(tzinfo=self.moment.tzinfo)) >= self.moment


def _event(ports: VaultPorts, prefix: str) -> Event:
    found = ports.index.events.find(prefix) if prefix else []
    exact = [event for event in found if event.id == prefix]
    if len(exact or found) != 1:
        what = "no event" if not found else "more than one event"
        raise NotFoundError(f"{what} {prefix!r}", hint="`amem history` shows their ids.")
    return (exact or found)[0]


def _did_something(event: Event) -> bool:
    return bool(event.changes or event.splice or event.links_before or event.kind in REMOVING)


def _consequences(ports: VaultPorts, event: Event) -> list[Event]:
    """What a process, a removal or a merge did, without what was taken back already."""
    found = []
    for each in _all_consequences(ports, event):
        history = ports.index.events.read(each.note or each.path)
        found += [] if each.id in undone_events(history) else [each]
    return found


def _all_consequences(ports: VaultPorts, event: Event) -> list[Event]:
    if event.kind not in ("process", *REMOVING):
        return []
    return [
        each
        for each in ports.index.events.caused_by(event.id)
        if (each.by == "machine" and each.kind in ("construct", "link", "evolve"))
        or (event.kind == "merge" and each.kind == "edit")
    ]


def _take_back(
    ports: VaultPorts, chosen: Iterable[Event], *, cascade: bool, keep_edits: bool, scope: str
) -> Undone:
    """Take back events, and with `cascade` what built on them, as one change.

    Args:
        scope: as the `undo` events have it.
    """
    events = {event.id: event for event in chosen}
    while True:
        plan = Reversal(ports, list(events.values()), keep_edits=keep_edits)
        plan.draft()
        if not (cascade and plan.built_on):
            break
        events |= plan.built_on
    plan.refuse()
    writes = plan.writes()
    records = [replace(record, scope=scope) for record in plan.events()]
    if not records:
        hint = "Everything in question was edited since." if plan.kept else ""
        raise SettingsError("nothing is left to take back", hint=hint)
    ports.changes.apply(writes, records)
    refresh(ports, [write.path for write in writes])
    paths = tuple(dict.fromkeys(record.path for record in records))
    return Undone(tuple(plan.reversed), paths, tuple(plan.kept))
