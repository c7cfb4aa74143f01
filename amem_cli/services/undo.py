"""Takes back a change of the machine's, and what followed from it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from amem_cli.core.changes import NoteWrite
from amem_cli.core.errors import NotFoundError, SettingsError
from amem_cli.core.journal import Change, Event, Splice
from amem_cli.core.note import LIST_FIELDS
from amem_cli.services.recording import FieldValue, NoteDraft, new_event
from amem_cli.services.sync import refresh
from amem_cli.services.vault_ports import VaultPorts


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back, by the paths of the notes."""

    events: tuple[Event, ...]
    paths: tuple[str, ...]


def undo(ports: VaultPorts, prefix: str) -> Undone:
    """Reverse an event and those that it caused, in all notes or in none.

    A note that is as the event left it gets its exact bytes back. Where it was edited since, the
    fields are put back one by one, and a field that somebody changed since is refused.

    Raises:
        NotFoundError: no event, or more than one, begins with this id.
        SettingsError: the event changed nothing, or a field was edited since.
    """
    with ports.changes.locked():
        event = _event(ports, prefix)
        chosen = [event, *_caused_by(ports, event)]
        chosen = [each for each in chosen if each.changes and each.kind != "add"]
        if not chosen:
            hints = {"add": "`amem rm` takes back a whole note.", "remove": "It is in .trash/."}
            raise SettingsError(
                f"event {event.id} changed no field", hint=hints.get(event.kind, "")
            )
        drafts: dict[str, NoteDraft] = {}
        for each in reversed(chosen):
            path = _path_of(ports, each)
            if path not in drafts:
                drafts[path] = NoteDraft(ports, ports.vault.read(path))
            _take_back(ports, drafts[path], each)
        writes: list[NoteWrite] = [write for draft in drafts.values() for write in draft.write()]
        events = [each for draft in drafts.values() for each in draft.events]
        if not events:
            raise SettingsError(f"nothing of event {event.id} is left to take back")
        ports.changes.apply(writes, events)
        refresh(ports, drafts)
    return Undone(tuple(chosen), tuple(drafts))


def _event(ports: VaultPorts, prefix: str) -> Event:
    found = ports.index.event(prefix) if prefix else []
    if len(found) != 1:
        what = "no event" if not found else "more than one event"
        raise NotFoundError(f"{what} {prefix!r}", hint="`amem history` shows their ids.")
    return found[0]


def _caused_by(ports: VaultPorts, event: Event) -> list[Event]:
    causes = {event.id}
    found = []
    for each in ports.index.events():
        if each.cause in causes and each.kind in ("process", "construct", "link", "evolve"):
            causes.add(each.id)
            found.append(each)
    return found if event.kind == "process" else []


def _path_of(ports: VaultPorts, event: Event) -> str:
    # A note that lost its id by an earlier undo is where it was.
    same = ports.index.find(event.note or event.path) or ports.index.find(event.path)
    if len(same) != 1:
        raise NotFoundError(f"the note of event {event.id} is gone", hint=event.path)
    return same[0].path


def _take_back(ports: VaultPorts, draft: NoteDraft, event: Event) -> None:
    record = new_event(ports, "undo", by="person", cause=event.id, reason=f"took back {event.id}")
    splice = event.splice
    if splice is not None and hashlib.sha256(draft.raw).hexdigest() == splice.sha_after:
        draft.restore(_before(draft.raw, splice), record, tuple(map(_reversed, event.changes)))
        return
    fields: dict[str, FieldValue] = {}
    for change in event.changes:
        if change.field in ("id", "created"):
            continue
        fields[change.field] = _restored(draft, change)
    draft.change(fields, record)


def _before(raw: bytes, splice: Splice) -> bytes:
    inserted = splice.inserted.encode()
    return raw[: splice.offset] + splice.removed.encode() + raw[splice.offset + len(inserted) :]


def _reversed(change: Change) -> Change:
    return Change(change.field, change.after, change.before)


def _restored(draft: NoteDraft, change: Change) -> FieldValue:
    """The field's value without what the event did to it."""
    present = getattr(draft.note, change.field)
    if change.field not in LIST_FIELDS:
        if present != change.after:
            raise SettingsError(
                f"{change.field} of {draft.path} was edited since",
                hint="Change it by hand, or with `amem update`.",
            )
        return str(change.before)
    before: Sequence[str] = change.before
    added = [item for item in change.after if item not in before]
    gone = [item for item in before if item not in change.after]
    kept = [item for item in present if item not in added]
    return [*kept, *(item for item in gone if item not in kept)]
