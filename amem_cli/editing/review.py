"""Lets a person decide on the changes of older notes that the machine proposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from amem_cli.errors import AmemError, NotFoundError, Problem, UsageError
from amem_cli.index.draft import (
    FieldValue,
    NoteDraft,
    VaultPorts,
    change_of,
    new_event,
    provenance_of,
)
from amem_cli.index.records import NoteSummary, with_key
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.link_decisions import LinkChange
from amem_cli.journal.proposals import Proposal, value_today
from amem_cli.markdown.tags import normalise_tag
from amem_cli.memory.plan import draft_link_changes, weighed
from amem_cli.models.prompt_text import clean_line
from amem_cli.notes.codec import parse_note
from amem_cli.notes.note import Note

LONGEST_CONTEXT = 400
LONGEST_KEYWORD = 80


@dataclass(frozen=True, slots=True)
class Waiting:
    """A proposal beside the note as it is today.

    Attributes:
        path: where the note is now; where it was if it is gone.
        change: what accepting would do today; None where the proposal no longer fits.
        outdated: why it no longer fits, or empty.
        because: title of the note that gave rise to it.
        link_before, link_after: of a proposal about a link, what the journal says of it today, and
            what it would say; None after where the link would go.
        blocked: why nobody can tell at the moment; it waits until the note can be read again.
    """

    proposal: Proposal
    path: str
    title: str
    because: str
    change: Change | None
    outdated: str = ""
    blocked: str = ""
    link_before: LinkRecord | None = None
    link_after: LinkRecord | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """What became of proposals.

    Attributes:
        outdated: those that no longer fit and were dropped.
        problems: why those that could not be carried out still wait.
    """

    accepted: tuple[Waiting, ...] = ()
    rejected: tuple[Waiting, ...] = ()
    outdated: tuple[Waiting, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __add__(self, other: Decisions) -> Decisions:
        return Decisions(
            self.accepted + other.accepted,
            self.rejected + other.rejected,
            self.outdated + other.outdated,
            self.problems + other.problems,
        )


def waiting(
    ports: VaultPorts, note: str = "", *, problems: list[Problem] | None = None
) -> list[Waiting]:
    """Proposals by note and time.

    Args:
        note: id or path: only proposals for this note, and those that it gave rise to.
        problems: told of proposals that cannot be read.
    """
    found = [_as_of_today(ports, proposal) for proposal in ports.changes.waiting(problems)]
    if note:
        found = [
            each
            for each in found
            if note in (each.proposal.note, each.path, each.proposal.path, each.proposal.trigger)
        ]
    return sorted(found, key=lambda each: (each.path, each.proposal.id))


def chosen(ports: VaultPorts, prefixes: Sequence[str]) -> list[Waiting]:
    """The proposals that the user named by their ids or the beginnings of these.

    Raises:
        NotFoundError: no proposal, or more than one, begins so.
    """
    present = waiting(ports)
    found: dict[str, Waiting] = {}
    for prefix in prefixes:
        same = [each for each in present if prefix and each.proposal.id.startswith(prefix)]
        if len(same) != 1:
            what = "more than one proposal begins with" if same else "no proposal waits as"
            raise NotFoundError(f"{what} {prefix!r}", hint="`amem review` shows their ids.")
        found[same[0].proposal.id] = same[0]
    return list(found.values())


def accept(
    ports: VaultPorts,
    proposals: Sequence[Waiting],
    *,
    edited: Mapping[str, FieldValue] | None = None,
) -> Decisions:
    """Carry proposals out, note by note; one that fails stops no other.

    Args:
        edited: values that the person put in place of the proposed ones, by proposal id; they are
            the person's own from then on.

    Raises:
        UsageError: an edited value cannot stand in its field.
    """
    values = {
        each.proposal.id: _checked(each.proposal.change, edited[each.proposal.id])
        for each in proposals
        if edited and each.proposal.id in edited
    }
    by_note: dict[str, list[Waiting]] = {}
    for each in proposals:
        by_note.setdefault(each.path, []).append(each)
    total = Decisions()
    for path, group in by_note.items():
        try:
            total += _accept_in_note(ports, path, group, values)
        except AmemError as error:
            problem = Problem(path, 0, error.message, error.hint)
            total += Decisions(problems=(problem,))
    return total


def reject(ports: VaultPorts, proposals: Sequence[Waiting]) -> Decisions:
    """Turn proposals down; the same change of the same note is not proposed again.

    What was decided elsewhere meanwhile stays as it was decided.
    """
    with ports.changes.locked():
        still = _still_waiting(ports, proposals)
        events = [_rejection(ports, each, "turned down") for each in still]
        ports.changes.apply([], events, decided=[each.proposal.id for each in still])
        refresh(ports, [])
    return Decisions(rejected=tuple(still))


def _still_waiting(ports: VaultPorts, proposals: Sequence[Waiting]) -> list[Waiting]:
    ids = {proposal.id for proposal in ports.changes.waiting()}
    return [each for each in proposals if each.proposal.id in ids]


def _accept_in_note(
    ports: VaultPorts, path: str, group: Sequence[Waiting], values: Mapping[str, FieldValue]
) -> Decisions:
    with ports.changes.locked():
        # The note may have changed, or somebody may have decided, since the proposals were shown.
        shown = {each.proposal.id: each for each in _still_waiting(ports, group)}
        today = [_as_of_today(ports, each.proposal) for each in shown.values()]
        blocked = {each.proposal.id: each.blocked for each in today if each.blocked}
        for each in today:
            if each.proposal.id in values and _differs(shown[each.proposal.id], each):
                blocked[each.proposal.id] = f"{each.proposal.change.field} changed while you edited"
        fitting = [each for each in today if each.change and each.proposal.id not in blocked]
        outdated = [each for each in today if each.outdated and each.proposal.id not in blocked]
        drafts = [NoteDraft(ports, ports.vault.read(path))] if fitting else []
        accepted = []
        for each in fitting:
            value = values.get(each.proposal.id)
            if _carry_out(ports, drafts[0], each.proposal, value):
                accepted.append(each)
            else:
                outdated.append(replace(each, change=None, outdated="nothing in it is new"))
        writes = [write for draft in drafts for write in draft.write()]
        events = [event for draft in drafts for event in draft.events]
        events += [_rejection(ports, each, each.outdated) for each in outdated]
        decided = [each.proposal.id for each in (*accepted, *outdated)]
        if decided:
            ports.changes.apply(writes, events, decided=decided)
            refresh(ports, [write.path for write in writes])
    problems = tuple(Problem(path, 0, reason) for reason in dict.fromkeys(blocked.values()))
    return Decisions(tuple(accepted), outdated=tuple(outdated), problems=problems)


def _differs(shown: Waiting, today: Waiting) -> bool:
    """Whether what the person saw in the field is no longer what stands there."""
    before = None if shown.change is None else shown.change.before
    return today.change is None or today.change.before != before


def _carry_out(
    ports: VaultPorts, draft: NoteDraft, proposal: Proposal, value: FieldValue | None
) -> bool:
    change = proposal.change
    event = new_event(
        ports,
        "evolve",
        by="machine" if value is None else "person",
        trigger=proposal.trigger,
        cause=proposal.cause,
        reason=proposal.reason,
        model=proposal.model,
        prompt=proposal.prompt,
        review="accepted" if value is None else "edited",
    )
    if proposal.link_change is not None:
        made = draft_link_changes(
            draft, ports.index, [proposal.link_change], partial(replace, event)
        )
        return bool(made)
    owned = provenance_of(ports.index, draft.note.id or draft.path, draft.events)
    today = value_today(change, draft.note, owned) if value is None else value
    if today is None:
        return False
    return draft.change({change.field: today}, event)


def _rejection(ports: VaultPorts, each: Waiting, reason: str) -> Event:
    proposal = each.proposal
    return new_event(
        ports,
        "reject",
        by="person",
        note=proposal.note,
        path=each.path,
        trigger=proposal.trigger,
        cause=proposal.cause,
        reason=reason,
        model=proposal.model,
        prompt=proposal.prompt,
        proposed=(proposal.change,),
        links_before=() if each.link_before is None else (each.link_before,),
    )


def _as_of_today(ports: VaultPorts, proposal: Proposal) -> Waiting:
    because = _title(ports, proposal.trigger)
    same = with_key(ports.index.notes.find(proposal.note), proposal.note) if proposal.note else []
    summary = same[0] if len(same) == 1 else ports.index.notes.summary(proposal.path)
    if summary is None and not proposal.note:
        summary = _renamed(ports, proposal.text_hash)
    if summary is None:
        return Waiting(proposal, proposal.path, proposal.path, because, None, "the note is gone")
    found = Waiting(proposal, summary.path, summary.title, because, None)
    try:
        note = parse_note(summary.path, ports.vault.read(summary.path).raw, ports.names)
    except AmemError as error:
        return replace(found, blocked=error.message)
    if note.refused is not None:
        return replace(found, blocked=f"its front matter: {note.refused.message}")
    return _fitted(ports, found, note)


def _renamed(ports: VaultPorts, text_hash: str) -> NoteSummary | None:
    """The one note without an id that has this text, wherever it is now."""
    same = [
        summary
        for summary in ports.index.notes.summaries()
        if summary.id is None and summary.text_hash == text_hash
    ]
    return same[0] if len(same) == 1 else None


def _fitted(ports: VaultPorts, found: Waiting, note: Note) -> Waiting:
    change = found.proposal.change
    if found.proposal.link_change is not None:
        return _fitted_link(ports, found, note, found.proposal.link_change)
    try:
        _checked(change, change.after)
    except UsageError as error:
        return replace(found, outdated=error.message)
    # By now the note may have an id that it had not when the change was proposed.
    owned = provenance_of(ports.index, note.id or note.path)
    value = value_today(change, note, owned)
    if value is None:
        same = change.field == "context" and note.context != change.after
        why = "you wrote its context since" if same else "nothing in it is new"
        return replace(found, outdated=why)
    return replace(found, change=change_of(note, change.field, value))


def _fitted_link(ports: VaultPorts, found: Waiting, note: Note, change: LinkChange) -> Waiting:
    owned = provenance_of(ports.index, note.id or note.path)
    fitting = list(weighed(ports.index, note, owned, [change]))
    if not fitting:
        return replace(found, outdated="the link is gone, is yours, or says that already")
    if change.reason and clean_line(change.reason, LONGEST_CONTEXT) is None:
        return replace(found, outdated="its reason cannot stand in one line")
    _, before, after = fitting[0]
    texts = [before.text] if after is not None else []
    today = Change("links", [before.text], texts)
    return replace(found, change=today, link_before=before, link_after=after)


def _title(ports: VaultPorts, key: str) -> str:
    same = with_key(ports.index.notes.find(key), key) if key else []
    return same[0].title if len(same) == 1 else key


def _checked(change: Change, value: FieldValue) -> FieldValue:
    """A value that may stand in the field: one clean line each, tags by Obsidian's rules.

    What was there before is nobody's to judge.

    Raises:
        UsageError: it may not.
    """
    if change.field == "links":
        raise UsageError(
            "what becomes of a link cannot be written by hand",
            hint="Accept it or turn it down; `amem link` and `amem unlink` are yours.",
        )
    if change.field == "context":
        line = clean_line(value, LONGEST_CONTEXT) if isinstance(value, str) else None
        if line is None:
            raise UsageError(
                "this cannot be a context", hint="One plain sentence, without markup or links."
            )
        return line
    checked = []
    for item in [] if isinstance(value, str) else value:
        one: str | None = item
        if item not in change.before:
            tag = change.field == "tags"
            one = normalise_tag(item) if tag else clean_line(item, LONGEST_KEYWORD)
        if one is None:
            raise UsageError(f"{item!r} cannot stand in {change.field}")
        checked.append(one)
    return list(dict.fromkeys(checked))
