"""Drafts that take back a set of events, the newest first, in all notes at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from amem_cli.errors import NotFoundError, SettingsError
from amem_cli.index.draft import FieldValue, NoteDraft, VaultPorts, new_event
from amem_cli.index.records import with_key
from amem_cli.journal.events import REMOVING, Event, LinkRecord, NoteWrite, Splice
from amem_cli.journal.provenance import provenance
from amem_cli.journal.undo_rules import (
    IDENTITY,
    Obstacle,
    is_worded,
    obstacles,
    reversed_change,
    weights_before,
    without,
)
from amem_cli.markdown.links import format_link, parse_link
from amem_cli.notes.codec import body_bytes, parse_note
from amem_cli.notes.names import resolve, shortest_target
from amem_cli.notes.note import LIST_FIELDS, OWNED_FIELDS, Note


@dataclass(slots=True)
class Reversal:
    """All drafts that take back a set of events, the newest first.

    Attributes:
        built_on: later events of the machine's that stand in the way, by id.
        conflicts: why events cannot be taken back.
    """

    ports: VaultPorts
    chosen: list[Event]
    keep_edits: bool
    drafts: dict[str, NoteDraft] = field(default_factory=dict)
    restored: dict[str, tuple[bytes, Event]] = field(default_factory=dict)
    built_on: dict[str, Event] = field(default_factory=dict)
    conflicts: list[SettingsError] = field(default_factory=list)
    reversed: list[Event] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    _histories: dict[str, list[Event]] = field(default_factory=dict)
    _found: dict[str, str | None] = field(default_factory=dict)

    def draft(self) -> None:
        """Try every event."""
        for event in sorted(self.chosen, key=lambda each: each.id, reverse=True):
            try:
                (self._restore_note if event.kind in REMOVING else self._reverse)(event)
            except NotFoundError as error:
                if len(self.chosen) == 1:
                    raise
                self.kept.append(error.message)
            except SettingsError as error:
                self.conflicts.append(error)

    def refuse(self) -> None:
        """Raise what stands in the way, if anything does."""
        if self.conflicts:
            first = self.conflicts[0]
            more = f", and {len(self.conflicts) - 1} more" if len(self.conflicts) > 1 else ""
            raise SettingsError(first.message + more, hint=first.hint)

    def writes(self) -> list[NoteWrite]:
        """New bytes of the notes."""
        writes = [NoteWrite(path, None, raw) for path, (raw, _) in self.restored.items()]
        return [*writes, *(write for draft in self.drafts.values() for write in draft.write())]

    def events(self) -> list[Event]:
        """The `undo` events."""
        first = [event for _, event in self.restored.values()]
        return [*first, *(event for draft in self.drafts.values() for event in draft.events)]

    def _restore_note(self, event: Event) -> None:
        raw = self.ports.vault.read_trashed(event.path, event.sha) if event.sha else None
        if raw is None:
            raise SettingsError(f"{event.path} is no longer in the trash as it was removed")
        if self.ports.vault.exists(event.path):
            raise SettingsError(f"{event.path} exists again", hint="Look for the old in .trash/.")
        record = self._record(event)
        self.restored[event.path] = (raw, replace(record, note=event.note, path=event.path))
        self.reversed.append(event)

    def _record(self, event: Event) -> Event:
        reason = f"took back: {event.reason}" if event.reason else f"took back {event.kind}"
        return new_event(
            self.ports,
            "undo",
            by="person",
            cause=event.id,
            reason=reason,
            trigger=event.trigger,
        )

    def _reverse(self, event: Event) -> None:
        path = _path_of(self.ports, event)
        draft = self.drafts.get(path) or NoteDraft(self.ports, self.ports.vault.read(path))
        history = self._history(event)
        key = self._link_key(path, history)
        record = replace(self._record(event), links=self._links_again(event, history))
        ids = {each.id for each in self.chosen}
        file = _values(parse_note(path, draft.content.raw, self.ports.names))
        found = obstacles(event, history, ids, file, _values(draft.note), key)
        blocked = {each.field: each for each in found}
        if not blocked and self._exactly(draft, event, record):
            pass
        elif event.links_before and not event.changes:
            self._weigh_back(draft, event, record, history)
        elif not event.changes:
            if not self._text(draft, event, record, history):
                self._keep_text(event, path)
        else:
            fields = self._fields(draft, event, history, key, blocked)
            if blocked or not self._in_place(draft, event, record):
                draft.change(fields, record)
        if draft.events:
            self.drafts[path] = draft
            self.reversed.append(event)

    def _history(self, event: Event) -> list[Event]:
        # Nobody adds to it while the drafts are made, and a note may have hundreds of events.
        key = event.note or event.path
        if key not in self._histories:
            self._histories[key] = self.ports.index.events.read(key)
        return self._histories[key]

    def _link_key(self, source: str, history: Sequence[Event]) -> _LinkKey:
        targets: dict[str, str] = {}
        for event in history:
            for record in event.links:
                path = self._path_of_target(record.target)
                if path is not None:
                    targets[record.text] = path
        return _LinkKey(self.ports, source, targets)

    def _path_of_target(self, target: str) -> str | None:
        if target not in self._found:
            same = with_key(self.ports.index.notes.find(target), target)
            self._found[target] = same[0].path if len(same) == 1 else None
        return self._found[target]

    def _exactly(self, draft: NoteDraft, event: Event, record: Event) -> bool:
        before = _exactly_before(draft.raw, event.splice)
        if before is None:
            return False
        draft.restore(before, record, tuple(map(reversed_change, event.changes)))
        return True

    def _in_place(self, draft: NoteDraft, event: Event, record: Event) -> bool:
        """Put the old bytes of the front matter back where only the text was edited since."""
        if event.splice is None or any(change.field in IDENTITY for change in event.changes):
            return False
        before = _before(draft.raw, event.splice)
        if before is None or body_bytes(before) != body_bytes(draft.raw):
            return False
        old, now = parse_note(draft.path, before, self.ports.names), draft.note
        wanted = {change.field: change.before for change in event.changes}
        if old.refused is not None or _values(old) != {**_values(now), **wanted}:
            return False
        draft.restore(before, record, tuple(map(reversed_change, event.changes)))
        return True

    def _text(
        self, draft: NoteDraft, event: Event, record: Event, history: Sequence[Event]
    ) -> bool:
        """Put an old text back below a front matter that the program has changed since."""
        then = draft.raw
        for later in reversed(history):
            if later.id > event.id:
                then = _exactly_before(then, later.splice) or then
        before = _exactly_before(then, event.splice)
        if before is None or body_bytes(then) != body_bytes(draft.raw):
            return False
        return draft.replace_body(body_bytes(before), record)

    def _keep_text(self, event: Event, path: str) -> None:
        """Leave a text that was edited since, where that was asked."""
        if not (self.keep_edits and event.cause):
            hint = "Change it back by hand."
            if event.cause:
                hint = "--keep-edits takes back the rest and leaves your edits."
            raise SettingsError(f"the text of {path} was edited since", hint=hint)
        self.kept.append(f"the text of {path} stays as you edited it")

    def _weigh_back(
        self, draft: NoteDraft, event: Event, record: Event, history: Sequence[Event]
    ) -> None:
        """Put back what the journal said of links before an event that changed no byte."""
        ids = {each.id for each in self.chosen}
        back = weights_before(event, [*history, *draft.events], ids, draft.note.links)
        if back.built_on is not None:
            self.built_on[back.built_on.id] = back.built_on
            raise _changed_again("a link", draft.path, back.built_on)
        if back.is_edited and not self.keep_edits:
            raise _edited_since("a link", draft.path)
        if back.is_edited:
            self.kept.append(f"a link of {draft.path} stays as you edited it")
        if back.then:
            draft.record(replace(record, links=back.then, links_before=back.now))

    def _fields(
        self,
        draft: NoteDraft,
        event: Event,
        history: Sequence[Event],
        key: _LinkKey,
        blocked: Mapping[str, Obstacle],
    ) -> dict[str, FieldValue]:
        """Values that take the event back, or a conflict."""
        present = _values(draft.note)
        fields: dict[str, FieldValue] = {}
        for change in event.changes:
            if change.field in IDENTITY or change.field not in present:
                continue
            obstacle = blocked.get(change.field)
            if obstacle is not None and obstacle.event:
                later = next(each for each in history if each.id == obstacle.event)
                self.built_on[later.id] = later
                raise _changed_again(change.field, draft.path, later)
            if obstacle is not None and not self.keep_edits:
                raise _edited_since(change.field, draft.path)
            if change.field in LIST_FIELDS:
                # What the person deleted and typed again looks like the event's, and is theirs.
                edited = obstacle is not None and event.by == "machine"
                own = _own_items(history, change.field) if edited else None
                values = without(change, present[change.field], key, own=own)
                there = present[change.field]
                # Only what comes back is written as it has to be today.
                fields[change.field] = [
                    text if text in there else key.written(text) for text in values
                ]
            elif obstacle is None:
                fields[change.field] = str(change.before)
            else:
                self.kept.append(f"{change.field} of {draft.path} stays as you edited it")
        return fields

    def _links_again(self, event: Event, history: Sequence[Event]) -> tuple[LinkRecord, ...]:
        """Records of the links that come back, so that their reasons come back with them."""
        gone: set[str] = set()
        for change in event.changes:
            if change.field == "links":
                gone = set(change.before) - set(change.after)
        if not gone:
            return ()
        known = provenance(each for each in history if each.id < event.id).links.values()
        return tuple(record for record in known if record.text in gone)


def _changed_again(what: str, path: str, later: Event) -> SettingsError:
    return SettingsError(
        f"{what} of {path} was changed again by event {later.id}",
        hint="--cascade takes that back as well.",
    )


def _edited_since(what: str, path: str) -> SettingsError:
    return SettingsError(
        f"{what} of {path} was edited since",
        hint="--keep-edits takes back the rest and leaves your edits.",
    )


def _own_items(history: Sequence[Event], name: str) -> frozenset[str]:
    """What of a list is the machine's own today."""
    owned = provenance(history)
    if name == "links":
        return frozenset(link.text for link in owned.links.values() if link.by == "machine")
    return owned.keywords if name == "keywords" else owned.tags


