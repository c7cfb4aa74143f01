"""Merges one note into another: keeps all text and redirects links, in one undoable change.

What the machine wrote stays the machine's, unless a person wrote the same in the other note.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace

from amem_cli.duplicates.compare import note_names, without_title
from amem_cli.duplicates.merge_text import (
    alias_property,
    appended,
    text_beyond,
    text_of_body,
    united_properties,
)
from amem_cli.editing.move import LinksAfterMove, processed
from amem_cli.errors import AmemError, SettingsError, UsageError
from amem_cli.index.draft import FieldValue, NoteDraft, id_is_shared, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change, Event, LinkRecord, NoteWrite
from amem_cli.journal.provenance import Provenance, is_worded
from amem_cli.language.dates import local_text
from amem_cli.memory.plan import target_of
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.names import is_linkable, name_key
from amem_cli.notes.note import Note, file_title

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_UNITED = ("keywords", "tags", "context", "links", "aliases")


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did, or would do.

    Attributes:
        kept, removed: paths of the kept note and of the one that went to the trash.
        event: id of the event that `undo` takes back; empty for a dry run.
        appended: what was added below the text of the kept note, or empty.
        fields: which of keywords, tags, context, links and aliases of the kept note changed.
        redirected: paths of other notes whose links now lead to the kept note.
        left: why links of other notes were not redirected, one line each.
    """

    kept: str
    removed: str
    event: str
    appended: str
    fields: tuple[str, ...]
    redirected: tuple[str, ...]
    left: tuple[str, ...] = ()


def merge(
    ports: VaultPorts,
    kept: NoteSummary,
    other: NoteSummary,
    *,
    dry_run: bool = False,
) -> Merged:
    """Put into `kept` what `other` has beyond it, and move `other` to the trash.

    The text of `kept` stays byte for byte; what it lacks goes below it. All links to `other` are
    redirected to `kept`. Everything is written, or nothing.

    Args:
        dry_run: write nothing.

    Raises:
        UsageError: both are the same note.
        SettingsError: a private text would go into a public note, a text cannot be appended to, or
            the file of a note that has to change cannot be written.
        HeaderRefused: one of the two cannot be edited without risk.
        WriteConflict: a note changed meanwhile; nothing was done.
    """
    if kept.path == other.path:
        raise UsageError("a note cannot be merged with itself")
    with ports.changes.locked():
        plan = _Merge(ports, kept, other)
        merged = plan.draft()
        _require_writable(plan)
        if dry_run:
            return replace(merged, event="")
        ports.changes.apply(plan.writes, plan.events)
        refresh(ports, [write.path for write in plan.writes])
    return merged


