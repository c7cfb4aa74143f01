"""Decides whether a recorded change can be undone without harming what came after it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.provenance import provenance, undone_events
from amem_cli.markdown.links import parse_link
from amem_cli.notes.note import LIST_FIELDS

IDENTITY = ("id", "created")
Key = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why one field of an event cannot simply be restored.

    Attributes:
        event: id of the later event that builds on it; empty if a person edited the field.
    """

    field: str
    event: str = ""


def is_worded(text: str) -> bool:
    """Whether a link has a display text or a heading; the program's own links never do."""
    link = parse_link(text)
    return link is not None and bool(link.display or link.fragment)


def obstacles(
    event: Event,
    history: Sequence[Event],
    chosen: Collection[str],
    before: Mapping[str, Any],
    present: Mapping[str, Any],
    key: Key,
) -> list[Obstacle]:
    """What prevents undoing `event`, field by field.

    A field was edited by hand unless the recorded changes lead from the event to its value now:
    either all changes, to `before`, or only those that still count, to `present`.

    Args:
        history: all events of the note, oldest first.
        chosen: ids of the events that are undone together.
        before: the note's values by field, from its file.
        present: the same after undoing those of `chosen` that are newer than `event`.
        key: maps a link's text to its target, so that a renamed target is not an edit.
    """
    undone = undone_events(history)
    skipped = {*undone, *undone.values(), *chosen} - {event.id}
    later = [each for each in history if each.id > event.id]
    counting = [each for each in later if each.id not in skipped]
    found = []
    for change in event.changes:
        if change.field not in IDENTITY:
            obstacle = _obstacle(change, counting, (), present.get(change.field), key)
            if obstacle is not None and not obstacle.event:
                obstacle = _obstacle(change, later, skipped, before.get(change.field), key)
            found += [obstacle] if obstacle else []
    return found


def _obstacle(
    change: Change, later: Sequence[Event], skipped: Collection[str], last: Any, key: Key
) -> Obstacle | None:
    same = key if change.field == "links" else str
    value = _comparable(change.after, same)
    built_on = ""
    for event in later:
        for other in event.changes:
            if other.field != change.field:
                continue
            if _comparable(other.before, same) != value:
                return Obstacle(change.field)
            value = _comparable(other.after, same)
            if event.id in skipped:
                continue
            if event.by == "person":
                return Obstacle(change.field)
            if change.field not in LIST_FIELDS or _touched(change, same) & _touched(other, same):
                built_on = built_on or event.id
    if _comparable(last, same) != value:
        return Obstacle(change.field)
    return Obstacle(change.field, built_on) if built_on else None


def _comparable(value: Any, same: Key) -> Any:
    """A list becomes a set: to sort a list is not to edit it."""
    return frozenset(same(item) for item in value) if isinstance(value, (list, tuple)) else value


def _touched(change: Change, same: Key) -> frozenset[str]:
    before: frozenset[str] = _comparable(change.before, same)
    after: frozenset[str] = _comparable(change.after, same)
    return before ^ after


def without(
    change: Change, present: Sequence[str], key: Key, *, own: Collection[str] | None = None
) -> list[str]:
    """A list as it is now, with the change undone.

    Args:
        own: the only items that may be removed; None for all that the change added.
    """
    same = key if change.field == "links" else str
    before = {same(item) for item in change.before}
    after = {same(item) for item in change.after}
    added = after - before
    if own is not None:
        added &= {same(item) for item in own}
    # If the machine's exact text is there, another one with the same meaning is a person's.
    texts = change.after if own is None else own
    exact = {item for item in texts if item in present and same(item) in added}
    other = added - {same(item) for item in exact}
    kept = [item for item in present if item not in exact and same(item) not in other]
    have = {same(item) for item in kept}
    gone = [item for item in change.before if same(item) not in after and same(item) not in have]
    return [*kept, *gone]


@dataclass(frozen=True, slots=True)
class Weights:
    """Records of links before and after an event that changed only their strength or relation.

    Attributes:
        now, then: current and former records of the links that can be restored.
        built_on: a later event by the machine that changed one of the links again.
        is_edited: a person changed or removed one of the links since.
    """

    now: tuple[LinkRecord, ...] = ()
    then: tuple[LinkRecord, ...] = ()
    built_on: Event | None = None
    is_edited: bool = False


def weights_before(
    event: Event, history: Sequence[Event], chosen: Collection[str], links: Collection[str]
) -> Weights:
    """What the journal said of links before an event that changed no byte.

    Args:
        history: all events of the note, oldest first, with those that are being recorded.
        chosen: ids of the events that are undone together.
        links: texts of the links in the note.
    """
    void = {*undone_events(history), *chosen}
    present = provenance(history).links
    before = {link.target: link for link in event.links_before}
    found = Weights()
    for after in event.links:
        link = present.get(after.target)
        former = before.get(after.target)
        if former and link and link.text in links and _says_the_same(link, after):
            then = replace(former, path=link.path, text=link.text)
            found = replace(found, now=(*found.now, link), then=(*found.then, then))
            continue
        later = [
            each
            for each in history
            if each.id > event.id
            and each.id not in void
            and each.by == "machine"
            and any(one.target == after.target for one in (*each.links, *each.links_before))
        ]
        if later:
            return replace(found, built_on=later[-1])
        found = replace(found, is_edited=True)
    return found


def _says_the_same(one: LinkRecord, other: LinkRecord) -> bool:
    """Whether two records of a link agree, except on its path and text."""
    return replace(one, path=other.path, text=other.text, target=other.target) == other


def reversed_change(change: Change) -> Change:
    """The opposite change."""
    return Change(change.field, change.after, change.before)
