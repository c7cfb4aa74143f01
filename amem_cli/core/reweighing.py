"""How a link that the machine made changes over time: it gets stronger, weaker, another relation,
or goes.

Nothing here knows who owns a link; whether a change may be made is decided where it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from amem_cli.core.index_records import SUPERSEDING
from amem_cli.core.journal import LinkRecord
from amem_cli.core.link_choice import USUAL_MINIMUM
from amem_cli.core.note import RELATIONS, MemoryLink, Relation

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
class LinkChange:
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


def link_change_from_record(item: Mapping[str, Any]) -> LinkChange:
    """Read a change that was stored as JSON.

    Raises:
        ValueError, TypeError: it is none.
    """
    known = {each.name: item[each.name] for each in fields(LinkChange) if each.name in item}
    change = LinkChange(**known)
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


def changed_record(record: LinkRecord, change: LinkChange) -> LinkRecord | None:
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


def judged_by_text(
    source: str, record: LinkRecord, alone: MemoryLink, at_best: float, *, by_analyzer: bool
) -> LinkChange | None:
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
    change = LinkChange(source, alone.target)
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


def restated(source: str, record: LinkRecord, said: MemoryLink) -> LinkChange | None:
    """What a model that names a link again changes in it; None where it says about the same."""
    relation = None if said.relation in ("related", record.relation) else said.relation
    clear = abs(said.strength - record.strength) >= _CLEAR
    if relation is None and not clear:
        return None
    strength = said.strength if clear else None
    return LinkChange(source, said.target, strength, relation, reason=said.reason)
