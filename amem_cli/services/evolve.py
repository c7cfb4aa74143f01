"""The memory process for one note or many: construct, link, evolve, record (A-MEM)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from amem_cli.core.changes import event_id
from amem_cli.core.errors import AmemError, HeaderRefused, ModelError, WriteConflict
from amem_cli.core.index_port import Progress
from amem_cli.core.journal import Event, LinkRecord, Ownership, ownership
from amem_cli.core.linking import Evolution
from amem_cli.core.note import METADATA_FIELDS, MemoryLink, Metadata, Note
from amem_cli.core.note_file import parse_note
from amem_cli.core.ports import Encoder, LanguageModel
from amem_cli.core.proposals import Proposal, rejected_before
from amem_cli.core.resolution import resolve, shortest_target
from amem_cli.core.vault_port import FileContent
from amem_cli.core.wikilinks import format_link, parse_link
from amem_cli.services.outcome import EvolvedNote, MadeLink, Outcome
from amem_cli.services.recording import FieldValue, NoteDraft, change_of, new_event
from amem_cli.services.sync import embed_missing, refresh, text_hash
from amem_cli.services.thinking import Step, Thinker, Thought
from amem_cli.services.vault_ports import VaultPorts

MAX_ROUNDS = 3
BREAKER_AFTER = 3


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
    """

    evolve: bool = True
    review: bool = False
    settle_seconds: float = 60.0
    max_links: int = 5
    candidates: int = 8
    deadline: float = 90.0
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class MemoryProcess:
    """The memory process of one open vault.

    Attributes:
        model: None leaves all of it to the offline analyzer.
    """

    ports: VaultPorts
    encoder: Encoder
    model: LanguageModel | None
    settings: ProcessSettings = ProcessSettings()

    def run(self, path: str, *, asked: bool = False, dry_run: bool = False) -> Outcome:
        """Process one note.

        Args:
            asked: the user named this note, so it need not have settled.
            dry_run: tell what would change and write nothing.

        Returns:
            What was done; where the model failed the note is pending and the problem is told.

        Raises:
            NotFoundError: the note is gone.
        """
        for _ in range(MAX_ROUNDS):
            content = self.ports.vault.read(path)
            note = parse_note(path, content.raw, self.ports.names)
            if note.refused is not None:
                place = f"line {note.refused.line}: {note.refused.message}"
                return waiting_outcome(self.ports, path, (place, note.refused.hint), pending=False)
            if not asked and not self._settled(content, note):
                return waiting_outcome(
                    self.ports, path, ("is being edited; it will be done later",)
                )
            thinker = Thinker(
                self.ports.index,
                self.encoder,
                self.model,
                max_links=self.settings.max_links,
                candidates=self.settings.candidates,
                deadline=self.settings.deadline,
                evolve=self.settings.evolve,
                trusted=self.settings.trusted,
            )
            try:
                thought = thinker.think(note, self._owned(note))
                outcome = self._carry_out(content, thought, dry_run=dry_run)
            except ModelError as error:
                self._postpone(path, error.message)
                told = (error.message, error.hint)
                return replace(waiting_outcome(self.ports, path, told), failed=True)
            except WriteConflict:
                # Somebody saved while the model thought: their text is what counts.
                continue
            except HeaderRefused as error:
                return waiting_outcome(self.ports, path, (error.message, error.hint), pending=False)
            if not dry_run:
                embed_missing(self.ports, self.encoder)
            return outcome
        self._postpone(path, "kept changing")
        return waiting_outcome(self.ports, path, ("kept changing while it was processed",))

    def _owned(self, note: Note) -> Ownership:
        return ownership(self.ports.index.events(note.id or note.path))

    def _settled(self, content: FileContent, note: Note) -> bool:
        """True for a note that nobody is likely to be editing at this moment."""
        events = self.ports.index.events(note.id or note.path)
        written = {event.splice.sha_after if event.splice else event.sha for event in events}
        age = (self.ports.clock.time_ns() - content.state.mtime_ns) / 1e9
        return content.sha in written or not 0 <= age < self.settings.settle_seconds

    def _postpone(self, path: str, error: str) -> None:
        with self.ports.index.changing():
            self.ports.index.postpone(path, error)

    def _carry_out(self, content: FileContent, thought: Thought, *, dry_run: bool) -> Outcome:
        path = content.state.path
        with self.ports.changes.locked():
            current = self.ports.vault.read(path)
            if current.sha != content.sha:
                raise WriteConflict(f"{path} changed meanwhile")
            plan = _Plan(self, current, thought)
            outcome = plan.made()
            if dry_run:
                return outcome
            writes = [write for draft in plan.drafts for write in draft.write()]
            self.ports.changes.apply(writes, plan.events(), proposed=plan.proposed)
            refresh(self.ports, [draft.path for draft in plan.drafts])
        return replace(outcome, id=plan.note.note.id)


