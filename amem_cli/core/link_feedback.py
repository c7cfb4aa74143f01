"""What a person's decisions about links teach: which pairs belong together, and how sure the
machine must be before it makes a link.

The decisions are read off the journal alone, so every machine comes to the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.core.link_choice import USUAL_MINIMUM
from amem_cli.core.ownership import effective_events, ownership

if TYPE_CHECKING:
    from amem_cli.core.journal import Change, Event, LinkRecord

# Between these the decisions move the least strength of a link.
LOWEST_MINIMUM = 0.2
HIGHEST_MINIMUM = 0.6
_STEPS = tuple(
    step / 100 for step in range(round(100 * LOWEST_MINIMUM), round(100 * HIGHEST_MINIMUM) + 1, 5)
)
# Of the links that are made, so large a share is to be right; more would cost more right links than
# wrong ones (docs/memory.md). Of weaker ones than usual more, for nobody asked for them.
_WANTED = 0.6
_WANTED_OF_WEAKER = {0.25: 0.85, 0.2: 0.9}
# Beta prior of the share of right links: as if so many had been decided on already.
_PRIOR_KEPT = 7.5
_PRIOR_REMOVED = 2.5
# Fewer removals than these are no sign of a habit.
_LEAST_REMOVALS = 5


@dataclass(frozen=True, slots=True)
class LinkDecision:
    """What a person decided about a link from one note.

    Attributes:
        target: id of the note that it leads to, or its path where it had none.
        judge: name of the model (or of the analyzer) that had made it, whose strengths are
            comparable among each other; empty for a link of the person's own.
        strength: as it was when the link was made.
        kept: the person wants the link; else they removed it.
        event: id of the event by which it was made.
    """

    target: str
    judge: str
    strength: float
    kept: bool
    relation: str = "related"
    reason: str = ""
    event: str = ""


def link_decisions(events: Sequence[Event]) -> list[LinkDecision]:
    """The decisions in the events of one note, oldest first.

    A link is removed where a person took it out, in an editor or by a command, by `undo` of a
    change (not of all since a moment, nor of a merge) or by agreeing to a proposal. It is kept
    where a person made it or made it theirs, did not want it changed, or left it there when they
    took out another, or rewrote the text. Where none of that
    happened nothing was decided.
    """
    owned = ownership(events)
    found: dict[str, LinkDecision] = {}
    for event, link in _made(effective_events(events)):
        kept = link.target in owned.links and (
            link.target in owned.kept
            or owned.links[link.target].by == "person"
            or _was_looked_at(events, event, link.target)
        )
        if kept or link.target in owned.declined:
            by_machine = link.by == "machine"
            found[link.target] = LinkDecision(
                target=link.target,
                judge=event.model if by_machine else "",
                strength=link.strength,
                kept=kept,
                relation=owned.links[link.target].relation if kept else link.relation,
                reason=owned.links[link.target].reason if kept else link.reason,
                event=event.id,
            )
    return list(found.values())


def _made(events: Iterable[Event]) -> list[tuple[Event, LinkRecord]]:
    """The event by which each link was made last, with the record of then.

    Who weighs a link anew, or makes one of the machine's theirs, does not change who judged it, nor
    does a link that follows its note to a new name, which no model did.
    """
    made: dict[str, tuple[Event, LinkRecord]] = {}
    for event in events:
        if event.links_before or event.kind == "undo":
            continue
        for link in event.links:
            if event.model or link.by == "person" or link.target not in made:
                made[link.target] = (event, link)
    return list(made.values())


def _was_looked_at(events: Sequence[Event], made: Event, target: str) -> bool:
    """Whether a person took links out of the note, or was at its text, after a link was made, or
    agreed to a change of it."""
    texts = [each.text_hash for each in events if each.kind == "process" and each.id < made.id]
    for event in events:
        if event.id <= made.id:
            continue
        by_person = event.by == "person" and not event.scope
        if by_person and any(map(_takes_out_links, event.changes)):
            return True
        if event.review and any(link.target == target for link in event.links):
            return True
        if event.kind == "process" and texts and event.text_hash != texts[-1]:
            return True
    return False


def _takes_out_links(change: Change) -> bool:
    return change.field == "links" and not set(change.before or ()) <= set(change.after or ())


def minimum_strength(decisions: Iterable[tuple[float, bool]]) -> float:
    """The least strength of a link that is made, after what a person decided about earlier ones.

    It is the lowest step at which, of the links of that strength or more, enough are expected to
    be right: the mean of a Beta distribution over those that were kept and removed. Each removal
    can only raise it, each kept link only lower it, and the order is of no account.

    Args:
        decisions: strength of a link when it was made, and whether it was kept; of one judge.

    Returns:
        0.2 to 0.6, in steps of 0.05; 0.3 where there is too little to go by.
    """
    decided = list(decisions)
    removals = sum(not kept for _, kept in decided)
    fitting = (step for step in _STEPS if _share(decided, step) >= _wanted(step))
    minimum = next(fitting, HIGHEST_MINIMUM)
    return minimum if removals >= _LEAST_REMOVALS else min(minimum, USUAL_MINIMUM)


def _share(decided: Sequence[tuple[float, bool]], step: float) -> float:
    kept = sum(kept for strength, kept in decided if strength >= step)
    removed = sum(not kept for strength, kept in decided if strength >= step)
    return (_PRIOR_KEPT + kept) / (_PRIOR_KEPT + _PRIOR_REMOVED + kept + removed)


def _wanted(step: float) -> float:
    return _WANTED_OF_WEAKER.get(step, _WANTED)
