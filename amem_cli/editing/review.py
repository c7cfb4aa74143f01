"""Review: a person accepts or rejects the changes of older notes that the machine proposes.

A proposal is compared with its note as it is today, which may have changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from amem_cli.analyzer.link_evidence import is_quoted
from amem_cli.analyzer.own_words import own_sentences
from amem_cli.errors import AmemError, NotFoundError, Problem, UsageError
from amem_cli.index.draft import NoteDraft, change_of, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary, with_key
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.link_decisions import Proposal, value_today
from amem_cli.markdown.links import format_link, normalise_tag
from amem_cli.memory.outcome import ANALYZER
from amem_cli.memory.plan import allowed_changes, draft_link_changes, target_of
from amem_cli.models.prompt_text import clean_line
from amem_cli.notes.names import shortest_target
from amem_cli.notes.note import parse_note

LONGEST_CONTEXT = 400
LONGEST_KEYWORD = 80
# A sentence of fewer letters may stand in a quotation by chance.
_SHORTEST_QUOTED = 6


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A proposal, compared with the note as it is today, which may be gone from its path.

    Attributes:
        because: title of the note that caused the proposal.
        change: what accepting would do today; None if the proposal no longer fits (`outdated`).
        lapsed: it no longer fits because of the note that caused it, which may say so again.
        blocked: why the note cannot be read; the proposal waits until it can.
        body: what the note says today.
        link_before, link_after: a link's record of today and the new one; None if it would go.
    """

    proposal: Proposal
    path: str
    title: str
    because: str
    change: Change | None
    outdated: str = ""
    lapsed: bool = False
    blocked: str = ""
    link_before: LinkRecord | None = None
    link_after: LinkRecord | None = None
    body: str = ""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What became of proposals: outdated ones were dropped, problems say why others wait."""

    accepted: tuple[ReviewItem, ...] = ()
    rejected: tuple[ReviewItem, ...] = ()
    outdated: tuple[ReviewItem, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __add__(self, other: Decisions) -> Decisions:
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__slots__)
        return Decisions(*(one + more for one, more in pairs))


def review_items(
    ports: VaultPorts, note: str = "", *, problems: list[Problem] | None = None
) -> list[ReviewItem]:
    """Proposals by note and time; `problems` receives those that cannot be read.

    With `note` (id or path) only those for this note, and those that it caused.
    """
    items = []
    for proposal in ports.changes.waiting(problems):
        item = _compared(ports, proposal)
        causes = (name for each in causes_of(ports, proposal) for name in (each.key, each.path))
        if not note or note in (proposal.note, item.path, proposal.path, *causes):
            items.append(item)
    return sorted(items, key=lambda item: (item.path, item.proposal.id))


def items_named(ports: VaultPorts, prefixes: Sequence[str]) -> list[ReviewItem]:
    """The proposals that begin with what the user typed; `NotFoundError` if not one does each."""
    items = review_items(ports)
    named: dict[str, ReviewItem] = {}
    for prefix in prefixes:
        same = [item for item in items if prefix and item.proposal.id.startswith(prefix)]
        if len(same) != 1:
            what = "more than one proposal begins with" if same else "no proposal waits as"
            raise NotFoundError(f"{what} {prefix!r}", hint="`amem review` shows their ids.")
        named[same[0].proposal.id] = same[0]
    return list(named.values())


def accept(ports: VaultPorts, proposals: Sequence[ReviewItem]) -> Decisions:
    """Carry proposals out, note by note; one that fails stops no other."""
    by_note: dict[str, list[ReviewItem]] = {}
    for item in proposals:
        by_note.setdefault(item.path, []).append(item)
    total = Decisions()
    for path, items in by_note.items():
        try:
            total += _accept_in_note(ports, path, items)
        except AmemError as error:
            total += Decisions(problems=(Problem(path, 0, error.message, error.hint),))
    return total


def reject(ports: VaultPorts, proposals: Sequence[ReviewItem]) -> Decisions:
    """Turn proposals down; the same change of the same note is not proposed again, nor another
    context because of the same note, as long as both have the texts that they have now.

    What was decided elsewhere meanwhile stays as it was decided.
    """
    with ports.changes.locked():
        undecided = _undecided(ports, proposals)
        events = []
        for item in undecided:
            summary = ports.index.notes.summary(item.path)
            seen = "" if summary is None else summary.text_hash
            events.append(replace(_rejection(ports, item, "turned down"), text_hash=seen))
        ports.changes.apply([], events, decided=[item.proposal.id for item in undecided])
        refresh(ports, [])
    return Decisions(rejected=tuple(undecided))


def _undecided(ports: VaultPorts, items: Sequence[ReviewItem]) -> list[ReviewItem]:
    ids = {proposal.id for proposal in ports.changes.waiting()}
    return [item for item in items if item.proposal.id in ids]


def _accept_in_note(ports: VaultPorts, path: str, items: Sequence[ReviewItem]) -> Decisions:
    accepted: list[ReviewItem] = []
    outdated: list[ReviewItem] = []
    # A dict, as many proposals of one note are blocked for one reason.
    blocked: dict[str, None] = {}
    with ports.changes.locked():
        drafts: dict[str, NoteDraft] = {}
        # The note may have changed, or somebody may have decided, since the proposals were shown.
        for shown in _undecided(ports, items):
            item = _compared(ports, shown.proposal)
            if item.blocked:
                blocked[item.blocked] = None
            elif item.outdated:
                outdated.append(item)
            else:
                draft = _draft_of(ports, drafts, path)
                if _carry_out(ports, draft, item.proposal):
                    accepted.append(item)
                    if item.proposal.relation:
                        # A newer note that cannot be written stops nothing: the context tells.
                        with suppress(AmemError):
                            _state_relation(ports, drafts, path, item.proposal)
                else:
                    # Another proposal of this round has said it already.
                    outdated.append(replace(item, change=None, outdated="nothing in it is new"))
        writes = [write for draft in drafts.values() for write in draft.write()]
        events = [
            *(event for draft in drafts.values() for event in draft.events),
            *(_rejection(ports, item, item.outdated) for item in outdated),
        ]
        decided = [item.proposal.id for item in (*accepted, *outdated)]
        if decided:
            ports.changes.apply(writes, events, decided=decided)
            refresh(ports, [write.path for write in writes])
    problems = tuple(Problem(path, 0, reason) for reason in blocked)
    return Decisions(tuple(accepted), outdated=tuple(outdated), problems=problems)


def _draft_of(ports: VaultPorts, drafts: dict[str, NoteDraft], path: str) -> NoteDraft:
    if path not in drafts:
        drafts[path] = NoteDraft(ports, ports.vault.read(path))
    return drafts[path]


def _state_relation(
    ports: VaultPorts, drafts: dict[str, NoteDraft], path: str, proposal: Proposal
) -> None:
    """Have the link from the note that caused an accepted change to the changed one say that it
    supersedes or contradicts it; make the link if there is none, in the text neither.

    A relation that a person gave stays. To undo the change takes this back as well.
    """
    causes, older = causes_of(ports, proposal), ports.index.notes.summary(path)
    if len(causes) != 1 or older is None or causes[0].path == path:
        return
    (newer,) = causes
    draft, (*_, accepted) = _draft_of(ports, drafts, newer.path), drafts[path].events
    texts = [
        text for text in draft.note.links if target_of(text, newer.path, ports.index) == older.path
    ]
    owned = provenance_of(ports.index, newer.key, draft.events)
    records = (owned.links.get(key) for key in (older.key, older.path))
    is_linked = bool(texts) or path in ports.index.link_history.linked_by_person(newer.path)
    text = "" if is_linked else format_link(shortest_target(path, ports.index.names))
    text, by = (texts or [text])[0], "person" if is_linked else "machine"
    unknown = LinkRecord(older.key, path, text, "related", 1.0, "", by)
    before = next(filter(None, records), unknown) if is_linked else unknown
    if before.by == "person" and before.relation != "related":
        return
    after = replace(before, relation=proposal.relation, reason=proposal.reason)
    event = _decision(ports, "link", proposal, by="machine", reason=proposal.reason)
    event = replace(event, cause=accepted.id, review="accepted", links=(after,))
    if not is_linked:
        draft.change({"links": [*draft.note.links, text]}, event)
    elif after != before:
        draft.record(replace(event, links_before=(before,)))


def _carry_out(ports: VaultPorts, draft: NoteDraft, proposal: Proposal) -> bool:
    why = {"reason": proposal.reason, "relation": proposal.relation, "review": "accepted"}
    event = _decision(ports, "evolve", proposal, by="machine", **why)
    if proposal.link_change is not None:
        changes = [proposal.link_change]
        return bool(draft_link_changes(draft, ports.index, changes, partial(replace, event)))
    owned = provenance_of(ports.index, draft.note.id or draft.path, draft.events)
    value = value_today(proposal.change, draft.note, owned, proposal.trigger)
    return value is not None and draft.change({proposal.change.field: value}, event)


def _rejection(ports: VaultPorts, item: ReviewItem, reason: str) -> Event:
    proposal = item.proposal
    before = () if item.link_before is None else (item.link_before,)
    event = _decision(ports, "reject", proposal, by="person", reason=reason, links_before=before)
    # What is said again is proposed again.
    proposed = () if item.lapsed else (proposal.change,)
    return replace(event, note=proposal.note, path=item.path, proposed=proposed)


def _decision(ports: VaultPorts, kind: str, proposal: Proposal, **values: Any) -> Event:
    cause = {name: getattr(proposal, name) for name in ("trigger", "cause", "model", "prompt")}
    return new_event(ports, kind, **cause, **values)


def _compared(ports: VaultPorts, proposal: Proposal) -> ReviewItem:
    """The proposal beside the note as it is now, wherever that is."""
    causes = causes_of(ports, proposal)
    because = causes[0].title if causes else proposal.trigger
    summary = _note_by_key(ports, proposal.note) or ports.index.notes.summary(proposal.path)
    if summary is None and not proposal.note:
        # A note without an id that was renamed is known by its text.
        same = [each for each in _with_text(ports, proposal.text_hash) if each.id is None]
        summary = same[0] if len(same) == 1 else None
    if summary is None:
        return ReviewItem(proposal, proposal.path, proposal.path, because, None, "the note is gone")
    item = ReviewItem(proposal, summary.path, summary.title, because, None)
    if proposal.trigger_text and not any(says_still(ports, each, proposal) for each in causes):
        why = f"“{because}” no longer says so" if causes else f"“{because}” is gone"
        return replace(item, outdated=why, lapsed=True)
    try:
        note = parse_note(summary.path, ports.vault.read(summary.path).raw, ports.names)
    except AmemError as error:
        return replace(item, blocked=error.message)
    if note.refused is not None:
        return replace(item, blocked=f"its front matter: {note.refused.message}")
    item = replace(item, body=note.body)
    # By now the note may have an id that it had not when the change was proposed.
    owned = provenance_of(ports.index, note.id or note.path)
    change, link_change = proposal.change, proposal.link_change
    if link_change is not None:
        updates = list(allowed_changes(ports.index, note, owned, [link_change]))
        if not updates:
            return replace(item, outdated="the link is gone, is yours, or says that already")
        if link_change.reason and clean_line(link_change.reason, LONGEST_CONTEXT) is None:
            return replace(item, outdated="its reason does not fit in one line")
        _, before, after = updates[0]
        change = Change("links", [before.text], [] if after is None else [before.text])
        return replace(item, change=change, link_before=before, link_after=after)
    try:
        _refuse_invalid(change)
    except UsageError as error:
        return replace(item, outdated=error.message)
    value = value_today(change, note, owned, proposal.trigger)
    if value is None:
        is_persons = change.field == "context" and note.context != change.after
        why = "you wrote its context since" if is_persons else "nothing in it is new"
        return replace(item, outdated=why)
    return replace(item, change=change_of(note, change.field, value))


def _note_by_key(ports: VaultPorts, key: str) -> NoteSummary | None:
    same = with_key(ports.index.notes.find(key), key) if key else []
    return same[0] if len(same) == 1 else None


def _with_text(ports: VaultPorts, text_hash: str) -> list[NoteSummary]:
    summaries = ports.index.notes.summaries() if text_hash else []
    return [each for each in summaries if each.text_hash == text_hash]


def causes_of(ports: VaultPorts, proposal: Proposal) -> list[NoteSummary]:
    """The notes that may have caused a proposal: more than one if it was copied since, none if it
    is gone. Without an id it is known by its text, and by its path if that has changed."""
    key, text = proposal.trigger, proposal.trigger_text
    named = with_key(ports.index.notes.find(key), key) if key else []
    same = [each for each in named if each.text_hash == text]
    if not same and all(each.path == key for each in named):
        same = _with_text(ports, text)
    return same or named


def says_still(ports: VaultPorts, cause: NoteSummary, proposal: Proposal) -> bool:
    """Whether a note that caused a proposal has the text of then, or says still what the analyzer
    quoted of it; of what a language model proposed this cannot be told."""
    change = proposal.change
    is_quotation = proposal.model == ANALYZER and change.field == "context"
    if proposal.trigger_text in ("", cause.text_hash) or not is_quotation:
        return True
    try:
        note = parse_note(cause.path, ports.vault.read(cause.path).raw, ports.names)
    except AmemError:
        return True
    closing = str(change.after).removeprefix(str(change.before).rstrip(" .。"))
    # A date alone, such as the title of a daily note, stands in every closing.
    said = (each.text for each in own_sentences(note) if any(map(str.isalpha, each.text)))
    return f"“{cause.title}”" in closing or any(
        len(each) >= _SHORTEST_QUOTED and is_quoted(each, closing) for each in said
    )


def _refuse_invalid(change: Change) -> None:
    """`UsageError` if the field cannot hold the value; the file of a proposal may be damaged."""
    value = change.after
    if change.field == "links":
        raise UsageError("a proposal about a link lacks the link")
    if change.field == "context":
        if not isinstance(value, str) or clean_line(value, LONGEST_CONTEXT) is None:
            raise UsageError("this cannot be a context")
        return
    for text in () if isinstance(value, str) else value:
        is_tag = change.field == "tags"
        clean = normalise_tag(text) if is_tag else clean_line(text, LONGEST_KEYWORD)
        if clean is None and text not in change.before:
            raise UsageError(f"{text!r} is not valid in {change.field}")
