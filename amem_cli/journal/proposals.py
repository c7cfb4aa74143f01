"""Changes of older notes that wait for a person's decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from amem_cli.journal.events import Change, Event, change_from_record
from amem_cli.journal.link_decisions import LinkUpdate, link_update_from_record
from amem_cli.notes.note import METADATA_FIELDS, Note

if TYPE_CHECKING:
    from amem_cli.journal.provenance import Provenance


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

    @property
    def key(self) -> str:
        """How the journal names the note."""
        return self.note or self.path


def proposal_record(proposal: Proposal) -> dict[str, Any]:
    """The JSON object of a proposal."""
    record = asdict(proposal)
    if proposal.link_change is None:
        del record["link_change"]
    return record


def proposal_from_record(record: Mapping[str, Any]) -> Proposal:
    """Read a proposal, which may come from somebody else's vault.

    Raises:
        ValueError: it is invalid.
    """
    try:
        values = {item.name: record.get(item.name, "") for item in fields(Proposal)}
        values["change"] = change_from_record(record["change"])
        item = record.get("link_change")
        values["link_change"] = None if item is None else link_update_from_record(item)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a proposal: {error}") from None
    texts = {name: value for name, value in values.items() if not name.endswith("change")}
    if not all(isinstance(value, str) for value in texts.values()):
        raise ValueError("a field is not text")
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
    past = [
        each
        for event in events
        if event.kind == "reject"
        for each in event.proposed
        if each.field == change.field
    ]
    if change.field == "context":
        refused = any(each.after == change.after for each in past)
        return None if refused or change.after == change.before else change
    added = frozenset[str]().union(*(_added_and_dropped(each)[0] for each in past))
    dropped = frozenset[str]().union(*(_added_and_dropped(each)[1] for each in past))
    kept = [item for item in change.before if item in change.after or item in dropped]
    new = [item for item in change.after if item not in change.before and item not in added]
    after = [*kept, *new]
    return Change(change.field, change.before, after) if after != change.before else None


def _added_and_dropped(change: Change) -> tuple[frozenset[str], frozenset[str]]:
    before, after = frozenset(change.before), frozenset(change.after)
    return after - before, before - after
