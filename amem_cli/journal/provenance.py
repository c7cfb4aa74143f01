"""Whose a note's values are, according to its events, and which events can be undone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from amem_cli.journal.events import Change, Event, LinkRecord, follows_a_note
from amem_cli.markdown.links import parse_link
from amem_cli.notes.note import LIST_FIELDS, SUPERSEDING


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the machine wrote in a note's metadata.

    Attributes:
        links: records by the target's id or path, also those of a person's commands (see
            `LinkRecord.by`). By target, because a rename rewrites a link's text.
        declined: targets of the machine's links that a person removed or agreed to remove, and of
            its suggestions that they rejected.
        kept: targets of links of which a person undid or rejected a change.
        context: the machine's last context, or None.
        closed_by: the event by which the words of another note, its `trigger`, closed the context;
            None if the context does not say that the note no longer holds.
    """

    keywords: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    links: Mapping[str, LinkRecord] = field(default_factory=dict)
    declined: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    context: str | None = None
    closed_by: Event | None = None

    def may_replace_context(self, current: str) -> bool:
        """True if there is no context, or if it is the machine's."""
        return not current or current == self.context


def undone_events(events: Iterable[Event]) -> dict[str, str]:
    """Ids of undone events with the ids of the `undo` events.

    To undo an `undo` makes the event count again.
    """
    undone: dict[str, str] = {}
    # From the newest: whether an `undo` counts depends on later ones.
    for event in sorted(events, key=lambda event: event.id, reverse=True):
        if event.kind == "undo" and event.id not in undone:
            undone[event.cause] = event.id
    return undone


def provenance(events: Iterable[Event]) -> Provenance:
    """Fold the events of one note, oldest first.

    What an `undo` put back is the person's; an `undo` that was undone itself does not count. An
    undo of everything since a moment, or of a merge, decides nothing about a single link; nor does
    one by which a person takes back that they kept a suggestion.
    """
    owned: dict[str, set[str]] = {"keywords": set(), "tags": set()}
    links: dict[str, LinkRecord] = {}
    declined: set[str] = set()
    kept: set[str] = set()
    context: str | None = None
    closed_by: Event | None = None
    counting = effective_events(events)
    undone = undone_events(counting)
    reviewed = {event.id for event in counting if event.by == "person" and event.review}
    for event in counting:
        writes = event.by == "machine" and event.kind != "release"
        by_person = (not writes and not event.scope) or bool(event.review)
        if event.kind == "undo" and event.cause in reviewed:
            by_person = False
        if event.kind == "reject" and event.id not in undone:
            declined |= {link.target for link in event.suggested}
        if event.kind == "undo" and not event.scope:
            declined |= {link.target for link in event.confirmed}
        for change in event.changes:
            if change.field in owned:
                before, after = set(change.before or ()), set(change.after or ())
                owned[change.field] -= before - after
                if writes:
                    owned[change.field] |= after - before
            elif change.field == "context":
                closes = event.relation in SUPERSEDING and bool(event.trigger)
                closed_by = event if closes else None
                # Another machine may have seen the note before the journal that explains it.
                if event.kind != "release" or change.before == context:
                    context = change.after if writes else None
            elif change.field == "links":
                gone = set(change.before or ()) - set(change.after or ())
                lost = {key for key, link in links.items() if link.text in gone}
                declined |= lost if by_person else set()
                links = {key: link for key, link in links.items() if key not in lost}
        for link in event.links:
            links[link.target] = link
            declined.discard(link.target)
        kept |= _links_to_keep(event, counting)
    return Provenance(
        keywords=frozenset(owned["keywords"]),
        tags=frozenset(owned["tags"]),
        links=links,
        declined=frozenset(declined),
        kept=frozenset(kept),
        context=context,
        closed_by=closed_by,
    )


def _links_to_keep(event: Event, events: Iterable[Event]) -> set[str]:
    """Targets of links of which a person undid or rejected a change by the machine."""
    if event.kind == "reject":
        return {link.target for link in event.links_before}
    if event.kind != "undo" or event.scope:
        return set()
    return {
        link.target
        for undone in events
        if undone.id == event.cause and undone.by == "machine"
        for link in undone.links_before
    }


def effective_events(events: Iterable[Event]) -> list[Event]:
    """The events without each `undo` that was undone and the `undo` that did it."""
    events = list(events)
    undos = {event.id for event in events if event.kind == "undo"}
    void = {each for pair in undone_events(events).items() if pair[0] in undos for each in pair}
    return [event for event in events if event.id not in void]


def gives_identity(change: Change) -> bool:
    """Whether a change gave a note its id or its date: these stay, whatever is taken back."""
    return change.field == "id" or (change.field == "created" and not change.before)


Key = Callable[[str], str]


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
) -> dict[str, str]:
    """What prevents undoing `event`, by field: the id of a later event that builds on it, or an
    empty text if a person edited the field.

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
    found = {}
    for change in event.changes:
        if not gives_identity(change):
            obstacle = _obstacle(change, counting, (), present.get(change.field), key)
            if obstacle == "":
                obstacle = _obstacle(change, later, skipped, before.get(change.field), key)
            if obstacle is not None:
                found[change.field] = obstacle
    return found


def _obstacle(
    change: Change, later: Sequence[Event], skipped: Collection[str], last: Any, key: Key
) -> str | None:
    same = key if change.field == "links" else str
    value = _comparable(change.after, same)
    built_on = ""
    for event in later:
        for other in event.changes:
            if other.field != change.field:
                continue
            if _comparable(other.before, same) != value:
                return ""
            value = _comparable(other.after, same)
            # Links that only follow renamed notes are as they were.
            if event.id in skipped or (follows_a_note(event) and not _touched(other, same)):
                continue
            if event.by == "person":
                return ""
            if change.field not in LIST_FIELDS or _touched(change, same) & _touched(other, same):
                built_on = built_on or event.id
    if _comparable(last, same) != value:
        return ""
    return built_on or None


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


def weights_before(
    event: Event, history: Sequence[Event], chosen: Collection[str], links: Collection[str]
) -> tuple[list[tuple[LinkRecord, LinkRecord]], Event | None, bool]:
    """What the journal said of links before an event that changed only strength or relation.

    Returns:
        Current and former record of each link that can be restored; a later event by the machine
        that changed one of the links again; whether a person changed or removed one since.
    """
    void = {*undone_events(history), *chosen}
    present = provenance(history).links
    before = {link.target: link for link in event.links_before}
    found: list[tuple[LinkRecord, LinkRecord]] = []
    is_edited = False
    for after in event.links:
        link = present.get(after.target)
        former = before.get(after.target)
        # Without a text it stands in the note's own.
        is_there = link is not None and link.text in ("", *links)
        if former and link and is_there and replace(after, path=link.path, text=link.text) == link:
            found.append((link, replace(former, path=link.path, text=link.text)))
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
            return found, later[-1], is_edited
        is_edited = True
    return found, None, is_edited


def reversed_change(change: Change) -> Change:
    return Change(change.field, change.after, change.before)