class _Plan:
    """All drafts and events of one run, built on the bytes as they are now."""

    def __init__(self, process: MemoryProcess, content: FileContent, thought: Thought) -> None:
        self._process = process
        self._ports = process.ports
        self._thought = thought
        self.note = NoteDraft(process.ports, content)
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
        events = self._ports.index.events(note.id or note.path, limit=1)
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
        evolved = self._evolve(links)
        note = self.note.note
        return Outcome(
            path=note.path,
            id=note.id,
            title=note.title,
            metadata=Metadata(note.keywords, note.tags, note.context),
            written=written,
            links=tuple(links),
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
            summary = self._ports.index.summary(link.target)
            if summary is None or link.target in present:
                continue
            text = format_link(shortest_target(link.target, self._ports.index))
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
        return resolve(parsed.target, self.note.path, self._ports.index) if parsed else None

    def _evolve(self, links: Sequence[MadeLink]) -> list[EvolvedNote]:
        linked = {link.path for link in links}
        evolved = []
        for change in self._thought.linking.evolutions:
            if change.path in linked and self._process.settings.evolve:
                result = self._evolve_one(change)
                if result is not None:
                    evolved.append(result)
        return evolved

    def _evolve_one(self, change: Evolution) -> EvolvedNote | None:
        try:
            content = self._ports.vault.read(change.path)
            draft = NoteDraft(self._ports, content)
            note = draft.note
            fields = evolved_fields(note, change, self._process._owned(note))
            if self._process.settings.review:
                self._propose(note, change, fields)
                return None
            if not self._process._settled(content, note):
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


    def _propose(self, note: Note, evolution: Evolution, fields: Mapping[str, FieldValue]) -> None:
        history = self._ports.index.events(note.id or note.path)
        step = self._thought.linking.step
        for name, value in fields.items():
            change = change_of(note, name, value)
            if rejected_before(change, history):
                continue
            self.proposed.append(
                Proposal(
                    id=event_id(self._ports.clock),
                    time=self._ports.clock.now().isoformat(timespec="seconds"),
                    note=note.id or "",
                    path=note.path,
                    trigger=self._trigger,
                    cause=self._root.id,
                    change=change,
                    reason=evolution.reason,
                    model=step.model,
                    prompt=step.prompt,
                )
            )


def evolved_fields(note: Note, change: Evolution, owned: Ownership) -> dict[str, FieldValue]:
    """What of a proposed change the machine may do: add to lists, and replace only its own."""
    fields: dict[str, FieldValue] = {}
    if change.context and owned.may_replace_context(note.context):
        fields["context"] = change.context
    lists = (
        ("keywords", note.keywords, change.keywords_add, change.keywords_drop, owned.keywords),
        ("tags", note.tags, change.tags_add, change.tags_drop, owned.tags),
    )
    for name, present, add, drop, own in lists:
        gone = {item.casefold() for item in drop if item in own}
        kept = [item for item in present if item.casefold() not in gone]
        known = {item.casefold() for item in present}
        new = [item for item in dict.fromkeys(add) if item.casefold() not in known]
        if len(kept) != len(present) or new:
            fields[name] = [*kept, *new]
    return fields


def _record(link: MemoryLink, target: str, text: str) -> LinkRecord:
    return LinkRecord(target, link.target, text, link.relation, link.strength, link.reason)


def waiting_outcome(
    ports: VaultPorts, path: str, problems: Sequence[str], *, pending: bool = True
) -> Outcome:
    """The outcome for a note that was not processed."""
    summary = ports.index.summary(path)
    told = tuple(problem for problem in problems if problem)
    if summary is None:
        return Outcome(path, None, path, pending=pending, problems=told)
    metadata = Metadata(summary.keywords, summary.tags, summary.context)
    return Outcome(
        path, summary.id, summary.title, metadata=metadata, pending=pending, problems=told
    )


def evolve_many(
    process: MemoryProcess,
    paths: Sequence[str],
    *,
    dry_run: bool = False,
    asked: bool = False,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Process notes one by one; one bad note stops nothing, a dead model stops the rest."""
    outcomes: list[Outcome] = []
    failures = 0
    for number, path in enumerate(paths, 1):
        if failures >= BREAKER_AFTER:
            outcomes.append(waiting_outcome(process.ports, path, ("the model does not answer",)))
            continue
        try:
            outcome = process.run(path, asked=asked, dry_run=dry_run)
        except AmemError as error:
            outcome = waiting_outcome(process.ports, path, (error.message, error.hint))
        outcomes.append(outcome)
        failures = failures + 1 if outcome.failed else 0
        if progress is not None:
            progress(number, len(paths))
    return outcomes
