"""How strong a link must be.

What a person's decisions about links teach: which pairs belong together, and how sure the
machine must be before it makes a link. The decisions are read off the journal alone, so every
machine comes to the same.
How a link that the machine made changes over time: it gets stronger, weaker, another relation,
or goes. Nothing here knows who owns a link; whether a change may be made is decided where it is
made.
A change of an older note that a new one calls for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from amem_cli.journal.events import LinkRecord
from amem_cli.journal.ownership import effective_events, ownership
from amem_cli.notes.note import RELATIONS, SUPERSEDING, MemoryLink, Relation

if TYPE_CHECKING:
    from amem_cli.journal.events import Change, Event

USUAL_MINIMUM = 0.3


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


# Evidence below this does not bear a link out; half of what is needed to make one, so that a link
# does not come and go with every word.
FLOOR = USUAL_MINIMUM / 2
# Strengths nearer to each other than this say the same.
_CLEAR = 0.2
_LEAST_STEP = 0.05
# A link is as good as its evidence unless that is so many times less.
_FAR_LESS = 3
_NOT_BORNE_OUT = "the text as it is now does not bear the link out"
_LESS_SAID = "the text as it is now says less for the link"
_MORE_SAID = "the text as it is now says more for the link"


@dataclass(frozen=True, slots=True)
class LinkUpdate:
    """A change of a link that the machine made earlier.

    Attributes:
        source: vault-relative path of the note that has the link.
        target: vault-relative path of the note that it leads to.
        strength: the new one, 0..1; None where it stays.
        relation: the new one; None where it stays.
        removed: the link goes; strength and relation say nothing then.
        reason: why it changes, in one sentence.
    """

    source: str
    target: str
    strength: float | None = None
    relation: Relation | None = None
    removed: bool = False
    reason: str = ""


def link_update_from_record(item: Mapping[str, Any]) -> LinkUpdate:
    """Read a change that was stored as JSON.

    Raises:
        ValueError, TypeError: it is none.
    """
    known = {each.name: item[each.name] for each in fields(LinkUpdate) if each.name in item}
    change = LinkUpdate(**known)
    strength = change.strength
    if strength is not None and (
        isinstance(strength, bool)
        or not isinstance(strength, (int, float))
        or not 0 <= strength <= 1
    ):
        raise ValueError("a link's strength is not within 0 and 1")
    if change.relation is not None and change.relation not in RELATIONS:
        raise ValueError("a link's relation is unknown")
    if not isinstance(change.removed, bool):
        raise ValueError("whether a link goes is not told")
    if not all(isinstance(text, str) for text in (change.source, change.target, change.reason)):
        raise ValueError("a link's field is not text")
    return change


def changed_record(record: LinkRecord, change: LinkUpdate) -> LinkRecord | None:
    """The record as the change leaves it: None where the link goes, the same where nothing does.

    A reason belongs to a relation, so it changes only with that.
    """
    if change.removed:
        return None
    relation = change.relation or record.relation
    strength = record.strength if change.strength is None else round(change.strength, 2)
    if relation == record.relation and abs(strength - record.strength) < _LEAST_STEP:
        return record
    said = change.reason if relation != record.relation and change.reason else record.reason
    return replace(record, relation=relation, strength=strength, reason=said)


def update_by_text(
    source: str, record: LinkRecord, alone: MemoryLink, at_best: float, *, by_analyzer: bool
) -> LinkUpdate | None:
    """What a new text of the note that has the link changes in it; None where it stands.

    Args:
        alone: the link as the two texts by themselves would make it, without a model.
        at_best: its strength if the two notes were each other's nearest, among all that is near.
            Which notes are nearest changes with the vault, what a text bears out does not: so a
            link gets weaker only where all that could speak for it is too little, and stronger
            only where the texts alone are enough.
        by_analyzer: the link's strength is the analyzer's own, so that it can be compared. A model
            may have seen more than words tell: its link is weakened before it goes.
    """
    change = LinkUpdate(source, alone.target)
    if at_best < FLOOR:
        if by_analyzer or record.strength < FLOOR:
            return replace(change, removed=True, reason=_NOT_BORNE_OUT)
        return replace(change, strength=round(at_best, 2), reason=_NOT_BORNE_OUT)
    relation = _relation_by_text(record, alone, by_analyzer=by_analyzer)
    if relation is not None:
        return replace(change, relation=relation, reason=alone.reason)
    if by_analyzer and _FAR_LESS * at_best <= record.strength:
        return replace(change, strength=round(at_best, 2), reason=_LESS_SAID)
    if by_analyzer and alone.strength >= record.strength + _CLEAR:
        return replace(change, strength=alone.strength, reason=_MORE_SAID)
    return None


def _relation_by_text(
    record: LinkRecord, alone: MemoryLink, *, by_analyzer: bool
) -> Relation | None:
    """A relation that the text says in so many words, or says no longer."""
    if record.relation == alone.relation:
        return None
    if alone.relation in SUPERSEDING and (by_analyzer or record.relation == "related"):
        return alone.relation
    if by_analyzer and record.relation in SUPERSEDING:
        return alone.relation
    return None


def update_by_model(source: str, record: LinkRecord, said: MemoryLink) -> LinkUpdate | None:
    """What a model that names a link again changes in it; None where it says about the same."""
    relation = None if said.relation in ("related", record.relation) else said.relation
    clear = abs(said.strength - record.strength) >= _CLEAR
    if relation is None and not clear:
        return None
    strength = said.strength if clear else None
    return LinkUpdate(source, said.target, strength, relation, reason=said.reason)


@dataclass(frozen=True, slots=True)
class Evolution:
    """A change of an older note that the new one calls for.

    Attributes:
        path: vault-relative path of the older note.
        context: its new context, or None where it stays.
    """

    path: str
    context: str | None = None
    keywords_add: tuple[str, ...] = ()
    keywords_drop: tuple[str, ...] = ()
    tags_add: tuple[str, ...] = ()
    tags_drop: tuple[str, ...] = ()
    reason: str = ""
