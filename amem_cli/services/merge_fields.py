"""Unites the metadata of two notes; what was the machine's stays so, but where a person agrees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from amem_cli.core.index_records import NoteSummary
from amem_cli.core.journal import Change, Event, LinkRecord
from amem_cli.core.link_redirect import redirected
from amem_cli.core.note import Note
from amem_cli.core.ownership import Ownership
from amem_cli.core.resolution import resolve
from amem_cli.core.reversal import is_worded
from amem_cli.core.wikilinks import parse_link
from amem_cli.services.merge_links import Redirection
from amem_cli.services.owned import owned_by_machine
from amem_cli.services.recording import FieldValue, NoteDraft

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
    ours = owned_by_machine(index, redirection.kept.key)
    theirs = owned_by_machine(index, redirection.other.key)
    union = _Union()
    for name in ("keywords", "tags"):
        _unite_list(union, name, draft.note, note, ours, theirs)
    left = _unite_context(union, draft.note, note, ours, theirs)
    if union.taken_over:
        event = replace(made_event("release", "machine"), changes=tuple(union.taken_over))
        draft.note_down(event)
    links = _links(draft.note, note, ours, theirs, redirection)
    values = {**union.person, **_with(draft.note.links, links.person, links.dropped_personal)}
    draft.change(values, replace(made_event("edit", "person"), links=tuple(links.said)))
    if links.agreed:
        event = replace(
            made_event("edit", "person"),
            links=tuple(replace(record, by="person") for record in links.agreed),
            links_before=tuple(links.agreed),
        )
        draft.note_down(event)
    draft.change(_on_top(draft.note, union), made_event("evolve", "machine"))
    event = replace(made_event("link", "machine"), links=tuple(links.records))
    draft.change(_with(draft.note.links, links.machine, links.dropped_machine), event)
    return left


def _unite_list(
    union: _Union, name: str, kept: Note, other: Note, ours: Ownership, theirs: Ownership
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
    union: _Union, kept: Note, other: Note, ours: Ownership, theirs: Ownership
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
    kept: Note, other: Note, ours: Ownership, theirs: Ownership, redirection: Redirection
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


def _record(owned: Ownership, note: NoteSummary) -> LinkRecord | None:
    return owned.links.get(note.key) or owned.links.get(note.path)


def _target(text: str, source: str, redirection: Redirection) -> str | None:
    link = parse_link(text)
    return resolve(link.target, source, redirection.ports.index.names) if link else None


def _with(
    present: Sequence[str], more: Sequence[str], gone: Sequence[str]
) -> dict[str, FieldValue]:
    return {"links": list(dict.fromkeys([*(each for each in present if each not in gone), *more]))}
