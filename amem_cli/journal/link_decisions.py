"""Changes of older links and notes: what a person decided and waits for, what the machine learns.

Decisions follow from the journal alone, so every machine comes to the same. Nothing here checks
whose a link is: `journal.provenance` says that, and the caller decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from amem_cli.journal.events import (
    FOLLOWS,
    Change,
    Event,
    LinkRecord,
    change_from_record,
    known_fields,
)
from amem_cli.journal.provenance import Provenance, effective_events, provenance
from amem_cli.notes.note import METADATA_FIELDS, RELATIONS, SUPERSEDING, MemoryLink, Note, Relation

# The least strength of a link that a language model makes.
USUAL_MINIMUM = 0.3
# Of one that the analyzer writes, by `evolution.links`; of one that it suggests.
MINIMUM_STRENGTHS = {"careful": 0.85, "usual": 0.75, "eager": 0.6}
SUGGESTED_FROM = 0.12
# Suggestions that a note gets, and that are shown of one.
MOST_SUGGESTED = 5
# Decisions move a minimum by so many steps of 0.05 (down to, up to), but never above 0.95.
_STEPS = (-2, 6)
_HIGHEST = 0.95
# This share of the links made should be right; more would cost more right links than wrong ones
# (docs/memory.md). Of links weaker than usual more should be right, for nobody asked for them.
_RIGHT_SHARE = 0.6
_RIGHT_SHARE_OF_WEAKER = {-1: 0.85, -2: 0.9}
# Beta prior of the share of right links: as if this many had been decided on already.
_PRIOR_KEPT = 7.5
_PRIOR_REMOVED = 2.5
# Fewer removals show no habit.
_LEAST_REMOVALS = 5


@dataclass(frozen=True, slots=True)
class LinkDecision:
    """What a person decided about a link from one note.

    Attributes:
        target: id of the target note, or its path if it had no id.
        judge: name of the model (or of the analyzer) that made the link; only strengths of one
            judge are comparable. Empty for a person's own link.
        strength: when the link was made.
        kept: True if the person wants the link, False if they removed it, or rejected it as a
            suggestion.
        event: id of the event that made the link, or by which a person decided on a suggestion.
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

    A link is removed if a person deleted it in an editor or by a command, undid the change (not
    everything since a moment, nor a merge) or accepted a proposal to remove it. It is kept if a
    person made it or took it over, rejected a change of it, or left it when they deleted another
    link or rewrote the text. Otherwise nothing was decided.
    """
    owned = provenance(events)
    decisions: dict[str, LinkDecision] = {}
    for event, link in _made(effective_events(events)):
        kept = link.target in owned.links and (
            link.target in owned.kept
            or owned.links[link.target].by == "person"
            or _was_reviewed(events, event, link.target)
        )
        if kept or link.target in owned.declined:
            decisions[link.target] = LinkDecision(
                target=link.target,
                judge=event.model,
                strength=link.strength,
                kept=kept,
                relation=owned.links[link.target].relation if kept else link.relation,
                reason=owned.links[link.target].reason if kept else link.reason,
                event=event.id,
            )
    return list(decisions.values())


def _made(events: Iterable[Event]) -> list[tuple[Event, LinkRecord]]:
    """The event that last made each link, with the record in it.

    To change a link's strength, to take one of the machine's over, or to adapt it to a renamed
    note does not change who judged it. A rejected suggestion counts as if it had been made.
    """
    made: dict[str, tuple[Event, LinkRecord]] = {}
    for event in events:
        if event.kind == "reject":
            made |= {link.target: (event, link) for link in event.suggested}
        if event.links_before or event.kind == "undo":
            continue
        is_moved = event.reason.startswith(FOLLOWS)
        for link in event.links:
            by_person = link.by == "person" and not is_moved
            if event.model or by_person or link.target not in made:
                made[link.target] = (event, link)
    return list(made.values())


def _was_reviewed(events: Sequence[Event], made: Event, target: str) -> bool:
    """Whether, after a link was made, a person removed links from the note, edited its text or
    accepted a change of the link."""
    texts = [event.text_hash for event in events if event.kind == "process" and event.id < made.id]
    for event in events:
        if event.id <= made.id:
            continue
        by_person = event.by == "person" and not event.scope
        if by_person and any(map(_removes_links, event.changes)):
            return True
        if event.review and any(link.target == target for link in event.links):
            return True
        if event.kind == "process" and texts and event.text_hash != texts[-1]:
            return True
    return False


def _removes_links(change: Change) -> bool:
    return change.field == "links" and not set(change.before or ()) <= set(change.after or ())


def minimum_strength(
    decisions: Iterable[tuple[float, bool]], usual: float = USUAL_MINIMUM
) -> float:
    """The least strength of a new link, by a person's decisions on earlier ones.

    It is the lowest step at which, of the links of that strength or more, enough are expected to
    be right: the mean of a Beta distribution over those kept and removed. Each removal can only
    raise it, each kept link only lower it, and the order does not matter.

    Args:
        decisions: strength of a link when it was made, and whether it was kept; of one judge.
        usual: the minimum if there are too few decisions.

    Returns:
        `usual` - 0.1 to `usual` + 0.3, at most 0.95, in steps of 0.05.
    """
    steps = {number: round(usual + number / 20, 2) for number in range(_STEPS[0], _STEPS[1] + 1)}
    steps = {number: least for number, least in steps.items() if least <= max(usual, _HIGHEST)}
    # What is weaker than all steps was suggested: whether it is right says nothing of the written.
    decided = [each for each in decisions if each[0] >= min(steps.values())]
    minimum = max(steps.values())
    for number, least in steps.items():
        outcomes = [kept for strength, kept in decided if strength >= least]
        right = (_PRIOR_KEPT + sum(outcomes)) / (_PRIOR_KEPT + _PRIOR_REMOVED + len(outcomes))
        if right >= _RIGHT_SHARE_OF_WEAKER.get(number, _RIGHT_SHARE):
            minimum = least
            break
    removals = sum(not kept for _, kept in decided)
    return minimum if removals >= _LEAST_REMOVALS else min(minimum, usual)


# Evidence below this does not support a link; far less than what a new link needs, so that a link
# does not come and go with every word.
FLOOR = USUAL_MINIMUM / 2
# A smaller difference in strength changes nothing.
_CLEAR = 0.2
_LEAST_STEP = 0.05
# A link is weakened only if its evidence is this many times less than its strength.
_FAR_LESS = 3
_NOT_BORNE_OUT = "the text as it is now does not bear the link out"
_LESS_SAID = "the text as it is now says less for the link"
_MORE_SAID = "the text as it is now says more for the link"


@dataclass(frozen=True, slots=True)
class LinkUpdate:
    """A change of one of the machine's links.

    Attributes:
        source, target: vault-relative paths of the two notes.
        strength: the new one, 0..1; None for no change.
        relation: the new one; None for no change.
        removed: the link is removed; strength and relation are then ignored.
        reason: one sentence.
    """

    source: str
    target: str
    strength: float | None = None
    relation: Relation | None = None
    removed: bool = False
    reason: str = ""


def _link_update(item: Mapping[str, Any]) -> LinkUpdate:
    change = LinkUpdate(**known_fields(LinkUpdate, item))
    strength = change.strength
    is_number = isinstance(strength, (int, float)) and not isinstance(strength, bool)
    if strength is not None and not (is_number and 0 <= strength <= 1):
        raise ValueError("a link's strength is not within 0 and 1")
    if change.relation is not None and change.relation not in RELATIONS:
        raise ValueError("a link's relation is unknown")
    if not isinstance(change.removed, bool):
        raise ValueError("whether a link is removed is unknown")
    return change


def changed_record(record: LinkRecord, change: LinkUpdate) -> LinkRecord | None:
    """The record after the change: None if the link is removed, the same if nothing changes.

    A reason explains a relation, so it changes only with the relation.
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
    """How a link changes because its note has a new text; None if it does not.

    Args:
        alone: the link that the two texts alone would make, without a model.
        at_best: its strength if the two notes were each other's nearest. Which notes are nearest
            changes with the vault, what a text supports does not: so a link gets weaker only if
            its best case is too little, and stronger only if the texts alone are enough.
        by_analyzer: the link's strength comes from the analyzer, so that it can be compared. A
            model may see more than words show: its link is weakened before it is removed.
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
    """The relation, if the text now states another one explicitly, or no longer states it."""
    if record.relation == alone.relation:
        return None
    stated = alone.relation in SUPERSEDING and record.relation == "related"
    return alone.relation if by_analyzer or stated else None


def update_by_model(source: str, record: LinkRecord, said: MemoryLink) -> LinkUpdate | None:
    """How a link changes because a model names it again; None if it says about the same."""
    relation = None if said.relation in ("related", record.relation) else said.relation
    clear = abs(said.strength - record.strength) >= _CLEAR
    if relation is None and not clear:
        return None
    strength = said.strength if clear else None
    return LinkUpdate(source, said.target, strength, relation, reason=said.reason)


@dataclass(frozen=True, slots=True)
class Evolution:
    """A change of an older note because of a new one.

    Attributes:
        path: vault-relative path of the older note.
        context: its new context; None for no change.
        relation: what the new note is to the older one if the context says that this one no longer
            holds: `supersedes` or `contradicts`; else empty.
        waits: a person decides on it in any mode, and no link need lead to the note.
    """

    path: str
    context: str | None = None
    keywords_add: tuple[str, ...] = ()
    keywords_drop: tuple[str, ...] = ()
    tags_add: tuple[str, ...] = ()
    tags_drop: tuple[str, ...] = ()
    reason: str = ""
    relation: str = ""
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """One field of one older note that the machine would change.

    Attributes:
        id: unique, sorts by time; letters and digits only.
        time: ISO 8601 with offset.
        note: id of the note; empty if it has none.
        path: of the note when the change was proposed.
        trigger: id or path of the note that caused the proposal.
        cause: id of the `process` event.
        change: the field before and after.
        text_hash: of the note's text; identifies a note without id after a rename.
        link_change: the change of one of the machine's links; `change` then holds only that
            link's text.
        relation: as in `Evolution`.
    """

    id: str
    time: str
    note: str
    path: str
    trigger: str
    cause: str
    change: Change
    reason: str = ""
    model: str = ""
    prompt: str = ""
    text_hash: str = ""
    link_change: LinkUpdate | None = None
    relation: str = ""

    @property
    def key(self) -> str:
        """How the journal names the note."""
        return self.note or self.path


def proposal_record(proposal: Proposal) -> dict[str, Any]:
    """The JSON object of a proposal."""
    record = asdict(proposal)
    if proposal.link_change is None:
        del record["link_change"]
    if not proposal.relation:
        del record["relation"]
    return record


def proposal_from_record(record: Mapping[str, Any]) -> Proposal:
    """Read a proposal, which may come from somebody else's vault.

    Raises:
        ValueError: it is invalid.
    """
    try:
        values: dict[str, Any] = {item.name: "" for item in fields(Proposal)}
        values |= known_fields(Proposal, record)
        values["change"] = change_from_record(record["change"])
        item = record.get("link_change")
        values["link_change"] = None if item is None else _link_update(item)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a proposal: {error}") from None
    proposal = Proposal(**values)
    if not (proposal.id.isascii() and proposal.id.isalnum()):
        raise ValueError("the id is not plain")
    fitting = METADATA_FIELDS if proposal.link_change is None else ("links",)
    if proposal.change.field not in fitting:
        raise ValueError(f"{proposal.change.field!r} cannot be proposed")
    return proposal


def value_today(change: Change, note: Note, owned: Provenance) -> str | list[str] | None:
    """The field's value if the proposal is accepted for the note as it is now.

    Args:
        owned: the machine's values in the note; no others are replaced or dropped.

    Returns:
        None if the proposal no longer applies: a person wrote the context, or nothing is new.
    """
    if change.field == "context":
        context = str(change.after)
        free = owned.may_replace_context(note.context)
        return context if free and context != note.context else None
    present: tuple[str, ...] = getattr(note, change.field)
    own = owned.keywords if change.field == "keywords" else owned.tags
    dropped = {item for item in change.before if item not in change.after and item in own}
    kept = [item for item in present if item not in dropped]
    known = {item.casefold() for item in present}
    after = [item for item in change.after if item not in change.before]
    result = [*kept, *(item for item in after if item.casefold() not in known)]
    return result if result != list(present) else None


def without_rejected(change: Change, events: Iterable[Event]) -> Change | None:
    """A change without what a person rejected before; None if nothing is left.

    Of a list only added and dropped items count; its other items may have changed since.
    """
    rejected = [each for event in events if event.kind == "reject" for each in event.proposed]
    past = [each for each in rejected if each.field == change.field]
    if change.field == "context":
        refused = any(each.after == change.after for each in past)
        return None if refused or change.after == change.before else change
    added = {item for each in past for item in each.after if item not in each.before}
    dropped = {item for each in past for item in each.before if item not in each.after}
    kept = [item for item in change.before if item in change.after or item in dropped]
    new = [item for item in change.after if item not in change.before and item not in added]
    after = [*kept, *new]
    return Change(change.field, change.before, after) if after != change.before else None
