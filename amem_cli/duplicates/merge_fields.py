"""Redirects links to a merged note, and unites the metadata of two notes.

What the machine wrote stays the machine's, unless a person wrote the same in the other note.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from amem_cli.duplicates.merge_text import text_of_body
from amem_cli.editing.renames import redirected_properties
from amem_cli.errors import AmemError, SettingsError
from amem_cli.index.draft import FieldValue, NoteDraft, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.provenance import Provenance, is_worded
from amem_cli.markdown.links import (
    WikiLink,
    destination,
    format_link,
    is_attachment,
    parse_link,
    redirected,
)
from amem_cli.notes.names import name_key, resolve, shortest_target
from amem_cli.notes.note import Note


@dataclass(frozen=True, slots=True)
class Redirection:
    """Makes links to one note lead to another, as part of the merge that `root` records.

    `key` is the id of the kept note, or its path if it has none.
    """

    ports: VaultPorts
    key: str
    kept: NoteSummary
    other: NoteSummary
    root: Event

    def redirect(self, path: str, taken: Collection[str]) -> NoteDraft | None:
        """A note with its links redirected; None if it has none.

        Other notes get the ids in `taken` by the same merge. Raises what the editing of it raises.
        """
        draft = NoteDraft(self.ports, self.ports.vault.read(path))
        self._machine_links(draft, taken)
        self._personal_links(draft, taken)
        raw = redirected_properties(
            draft.raw, self.ports.names, lambda text: self.in_text(text, path)
        )
        if raw != draft.raw:
            draft.restore(raw, self.event("edit", "person"), ())
        body = text_of_body(draft.raw)
        if body is None:
            raise SettingsError("its text is not UTF-8", hint="Save it as UTF-8.")
        text = self.in_text(body, path)
        draft.replace_body(text.encode("utf-8"), self.event("edit", "person"))
        return draft if draft.events else None

    def moved_target(self, link: WikiLink) -> str | None:
        """How a link of the other note's text must read in the kept note; None to leave it."""
        names, here = self.ports.index.names, self.kept.path
        wiki = link.style == "wikilink"
        if is_attachment(link.target):
            folder = posixpath.dirname(self.other.path)
            path = posixpath.normpath(posixpath.join(folder, link.target))
            moved = folder != posixpath.dirname(here) and not link.target.startswith("/")
            exists = not wiki and moved and self._is_file(path)
            return destination(path, here, link.target) if exists else None
        to = resolve(link.target, self.other.path, names)
        if to == self.other.path:
            to = self.kept.path if self._by_file_name(link.target) else None
        elif to is not None and resolve(link.target, here, names) == to:
            to = None
        if to is None:
            return None
        return shortest_target(to, names) if wiki else destination(to, here, link.target)

    def _is_file(self, path: str) -> bool:
        try:
            return not path.startswith("..") and self.ports.vault.exists(path)
        except AmemError:
            return False

    def in_text(self, text: str, source: str) -> str:
        """A text of the note at `source` with its links redirected."""
        return redirected(text, lambda link: self._new_target(link, source))

    def _new_target(self, link: WikiLink, source: str) -> str | None:
        names = self.ports.index.names
        # The kept note gets the aliases and the title, so links by those stay valid.
        if not self._by_file_name(link.target):
            return None
        if resolve(link.target, source, names) != self.other.path:
            return None
        if link.style == "wikilink":
            return shortest_target(self.kept.path, names)
        return destination(self.kept.path, source, link.target)

    def _by_file_name(self, target: str) -> bool:
        return name_key(target.partition("#")[0]) == name_key(self.other.path)

    def event(self, kind: str, by: str) -> Event:
        """An event that the merge causes, by `person` or `machine`."""
        return new_event(
            self.ports,
            kind,
            by=by,
            trigger=self.other.key,
            cause=self.root.id,
            reason=self.root.reason,
        )

    def _machine_links(self, draft: NoteDraft, taken: Collection[str]) -> None:
        summary = self.ports.index.notes.summary(draft.path)
        owned = provenance_of(self.ports.index, summary.key if summary else draft.path)
        record = _record(owned, self.other)
        links = list(draft.note.links)
        if record is None or record.by != "machine" or record.text not in links:
            return
        # A person put other words or another target into it: it is no longer the machine's.
        if is_worded(record.text) or self.target(record.text, draft.path) != self.other.path:
            return
        at = links.index(record.text)
        records: tuple[LinkRecord, ...] = ()
        if any(self.target(text, draft.path) == self.kept.path for text in links):
            del links[at]
        else:
            text = format_link(shortest_target(self.kept.path, self.ports.index.names))
            records = (replace(record, target=self.key, path=self.kept.path, text=text),)
            links[at] = text
        event = replace(self.event("link", "machine"), links=records)
        draft.change({"links": links}, event, taken=taken)

    def _personal_links(self, draft: NoteDraft, taken: Collection[str]) -> None:
        known = self.ports.index.link_history.records(draft.path).values()
        records = {record.text: record for record in known if record.by == "person"}
        links: list[str] = []
        made: list[LinkRecord] = []
        for text in draft.note.links:
            new = self.in_text(text, draft.path)
            if new != text and text in records:
                made.append(replace(records[text], target=self.key, path=self.kept.path, text=new))
            links.append(new)
        # Links to both notes become the same link.
        unique = list(dict.fromkeys(links))
        if unique != list(draft.note.links):
            event = replace(self.event("edit", "person"), links=tuple(made))
            draft.change({"links": unique}, event, taken=taken)

    def target(self, text: str, source: str) -> str | None:
        """Path of the note to which an entry of `links` of the note at `source` leads."""
        link = parse_link(text)
        return resolve(link.target, source, self.ports.index.names) if link else None


