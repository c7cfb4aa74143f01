"""Undo: reverts one event with what it caused, or all that the machine did since a moment.

`journal.provenance` decides what may be reverted. Here the notes' bytes are drafted and written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from itertools import chain
from typing import Any

from amem_cli.editing.history import event_named
from amem_cli.editing.move import before_move, move_to
from amem_cli.errors import NotFoundError, SettingsError, UsageError
from amem_cli.index.draft import FieldValue, NoteDraft, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import with_key
from amem_cli.index.sync import refresh
from amem_cli.journal.events import (
    REMOVING,
    Event,
    NoteWrite,
    exactly_before,
    follows_a_note,
    splice_between,
    text_before,
)
from amem_cli.journal.link_decisions import Proposal, proposal_from_record, proposal_record
from amem_cli.journal.provenance import (
    gives_identity,
    is_worded,
    obstacles,
    provenance,
    reversed_change,
    undone_events,
    weights_before,
    without,
)
from amem_cli.language.dates import day_range, parse_moment
from amem_cli.markdown.links import format_link
from amem_cli.memory.plan import target_of
from amem_cli.notes.canvas import ENDING as CANVAS_ENDING
from amem_cli.notes.names import shortest_target
from amem_cli.notes.note import LIST_FIELDS, OWNED_FIELDS, Note, body_bytes, parse_note
from amem_cli.vault.safe_write import sha256

_BY_MEMORY = ("construct", "link", "evolve")
_REVERSIBLE = (*_BY_MEMORY, "edit", "undo")
_HINTS = {
    "add": "`amem rm` takes back a whole note.",
    "reject": "A proposal that was turned down changed nothing.",
    "release": "It only records what you edited.",
    "undo": "`amem rm` removes the note again.",
}
# How to redo what no `undo` of an `undo` does.
_REDO = {
    "merge": "`amem dedupe --merge` merges the notes again.",
    "remove": "`amem rm` removes the note again.",
}
_KEEP_EDITS = "--keep-edits takes back the rest and leaves your edits."


@dataclass(frozen=True, slots=True)
class Undone:
    """What was reverted, the newest first; what was `kept` as it is, and why, one line each.

    `again` is the id of the event by whose undo everything is as before; empty if there is none.
    `withdrawn` is the number of proposals that no longer wait.
    """

    events: tuple[Event, ...]
    paths: tuple[str, ...]
    kept: tuple[str, ...] = ()
    again: str = ""
    withdrawn: int = 0


def undo(
    ports: VaultPorts, prefix: str, *, cascade: bool = False, keep_edits: bool = False
) -> Undone:
    """Revert an event; a `process`, `remove` or `merge` with all that it did, an `undo` as a whole.

    A note that is as the event left it gets its exact bytes back. If other parts of it changed
    since, the event's own fields are put back.

    Args:
        cascade: also revert the machine's later changes that built on the event.
        keep_edits: revert what nobody edited since, and leave the rest.

    Raises:
        NotFoundError, SettingsError: nothing was changed.
    """
    with ports.changes.locked():
        event = event_named(ports.index, prefix)
        if undone := _undone_by(ports, event):
            raise SettingsError(
                f"event {event.id} was taken back already",
                hint=_REDO.get(event.kind, f"amem undo {undone} brings it back."),
            )
        if any(change.field == "path" for change in event.changes):
            return _moved_back(ports, event)
        caused = _caused(ports, event)
        counting = [each for each in caused if not _undone_by(ports, each)]
        made = [each for each in ports.changes.waiting() if each.cause == event.id]
        is_left = counting or made or event.stated
        if event.kind == "process" and caused and not is_left:
            raise SettingsError(
                f"all that event {event.id} did was taken back already",
                hint="`amem history` names the events that bring it back.",
            )
        chosen = [
            each
            for each in (event, *counting)
            if _changed_no_file(each) or each.kind in _REVERSIBLE
        ]
        if not made and not any(
            each.changes or each.splice or each.links_before or _changed_no_file(each)
            for each in chosen
        ):
            raise SettingsError(
                f"event {event.id} changed nothing", hint=_HINTS.get(event.kind, "")
            )
        scope = "merge" if event.kind == "merge" else event.scope
        how = {"cascade": cascade, "keep_edits": keep_edits}
        return _revert(ports, chosen, made, **how, scope=scope)


def _changed_no_file(event: Event) -> bool:
    """Whether the event changed no note as it is now: a removal, the word on a suggestion or on
    proposals, or what a note says of one that a person linked it with."""
    decides = event.kind != "process" and bool(event.suggested)
    return event.kind in REMOVING or decides or bool(event.stated or event.withdrawn)


def _moved_back(ports: VaultPorts, event: Event) -> Undone:
    """Move a note back; links follow it as they did before."""
    changes = {each.field: each for each in event.changes}
    change, renamed = changes["path"], changes.get("title")
    note = ports.index.notes.summary(_path_of(ports, event))
    if note is None or note.path != change.after:
        raise SettingsError(f"{change.after} was moved again since", hint="`amem mv` moves a note.")
    if ports.vault.has(change.before):
        raise SettingsError(f"{change.before} exists again", hint="Move that note first.")
    reason = f"took back {event.kind}"
    root = new_event(ports, "undo", by="person", cause=event.id, reason=reason, note=event.note)
    # Without an id the events of a note are found by their path.
    path = change.before if event.note else event.path
    title = renamed.before if renamed is not None and renamed.after == note.title else ""
    former = before_move(ports, event)
    moved = move_to(ports, note, change.before, replace(root, path=path), title, former=former)
    if event.folder:
        ports.vault.remove_folders(change.after, event.folder)
    return Undone((event,), (moved.path, *moved.followed), moved.left, root.id)


def undo_since(ports: VaultPorts, since: str, *, keep_edits: bool = False) -> Undone:
    """Revert all that the machine did since a moment, in all notes or in none.

    Args:
        since: an ISO 8601 date or time, days as `day_range` reads them, of which the first counts,
            or the beginning of an event's id, which is included.
        keep_edits: revert what nobody edited since, and leave the rest.
    """
    with ports.changes.locked():
        is_since = _since(ports, since)
        events = ports.index.events.read()
        undone = undone_events(events)
        removals = {event.id for event in events if event.kind in REMOVING}
        chosen = [
            event
            for event in events
            if is_since(event)
            and event.by == "machine"
            and (
                (event.kind in _BY_MEMORY and (event.changes or event.links_before)) or event.stated
            )
            and event.id not in undone
            # Links to a note that was removed or merged come back with the note alone.
            and event.cause not in removals
            # The note has its new name still. With the link itself this goes too, by the cascade.
            and not follows_a_note(event)
        ]
        made = [each for each in ports.changes.waiting() if is_since(each)]
        if not chosen and not made:
            raise SettingsError(f"amem changed nothing since {since}", hint="See `amem history`.")
        return _revert(ports, chosen, made, cascade=True, keep_edits=keep_edits, scope="since")


def _since(ports: VaultPorts, since: str) -> Callable[[Event | Proposal], bool]:
    # An id begins with zeros until the year 2540; no date does.
    if since.startswith("00"):
        first = event_named(ports.index, since).id
        return lambda event: event.id >= first
    now = ports.clock.now()
    try:
        try:
            moment = parse_moment(since)
        except ValueError:
            moment = datetime.combine(day_range(since, now.date())[0], time())
    except ValueError:
        raise UsageError(
            f"--since {since!r} is neither a date nor an event",
            hint="Write it as 2026-03-02, 2026-03-02T15:00, 7d, yesterday or 'last week', or as an"
            " id of `amem history`.",
        ) from None
    start = moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)

    def is_since(event: Event | Proposal) -> bool:
        try:
            then = datetime.fromisoformat(event.time)
        except ValueError:
            return False
        return (then if then.tzinfo else then.replace(tzinfo=start.tzinfo)) >= start

    return is_since


def _undone_by(ports: VaultPorts, event: Event) -> str:
    """The id of the event whose undo brings this one back; empty if it still counts."""
    events = ports.index.events.read(event.note or event.path)
    undone = undone_events(events).get(event.id, "")
    return next((each.root for each in events if each.id == undone and each.root), undone)


def _caused(ports: VaultPorts, event: Event) -> list[Event]:
    """What a process, a removal or a merge did, the link that says the same as an accepted change,
    the other link of two that were unlinked, and what an undo took back beside this."""
    if event.kind == "undo":
        return ports.index.events.undone_with(event.id)
    if event.kind == "edit":
        return [each for each in ports.index.events.caused_by(event.id) if each.kind == "edit"]
    if event.kind not in ("process", "evolve", *REMOVING):
        return []
    caused = [
        each
        for each in ports.index.events.caused_by(event.id)
        if (each.by == "machine" and each.kind in _BY_MEMORY)
        or (event.kind == "merge" and each.kind == "edit")
    ]
    further = (_caused(ports, each) for each in caused if each.kind == "evolve")
    return [*caused, *chain.from_iterable(further)]


def _revert(
    ports: VaultPorts,
    chosen: Iterable[Event],
    made: Sequence[Proposal],
    *,
    cascade: bool,
    keep_edits: bool,
    scope: str,
) -> Undone:
    """Revert events with the proposals `made`, and with `cascade` what built on them, as one
    change."""
    events = {event.id: event for event in chosen}
    while True:
        drafts = _Drafts(ports, list(events.values()), keep_edits=keep_edits)
        drafts.revert_all()
        if not (cascade and drafts.built_on):
            break
        for later in drafts.built_on.values():
            also = [each for each in _caused(ports, later) if not _undone_by(ports, each)]
            events |= {each.id: each for each in (later, *also)}
    if drafts.conflicts:
        first, *others = drafts.conflicts
        more = f", and {len(others)} more" if others else ""
        raise SettingsError(first.message + more, hint=first.hint)
    writes, records = list(drafts.restored), list(drafts.restored.values())
    for draft in drafts.notes.values():
        writes += draft.write()
        records += draft.events
    if made and not records:
        # What a proposal would change is not changed yet.
        process = event_named(ports.index, made[0].cause)
        root = new_event(ports, "undo", by="person", cause=process.id, trigger=made[0].trigger)
        where = replace(root, note=process.note, path=process.path)
        records.append(replace(where, reason="took back proposals"))
    if not records:
        hint = "Everything in question was edited since." if drafts.kept else ""
        raise SettingsError("nothing is left to take back", hint=hint)
    again = "" if scope == "merge" or drafts.restored else records[0].id
    records = [replace(record, scope=scope, root=again) for record in records]
    records[0] = replace(records[0], withdrawn=tuple(map(proposal_record, made)))
    back = [proposal_from_record(each) for event in drafts.reverted for each in event.withdrawn]
    gone = [proposal.id for proposal in made]
    ports.changes.apply(writes, records, proposed=back, decided=gone)
    refresh(ports, [write.path for write in writes])
    paths = tuple(dict.fromkeys(record.path for record in records))
    return Undone(tuple(drafts.reverted), paths, tuple(drafts.kept), again, len(made))


@dataclass(slots=True)
class _Drafts:
    """The notes as they will be once a set of events is reverted.

    `restored` has write and `undo` event of removed notes that come back, `built_on` later events
    of the machine's that are in the way, `conflicts` why events cannot be reverted.
    """

    ports: VaultPorts
    chosen: list[Event]
    keep_edits: bool
    notes: dict[str, NoteDraft] = field(default_factory=dict)
    restored: dict[NoteWrite, Event] = field(default_factory=dict)
    built_on: dict[str, Event] = field(default_factory=dict)
    conflicts: list[SettingsError] = field(default_factory=list)
    reverted: list[Event] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    _histories: dict[str, list[Event]] = field(default_factory=dict)
    _paths: dict[str, str | None] = field(default_factory=dict)

    def revert_all(self) -> None:
        """Draft every event, the newest first, so that each finds the values that it left."""
        for event in sorted(self.chosen, key=lambda each: each.id, reverse=True):
            try:
                (self._restore_note if event.kind in REMOVING else self._revert)(event)
            except NotFoundError as error:
                # One note that is gone must not keep the others from being reverted.
                if len(self.chosen) == 1:
                    raise
                self.kept.append(error.message)
            except SettingsError as error:
                self.conflicts.append(error)

    def _restore_note(self, event: Event) -> None:
        found = self.ports.vault.read_trashed(event.path, event.sha) if event.sha else None
        if found is None:
            raise SettingsError(f"{event.path} is no longer in the trash as it was removed")
        if self.ports.vault.exists(event.path):
            raise SettingsError(f"{event.path} exists again", hint="Look for the old in .trash/.")
        write = NoteWrite(event.path, None, found.raw, modified_ns=found.state.mtime_ns)
        self.restored[write] = replace(self._record(event), note=event.note, path=event.path)
        self.reverted.append(event)

    def _record(self, event: Event) -> Event:
        reason = f"took back: {event.reason}" if event.reason else f"took back {event.kind}"
        if event.kind == "undo" and event.reason.startswith("took back: "):
            reason = f"did again: {event.reason.removeprefix('took back: ')}"
        return new_event(
            self.ports, "undo", by="person", cause=event.id, reason=reason, trigger=event.trigger
        )

    def _restore_canvas(self, event: Event) -> None:
        raw = self.ports.vault.read(event.path).raw
        before = exactly_before(raw, event.splice)
        if before is None:
            if not self.keep_edits:
                raise SettingsError(f"{event.path} was edited since", hint=_KEEP_EDITS)
            self.kept.append(f"{event.path} stays as you edited it")
            return
        splice = splice_between(raw, before, sha256(raw), sha256(before))
        record = replace(self._record(event), path=event.path, splice=splice)
        self.restored[NoteWrite(event.path, raw, before)] = record
        self.reverted.append(event)

    def _revert(self, event: Event) -> None:
        if event.path.endswith(CANVAS_ENDING):
            self._restore_canvas(event)
            return
        path = _path_of(self.ports, event)
        draft = self.notes.get(path) or NoteDraft(self.ports, self.ports.vault.read(path))
        history = self._history(event)
        targets = self._targets(history)

        def path_of(text: str) -> str:
            # By its note, or by the text itself, a rename is no edit.
            if text not in targets and is_worded(text):
                return text
            return target_of(text, path, self.ports.index) or targets.get(text) or text

        ids = {each.id for each in self.chosen}
        file = _values(parse_note(path, draft.content.raw, self.ports.names))
        blocked = obstacles(event, history, ids, file, _values(draft.note), path_of)
        record = self._record(event)
        change = next((each for each in event.changes if each.field == "links"), None)
        if change is not None and (gone := set(change.before) - set(change.after)):
            # With the records the reasons of these links come back.
            owned = provenance(each for each in history if each.id < event.id).links.values()
            record = replace(record, links=tuple(link for link in owned if link.text in gone))
        raw = None if blocked else exactly_before(draft.raw, event.splice)
        if raw is None and not event.changes:
            if event.stated:
                draft.record(replace(record, confirmed=event.stated))
            elif event.suggested:
                # A decision on a suggestion is in the journal alone.
                draft.record(replace(record, suggested=event.suggested))
            elif event.links_before:
                self._revert_records(draft, event, record, history)
            elif event.withdrawn and event.splice is None:
                draft.record(record)
            else:
                self._revert_text(draft, event, record, history)
        else:
            fields: dict[str, FieldValue] = {}
            if raw is None:
                fields = self._fields(draft, event, history, blocked, path_of)
                raw = None if blocked else self._old_front_matter(draft, event)
            if raw is None:
                draft.change(fields, record)
            else:
                draft.restore(raw, record, tuple(map(reversed_change, event.changes)))
        if draft.events:
            self.notes[path] = draft
            self.reverted.append(event)

    def _history(self, event: Event) -> list[Event]:
        # A note may have hundreds of events, and nobody adds any under the lock.
        key = event.note or event.path
        if key not in self._histories:
            self._histories[key] = self.ports.index.events.read(key)
        return self._histories[key]

    def _targets(self, history: Sequence[Event]) -> dict[str, str]:
        """The paths of today that a note's links mean, by their texts in the journal."""
        targets: dict[str, str] = {}
        for record in (record for event in history for record in event.links):
            if record.target not in self._paths:
                same = with_key(self.ports.index.notes.find(record.target), record.target)
                self._paths[record.target] = same[0].path if len(same) == 1 else None
            path = self._paths[record.target]
            if path is not None:
                targets[record.text] = path
        # A note without an id is known by the path that its links followed it to.
        for event in filter(follows_a_note, reversed(history)):
            for change in (each for each in event.changes if each.field == "links"):
                new = [text for text in change.after if text not in change.before]
                gone = (text for text in change.before if text not in change.after)
                if len(new) == 1 and (now := targets.get(new[0])) is not None:
                    targets.update((text, now) for text in gone if text not in targets)
        return targets

    def _written(self, text: str, source: str, targets: Mapping[str, str]) -> str:
        path = targets.get(text)
        if path is None or target_of(text, source, self.ports.index) is not None:
            return text
        return format_link(shortest_target(path, self.ports.index.names))

    def _old_front_matter(self, draft: NoteDraft, event: Event) -> bytes | None:
        """The note with the old bytes of its front matter, if only the text was edited since."""
        if event.splice is None or any(map(gives_identity, event.changes)):
            return None
        raw = text_before(draft.raw, event.splice)
        if raw is None or body_bytes(raw) != body_bytes(draft.raw):
            return None
        note = parse_note(draft.path, raw, self.ports.names)
        before = {change.field: change.before for change in event.changes}
        if note.refused is not None or _values(note) != {**_values(draft.note), **before}:
            return None
        return raw

    def _revert_text(
        self, draft: NoteDraft, event: Event, record: Event, history: Sequence[Event]
    ) -> None:
        """Put an old text back below a front matter that amem has changed since."""
        then = draft.raw
        for later in reversed(history):
            if later.id > event.id:
                then = exactly_before(then, later.splice) or then
        before = exactly_before(then, event.splice)
        if before is not None and body_bytes(then) == body_bytes(draft.raw):
            draft.replace_body(body_bytes(before), record)
        elif self.keep_edits and event.cause:
            self.kept.append(f"the text of {draft.path} stays as you edited it")
        else:
            hint = _KEEP_EDITS if event.cause else "Change it back by hand."
            raise SettingsError(f"the text of {draft.path} was edited since", hint=hint)

    def _revert_records(
        self, draft: NoteDraft, event: Event, record: Event, history: Sequence[Event]
    ) -> None:
        ids = {each.id for each in self.chosen}
        present = [*history, *draft.events]
        pairs, later, is_edited = weights_before(event, present, ids, draft.note.links)
        self._check("a link", draft.path, later, is_edited=is_edited)
        if is_edited:
            self.kept.append(f"a link of {draft.path} stays as you edited it")
        if pairs:
            now, then = zip(*pairs, strict=True)
            draft.record(replace(record, links=then, links_before=now))

    def _fields(
        self,
        draft: NoteDraft,
        event: Event,
        history: Sequence[Event],
        blocked: Mapping[str, str],
        path_of: Callable[[str], str],
    ) -> dict[str, FieldValue]:
        present, targets = _values(draft.note), self._targets(history)
        fields: dict[str, FieldValue] = {}
        for change in event.changes:
            name, obstacle = change.field, blocked.get(change.field)
            if gives_identity(change) or name not in present:
                continue
            if obstacle is not None:
                later = next((each for each in history if each.id == obstacle), None)
                self._check(name, draft.path, later, is_edited=True)
            if name in LIST_FIELDS:
                # What the person deleted and typed again looks like the event's, and is theirs.
                own = None
                if obstacle is not None and event.by == "machine":
                    owned = provenance(history)
                    links_made = (each for each in owned.links.values() if each.by == "machine")
                    texts = frozenset(each.text for each in links_made)
                    own = {"keywords": owned.keywords, "tags": owned.tags, "links": texts}[name]
                values = without(change, present[name], path_of, own=own)
                # Only what comes back is written as it has to be today.
                fields[name] = [
                    text if text in present[name] else self._written(text, draft.path, targets)
                    for text in values
                ]
            elif obstacle is None:
                fields[name] = str(change.before)
            else:
                self.kept.append(f"{name} of {draft.path} stays as you edited it")
        return fields

    def _check(self, what: str, path: str, later: Event | None, *, is_edited: bool) -> None:
        """Raise a conflict if a later event, or an edit that is not to be kept, is in the way."""
        if later is not None:
            self.built_on[later.id] = later
            raise SettingsError(
                f"{what} of {path} was changed again by event {later.id}",
                hint="--cascade takes that back as well.",
            )
        if is_edited and not self.keep_edits:
            raise SettingsError(f"{what} of {path} was edited since", hint=_KEEP_EDITS)


def _values(note: Note) -> dict[str, Any]:
    values = {name: getattr(note, name) for name in OWNED_FIELDS}
    return {name: list(value) if name in LIST_FIELDS else value for name, value in values.items()}


def _path_of(ports: VaultPorts, event: Event) -> str:
    key = event.note or event.path
    same = with_key(ports.index.notes.find(key), key)
    if not same and event.note:
        changes = (each for one in ports.index.events.read(event.note) for each in one.changes)
        ids = [change.after for change in changes if change.field == "id"]
        if ids[-1:] == [""]:
            # An earlier undo took the note's id; it is where it was.
            at_path = with_key(ports.index.notes.find(event.path), event.path)
            same = [summary for summary in at_path if summary.id is None]
    if len(same) > 1:
        paths = ", ".join(summary.path for summary in same)
        raise NotFoundError(
            f"nobody can tell which note event {event.id} was about",
            hint=f"These have one id: {paths}. Give all but one of them another.",
        )
    if not same:
        raise NotFoundError(f"the note of event {event.id} is gone", hint=event.path)
    return same[0].path
