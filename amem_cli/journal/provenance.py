"""Which values of a note are the machine's and which a person's, according to its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.journal.events import Event, LinkRecord


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the machine wrote in a note's metadata.

    Attributes:
        links: records by the target's id or path, also those of a person's commands (see
            `LinkRecord.by`). By target, because a rename rewrites a link's text.
        declined: targets of the machine's links that a person removed or agreed to remove.
        kept: targets of links of which a person undid or rejected a change.
        context: the machine's last context, or None.
    """

    keywords: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    links: Mapping[str, LinkRecord] = field(default_factory=dict)
    declined: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    context: str | None = None

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
    undo of everything since a moment, or of a merge, decides nothing about a single link.
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
        kept |= _links_to_keep(event, counting)
    return Provenance(
        keywords=frozenset(owned["keywords"]),
        tags=frozenset(owned["tags"]),
        links=links,
        declined=frozenset(declined),
        kept=frozenset(kept),
        context=context,
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
