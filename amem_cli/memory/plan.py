"""What one run of the memory process changes, drafted before any of it is written.

Here a proposed change meets what a person wrote: only the machine's own values and links change,
and in review mode a change of an older note becomes a proposal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from amem_cli.errors import AmemError
from amem_cli.index.draft import FieldValue, NoteDraft, change_of, new_event, provenance_of
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.sync import text_hash
from amem_cli.journal.events import Change, Event, LinkRecord, event_id
from amem_cli.journal.link_decisions import (
    MOST_SUGGESTED,
    Evolution,
    LinkUpdate,
    Proposal,
    changed_record,
    without_rejected,
)
from amem_cli.journal.provenance import Provenance, is_worded, provenance
from amem_cli.markdown.links import format_link, parse_link
from amem_cli.memory.outcome import (
    ChangedLink,
    EvolvedNote,
    ModelUse,
    NewLink,
    NoteAnalysis,
    Outcome,
    ProcessSettings,
    Step,
)
from amem_cli.memory.outdated import text_sketch
from amem_cli.notes.names import resolve, shortest_target
from amem_cli.notes.note import METADATA_FIELDS, MemoryLink, Metadata, Note
from amem_cli.vault.file_state import FileContent

MakeEvent = Callable[..., Event]


def allowed_changes(
    index: MemoryIndex, note: Note, owned: Provenance, changes: Sequence[LinkUpdate]
) -> Iterator[tuple[LinkUpdate, LinkRecord, LinkRecord | None]]:
    """The changes of a note's links that may be made, with the records before (with the text as it
    is in the note now) and after (None if the link goes).

    A link that a person made, worded, or wants as it is stays; so does one whose very text is in
    the note twice, for nobody can tell whose is whose.
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
    """The record of the machine's link from a note to another (by path), as it is in it now."""
    summary = index.notes.summary(target)
    keys = {target} if summary is None else {summary.key, summary.path}
    for record in owned.links.values():
        if record.by == "machine" and record.target in keys:
            # A rename may have changed how the link is written.
            texts = [text for text in note.links if text == record.text] or [
                text
                for text in note.links
                if not is_worded(text) and target_of(text, note.path, index) == target
            ]
            if len(texts) == 1:
                return replace(record, path=target, text=texts[0])
    return None


def target_of(text: str, source: str, index: MemoryIndex) -> str | None:
    """Path of the note that a link in another (by path) leads to; None if it leads to none."""
    link = parse_link(text)
    return resolve(link.target, source, index.names) if link is not None else None


def draft_link_changes(
    draft: NoteDraft, index: MemoryIndex, changes: Sequence[LinkUpdate], event: MakeEvent
) -> list[ChangedLink]:
    """Draft the allowed changes of a note's links, one event each, made from its fields."""
    note = draft.note
    owned = provenance_of(index, note.id or note.path, draft.events)
    made = []
    for change, before, after in allowed_changes(index, note, owned, changes):
        if after is None:
            links = [text for text in draft.note.links if text != before.text]
            draft.change({"links": links}, event(reason=change.reason, links_before=(before,)))
        else:
            draft.record(event(reason=change.reason, links=(after,), links_before=(before,)))
        summary = index.notes.summary(change.target)
        title = change.target if summary is None else summary.title
        made.append(ChangedLink(note.path, change.target, title, before, after, change.reason))
    return made


