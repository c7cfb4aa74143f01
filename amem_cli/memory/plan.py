"""Drafts changes of links that the machine made earlier: of strength, of relation, or removal.

What one run of the memory process changes, drafted before any of it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError
from amem_cli.index.draft import (
    FieldValue,
    NoteDraft,
    VaultPorts,
    change_of,
    new_event,
    provenance_of,
)
from amem_cli.index.sync import text_hash
from amem_cli.journal.events import Change, Event, LinkRecord, event_id
from amem_cli.journal.link_decisions import Evolution, LinkChange, changed_record
from amem_cli.journal.proposals import Proposal, without_rejected
from amem_cli.journal.provenance import Provenance
from amem_cli.journal.undo_rules import is_worded
from amem_cli.markdown.links import format_link, parse_link
from amem_cli.memory.outcome import (
    ChangedLink,
    EvolvedNote,
    MadeLink,
    ModelUse,
    Outcome,
    Step,
    Thought,
)
from amem_cli.memory.trust import PLAUSIBLE
from amem_cli.notes.names import resolve, shortest_target
from amem_cli.notes.note import METADATA_FIELDS, MemoryLink, Metadata, Note
from amem_cli.vault.port import FileContent

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex

MakeEvent = Callable[..., Event]


def weighed(
    index: MemoryIndex, note: Note, owned: Provenance, changes: Sequence[LinkChange]
) -> Iterator[tuple[LinkChange, LinkRecord, LinkRecord | None]]:
    """The changes of a note's links that may be made, with the records before and after.

    A link that a person made, worded, or wants as it is stays; so does one whose very text stands
    there twice, for nobody can tell whose is whose.

    Yields:
        The record before with the text as it stands in the note now; None after where it goes.
    """
    seen = set()
    for change in changes:
        record = owned_link(index, note, owned, change.target)
        if record is None or record.target in seen or record.target in owned.kept:
            continue
        seen.add(record.target)
        after = changed_record(record, change)
        if after != record:
            yield change, record, after


def owned_link(index: MemoryIndex, note: Note, owned: Provenance, target: str) -> LinkRecord | None:
    """The record of the machine's link from a note to another, as it stands in the note now.

    Args:
        target: path of the other note.
    """
    summary = index.notes.summary(target)
    keys = {target} if summary is None else {summary.key, summary.path}
    for record in owned.links.values():
        if record.by == "machine" and record.target in keys:
            text = _text(index, note, record, target)
            if text is not None:
                return LinkRecord(
                    record.target,
                    target,
                    text,
                    record.relation,
                    record.strength,
                    record.reason,
                )
    return None


def _text(index: MemoryIndex, note: Note, record: LinkRecord, target: str) -> str | None:
    """How the link is written now: a rename may have changed it."""
    if record.text in note.links:
        return record.text if note.links.count(record.text) == 1 else None
    leading = [
        text
        for text in note.links
        if not is_worded(text)
        and (link := parse_link(text)) is not None
        and resolve(link.target, note.path, index.names) == target
    ]
    return leading[0] if len(leading) == 1 else None


def draft_link_changes(
    draft: NoteDraft, index: MemoryIndex, changes: Sequence[LinkChange], event: MakeEvent
) -> list[ChangedLink]:
    """Draft the changes that may be made of a note's links, an event each.

    Args:
        event: makes an event of a reason and further fields.
    """
    note = draft.note
    owned = provenance_of(index, note.id or note.path, draft.events)
    made = []
    for change, before, after in weighed(index, note, owned, changes):
        if after is None:
            links = [text for text in draft.note.links if text != before.text]
            draft.change({"links": links}, event(reason=change.reason, links_before=(before,)))
        else:
            draft.record(event(reason=change.reason, links=(after,), links_before=(before,)))
        summary = index.notes.summary(change.target)
        title = change.target if summary is None else summary.title
        made.append(ChangedLink(note.path, change.target, title, before, after, change.reason))
    return made


Settled = Callable[[FileContent, Note], bool]


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """How far the machine goes.

    Attributes:
        evolve: older notes may change.
        review: what would change in them waits for a person.
        settle_seconds: a note that a person edited is left in peace for so long.
        max_links: most links that the machine adds to a note.
        candidates: how many near notes the model is shown.
        deadline: seconds for one answer of the model.
        trusted: the model is good enough to overrule the analyzer.
        plausible: strength by the evidence, 0..1, from which on its word on a link counts.
        learn: what the owner decided about links counts for others.
    """

    evolve: bool = True
    review: bool = False
    settle_seconds: float = 60.0
    max_links: int = 5
    candidates: int = 8
    deadline: float = 90.0
    trusted: bool = False
    plausible: float = PLAUSIBLE
    learn: bool = True


class ProcessPlan:
    """Drafts, events and proposals of one run, built on the bytes as they are now.

    Args:
        settled: tells of a note that nobody is likely to be editing at this moment.
    """

    def __init__(
        self,
        ports: VaultPorts,
        settings: ProcessSettings,
        settled: Settled,
        content: FileContent,
        thought: Thought,
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._settled = settled
        self._thought = thought
        self.note = NoteDraft(ports, content)
        self.drafts = [self.note]
        self.proposed: list[Proposal] = []
        before = self.note.note
        self._trigger = before.id or before.path
        self._root = new_event(
            self._ports,
            "process",
            path=before.path,
            cause=self._last_event(before),
            model=thought.model,
            text_hash=text_hash(content.raw),
            problems=thought.problems,
            calls=thought.use.calls,
            prompt_tokens=thought.use.prompt_tokens,
            answer_tokens=thought.use.answer_tokens,
            seconds=round(thought.use.seconds, 3),
        )

    def _last_event(self, note: Note) -> str:
        events = self._ports.index.events.read(note.id or note.path, limit=1)
        return events[-1].id if events else ""

    def events(self) -> list[Event]:
        """The events of the run, the cause first."""
        note = self.note.note
        root = replace(self._root, note=note.id or "")
        return [root, *(event for draft in self.drafts for event in draft.events)]

    def made(self) -> Outcome:
        """Draft every step; returns what it comes to."""
        written = self._construct()
        links = self._link()
        changed = [*self._reweigh_own()]
        turned = {each.target for each in changed if _has_turned(each)}
        evolved = self._evolve({link.path for link in links} | turned)
        changed += self._reweigh_neighbours()
        note = self.note.note
        return Outcome(
            path=note.path,
            id=note.id,
            title=note.title,
            metadata=Metadata(note.keywords, note.tags, note.context),
            written=written,
            links=tuple(links),
            changed_links=tuple(changed),
            evolved=tuple(evolved),
            proposed=tuple(self.proposed),
            problems=self._thought.problems,
            model=self._thought.model,
            use=self._thought.use,
        )

    def _event(self, kind: str, step: Step, **values: object) -> Event:
        return new_event(
            self._ports,
            kind,
            trigger=self._trigger,
            cause=self._root.id,
            model=step.model,
            prompt=step.prompt,
            calls=step.use.calls,
            prompt_tokens=step.use.prompt_tokens,
            answer_tokens=step.use.answer_tokens,
            seconds=round(step.use.seconds, 3),
            **values,
        )

    def _construct(self) -> tuple[str, ...]:
        note, step = self.note.note, self._thought.construction
        fields: dict[str, FieldValue] = {
            name: getattr(step.metadata, name)
            for name in METADATA_FIELDS
            if not getattr(note, name) and getattr(step.metadata, name)
        }
        event = self._event("construct", step.step, reason=step.reason, problems=step.problems)
        self.note.change(fields, event)
        return tuple(fields)

    def _link(self) -> list[MadeLink]:
        note, step = self.note.note, self._thought.linking
        present = {self._leads_to(text) for text in note.links}
        made: list[MadeLink] = []
        records: list[LinkRecord] = []
        for link in step.links:
            summary = self._ports.index.notes.summary(link.target)
            if summary is None or link.target in present:
                continue
            text = format_link(shortest_target(link.target, self._ports.index.names))
            records.append(_record(link, summary.key, text))
            made.append(
                MadeLink(
                    summary.key,
                    summary.path,
                    summary.title,
                    link.relation,
                    link.reason,
                    link.strength,
                )
            )
        texts = [record.text for record in records]
        reason = f"linked to {len(texts)} older note{'s' if len(texts) != 1 else ''}"
        event = self._event("link", step.step, reason=reason, links=tuple(records))
        self.note.change({"links": [*note.links, *texts]}, event)
        return made

    def _leads_to(self, text: str) -> str | None:
        parsed = parse_link(text)
        return resolve(parsed.target, self.note.path, self._ports.index.names) if parsed else None

    def _reweigh_own(self) -> list[ChangedLink]:
        path, thought = self.note.path, self._thought
        said = [each for each in thought.linking.link_changes if each.source == path]
        return [
            *self._reweigh(self.note, "link", said, thought.linking.step),
            *self._reweigh(self.note, "link", thought.rejudged, Step()),
        ]

    def _reweigh_neighbours(self) -> list[ChangedLink]:
        """Changes of links of the notes that this one is linked with."""
        said = self._thought.linking.link_changes
        linked = {self._leads_to(text) for text in self.note.note.links} - {self.note.path}
        changed = []
        for source in dict.fromkeys(each.source for each in said if each.source in linked):
            changes = [each for each in said if each.source == source]
            try:
                draft = self._draft_of(source)
                if draft is None:
                    continue
                changed += self._reweigh(draft, "evolve", changes, self._thought.linking.step)
            except AmemError:
                continue
            if draft.events and draft not in self.drafts:
                self.drafts.append(draft)
        return changed

    def _draft_of(self, path: str) -> NoteDraft | None:
        """The draft of an older note; None where somebody may be editing it."""
        for draft in self.drafts:
            if draft.path == path:
                return draft
        draft = NoteDraft(self._ports, self._ports.vault.read(path))
        free = self._settings.review or self._settled(draft.content, draft.note)
        return draft if free else None

    def _reweigh(
        self, draft: NoteDraft, kind: str, changes: Sequence[LinkChange], step: Step
    ) -> list[ChangedLink]:
        if not (changes and self._settings.evolve):
            return []
        index = self._ports.index
        if self._settings.review:
            note = draft.note
            owned = provenance_of(index, note.id or note.path, draft.events)
            for change, before, _ in weighed(index, note, owned, changes):
                self._propose_link_change(note, change, before.text, step)
            return []
        # What the run's own steps cost is told by their own events.
        free = replace(step, use=ModelUse())
        return draft_link_changes(draft, index, changes, partial(self._event, kind, free))

    def _propose_link_change(self, note: Note, change: LinkChange, text: str, step: Step) -> None:
        waiting = (
            each.link_change.target
            for each in self._ports.changes.waiting()
            if each.link_change is not None and each.key in (note.id, note.path)
        )
        if change.target in waiting:
            return
        change_of_list = Change("links", [text], [] if change.removed else [text])
        proposal = self._proposal(note, change_of_list, change.reason, step)
        self.proposed.append(replace(proposal, link_change=change))

    def _evolve(self, linked: Set[str]) -> list[EvolvedNote]:
        evolved = []
        for change in self._thought.linking.evolutions:
            if change.path in linked and self._settings.evolve:
                result = self._evolve_one(change)
                if result is not None:
                    evolved.append(result)
        return evolved

    def _evolve_one(self, change: Evolution) -> EvolvedNote | None:
        try:
            content = self._ports.vault.read(change.path)
            draft = NoteDraft(self._ports, content)
            note = draft.note
            owned = provenance_of(self._ports.index, note.id or note.path)
            fields = self._not_rejected(note, evolved_fields(note, change, owned))
            if self._settings.review:
                self._propose(note, change, fields)
                return None
            if not self._settled(content, note):
                return None
            event = self._event("evolve", self._thought.linking.step, reason=change.reason)
            taken = [each.note.id for each in self.drafts if each.note.id]
            if not draft.change(fields, event, taken=taken):
                return None
        except AmemError:
            # One old note that cannot be changed stops nothing else.
            return None
        self.drafts.append(draft)
        changes = draft.events[0].changes
        return EvolvedNote(draft.note.id, note.path, note.title, changes, change.reason)

    def _not_rejected(self, note: Note, fields: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
        """The fields without what a person turned down before, also before the note had an id."""
        history = self._ports.index.events.read(note.path)
        if note.id:
            history += self._ports.index.events.read(note.id)
        changes = (change_of(note, name, value) for name, value in fields.items())
        wanted = (without_rejected(change, history) for change in changes)
        return {change.field: change.after for change in wanted if change is not None}

    def _propose(self, note: Note, evolution: Evolution, fields: Mapping[str, FieldValue]) -> None:
        step = self._thought.linking.step
        waiting = [
            each.change
            for each in self._ports.changes.waiting()
            if each.key in (note.id, note.path)
        ]
        for name, value in fields.items():
            change = change_of(note, name, value)
            if change in waiting:
                continue
            self.proposed.append(self._proposal(note, change, evolution.reason, step))

    def _proposal(self, note: Note, change: Change, reason: str, step: Step) -> Proposal:
        known = self._ports.index.notes.summary(note.path)
        return Proposal(
            id=event_id(self._ports.clock, self._ports.index.events.newest_id()),
            time=self._ports.clock.now().isoformat(timespec="seconds"),
            note=note.id or "",
            path=note.path,
            trigger=self._trigger,
            cause=self._root.id,
            change=change,
            text_hash=known.text_hash if known is not None else "",
            reason=reason,
            model=step.model,
            prompt=step.prompt,
        )


def _has_turned(link: ChangedLink) -> bool:
    """Whether a link says something else than before, so that its target may evolve."""
    return link.after is not None and link.after.relation != link.before.relation


def evolved_fields(note: Note, change: Evolution, owned: Provenance) -> dict[str, FieldValue]:
    """What of a proposed change the machine may do: add to lists, and replace only its own."""
    fields: dict[str, FieldValue] = {}
    if change.context and owned.may_replace_context(note.context):
        fields["context"] = change.context
    lists = (
        ("keywords", note.keywords, change.keywords_add, change.keywords_drop, owned.keywords),
        ("tags", note.tags, change.tags_add, change.tags_drop, owned.tags),
    )
    for name, present, add, drop, own in lists:
        # To the letter: another spelling beside it is a person's.
        kept = [item for item in present if item not in drop or item not in own]
        known = {item.casefold() for item in present}
        new = [item for item in dict.fromkeys(add) if item.casefold() not in known]
        if len(kept) != len(present) or new:
            fields[name] = [*kept, *new]
    return fields


def _record(link: MemoryLink, target: str, text: str) -> LinkRecord:
    return LinkRecord(target, link.target, text, link.relation, link.strength, link.reason)