def unite_fields(draft: NoteDraft, note: Note, redirection: Redirection) -> str:
    """Give the draft of the kept note the keywords, tags, context and links of the other.

    Returns a person's context that found no place beside another person's; or empty.
    """
    index, kept = redirection.ports.index, draft.note
    ours = provenance_of(index, redirection.kept.key)
    theirs = provenance_of(index, redirection.other.key)
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
        draft.record(replace(redirection.event("release", "machine"), changes=tuple(released)))
    persons, machines_links, agreed_links = _links(kept, note, ours, theirs, redirection)
    rest = [text for text in draft.note.links if text not in persons.lost]
    event = replace(redirection.event("edit", "person"), links=tuple(persons.records))
    draft.change({**by_person, "links": list(dict.fromkeys([*rest, *persons.gained]))}, event)
    if agreed_links:
        event = replace(
            redirection.event("edit", "person"),
            links=tuple(replace(record, by="person") for record in agreed_links),
            links_before=tuple(agreed_links),
        )
        draft.record(event)
    values: dict[str, FieldValue] = {
        name: [*getattr(draft.note, name), *texts] for name, texts in by_machine.items() if texts
    }
    if machine_context:
        values["context"] = machine_context
    draft.change(values, redirection.event("evolve", "machine"))
    rest = [text for text in draft.note.links if text not in machines_links.lost]
    event = replace(redirection.event("link", "machine"), links=tuple(machines_links.records))
    draft.change({"links": list(dict.fromkeys([*rest, *machines_links.gained]))}, event)
    return lost_context


@dataclass(slots=True)
class _Links:
    """Property links of one owner that the kept note gains, and those to the other note."""

    gained: list[str] = field(default_factory=list)
    records: list[LinkRecord] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def _links(
    kept: Note, other: Note, ours: Provenance, theirs: Provenance, redirection: Redirection
) -> tuple[_Links, _Links, list[LinkRecord]]:
    """A person's links, the machine's, and those of the kept note's on which a person agrees."""
    kept_path, other_path = redirection.kept.path, redirection.other.path
    persons, machines = _Links(), _Links()
    agreed: list[LinkRecord] = []
    reached: dict[str, str] = {}
    for text in kept.links:
        to = redirection.target(text, kept_path)
        if to == other_path and not is_worded(text):
            # It would lead to the note itself.
            record = _record(ours, redirection.other)
            by_machine = record is not None and record.by == "machine" and record.text == text
            (machines if by_machine else persons).lost.append(text)
        elif to is not None:
            reached.setdefault(to, text)
    for text in other.links:
        to = redirection.target(text, other_path)
        worded = is_worded(text)
        if to in (kept_path, other_path) and not worded:
            continue
        summary = redirection.ports.index.notes.summary(to) if to is not None else None
        record = _record(theirs, summary)
        record = record if record is not None and record.text == text else None
        by_machine = record is not None and record.by == "machine"
        if to in reached and not worded:
            mine = _record(ours, summary)
            if not by_machine and mine and mine.by == "machine" and mine.text == reached[to]:
                agreed.append(mine)
            continue
        written = redirected(text, redirection.moved_target)
        if written not in kept.links:
            owner = machines if by_machine else persons
            owner.gained.append(written)
            owner.records += [replace(record, text=written)] if record is not None else []
    return persons, machines, agreed


def _record(owned: Provenance, note: NoteSummary | None) -> LinkRecord | None:
    return (owned.links.get(note.key) or owned.links.get(note.path)) if note else None
