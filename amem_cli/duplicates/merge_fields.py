"""Unites the metadata of two notes.

What the machine wrote stays the machine's, unless a person wrote the same in the other note.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from amem_cli.editing.move import LinksAfterMove
from amem_cli.index.draft import FieldValue, NoteDraft, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.provenance import Provenance, is_worded
from amem_cli.markdown.links import (
    parse_link,
)
from amem_cli.notes.names import resolve
from amem_cli.notes.note import Note


@dataclass(frozen=True, slots=True)
class Merging:
    """A merge of `other` into `kept` that `root` records, and where links lead by it."""

    ports: VaultPorts
    kept: NoteSummary
    other: NoteSummary
    root: Event
    way: LinksAfterMove

    def event(self, kind: str, by: str) -> Event:
        """An event that the merge causes, by `person` or `machine`."""
        return self.way.event(kind, self.root, by)

    def target(self, text: str, source: str) -> str | None:
        """Path of the note to which an entry of `links` of the note at `source` leads."""
        link = parse_link(text)
        return resolve(link.target, source, self.ports.index.names) if link else None


def unite_fields(draft: NoteDraft, note: Note, merging: Merging) -> str:
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
    kept: Note, other: Note, ours: Provenance, theirs: Provenance, merging: Merging
) -> tuple[_Links, _Links, list[LinkRecord]]:
    """A person's links, the machine's, and those of the kept note's on which a person agrees."""
    kept_path, other_path = merging.kept.path, merging.other.path
    persons, machines = _Links(), _Links()
    agreed: list[LinkRecord] = []
    reached: dict[str, str] = {}
    for text in kept.links:
        to = merging.target(text, kept_path)
        if to == other_path and not is_worded(text):
            # It would lead to the note itself.
            record = _record(ours, merging.other)
            by_machine = record is not None and record.by == "machine" and record.text == text
            (machines if by_machine else persons).lost.append(text)
        elif to is not None:
            reached.setdefault(to, text)
    for text in other.links:
        to = merging.target(text, other_path)
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
