"""Changes of older links and notes: what a person decided, and what waits for a decision.

Decisions follow from the journal alone, so every machine comes to the same. Nothing here checks
whose a link is: `journal.provenance` says that, and the caller decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from amem_cli.journal.events import Change, Event, LinkRecord, change_from_record, known_fields
from amem_cli.journal.provenance import Provenance, effective_events, provenance
from amem_cli.notes.note import METADATA_FIELDS, RELATIONS, SUPERSEDING, MemoryLink, Note, Relation

# The least strength of a link that a language model makes.
USUAL_MINIMUM = 0.3
# Of one that the analyzer writes, by `evolution.links`; of one that it suggests.
MINIMUM_STRENGTHS = {"careful": 0.85, "usual": 0.75, "eager": 0.6}
SUGGESTED_FROM = 0.12
# Suggestions that a note gets, and that are shown of one.
MOST_SUGGESTED = 5


def link_decisions(events: Sequence[Event]) -> dict[str, bool]:
    """By target (id, or path) whether the owner wants a note's link, by the note's events.

    A link is unwanted if a person deleted it in an editor or by a command, undid the change (not
    everything since a moment, nor a merge), accepted a proposal to remove it, or rejected it as a
    suggestion. It is wanted if a person made it, took it over, or decided in a review that it
    stays. Otherwise nothing was decided.
    """
    owned = provenance(events)
    reviewed = {
        link.target for event in effective_events(events) if event.review for link in event.links
    }
    wanted = (
        target
        for target, link in owned.links.items()
        if link.by == "person" or target in owned.kept or target in reviewed
    )
    return {**dict.fromkeys(owned.declined, False), **dict.fromkeys(wanted, True)}


# Evidence below this does not support a link; far less than what a new link needs, so that a link
# does not come and go with every word.
FLOOR = USUAL_MINIMUM / 2
# What a model says anew changes a strength only by this much or more.
_CLEAR = 0.2
_LEAST_STEP = 0.05


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
    source: str, record: LinkRecord, now: MemoryLink, *, by_analyzer: bool
) -> LinkUpdate | None:
    """How a link changes because its note has a new text; None if it does not.

    Args:
        now: the link that the two texts would make if the two notes were each other's nearest.
            Which notes are nearest changes with the vault, what a text supports does not.
        by_analyzer: the analyzer made the link. A model may see more than words show, so its link
            stays, but for what the text says in so many words.
    """
    change = LinkUpdate(source, now.target)
    if by_analyzer and now.strength < FLOOR:
        reason = "the text as it is now does not bear the link out"
        return replace(change, removed=True, reason=reason)
    stated = now.relation in SUPERSEDING and record.relation == "related"
    if now.relation != record.relation and (by_analyzer or stated):
        return replace(change, relation=now.relation, reason=now.reason)
    return None


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
    relation: Relation | Literal[""] = ""
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
        trigger_text: hash of the text of the note that caused it; empty in proposals of before,
            whose cause is not checked.
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
    trigger_text: str = ""

    @property
    def key(self) -> str:
        """How the journal names the note."""
        return self.note or self.path


def proposal_record(proposal: Proposal) -> dict[str, Any]:
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


def value_today(
    change: Change, note: Note, owned: Provenance, trigger: str
) -> str | list[str] | None:
    """The field's value if the proposal is accepted for the note as it is now.

    Args:
        owned: the machine's values in the note; no others are replaced or dropped.
        trigger: id or path of the note that caused the proposal. What it closed the context with
            since then stays beside what the proposal closes it with.

    Returns:
        None if the proposal no longer applies: a person wrote the context, or nothing is new.
    """
    if change.field == "context":
        context, base = str(change.after), str(change.before).rstrip(" .。")
        now, closing = note.context.rstrip(" .。"), owned.closed_by
        more = context.removeprefix(base)
        stays = closing is not None and closing.trigger == trigger and now.startswith(base)
        # What it closed the context with before may have been taken back.
        is_gone = more.startswith((" —", "—")) and base.startswith(now)
        if context.startswith(base) and more not in now and (stays or is_gone):
            context = with_closing(now, more)
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


def before_closing(
    events: Iterable[Event],
    context: str,
    model: str = "",
    counts: Callable[[Event], bool] = lambda event: True,
) -> tuple[str, str]:
    """What a note's context was before other notes spoke of it, and which one did so last, by its
    id or path; the context as it is, and nothing, if none did.

    Args:
        model: by whom it was changed because of them; all that did if empty.
        counts: whether what the event wrote because of another note is to be taken away.
    """
    before, trigger = context, ""
    for event in reversed(effective_events(events)):
        for change in event.changes:
            is_last = (change.field, change.after) == ("context", before)
            is_closing = is_last and event.kind == "evolve" and model in ("", event.model)
            if is_closing and counts(event):
                before, trigger = str(change.before or ""), trigger or event.trigger
    return before, trigger


def with_closing(context: str, closing: str) -> str:
    """A context with what another note says of its note behind it, or with that alone."""
    base, alone = context.rstrip(" .。"), closing.lstrip(" —")
    if not base:
        return f"{alone[:1].upper()}{alone[1:]}"
    is_behind = alone != closing
    return f"{base}{closing if is_behind else f' — {alone[:1].lower()}{alone[1:]}'}"


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
