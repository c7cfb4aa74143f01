"""The memory process for one note (A-MEM): describe, embed, link, evolve, record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from amem_cli.errors import (
    BudgetSpent,
    HeaderRefused,
    ModelClosed,
    ModelError,
    NoteInUse,
    WriteConflict,
)
from amem_cli.index.draft import FieldValue, NoteDraft, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, refresh, synchronise, text_hash
from amem_cli.markdown.regions import conflict_line
from amem_cli.memory.learn import learned_thresholds
from amem_cli.memory.outcome import NewLink, NoteAnalysis, Outcome, ProcessSettings
from amem_cli.memory.plan import ProcessPlan
from amem_cli.memory.relink import with_links_updated
from amem_cli.memory.steps import MemorySteps
from amem_cli.models.ports import Encoder, LanguageModel
from amem_cli.notes.codec import parse_note
from amem_cli.notes.note import METADATA_FIELDS, Metadata, Note, Relation
from amem_cli.vault.port import FileContent

MAX_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class MemoryProcess:
    """The memory process of one open vault.

    Attributes:
        model: None leaves all of it to the offline analyzer.
    """

    ports: VaultPorts
    encoder: Encoder
    model: LanguageModel | None
    settings: ProcessSettings = field(default_factory=ProcessSettings)

    def run(
        self, path: str, *, asked: bool = False, dry_run: bool = False, only_pending: bool = False
    ) -> Outcome:
        """Process one note.

        Args:
            asked: the user named this note, so it need not have settled.
            dry_run: report what would change and write nothing.
            only_pending: leave a note that another process has finished meanwhile, and report what
                that one made of it.

        Returns:
            What was done; if the model failed, the note is pending and the outcome says why.

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
            problem = "kept changing while it was processed"
            return waiting_outcome(self.ports, path, (problem,))

    def _run_once(self, path: str, asked: bool, dry_run: bool, only_pending: bool) -> Outcome:
        """Describe, link and evolve one version of a note, and record it.

        Raises:
            WriteConflict: the note changed meanwhile.
        """
        waiting = partial(waiting_outcome, self.ports, path)
        if self.model is not None and self.model.is_remote:
            # A neighbour may have been made private a moment ago.
            synchronise(self.ports)
        content = self.ports.vault.read(path)
        note = parse_note(path, content.raw, self.ports.names)
        if only_pending and self._is_finished(note, content):
            return _made_elsewhere(self.ports, path)
        if note.refused is not None:
            place = f"line {note.refused.line}: {note.refused.message}"
            return waiting((place, note.refused.hint), pending=False)
        conflict = conflict_line(note.body)
        if conflict:
            # Both sides are in the text; its owner has to decide first.
            place = f"a merge conflict in line {conflict} of the text"
            return waiting((place, "Resolve it, and save."))
        if not asked and not self._is_settled(content, note):
            return waiting(("is being edited; it will be done later",))
        try:
            self._try_on(content, note)
            analysis = self._analyse(note, text_hash(content.raw))
            outcome = self._record(content, analysis, dry_run=dry_run, only_pending=only_pending)
        except HeaderRefused as error:
            return waiting((error.message, error.hint), pending=False)
        except ModelClosed:
            return waiting(("the work was stopped",))
        except BudgetSpent:
            # That is no attempt: the note is as ready tomorrow as it is now.
            raise
        except ModelError as error:
            self._count_failure(path, error.message)
            return replace(waiting((error.message, error.hint)), failed=True)
        except NoteInUse as error:
            # Else the model would be asked for the same again at once.
            self._count_failure(path, error.message)
            return waiting((error.message, error.hint))
        if not dry_run:
            # Later notes find this one by its metadata as well.
            embed_missing(self.ports, self.encoder)
        return outcome

    def _analyse(self, note: Note, text_hash: str) -> NoteAnalysis:
        index, settings = self.ports.index, self.settings
        owned = provenance_of(index, note.id or note.path)
        learned = learned_thresholds(index, learn=settings.learn)
        steps = MemorySteps(index, self.encoder, self.model, settings, learned)
        analysis = steps.analyse(note, owned)
        if not settings.evolve:
            return analysis
        return with_links_updated(
            index, self.encoder, note, text_hash, owned, analysis, trusted=settings.trusted
        )

    def _try_on(self, content: FileContent, note: Note) -> None:
        """Check that the note's properties can take what the process is going to write, before a
        model works in vain.

        Raises:
            HeaderRefused: they cannot.
        """
        missing = (name for name in METADATA_FIELDS if not getattr(note, name))
        fields: dict[str, FieldValue] = {
            name: "x" if name == "context" else ["x"] for name in missing
        }
        NoteDraft(self.ports, content).change(fields, new_event(self.ports, "process"))

    def seconds_to_settle(self, path: str) -> float:
        """How long a note is still to be left alone; 0 if it is ready.

        Raises:
            NotFoundError: the note is gone.
        """
        content = self.ports.vault.read(path)
        return self._seconds_to_settle(content, parse_note(path, content.raw, self.ports.names))

    def is_finished(self, path: str) -> bool:
        """Whether the journal says that the note's text as it is now has been through the process.

        Raises:
            NotFoundError: the note is gone.
        """
        content = self.ports.vault.read(path)
        return self._is_finished(parse_note(path, content.raw, self.ports.names), content)

    def _is_finished(self, note: Note, content: FileContent) -> bool:
        refresh(self.ports, [])
        keys = [key for key in (note.id, note.path) if key]
        return self.ports.index.queue.was_processed(keys, text_hash(content.raw))

    def _is_settled(self, content: FileContent, note: Note) -> bool:
        """Whether nobody is likely to be editing the note at this moment."""
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
            plan = ProcessPlan(self.ports, self.settings, self._is_settled, current, analysis)
            if only_pending and self._is_finished(plan.note.note, current):
                # It had nothing to write, else the file would be another one.
                raise WriteConflict(f"{path} was finished with meanwhile")
            outcome = plan.draft()
            if dry_run:
                return outcome
            writes = [write for draft in plan.drafts for write in draft.write()]
            self.ports.changes.apply(writes, plan.events(), proposed=plan.proposed)
            refresh(self.ports, [draft.path for draft in plan.drafts])
        return replace(outcome, id=plan.note.note.id)


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
        links.append(
            NewLink(
                target=key,
                path=record.path,
                title=record.path if target is None else target.title,
                relation=cast(Relation, record.relation),
                reason=record.reason,
                strength=record.strength,
            )
        )
    return replace(waiting_outcome(ports, path, (), pending=False), links=tuple(links))
