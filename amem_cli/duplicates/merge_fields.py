"""Lets links follow a note that is merged into another, in other notes and in its own text.

Unites the metadata of two notes; what was the machine's stays so, but where a person agrees.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amem_cli.duplicates.merge_text import redirected_properties, text_of_body
from amem_cli.errors import AmemError, SettingsError
from amem_cli.index.draft import FieldValue, NoteDraft, VaultPorts, new_event, provenance_of
from amem_cli.index.records import NoteSummary
from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.provenance import Provenance
from amem_cli.journal.undo_rules import is_worded
from amem_cli.markdown.links import (
    destination,
    find_links,
    format_link,
    is_attachment,
    parse_link,
    redirected,
)
from amem_cli.notes.front_matter import find_fences, read_header
from amem_cli.notes.names import name_key, resolve, shortest_target
from amem_cli.notes.note import Note

if TYPE_CHECKING:
    from amem_cli.markdown.links import WikiLink

Mentions = dict[str, set[str]]


def links_in_other_properties(ports: VaultPorts) -> Mentions:
    """Notes with links in properties of which the index knows nothing, by the name linked to.

    Reads every note; one such table serves for many merges.
    """
    found: Mentions = {}
    note_mentions(ports, (state.path for state in ports.vault.scan()), found)
    return found


def note_mentions(ports: VaultPorts, paths: Iterable[str], found: Mentions) -> None:
    """Add to such a table what these notes say, as after a merge."""
    for path in paths:
        try:
            raw = ports.vault.read(path).raw
            fences = find_fences(raw)
            if fences is None or b"[[" not in raw[fences.text_start : fences.text_end]:
                continue
            header = read_header(raw, fences)
        except AmemError:
            continue
        for entry in header.entries:
            if entry.name != ports.names.links:
                for link in find_links(header.text[entry.value.start : entry.value.end]):
                    found.setdefault(name_key(link.target), set()).add(path)


@dataclass(frozen=True, slots=True)
class Redirection:
    """Makes links to one note lead to another.

    Attributes:
        key: id of the kept note, or its path where it has none.
        root: the event of the merge.
    """

    ports: VaultPorts
    key: str
    kept: NoteSummary
    other: NoteSummary
    root: Event

    def redirect(self, path: str, taken: Collection[str]) -> NoteDraft | None:
        """A note with its links redirected; None where it has none.

        Args:
            taken: ids that other notes get by the same merge.

        Raises:
            HeaderRefused, SettingsError: the note cannot be edited without risk.
        """
        draft = NoteDraft(self.ports, self.ports.vault.read(path))
        self._machine_links(draft, taken)
        self._personal_links(draft, taken)
        raw = redirected_properties(
            draft.raw, self.ports.names, lambda text: self.in_text(text, path)
        )
        if raw != draft.raw:
            draft.restore(raw, self._event("edit", "person"), ())
        body = text_of_body(draft.raw)
        if body is None:
            raise SettingsError("its text is not UTF-8", hint="Save it as UTF-8.")
        text = self.in_text(body, path)
        draft.replace_body(text.encode("utf-8"), self._event("edit", "person"))
        return draft if draft.events else None

    def carried(self, link: WikiLink) -> str | None:
        """What a link of the other note's own text has to say in the kept note."""
        names, here = self.ports.index.names, self.kept.path
        wiki = link.style == "wikilink"
        if is_attachment(link.target):
            folder = posixpath.dirname(self.other.path)
            path = posixpath.normpath(posixpath.join(folder, link.target))
            moved = folder != posixpath.dirname(here) and not link.target.startswith("/")
            is_there = not wiki and moved and self._is_file(path)
            return destination(path, here, link.target) if is_there else None
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
        # A link by an alias or title follows by itself: the kept note gets those as its aliases.
        if not self._by_file_name(link.target):
            return None
        if resolve(link.target, source, names) != self.other.path:
            return None
        if link.style == "wikilink":
            return shortest_target(self.kept.path, names)
        return destination(self.kept.path, source, link.target)

    def _by_file_name(self, target: str) -> bool:
        return name_key(target.partition("#")[0]) == name_key(self.other.path)

    def _event(self, kind: str, by: str) -> Event:
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
        owned = provenance_of(self.ports.index, summary.key if summary else draft.path).links
        record = owned.get(self.other.key) or owned.get(self.other.path)
        links = list(draft.note.links)
        if record is None or record.by != "machine" or record.text not in links:
            return
        if is_worded(record.text) or not self._leads(record.text, draft.path, self.other.path):
            return
        at = links.index(record.text)
        records: tuple[LinkRecord, ...] = ()
        if any(self._leads(text, draft.path, self.kept.path) for text in links):
            del links[at]
        else:
            text = format_link(shortest_target(self.kept.path, self.ports.index.names))
            records = (replace(record, target=self.key, path=self.kept.path, text=text),)
            links[at] = text
        event = replace(self._event("link", "machine"), links=records)
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
        unique = list(dict.fromkeys(links))
        if unique != list(draft.note.links):
            event = replace(self._event("edit", "person"), links=tuple(made))
            draft.change({"links": unique}, event, taken=taken)

    def _leads(self, text: str, source: str, target: str) -> bool:
        link = parse_link(text)
        return link is not None and resolve(link.target, source, self.ports.index.names) == target


EventMaker = Callable[[str, str], Event]


@dataclass(slots=True)
class _Union:
    """What the kept note gets from a person and from the machine, by field.

    Attributes:
        taken_over: of the machine's own in the kept note what a person wrote in the other.
    """

    person: dict[str, FieldValue] = field(default_factory=dict)
    machine: dict[str, FieldValue] = field(default_factory=dict)
    taken_over: list[Change] = field(default_factory=list)