class ProcessPlan:
    """Drafts, events and proposals of one run, built on the bytes as they are now.

    Args:
        is_settled: whether nobody is likely to be editing a note at this moment.
        again: older notes that the note was linked to before change as well.
        is_new: the note is taken as if it were new, so that nothing waits because of it.
    """

    def __init__(
        self,
        ports: VaultPorts,
        settings: ProcessSettings,
        is_settled: Callable[[FileContent, Note], bool],
        content: FileContent,
        analysis: NoteAnalysis,
        *,
        again: bool = False,
        is_new: bool = False,
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._is_settled = is_settled
        self._analysis = analysis
        self._again = again
        self._is_new = is_new
        self.note = NoteDraft(ports, content)
        self.drafts = [self.note]
        self.proposed: list[Proposal] = []
        self._suggested: list[LinkRecord] = []
        self._confirmed: list[LinkRecord] = []
        self._by_person = ports.index.link_history.linked_by_person(content.state.path)
        before = self.note.note
        self._key = before.id or before.path
        events = ports.index.events.read(self._key, limit=1)
        self._root = new_event(
            ports,
            "process",
            path=before.path,
            cause=events[-1].id if events else "",
            model=analysis.model,
            prompt=analysis.prompt,
            text_hash=text_hash(content.raw),
            sketch=text_sketch(before.body),
            waits_for=analysis.waits_for,
            problems=analysis.problems,
            **_costs(analysis.use),
        )

    def events(self) -> list[Event]:
        """The events of the run, the cause first."""
        note = self.note.note
        root = replace(self._root, note=note.id or "", suggested=tuple(self._suggested))
        root = replace(root, confirmed=tuple(self._confirmed))
        return [root, *(event for draft in self.drafts for event in draft.events)]

    def draft(self) -> Outcome:
        """Draft every step, and return what the process would have done."""
        written = self._describe()
        known = self._relations_known()
        left = self._leave_to_person()
        linking, path = self._analysis.linking, self.note.path
        # In any mode, as if the judge had been asked at once.
        free = partial(self._event, "link", replace(linking.step, use=ModelUse()))
        index, provisional = self._ports.index, linking.provisional_changes
        judged = draft_link_changes(self.note, index, provisional, free)
        links, confirmed = self._link()
        suggested = self._suggest()
        own = [update for update in linking.link_changes if update.source == path]
        changed = [
            *left,
            *judged,
            *self._update_links(self.note, "link", own, linking.step),
            *self._update_links(self.note, "link", self._analysis.updates_by_text, Step()),
        ]
        # A link that says something else than before may change its target as a new one does.
        turned = {
            link.target
            for link in changed
            if link.after is not None and link.after.relation != link.before.relation
        }
        turned |= {link.path for link in confirmed if (link.target, link.relation) not in known}
        named = {link.target for link in linking.links} if self._again else set()
        evolved = self._evolve({link.path for link in links} | turned | named)
        changed += self._update_neighbours_links()
        note = self.note.note
        return Outcome(
            path=note.path,
            id=note.id,
            title=note.title,
            metadata=Metadata(note.keywords, note.tags, note.context),
            written=written,
            links=tuple(links),
            confirmed=tuple(confirmed),
            suggested=tuple(suggested),
            changed_links=tuple(changed),
            evolved=tuple(evolved),
            proposed=tuple(self.proposed),
            pending=bool(self._analysis.waits_for),
            problems=self._analysis.problems,
            model=self._analysis.model,
            use=self._analysis.use,
        )

    @property
    def _trigger(self) -> str:
        """How others know the note from now on: it may get its id in this run."""
        return self.note.note.id or self.note.path

    def _event(self, kind: str, step: Step, **values: object) -> Event:
        return new_event(
            self._ports,
            kind,
            trigger=self._trigger,
            cause=self._root.id,
            model=step.model,
            prompt=step.prompt,
            **_costs(step.use),
            **values,
        )

    def _describe(self) -> tuple[str, ...]:
        note, step = self.note.note, self._analysis.description
        fields: dict[str, FieldValue] = {
            name: value
            for name in METADATA_FIELDS
            for value in (getattr(step.metadata, name),)
            if name in step.replaces or (value and not getattr(note, name))
        }
        event = self._event("construct", step.step, reason=step.reason, problems=step.problems)
        self.note.change(fields, event)
        return tuple(fields)

    def _relations_known(self) -> set[tuple[str, str]]:
        """Target and relation of what the machine linked or confirmed before."""
        events = self._ports.index.events.read(self._key)
        links = [link for link in provenance(events).links.values() if link.by == "machine"]
        for event in [each for each in events if each.kind == "process"][-1:]:
            links += event.confirmed
        return {(link.target, link.relation) for link in links}

    def _leave_to_person(self) -> list[ChangedLink]:
        """Take away the machine's links between the note and others that a person linked it
        with."""
        index, path = self._ports.index, self.note.path
        why, step = "a person linked the two notes", self._analysis.linking.step
        own = [
            LinkUpdate(path, other, removed=True, reason=why) for other in sorted(self._by_person)
        ]
        event = partial(self._event, "link", replace(step, use=ModelUse()))
        gone = draft_link_changes(self.note, index, own, event)
        linking_here = {
            other for other, link in index.links.incoming(path) if link.kind == "property"
        }
        may_change = self._settings.evolve and not self._is_new
        wanted = self._by_person & linking_here if may_change else ()
        for other in sorted(wanted):
            # One old note that cannot be changed stops nothing else.
            with suppress(AmemError):
                draft = self._draft_of(other)
                if draft is not None and self._is_settled(draft.content, draft.note):
                    update = LinkUpdate(other, path, removed=True, reason=why)
                    gone += draft_link_changes(draft, index, [update], event)
                    self._keep(draft)
        return gone

    def _link(self) -> tuple[list[NewLink], list[NewLink]]:
        """The links that are written, and those that a person made already."""
        note, step = self.note.note, self._analysis.linking
        by_person = [link for link in step.links if link.target in self._by_person]
        confirmed, self._confirmed = self._recorded(by_person, set())
        present = {target_of(text, note.path, self._ports.index) for text in note.links}
        made, records = self._recorded(step.links, present | self._by_person)
        texts = [record.text for record in records]
        reason = f"linked to {len(texts)} older note{'s' if len(texts) != 1 else ''}"
        event = self._event("link", step.step, reason=reason, links=tuple(records))
        self.note.change({"links": [*note.links, *texts]}, event)
        return made, confirmed

    def _suggest(self) -> list[NewLink]:
        """What may belong together, but is not linked in either direction, in the text neither."""
        note, index = self.note.note, self._ports.index
        linked = {target_of(text, note.path, index) for text in note.links} | self._by_person
        linked |= {path for path, _ in index.links.incoming(note.path)}
        found, records = self._recorded(self._analysis.linking.suggested, linked, MOST_SUGGESTED)
        self._suggested = records
        return found

    def _recorded(
        self, links: Sequence[MemoryLink], linked: Set[str | None], limit: int | None = None
    ) -> tuple[list[NewLink], list[LinkRecord]]:
        """Links to notes that exist and are not among those linked, at most `limit`."""
        index = self._ports.index
        found: list[NewLink] = []
        records: list[LinkRecord] = []
        for link in links:
            summary = index.notes.summary(link.target)
            if summary is None or link.target in linked or len(found) == limit:
                continue
            text = format_link(shortest_target(link.target, index.names))
            relation, strength, reason = link.relation, link.strength, link.reason
            record = LinkRecord(summary.key, link.target, text, relation, strength, reason)
            records.append(record if summary.id else replace(record, text_hash=summary.text_hash))
            named = (summary.key, summary.path, summary.title)
            found.append(NewLink(*named, relation, reason, strength))
        return found, records

    def _update_neighbours_links(self) -> list[ChangedLink]:
        linking, note, index = self._analysis.linking, self.note.note, self._ports.index
        linked = {target_of(text, note.path, index) for text in note.links} - {note.path}
        changed = []
        for source in dict.fromkeys(update.source for update in linking.link_changes):
            if source not in linked:
                continue
            updates = [update for update in linking.link_changes if update.source == source]
            # One old note that cannot be changed stops nothing else.
            with suppress(AmemError):
                draft = self._draft_of(source)
                if draft is not None:
                    changed += self._update_links(draft, "evolve", updates, linking.step)
                    self._keep(draft)
        return changed

    def _keep(self, draft: NoteDraft) -> None:
        if draft.events and draft not in self.drafts:
            self.drafts.append(draft)

    def _draft_of(self, path: str, *, waits: bool = False) -> NoteDraft | None:
        """The draft of an older note; None if somebody may be editing it, unless its change waits
        for a person."""
        # A note that changes in this run has a draft already, whose bytes count.
        for draft in self.drafts:
            if draft.path == path:
                return draft
        draft = NoteDraft(self._ports, self._ports.vault.read(path))
        free = waits or self._settings.review or self._is_settled(draft.content, draft.note)
        return draft if free else None

    def _update_links(
        self, draft: NoteDraft, kind: str, updates: Sequence[LinkUpdate], step: Step
    ) -> list[ChangedLink]:
        if not (updates and self._settings.evolve):
            return []
        index = self._ports.index
        if not self._settings.review:
            # The run's own steps report their cost in their own events.
            free = replace(step, use=ModelUse())
            return draft_link_changes(draft, index, updates, partial(self._event, kind, free))
        self._propose_link_changes(draft, updates, step)
        return []

    def _propose_link_changes(
        self, draft: NoteDraft, updates: Sequence[LinkUpdate], step: Step
    ) -> None:
        note, index = draft.note, self._ports.index
        owned = provenance_of(index, note.id or note.path, draft.events)
        for update, before, _ in allowed_changes(index, note, owned, updates):
            waiting = [each.link_change for each in self._waiting(note)]
            if update.target not in {each.target for each in waiting if each is not None}:
                change = Change("links", [before.text], [] if update.removed else [before.text])
                proposal = self._proposal(note, change, update.reason, step)
                self.proposed.append(replace(proposal, link_change=update))

    def _waiting(self, note: Note) -> list[Proposal]:
        """What waits already for a person's agreement to change the note."""
        waiting = [] if self._is_new else self._ports.changes.waiting()
        return [each for each in waiting if each.key in (note.id, note.path)]

    def _evolve(self, linked: Set[str]) -> list[EvolvedNote]:
        evolved: list[EvolvedNote] = []
        for change in self._analysis.linking.evolutions:
            if (change.path in linked or change.waits) and self._settings.evolve:
                with suppress(AmemError):
                    evolved += self._evolve_one(change)
        return evolved

    def _evolve_one(self, change: Evolution) -> list[EvolvedNote]:
        waits = change.waits or self._settings.review
        draft = self._draft_of(change.path, waits=waits)
        if draft is None:
            return []
        note = draft.note
        owned = provenance_of(self._ports.index, note.id or note.path)
        # Also from before the note had an id.
        keys = filter(None, (note.path, note.id))
        history = [event for key in keys for event in self._ports.index.events.read(key)]
        if self._was_refused(draft, history):
            change = replace(change, context=None, relation="")
        allowed = evolved_fields(note, change, owned).items()
        new = [without_rejected(change_of(note, *each), history) for each in allowed]
        fields = {each.field: each.after for each in new if each is not None}
        if waits:
            self._propose(note, change, fields)
            if change.relation and not owned.may_replace_context(note.context):
                # The owner's context stays; the link can say it all the same.
                ends = (self.note.path, note.path)
                stated = LinkUpdate(*ends, relation=change.relation, reason=change.reason)
                self._propose_link_changes(self.note, [stated], self._analysis.linking.step)
            return []
        why = {"reason": change.reason, "relation": change.relation}
        event = self._event("evolve", self._analysis.linking.step, **why)
        taken = [each.note.id for each in self.drafts if each.note.id]
        if not draft.change(fields, event, taken=taken):
            return []
        self._keep(draft)
        changes = draft.events[0].changes
        return [EvolvedNote(draft.note.id, note.path, note.title, changes, change.reason)]

    def _was_refused(self, draft: NoteDraft, history: Sequence[Event]) -> bool:
        """Whether a person rejected, of these very texts, that the note changes the older one's
        context, whatever words of it were quoted."""
        older, keys = text_hash(draft.content.raw), (self.note.path, self.note.note.id or "")
        events = (event for key in keys for event in self._ports.index.events.read(key))
        # What it said when the person decided, not only when it was proposed.
        runs = {event.id: event.text_hash for event in events if event.kind == "process"}
        return any(
            runs[max(each for each in runs if each < event.id)] == self._root.text_hash
            for event in history
            if event.kind == "reject" and event.text_hash == older and event.cause in runs
            if any(each.field == "context" for each in event.proposed)
        )

    def _propose(self, note: Note, evolution: Evolution, fields: Mapping[str, FieldValue]) -> None:
        step = self._analysis.linking.step
        waiting = [each.change for each in self._waiting(note)]
        for name, value in fields.items():
            change = change_of(note, name, value)
            # A person is asked once.
            if change not in waiting:
                proposal = self._proposal(note, change, evolution.reason, step)
                relation = evolution.relation if name == "context" else ""
                self.proposed.append(replace(proposal, relation=relation))

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
            trigger_text=self._root.text_hash,
            reason=reason,
            model=step.model,
            prompt=step.prompt,
        )


def _costs(use: ModelUse) -> dict[str, Any]:
    return {**asdict(use), "seconds": round(use.seconds, 3)}


def evolved_fields(note: Note, change: Evolution, owned: Provenance) -> dict[str, FieldValue]:
    """The part of a change that is allowed: adding to lists, and replacing the machine's own."""
    fields: dict[str, FieldValue] = {}
    if change.context and owned.may_replace_context(note.context):
        fields["context"] = change.context
    lists = (
        ("keywords", note.keywords, change.keywords_add, change.keywords_drop, owned.keywords),
        ("tags", note.tags, change.tags_add, change.tags_drop, owned.tags),
    )
    # A label that a person wrote stays, even if the model would drop it.
    for name, present, add, drop, own in lists:
        # To the letter: another spelling beside it is a person's.
        kept = [item for item in present if item not in drop or item not in own]
        known = {item.casefold() for item in present}
        new = [item for item in dict.fromkeys(add) if item.casefold() not in known]
        if len(kept) != len(present) or new:
            fields[name] = [*kept, *new]
    return fields
