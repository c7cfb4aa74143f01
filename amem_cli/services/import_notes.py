"""Brings the notes of another place into the vault; nothing that is there is touched."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from amem_cli.core.changes import NoteWrite
from amem_cli.core.errors import AmemError, Problem, SettingsError
from amem_cli.core.import_port import AttachmentFolder, Source
from amem_cli.core.index_port import Progress
from amem_cli.core.journal import Change, Event
from amem_cli.core.note import LIST_FIELDS
from amem_cli.services.import_draft import Drafting, ImportDraft
from amem_cli.services.import_files import ImportedFiles
from amem_cli.services.import_origins import ORIGIN, origin_of
from amem_cli.services.import_paths import FreePaths
from amem_cli.services.import_plan import ImportPlan, PlannedNote, plan_import
from amem_cli.services.recording import new_event
from amem_cli.services.sync import refresh
from amem_cli.services.vault_ports import VaultPorts

BATCH = 32
BATCH_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or would do.

    Attributes:
        made: the notes that are new.
        there: notes that were there already; some of them changed in the source since.
        duplicates: notes whose very text another note has here, whether they were made or not.
        refused: notes that could not be taken, and what else of the source could not be read.
        noted: what is worth telling of notes that were made.
        unresolved: (place in the source, target) of links to nothing.
        files: (path in the source, path in the vault) of other files that were copied.
        other_files: how many files of the source are no notes.
        retargeted: how many links were written in another way to mean what they meant.
    """

    kind: str
    made: tuple[PlannedNote, ...]
    there: tuple[PlannedNote, ...]
    duplicates: tuple[PlannedNote, ...]
    refused: tuple[Problem, ...]
    noted: tuple[Problem, ...]
    unresolved: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    other_files: int
    retargeted: int

    @property
    def paths(self) -> tuple[str, ...]:
        """The notes that were made, in the vault."""
        return tuple(note.path for note in self.made)

    @property
    def skipped(self) -> int:
        """How many were there already."""
        return len(self.there)


def import_notes(
    ports: VaultPorts,
    source: Source,
    attachments: AttachmentFolder,
    *,
    folder: str | None = None,
    usual_folder: str = "notes",
    unless_known: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Make a note of each note of a source that the vault does not have.

    What was imported before is recognised and left as it is, so an import can be repeated, also one
    that was stopped in the middle.

    Args:
        folder: vault-relative folder for the notes. Where it is None they go to `usual_folder`,
            and those that this program wrote out to where they were.
        unless_known: make no note whose very text the vault, or an earlier note of the source, has.
        dry_run: write nothing.

    Raises:
        UsageError: the folder is not in the vault.
        SettingsError: the source cannot be read, or the vault cannot be written.
    """
    with ports.changes.locked():
        plan = plan_import(ports, source, folder, usual_folder, unless_known=unless_known)
        free = FreePaths(ports, usual_folder if folder is None else folder)
        files = ImportedFiles(source, attachments, free, dry_run=dry_run)
        run = _Run(ports, source, plan, Drafting(ports, plan, files), dry_run, progress)
        run.make_all()
    refused = [Problem(note.place, note.line, note.reason) for note in plan.decided("refused")]
    return ImportReport(
        kind=source.kind,
        made=tuple(run.made),
        there=tuple(plan.decided("there", "changed", "known")),
        duplicates=tuple(note for note in (*run.made, *plan.decided("known")) if note.same_text),
        refused=(*plan.problems, *refused, *run.refused),
        noted=(*run.noted, *files.problems),
        unresolved=tuple(dict.fromkeys(run.unresolved)),
        files=tuple(files.copied),
        other_files=len(source.others),
        retargeted=run.retargeted,
    )


class _Run:
    """The writing of one import, some notes at a time."""

    def __init__(
        self,
        ports: VaultPorts,
        source: Source,
        plan: ImportPlan,
        drafting: Drafting,
        dry_run: bool,
        progress: Progress | None,
    ) -> None:
        self._ports = ports
        self._source = source
        self._drafting = drafting
        self._dry_run = dry_run
        self._progress = progress
        self._planned = {
            (note.place, note.line, note.origin.key): note for note in plan.decided("make")
        }
        self._waiting: list[tuple[PlannedNote, ImportDraft]] = []
        self._bytes = 0
        self.made: list[PlannedNote] = []
        self.refused: list[Problem] = []
        self.noted: list[Problem] = []
        self.unresolved: list[tuple[str, str]] = []
        self.retargeted = 0

    def make_all(self) -> None:
        """Read the source a second time and make what the plan says."""
        total = len(self._planned)
        for note in self._source.notes([]):
            origin = origin_of(note, self._source.identity)
            planned = self._planned.pop((note.place, note.line, origin.key), None)
            if planned is None:
                continue
            # It may have been saved between the two readings.
            planned.origin = origin
            try:
                draft = self._drafting.draft(note, planned)
            except (AmemError, ValueError) as error:
                text = error.message if isinstance(error, AmemError) else str(error)
                self.refused.append(Problem(planned.place, planned.line, text))
                continue
            self._waiting.append((planned, draft))
            self._bytes += len(draft.content)
            if len(self._waiting) >= BATCH or self._bytes >= BATCH_BYTES:
                self._write()
                if self._progress is not None:
                    self._progress(total - len(self._planned), total)
        self._write()
        if self._progress is not None:
            self._progress(total, total)
        for planned in self._planned.values():
            self.refused.append(Problem(planned.place, planned.line, "went away meanwhile"))

    def _write(self) -> None:
        batch, self._waiting, self._bytes = self._waiting, [], 0
        if not batch:
            return
        try:
            self._apply(batch)
        except (FileExistsError, AmemError) as error:
            if len(batch) == 1 or isinstance(error, SettingsError):
                self._fail(batch, error)
                return
            for one in batch:
                try:
                    self._apply([one])
                except (FileExistsError, AmemError) as own:
                    self._fail([one], own)

    def _fail(self, batch: Sequence[tuple[PlannedNote, ImportDraft]], error: Exception) -> None:
        """What keeps one note from being written keeps all of them, but for a name or a place."""
        if isinstance(error, SettingsError):
            raise error
        reason = error.message if isinstance(error, AmemError) else "its place was just taken"
        self.refused += [Problem(note.place, note.line, reason) for note, _ in batch]

    def _apply(self, batch: Sequence[tuple[PlannedNote, ImportDraft]]) -> None:
        if not self._dry_run:
            writes = [NoteWrite(note.path, None, draft.content) for note, draft in batch]
            events = [self._event(note, draft) for note, draft in batch]
            self._ports.changes.apply(writes, events)
            refresh(self._ports, [note.path for note, _ in batch])
        for note, draft in batch:
            note.id = str(draft.fields.get("id", ""))
            self.made.append(note)
            self.noted += draft.problems
            self.unresolved += [(note.shown, target) for target in draft.unresolved]
            self.retargeted += draft.retargeted

    def _event(self, note: PlannedNote, draft: ImportDraft) -> Event:
        changes = tuple(
            Change(
                name,
                [] if name in LIST_FIELDS else "",
                value if isinstance(value, str) else list(value),
            )
            for name, value in draft.fields.items()
        )
        event = new_event(
            self._ports,
            "add",
            by="person",
            note=str(draft.fields.get("id", "")) or note.path,
            path=note.path,
            changes=changes,
            links=draft.links,
            sha=hashlib.sha256(draft.content).hexdigest(),
            reason=f"imported from {self._source.kind}",
        )
        return replace(event, extra={ORIGIN: note.origin.record})