def _values(note: Note) -> dict[str, Any]:
    values = {name: getattr(note, name) for name in OWNED_FIELDS}
    return {name: list(value) if name in LIST_FIELDS else value for name, value in values.items()}


def _path_of(ports: VaultPorts, event: Event) -> str:
    key = event.note or event.path
    same = with_key(ports.index.notes.find(key), key)
    if not same and event.note and _id_was_taken_back(ports.index.events.read(event.note)):
        # A note that lost its id by an earlier undo is where it was.
        found = with_key(ports.index.notes.find(event.path), event.path)
        same = [summary for summary in found if summary.id is None]
    if len(same) > 1:
        paths = ", ".join(summary.path for summary in same)
        raise NotFoundError(
            f"nobody can tell which note event {event.id} was about",
            hint=f"These have one id: {paths}. Give all but one of them another.",
        )
    if not same:
        raise NotFoundError(f"the note of event {event.id} is gone", hint=event.path)
    return same[0].path


def _id_was_taken_back(history: Sequence[Event]) -> bool:
    values = [change.after for event in history for change in event.changes if change.field == "id"]
    return values[-1:] == [""]


def _before(raw: bytes, splice: Splice) -> bytes | None:
    """The bytes with the splice taken back, where its text stands at its place."""
    inserted = splice.inserted.encode("utf-8", "surrogatepass")
    end = splice.offset + len(inserted)
    if raw[splice.offset : end] != inserted:
        return None
    return raw[: splice.offset] + splice.removed.encode("utf-8", "surrogatepass") + raw[end:]


def _exactly_before(raw: bytes, splice: Splice | None) -> bytes | None:
    """The whole file as it was, where it is as the splice left it."""
    if splice is None or hashlib.sha256(raw).hexdigest() != splice.sha_after:
        return None
    before = _before(raw, splice)
    if before is None or hashlib.sha256(before).hexdigest() != splice.sha_before:
        return None
    return before


@dataclass(frozen=True, slots=True)
class _LinkKey:
    """What a link's text stands for: the path of its note, wherever that is now."""

    ports: VaultPorts
    source: str
    targets: dict[str, str]

    def __call__(self, text: str) -> str:
        if text not in self.targets and is_worded(text):
            return text
        return self._leads_to(text) or self.targets.get(text) or text

    def written(self, text: str) -> str:
        """The text as it has to be written today."""
        path = self.targets.get(text)
        if path is None or self._leads_to(text) is not None:
            return text
        return format_link(shortest_target(path, self.ports.index.names))

    def _leads_to(self, text: str) -> str | None:
        parsed = parse_link(text)
        return resolve(parsed.target, self.source, self.ports.index.names) if parsed else None