def unite_fields(
    draft: NoteDraft, note: Note, redirection: Redirection, made_event: EventMaker
) -> str:
    """Give the draft of the kept note the keywords, tags, context and links of the other.

    Args:
        note: the other, as it is.
        made_event: an event of a kind, by `person` or `machine`.

    Returns:
        A person's context that found no place, for theirs stands there already; or empty.
    """
    index = redirection.ports.index
    ours = provenance_of(index, redirection.kept.key)
    theirs = provenance_of(index, redirection.other.key)
    union = _Union()
    for name in ("keywords", "tags"):
        _unite_list(union, name, draft.note, note, ours, theirs)
    left = _unite_context(union, draft.note, note, ours, theirs)
    if union.taken_over:
        event = replace(made_event("release", "machine"), changes=tuple(union.taken_over))
        draft.record(event)
    links = _links(draft.note, note, ours, theirs, redirection)
    values = {**union.person, **_with(draft.note.links, links.person, links.dropped_personal)}
    draft.change(values, replace(made_event("edit", "person"), links=tuple(links.said)))
    if links.agreed:
        event = replace(
            made_event("edit", "person"),
            links=tuple(replace(record, by="person") for record in links.agreed),
            links_before=tuple(links.agreed),
        )
        draft.record(event)
    draft.change(_on_top(draft.note, union), made_event("evolve", "machine"))
    event = replace(made_event("link", "machine"), links=tuple(links.records))
    draft.change(_with(draft.note.links, links.machine, links.dropped_machine), event)
    return left


def _unite_list(
    union: _Union, name: str, kept: Note, other: Note, ours: Provenance, theirs: Provenance
) -> None:
    own: Collection[str] = getattr(ours, name)
    machine: Collection[str] = getattr(theirs, name)
    here = {text.casefold(): text for text in getattr(kept, name)}
    personal = [text for text in getattr(other, name) if text not in machine]
    agreed = [here[text.casefold()] for text in personal if here.get(text.casefold()) in own]
    if agreed:
        union.taken_over.append(Change(name, sorted(agreed), []))
    new = [text for text in personal if text.casefold() not in here]
    if new:
        union.person[name] = [*getattr(kept, name), *new]
    known = {*here, *(text.casefold() for text in new)}
    more = [text for text in getattr(other, name) if text in machine]
    more = [text for text in more if text.casefold() not in known]
    if more:
        union.machine[name] = more


def _unite_context(
    union: _Union, kept: Note, other: Note, ours: Provenance, theirs: Provenance
) -> str:
    if not other.context or other.context == kept.context:
        return ""
    is_machines = other.context == theirs.context
    if is_machines:
        if not kept.context:
            union.machine["context"] = other.context
        return ""
    if ours.may_replace_context(kept.context):
        union.person["context"] = other.context
        return ""
    return other.context


def _on_top(note: Note, union: _Union) -> dict[str, FieldValue]:
    """The machine's part, below what the person's has made of the note."""
    values: dict[str, FieldValue] = {}
    for name, value in union.machine.items():
        values[name] = value if isinstance(value, str) else [*getattr(note, name), *value]
    return values


@dataclass(slots=True)
class _Links:
    """Property links of the kept note that come and go.

    Attributes:
        person, machine: texts to add.
        said, records: what the journal knows of them.
        agreed: the machine's links of the kept note that a person made in the other.
        dropped_personal, dropped_machine: links to the other note, which would lead to itself.
    """

    person: list[str] = field(default_factory=list)
    machine: list[str] = field(default_factory=list)
    said: list[LinkRecord] = field(default_factory=list)
    records: list[LinkRecord] = field(default_factory=list)
    agreed: list[LinkRecord] = field(default_factory=list)
    dropped_personal: list[str] = field(default_factory=list)
    dropped_machine: list[str] = field(default_factory=list)


def _links(
    kept: Note, other: Note, ours: Provenance, theirs: Provenance, redirection: Redirection
) -> _Links:
    index = redirection.ports.index
    here, there = redirection.kept, redirection.other
    found = _Links()
    reached: dict[str, str] = {}
    for text in kept.links:
        to = _target(text, here.path, redirection)
        if to == there.path and not is_worded(text):
            record = _record(ours, there)
            is_machines = record is not None and record.by == "machine" and record.text == text
            (found.dropped_machine if is_machines else found.dropped_personal).append(text)
        elif to is not None:
            reached.setdefault(to, text)
    for text in other.links:
        to = _target(text, there.path, redirection)
        worded = is_worded(text)
        if to in (here.path, there.path) and not worded:
            continue
        summary = index.notes.summary(to) if to is not None else None
        record = _record(theirs, summary) if summary is not None else None
        record = record if record is not None and record.text == text else None
        is_machines = record is not None and record.by == "machine"
        if to in reached and not worded:
            mine = _record(ours, summary) if summary is not None else None
            if not is_machines and mine and mine.by == "machine" and mine.text == reached[to]:
                found.agreed.append(mine)
            continue
        written = redirected(text, redirection.carried)
        if written in kept.links:
            continue
        (found.machine if is_machines else found.person).append(written)
        if record is not None:
            (found.records if is_machines else found.said).append(replace(record, text=written))
    return found


def _record(owned: Provenance, note: NoteSummary) -> LinkRecord | None:
    return owned.links.get(note.key) or owned.links.get(note.path)


def _target(text: str, source: str, redirection: Redirection) -> str | None:
    link = parse_link(text)
    return resolve(link.target, source, redirection.ports.index.names) if link else None


def _with(
    present: Sequence[str], more: Sequence[str], gone: Sequence[str]
) -> dict[str, FieldValue]:
    return {"links": list(dict.fromkeys([*(each for each in present if each not in gone), *more]))}
