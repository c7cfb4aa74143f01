"""The memory process for one note (A-MEM): describe, embed, link, evolve, record.

`MemorySteps` analyses and writes nothing; `MemoryProcess` records what comes of it. What a model is
asked on the way are requests that the steps yield; who answers them is the caller's. For a model
that gives no answer at all the analyzer stands in, once for each text, and the note stays pending;
a later answer replaces these values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from amem_cli.analyzer.earlier_notes import EarlierNotes, moment_made, waiting_notes
from amem_cli.errors import (
    BudgetSpent,
    EncoderError,
    HeaderRefused,
    ModelClosed,
    ModelError,
    NoteInUse,
    WriteConflict,
)
from amem_cli.index.draft import FieldValue, NoteDraft, id_is_shared, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, refresh, synchronise, text_hash
from amem_cli.markdown.regions import conflict_line
from amem_cli.memory.ask_model import answered
from amem_cli.memory.outcome import (
    ANALYZER,
    Description,
    Linking,
    NewLink,
    NoteAnalysis,
    Outcome,
    ProcessSettings,
    filled,
)
from amem_cli.memory.outdated import (
    fallback_fields,
    machine_fields,
    outdated_fields,
    owned_before_undo,
    without_machine_values,
)
from amem_cli.memory.plan import ProcessPlan
from amem_cli.memory.relink import (
    is_taken_back,
    links_as_before,
    restated_context,
    unjudged_run,
    with_links_updated,
    with_provisional_links_judged,
)
from amem_cli.memory.steps import MemorySteps
from amem_cli.models.ports import UnavailableModel
from amem_cli.notes.note import METADATA_FIELDS, Metadata, Note, parse_note
from amem_cli.search.suggestions import suggestions

if TYPE_CHECKING:
    from amem_cli.analyzer.earlier_notes import Place
    from amem_cli.journal.events import Event
    from amem_cli.journal.provenance import Provenance
    from amem_cli.memory.ask_model import Asking
    from amem_cli.models.ports import Encoder, Judge, LanguageModel
    from amem_cli.notes.note import Relation
    from amem_cli.vault.file_state import FileContent

MAX_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class MemoryProcess:
    """The memory process of one open vault; without a model the offline analyzer does all of it.

    Attributes:
        again: what the machine wrote in a note's metadata is made anew, also what was undone.
        waiting, judge: see `MemorySteps`.
    """

    ports: VaultPorts
    encoder: Encoder
    model: LanguageModel | None
    settings: ProcessSettings = field(default_factory=ProcessSettings)
    again: bool = False
    waiting: Mapping[str, Place] | None = None
    judge: Judge | None = None

    def run(
        self,
        path: str,
        *,
        asked: bool = False,
        dry_run: bool = False,
        only_pending: bool = False,
    ) -> Outcome:
        """Process one note; if the model gives no answer, the outcome says why.

        Then the analyzer stands in and the note stays pending, unless its text was processed.

        Args:
            asked: somebody waits for it, so the note need not have settled.
            dry_run: report what would change and write nothing.
            only_pending: leave a note that another process has finished meanwhile, and report what
                that one made of it.

        Raises:
            NotFoundError: the note is gone.
            BudgetSpent: the model may not be asked any more today; the note is pending as before.
        """
        with self.ports.changes.working(self.settings.deadline if asked or not only_pending else 0):
            for _ in range(MAX_ROUNDS):
                try:
                    return self._run_once(path, asked, dry_run, only_pending)
                except WriteConflict:
                    # Somebody saved while the model worked: their text is what counts.
                    continue
            self._count_failure(path, "kept changing")
            return waiting_outcome(self.ports, path, ("kept changing while it was processed",))

    def steps(self, path: str) -> tuple[FileContent, Asking[NoteAnalysis]] | Outcome:
        """The analysis of a note as it is now, for others to run, or why it is not processed.

        Nothing is written.

        Raises:
            NotFoundError: the note is gone.
        """
        ready = self._ready(path, asked=True, only_pending=False)
        if isinstance(ready, Outcome):
            return ready
        content, note = ready
        return content, self._analyse(note, text_hash(content.raw))

    def as_if_new(self, path: str) -> Outcome:
        """What would become of a note if it were added now, without what the machine wrote in it.

        Nothing is written.

        Raises:
            NotFoundError: the note is gone.
            HeaderRefused: its properties cannot be edited without risk.
            ModelError: the model gave no answer.
        """
        ready = self._ready(path, asked=True, only_pending=False)
        if isinstance(ready, Outcome):
            return ready
        content, note = ready
        index, key = self.ports.index, note.id or note.path
        bare = without_machine_values(note, owned_before_undo(index.events.read(key)))
        owned = provenance_of(index, key)
        by_machine = {link.text for link in owned.links.values() if link.by == "machine"}
        bare = replace(bare, links=tuple(text for text in note.links if text not in by_machine))
        fields = {
            name: getattr(bare, name)
            for name in (*METADATA_FIELDS, "links")
            if getattr(bare, name) != getattr(note, name)
        }
        content = replace(content, raw=NoteDraft(self.ports, content).edited(fields))
        # What a person rejected stays rejected; links that the machine made are not there yet.
        steps = self._steps().analyse(self._dated(bare), replace(owned, links={}))
        analysis = answered(steps, self.model)
        plan = ProcessPlan(
            self.ports, self.settings, lambda *_: True, content, analysis, is_new=True
        )
        return plan.draft()

    def record(self, content: FileContent, analysis: NoteAnalysis) -> Outcome:
        """Write what `steps` came to.

        Raises:
            WriteConflict: the note changed meanwhile; nothing was written.
        """
        outcome = self._record(content, analysis, dry_run=False, only_pending=False)
        self._embed_written()
        return outcome

    def _embed_written(self) -> None:
        """Let later notes find this one by its metadata as well."""
        # It is written and recorded, whatever another program does with the index's encoder.
        with suppress(EncoderError):
            embed_missing(self.ports, self.encoder)

    def _ready(
        self, path: str, asked: bool, only_pending: bool
    ) -> tuple[FileContent, Note] | Outcome:
        """The note as it is now, or why it is not processed."""
        waiting = partial(waiting_outcome, self.ports, path)
        if self.model is not None and self.model.is_remote:
            # A neighbour may have been made private a moment ago.
            synchronise(self.ports)
        content, note = self._read(path)
        if only_pending and self._is_finished(content, note):
            return _made_elsewhere(self.ports, path)
        if note.refused is not None:
            place = f"line {note.refused.line}: {note.refused.message}"
            return waiting((place, note.refused.hint), pending=False)
        try:
            self._check_properties(content, note)
        except HeaderRefused as error:
            return waiting((error.message, error.hint), pending=False)
        conflict = conflict_line(note.body)
        if conflict:
            # Both sides are in the text; its owner has to decide first.
            place = f"a merge conflict in line {conflict} of the text"
            return waiting((place, "Resolve it, and save."))
        if not asked and not self._is_settled(content, note):
            problem = "is being edited; it will be done later"
            return replace(waiting((problem,)), unsettled=True)
        return content, note

    def _run_once(self, path: str, asked: bool, dry_run: bool, only_pending: bool) -> Outcome:
        """Describe, link and evolve one version of a note, unless it changes meanwhile."""
        waiting = partial(waiting_outcome, self.ports, path)
        ready = self._ready(path, asked, only_pending)
        if isinstance(ready, Outcome):
            return ready
        content, note = ready
        try:
            analysis, failure = self._analysed(content, note)
            # Notes cannot be compared with vectors of two encoders.
            if self.ports.index.vectors.encoder() not in (None, self.encoder.model_id):
                raise EncoderError(
                    "the index has gone over to another encoder meanwhile", hint="Try again."
                )
            if analysis is None:
                outcome = waiting(())
            else:
                outcome = self._record(
                    content, analysis, dry_run=dry_run, only_pending=only_pending
                )
        except HeaderRefused as error:
            # Of an older note, or as the note changed meanwhile.
            return waiting((error.message, error.hint), pending=False)
        except ModelClosed:
            return waiting(("the work was stopped",))
        except BudgetSpent:
            # That is no attempt: the note is as ready tomorrow as it is now.
            raise
        except NoteInUse as error:
            # Else the model would be asked for the same again at once.
            self._count_failure(path, error.message)
            return waiting((error.message, error.hint))
        if not dry_run:
            self._embed_written()
        if failure is None:
            return outcome
        pending = not self._is_finished(content, note)
        # A note that the model was not asked about comes before those that it failed with.
        is_given_up = isinstance(self.model, UnavailableModel) and self.model.is_given_up
        if pending and not dry_run and not is_given_up:
            self._count_failure(path, failure.message)
        problems = filter(None, (*(outcome.problems or (failure.message,)), failure.hint))
        return replace(outcome, pending=pending, failed=True, problems=tuple(problems))

    def _analysed(
        self, content: FileContent, note: Note
    ) -> tuple[NoteAnalysis | None, ModelError | None]:
        """The analysis, and why the model gave no answer if it gave none.

        Then it is the analyzer's; None if the text was processed before, or the analyzer has stood
        in with it: what a person took back of that is not written again.
        """
        digest = text_hash(content.raw)
        try:
            return answered(self._analyse(note, digest), self.model), None
        except (ModelClosed, BudgetSpent):
            raise
        except ModelError as error:
            if self._is_finished(content, note) or self.ports.index.queue.has_fallback(
                _keys(note), digest
            ):
                return None, error
            assert self.model is not None
            offline = replace(self, model=None, settings=replace(self.settings, trusted=False))
            analysis = answered(offline._analyse(note, digest), None)
            said = f"{error.message}; {ANALYZER} stands in"
            described = replace(analysis.description, problems=(said,))
            return replace(analysis, description=described, waits_for=self.model.name), error

    def _steps(self) -> MemorySteps:
        index, now = self.ports.index, self.ports.clock.now()
        return MemorySteps(
            index, self.encoder, self.model, self.settings, now, self.waiting, self.judge
        )

    def _dated(self, note: Note) -> Note:
        """The note with the moment when it was made: what it says of others counts from then on."""
        summary = self.ports.index.notes.summary(note.path)
        if summary is None:
            return note
        return replace(note, created=moment_made(summary, self.ports.clock.now()))

    def _analyse(self, note: Note, text_hash: str) -> Asking[NoteAnalysis]:
        index, settings, now = self.ports.index, self.settings, self.ports.clock.now()
        owned = provenance_of(index, note.id or note.path)
        note = self._dated(note)
        events = index.events.read(note.id or note.path)
        run = None if self.again else unjudged_run(events, text_hash)
        if run is not None and not self._steps().asks_about_links(note):
            return self._judged_later(note, owned, run, events)
        has_fallback = index.queue.has_fallback(_keys(note), text_hash)
        if self.model is None and not (events or self.again) and has_fallback:
            # A person took all of it back, and with it the id by which its events are known.
            return NoteAnalysis(Description(), Linking(), ANALYZER)
        names, reason = self._to_replace(note, owned, events, text_hash)
        written = owned_before_undo(events) if self.again else owned
        bare = without_machine_values(note, written, names)
        # Without a text hash: also if the text went through the process and was not described anew.
        fits = set(names).difference(outdated_fields(note, written, events, ""))
        former = {name: getattr(note, name) for name in fits}
        asked: dict[str, str] = {}
        for each in self.ports.changes.waiting():
            if each.trigger in _keys(note) and each.change.field == "context":
                asked[each.key] = f"{asked.get(each.key, '')}\n{each.change.after}"
        steps = replace(self._steps(), asked=asked)
        analysis = yield from steps.analyse(bare, owned, Metadata(**former))
        if index.queue.was_processed(_keys(note), text_hash):
            analysis = replace(analysis, waits_for="")
        if names:
            metadata = filled(
                analysis.description.metadata, Metadata(bare.keywords, bare.tags, bare.context)
            )
            if "context" in fits:
                context = restated_context(self.ports, note, events, metadata.context)
                metadata = replace(metadata, context=context)
            changed = [name for name in names if getattr(metadata, name) != getattr(note, name)]
            described = replace(
                analysis.description, metadata=metadata, replaces=changed, reason=reason
            )
            analysis = replace(analysis, description=described)
        if not settings.evolve:
            return analysis
        return with_links_updated(
            index,
            self.encoder,
            note,
            text_hash,
            owned,
            analysis,
            EarlierNotes(index, now),
            trusted=settings.trusted,
        )

    def _judged_later(
        self, note: Note, owned: Provenance, run: Event, events: Sequence[Event]
    ) -> NoteAnalysis:
        """The links of a note that is described already and only waits for the judge, if that can
        be had; what came since is not there for it."""
        index, linking = self.ports.index, Linking()
        if not is_taken_back(run, events):
            everything = [each.path for each in index.notes.outlines()]
            waiting = waiting_notes(index, self.ports.clock.now(), everything, before=run.id)
            linking = replace(self._steps(), model=None, waiting=waiting).links(note, owned)
        if linking.judged:
            linking = with_provisional_links_judged(index, note, run, events, owned, linking)
        else:
            linking = links_as_before(run, linking.problems)
        return NoteAnalysis(Description(), linking, run.model, waits_for=linking.waits_for)

    def _to_replace(
        self, note: Note, owned: Provenance, events: Sequence[Event], text_hash: str
    ) -> tuple[list[str], str]:
        """The fields whose values by the machine are made anew, and why."""
        if self.again and not id_is_shared(self.ports.index, note.id or note.path):
            return machine_fields(note, owned_before_undo(events)), "asked for again"
        outdated = outdated_fields(note, owned, events, text_hash)
        if outdated:
            return outdated, "the text changed"
        stood_in = fallback_fields(note, owned, events) if self.model is not None else []
        return stood_in, f"the model answers, for which {ANALYZER} had stood in"

    def _check_properties(self, content: FileContent, note: Note) -> None:
        """Check that the note's properties can take what will be written, before a model works."""
        missing = (name for name in METADATA_FIELDS if not getattr(note, name))
        fields: dict[str, FieldValue] = {
            name: "x" if name == "context" else ["x"] for name in missing
        }
        NoteDraft(self.ports, content).change(fields, new_event(self.ports, "process"))

    def seconds_to_settle(self, path: str) -> float:
        """How long a note is still to be left alone; 0 if it is ready."""
        return self._seconds_to_settle(*self._read(path))

    def is_finished(self, path: str) -> bool:
        """Whether the note's text as it is now has been through the process, by the journal."""
        return self._is_finished(*self._read(path))

    def _read(self, path: str) -> tuple[FileContent, Note]:
        content = self.ports.vault.read(path)
        return content, parse_note(path, content.raw, self.ports.names)

    def _is_finished(self, content: FileContent, note: Note) -> bool:
        refresh(self.ports, [])
        return self.ports.index.queue.was_processed(_keys(note), text_hash(content.raw))

    def _is_settled(self, content: FileContent, note: Note) -> bool:
        return self._seconds_to_settle(content, note) <= 0

    def _seconds_to_settle(self, content: FileContent, note: Note) -> float:
        events = self.ports.index.events.read(note.id or note.path)
        written = {event.splice.sha_after if event.splice else event.sha for event in events}
        age = (self.ports.clock.time_ns() - content.state.mtime_ns) / 1e9
        # Nobody edits a note whose bytes the machine wrote; a file time in the future says nothing.
        if content.sha in written or age < 0:
            return 0.0
        return max(0.0, self.settings.settle_seconds - age)

    def _count_failure(self, path: str, error: str) -> None:
        with self.ports.index.changing():
            self.ports.index.queue.count_failure(path, error)

    def _record(
        self, content: FileContent, analysis: NoteAnalysis, *, dry_run: bool, only_pending: bool
    ) -> Outcome:
        path = content.state.path
        with self.ports.changes.locked():
            # The model worked without the lock, so the note may be another one by now.
            current = self.ports.vault.read(path)
            if current.sha != content.sha:
                raise WriteConflict(f"{path} changed meanwhile")
            plan = ProcessPlan(
                self.ports, self.settings, self._is_settled, current, analysis, again=self.again
            )
            if only_pending and self._is_finished(current, plan.note.note):
                # It had nothing to write, else the file would be another one.
                raise WriteConflict(f"{path} was finished with meanwhile")
            outcome = plan.draft()
            if dry_run:
                return outcome
            writes = [write for draft in plan.drafts for write in draft.write()]
            self.ports.changes.apply(writes, plan.events(), proposed=plan.proposed)
            refresh(self.ports, [draft.path for draft in plan.drafts])
        return replace(outcome, id=plan.note.note.id)