@dataclass(slots=True)
class _Merge:
    """One merge; `draft` sets what it writes."""

    ports: VaultPorts
    kept: NoteSummary
    other: NoteSummary
    writes: list[NoteWrite] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    root: Event = field(init=False)
    way: LinksAfterMove = field(init=False)

    def event(self, kind: str, by: str) -> Event:
        """An event that the merge causes, by `person` or `machine`."""
        return self.way.event(kind, self.root, by)

    def draft(self) -> Merged:
        ports, kept, other = self.ports, self.kept, self.other
        draft = NoteDraft(ports, ports.vault.read(kept.path))
        removed = NoteDraft(ports, ports.vault.read(other.path))
        _refuse(draft, removed)
        root = new_event(
            ports,
            "merge",
            by="person",
            # A copy has the id of its original, whose history this is not.
            note="" if id_is_shared(ports.index, other.key) else other.id or "",
            path=other.path,
            trigger=kept.key,
            sha=removed.content.sha,
            reason=f"“{other.title}” was merged into “{kept.title}”",
        )
        way = LinksAfterMove(ports, other, kept.path, key=kept.key, reason=root.reason)
        self.root, self.way = root, way
        before, text = draft.note, self._unite(draft, removed)
        united = [name for name in _UNITED if getattr(before, name) != getattr(draft.note, name)]
        # The kept note may have got its id only now.
        way.key = draft.note.id or kept.path
        way.ids.add(draft.note.id or "")
        left = self._left_in_kept(draft)
        others: list[NoteDraft] = []
        # A link that cannot be edited is reported, but does not stop the merge.
        for path in way.sources():
            if path == kept.path or not ports.vault.exists(path):
                continue
            try:
                source = way.followed(path, root)
            except AmemError as error:
                left.append(f"{path} still links to “{other.title}”: {error.message}")
                continue
            if source is not None:
                others.append(source)
        known = (processed(ports, each) for each in others)
        root = replace(root, known=tuple(filter(None, known)))
        drafts = [draft, *others]
        canvases, canvas_events = way.canvases(root, left)
        self.writes = [*(write for each in drafts for write in each.write()), *canvases]
        self.writes.append(NoteWrite(other.path, removed.content.raw, None))
        self.events = [root, *(event for each in drafts for event in each.events), *canvas_events]
        return Merged(
            kept=kept.path,
            removed=other.path,
            event=root.id,
            appended=text,
            fields=tuple(united),
            redirected=(*(each.path for each in others), *(each.path for each in canvases)),
            left=tuple(left),
        )

    def _left_in_kept(self, draft: NoteDraft) -> list[str]:
        body = text_of_body(draft.content.raw) or ""
        if self.way.in_text(body, self.kept.path) == body:
            return []
        message = f"{self.kept.path} itself links to “{self.other.title}”; its text stays as it is"
        named = self.ports.index.names.candidates(name_key(self.other.path))
        rest = [path for path in named if path != self.other.path]
        if rest and self.kept.path not in rest:
            message += f", and the link will lead to {rest[0]}"
        return [message]

    def _unite(self, draft: NoteDraft, removed: NoteDraft) -> str:
        """Give the kept note what it lacks; returns the appended text."""
        names, note = self.ports.names, removed.note
        context = _unite_fields(draft, note, self)
        raw, aliases = draft.raw, _aliases(draft.note, note)
        if aliases != list(draft.note.aliases):
            raw = edit_header(raw, {alias_property(raw): aliases}, names)
        raw, differing = united_properties(raw, removed.raw, names)
        if raw != draft.raw:
            draft.restore(raw, self.event("edit", "person"), ())
        if context:
            differing = f"{names.context}: {json.dumps(context, ensure_ascii=False)}\n{differing}"
        body, below = text_of_body(draft.raw), text_of_body(removed.raw)
        if body is None or below is None:
            raise SettingsError("the text of a note is not UTF-8", hint="Save it as UTF-8.")
        # Relative links are rewritten, because the text moves to another folder.
        below = self.way.in_text(without_title(below, note_names(note)), self.other.path)
        beyond = text_beyond(without_title(body, note_names(draft.note)), below)
        if not (beyond or differing):
            return ""
        text = appended(
            body,
            note.title,
            local_text(note.created)[:10] if _DAY.match(note.created) else "",
            differing,
            beyond,
        )
        draft.replace_body(text.encode("utf-8"), self.event("edit", "person"))
        return text[len(body) :]


def _refuse(kept: NoteDraft, removed: NoteDraft) -> None:
    """Keep private text out of public notes, and refuse names that no link can hold."""
    if removed.note.private and not kept.note.private:
        raise SettingsError(
            f"{removed.path} is private and {kept.path} is not",
            hint=f'Keep the private one: amem dedupe --merge "{removed.path}" "{kept.path}"',
        )
    if not is_linkable(kept.path):
        raise SettingsError(
            f"{kept.path} has a name that no link can hold", hint="Rename it first."
        )


def _require_writable(plan: _Merge) -> None:
    """Refuse if a file cannot be written: its link would lead to a note that is gone."""
    for write in plan.writes:
        try:
            plan.ports.vault.require_writable(write.path)
        except SettingsError as error:
            raise SettingsError(
                f"{error.message} and must change, so nothing was merged",
                hint=f"{error.hint} Then merge again.",
            ) from None


def _aliases(kept: Note, other: Note) -> list[str]:
    known = {kept.title.casefold(), *(text.casefold() for text in kept.aliases)}
    known.add(file_title(kept.path).casefold())
    aliases = list(kept.aliases)
    for text in (other.title, file_title(other.path), *other.aliases):
        if text.casefold() not in known:
            known.add(text.casefold())
            aliases.append(text)
    return aliases


