"""The memory process for one note: construct, link, evolve, record (A-MEM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from amem_cli.errors import (
    BudgetSpent,
    HeaderRefused,
    ModelClosed,
    ModelError,
    NoteInUse,
    WriteConflict,
)
from amem_cli.index.draft import FieldValue, NoteDraft, VaultPorts, new_event, provenance_of
from amem_cli.index.sync import embed_missing, refresh, synchronise, text_hash
from amem_cli.markdown.regions import conflict_line
from amem_cli.memory.learn import decisions
from amem_cli.memory.outcome import MadeLink, Outcome, Thought
from amem_cli.memory.plan import ProcessPlan, ProcessSettings
from amem_cli.memory.relink import with_links_rejudged
from amem_cli.memory.steps import Thinker
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
            dry_run: tell what would change and write nothing.
            only_pending: leave a note that another process has finished with meanwhile; what that
                one made of it is told.

        Returns:
            What was done; where the model failed the note is pending and the problem is told.

        Raises:
            NotFoundError: the note is gone.
            BudgetSpent: the model may not be asked any more today; the note is pending as before.
        """
        with self.ports.changes.working(self.settings.deadline if asked or not only_pending else 0):
            return self._rounds(path, asked=asked, dry_run=dry_run, only_pending=only_pending)

    def _rounds(self, path: str, *, asked: bool, dry_run: bool, only_pending: bool) -> Outcome:
        for _ in range(MAX_ROUNDS):
            if self.model is not None and self.model.is_remote:
                # A neighbour may have been made private a moment ago.
                synchronise(self.ports)
            content = self.ports.vault.read(path)
            note = parse_note(path, content.raw, self.ports.names)
            if only_pending and self._is_finished(note, content):
                return _made_elsewhere(self.ports, path)
            if note.refused is not None:
                place = f"line {note.refused.line}: {note.refused.message}"
                return waiting_outcome(self.ports, path, (place, note.refused.hint), pending=False)
            conflict = conflict_line(note.body)
            if conflict:
                # Both sides are in it; what it says is for its owner to decide first.
                place = f"a merge conflict in line {conflict} of the text"
                return waiting_outcome(self.ports, path, (place, "Resolve it, and save."))
            if not asked and not self._settled(content, note):
                return waiting_outcome(
                    self.ports, path, ("is being edited; it will be done later",)
                )
            try:
                self._try_on(content, note)
            except HeaderRefused as error:
                return waiting_outcome(self.ports, path, (error.message, error.hint), pending=False)
            thinker = Thinker(
                self.ports.index,
                self.encoder,
                self.model,
                max_links=self.settings.max_links,
                candidates=self.settings.candidates,
                deadline=self.settings.deadline,
                evolve=self.settings.evolve,
                trusted=self.settings.trusted,
                plausible=self.settings.plausible,
                decided=decisions(self.ports.index, learn=self.settings.learn),
            )
            try:
                thought = self._think(thinker, content, note)
                outcome = self._carry_out(
                    content, thought, dry_run=dry_run, only_pending=only_pending
                )
            except ModelClosed:
                return waiting_outcome(self.ports, path, ("the work was stopped",))
            except BudgetSpent:
                # That is no attempt: the note is as ready tomorrow as it is now.
                raise
            except ModelError as error:
                self._postpone(path, error.message)
                told = (error.message, error.hint)
                return replace(waiting_outcome(self.ports, path, told), failed=True)
            except NoteInUse as error:
                # The model would be asked for the same once more.
                self._postpone(path, error.message)
                return waiting_outcome(self.ports, path, (error.message, error.hint))
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

    def _think(self, thinker: Thinker, content: FileContent, note: Note) -> Thought:
        owned = provenance_of(self.ports.index, note.id or note.path)
        thought = thinker.think(note, owned)
        if not self.settings.evolve:
            return thought
        return with_links_rejudged(
            self.ports.index,
            self.encoder,
            note,
            text_hash(content.raw),
            owned,
            thought,
            trusted=self.settings.trusted,
        )

    def _try_on(self, content: FileContent, note: Note) -> None:
        """See whether the note's properties can take what the process is going to write.

        Raises:
            HeaderRefused: they cannot; a model is not asked in vain, time and again.
        """
        missing = (name for name in METADATA_FIELDS if not getattr(note, name))
        fields: dict[str, FieldValue] = {
            name: "x" if name == "context" else ["x"] for name in missing
        }
        NoteDraft(self.ports, content).change(fields, new_event(self.ports, "process"))

    def seconds_to_settle(self, path: str) -> float:
        """How long a note is still to be left in peace; 0 for one that is ready.

        Raises:
            NotFoundError: the note is gone.
        """
        content = self.ports.vault.read(path)
        return self._rest(content, parse_note(path, content.raw, self.ports.names))

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

    def _settled(self, content: FileContent, note: Note) -> bool:
        """True for a note that nobody is likely to be editing at this moment."""
        return self._rest(content, note) <= 0

    def _rest(self, content: FileContent, note: Note) -> float:
        events = self.ports.index.events.read(note.id or note.path)
        written = {event.splice.sha_after if event.splice else event.sha for event in events}
        age = (self.ports.clock.time_ns() - content.state.mtime_ns) / 1e9
        if content.sha in written or age < 0:
            return 0.0
        return max(0.0, self.settings.settle_seconds - age)

    def _postpone(self, path: str, error: str) -> None:
        with self.ports.index.changing():
            self.ports.index.queue.count_failure(path, error)

    def _carry_out(
        self, content: FileContent, thought: Thought, *, dry_run: bool, only_pending: bool
    ) -> Outcome:
        path = content.state.path
        with self.ports.changes.locked():
            current = self.ports.vault.read(path)
            if current.sha != content.sha:
                raise WriteConflict(f"{path} changed meanwhile")
            plan = ProcessPlan(self.ports, self.settings, self._settled, current, thought)
            if only_pending and self._is_finished(plan.note.note, current):
                # It had nothing to write, else the file would be another one.
                raise WriteConflict(f"{path} was finished with meanwhile")
            outcome = plan.made()
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
    told = tuple(problem for problem in problems if problem)
    if summary is None:
        return Outcome(path, None, path, pending=pending, problems=told)
    metadata = Metadata(summary.keywords, summary.tags, summary.context)
    return Outcome(
        path, summary.id, summary.title, metadata=metadata, pending=pending, problems=told
    )


def _made_elsewhere(ports: VaultPorts, path: str) -> Outcome:
    """What stands of a note that another process has finished with."""
    links = []
    for (_, key), record in ports.index.link_history.records(path).items():
        if record.by != "machine":
            continue
        target = ports.index.notes.summary(record.path)
        links.append(
            MadeLink(
                target=key,
                path=record.path,
                title=record.path if target is None else target.title,
                relation=cast(Relation, record.relation),
                reason=record.reason,
                strength=record.strength,
            )
        )
    return replace(waiting_outcome(ports, path, (), pending=False), links=tuple(links))