def _keys(note: Note) -> list[str]:
    """What the journal may call the note."""
    return [key for key in (note.id, note.path) if key]


def waiting_outcome(
    ports: VaultPorts, path: str, problems: Sequence[str], *, pending: bool = True
) -> Outcome:
    """The outcome for a note that was not processed."""
    summary = ports.index.notes.summary(path)
    outcome = Outcome(path, None, path, pending=pending, problems=tuple(filter(None, problems)))
    if summary is None:
        return outcome
    metadata = Metadata(summary.keywords, summary.tags, summary.context)
    return replace(outcome, id=summary.id, title=summary.title, metadata=metadata)


def _made_elsewhere(ports: VaultPorts, path: str) -> Outcome:
    """The outcome for a note that another process has finished."""
    links = []
    for (_, key), record in ports.index.link_history.records(path).items():
        if record.by != "machine":
            continue
        target = ports.index.notes.summary(record.path)
        title, relation = target.title if target else record.path, cast("Relation", record.relation)
        links.append(NewLink(key, record.path, title, relation, record.reason, record.strength))
    outcome = waiting_outcome(ports, path, (), pending=False)
    suggested = tuple(
        NewLink(to.key, to.path, to.title, each.relation, each.reason, each.strength)
        for each in suggestions(ports.index, path)
        if (to := each.target).path != path
    )
    return replace(outcome, links=tuple(links), suggested=suggested)