def _unite_fields(draft: NoteDraft, note: Note, merging: _Merge) -> str:
    """Give the draft of the kept note the keywords, tags, context and links of the other.

    Returns a person's context that found no place beside another person's; or empty.
    """
    index, kept = merging.ports.index, draft.note
    ours = provenance_of(index, merging.kept.key)
    theirs = provenance_of(index, merging.other.key)
    by_person: dict[str, FieldValue] = {}
    by_machine: dict[str, list[str]] = {}
    released: list[Change] = []
    for name in ("keywords", "tags"):
        machines = getattr(theirs, name)
        existing = {text.casefold(): text for text in getattr(kept, name)}
        personal = [text for text in getattr(note, name) if text not in machines]
        # What a person wrote in the other note is no longer the machine's in the kept one.
        agreed = {existing.get(text.casefold()) for text in personal} & set(getattr(ours, name))
        if agreed:
            released.append(Change(name, sorted(filter(None, agreed)), []))
        new = [text for text in personal if text.casefold() not in existing]
        if new:
            by_person[name] = [*getattr(kept, name), *new]
        keys = {*existing, *(text.casefold() for text in new)}
        by_machine[name] = [
            text for text in getattr(note, name) if text in machines and text.casefold() not in keys
        ]
    machine_context = lost_context = ""
    if note.context and note.context != kept.context:
        if note.context == theirs.context:
            machine_context = "" if kept.context else note.context
        elif ours.may_replace_context(kept.context):
            by_person["context"] = note.context
        else:
            lost_context = note.context
    if released:
        draft.record(replace(merging.event("release", "machine"), changes=tuple(released)))
    persons, machines_links, agreed_links = _links(kept, note, ours, theirs, merging)
    rest = [text for text in draft.note.links if text not in persons.lost]
    event = replace(merging.event("edit", "person"), links=tuple(persons.records))
    draft.change({**by_person, "links": list(dict.fromkeys([*rest, *persons.gained]))}, event)
    if agreed_links:
        event = replace(
            merging.event("edit", "person"),
            links=tuple(replace(record, by="person") for record in agreed_links),
            links_before=tuple(agreed_links),
        )
        draft.record(event)
    values: dict[str, FieldValue] = {
        name: [*getattr(draft.note, name), *texts] for name, texts in by_machine.items() if texts
    }
    if machine_context:
        values["context"] = machine_context
    draft.change(values, merging.event("evolve", "machine"))
    rest = [text for text in draft.note.links if text not in machines_links.lost]
    event = replace(merging.event("link", "machine"), links=tuple(machines_links.records))
    draft.change({"links": list(dict.fromkeys([*rest, *machines_links.gained]))}, event)
    return lost_context


@dataclass(slots=True)
class _Links:
    """Property links of one owner that the kept note gains, and those to the other note."""

    gained: list[str] = field(default_factory=list)
    records: list[LinkRecord] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def _links(
    kept: Note, other: Note, ours: Provenance, theirs: Provenance, merging: _Merge
) -> tuple[_Links, _Links, list[LinkRecord]]:
    """A person's links, the machine's, and those of the kept note's on which a person agrees."""
    kept_path, other_path = merging.kept.path, merging.other.path
    persons, machines = _Links(), _Links()
    agreed: list[LinkRecord] = []
    reached: dict[str, str] = {}
    for text in kept.links:
        to = target_of(text, kept_path, merging.ports.index)
        if to == other_path and not is_worded(text):
            # It would lead to the note itself.
            record = _record(ours, merging.other)
            by_machine = record is not None and record.by == "machine" and record.text == text
            (machines if by_machine else persons).lost.append(text)
        elif to is not None:
            reached.setdefault(to, text)
    for text in other.links:
        to = target_of(text, other_path, merging.ports.index)
        worded = is_worded(text)
        if to in (kept_path, other_path) and not worded:
            continue
        summary = merging.ports.index.notes.summary(to) if to is not None else None
        record = _record(theirs, summary)
        record = record if record is not None and record.text == text else None
        by_machine = record is not None and record.by == "machine"
        if to in reached and not worded:
            mine = _record(ours, summary)
            if not by_machine and mine and mine.by == "machine" and mine.text == reached[to]:
                agreed.append(mine)
            continue
        written = merging.way.in_text(text, other_path)
        if written not in kept.links:
            owner = machines if by_machine else persons
            owner.gained.append(written)
            owner.records += [replace(record, text=written)] if record is not None else []
    return persons, machines, agreed


def _record(owned: Provenance, note: NoteSummary | None) -> LinkRecord | None:
    return (owned.links.get(note.key) or owned.links.get(note.path)) if note else None
