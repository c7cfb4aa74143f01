"""Who owns what in a note, by its journal events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.journal.events import Event, LinkRecord


@dataclass(frozen=True, slots=True)
class Ownership:
    """What in a note's metadata the machine wrote, by the journal.

    Attributes:
        links: records by the target's id or path, those of a person's commands too (see
            `LinkRecord.by`); a link's text may have been rewritten by a rename, so the target
            decides.
        declined: targets of links that the machine made and a person removed, or agreed to remove.
        kept: targets of links that a person wants as they are: a change was taken back or turned
            down.
        context: the machine's last context, or None.
    """

    keywords: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    links: Mapping[str, LinkRecord] = field(default_factory=dict)
    declined: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    context: str | None = None

    def may_replace_context(self, current: str) -> bool:
        """A context may be replaced where there is none, or where it is the machine's own."""
        return not current or current == self.context


def undone_events(events: Iterable[Event]) -> dict[str, str]:
    """Ids of events that are taken back, with the ids of the `undo` events that did it.

    Taking back an `undo` makes the event count again.
    """
    found: dict[str, str] = {}
    void: set[str] = set()
    for event in sorted(events, key=lambda each: each.id, reverse=True):
        if event.kind == "undo" and event.id not in void:
            found[event.cause] = event.id
            void.add(event.cause)
    return found


def ownership(events: Iterable[Event]) -> Ownership:
    """Fold the events of one note, oldest first, into what the machine owns of it.

    What an `undo` put back is the person's; an `undo` that was taken back itself does not count.
    One of all since a moment, or of a merge, is no word on any one link.
    """
    owned: dict[str, set[str]] = {"keywords": set(), "tags": set()}
    links: dict[str, LinkRecord] = {}
    declined: set[str] = set()
    kept: set[str] = set()
    context: str | None = None
    counting = effective_events(events)
    for event in counting:
        writes = event.by == "machine" and event.kind != "release"
        by_person = (not writes and not event.scope) or bool(event.review)
        for change in event.changes:
            if change.field in owned:
                before, after = set(change.before or ()), set(change.after or ())
                owned[change.field] -= before - after
                if writes:
                    owned[change.field] |= after - before
            elif change.field == "context":
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
        kept |= _wanted_as_they_were(event, counting)
    return Ownership(
        keywords=frozenset(owned["keywords"]),
        tags=frozenset(owned["tags"]),
        links=links,
        declined=frozenset(declined),
        kept=frozenset(kept),
        context=context,
    )


def _wanted_as_they_were(event: Event, events: Iterable[Event]) -> set[str]:
    """Targets of links of which a person took back, or turned down, a change by the machine."""
    if event.kind == "reject":
        return {link.target for link in event.links_before}
    if event.kind != "undo" or event.scope:
        return set()
    return {
        link.target
        for taken_back in events
        if taken_back.id == event.cause and taken_back.by == "machine"
        for link in taken_back.links_before
    }


def effective_events(events: Iterable[Event]) -> list[Event]:
    """The events without pairs of an `undo` and the `undo` that took it back."""
    events = list(events)
    undos = {event.id for event in events if event.kind == "undo"}
    if not undos:
        return events
    pairs = {first: second for first, second in undone_events(events).items() if first in undos}
    void = {*pairs, *pairs.values()}
    return [event for event in events if event.id not in void]
