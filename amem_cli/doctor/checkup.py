"""The checks of `amem doctor` on one vault, however broken, and what their fixes need."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from amem_cli.doctor import folders, notes, records, settings, surroundings
from amem_cli.doctor.finding import Check, Finding, apply_fixes, examine, from_problem
from amem_cli.doctor.reading import IndexLook, ReadOnlyVault, VaultFiles, look_at_index
from amem_cli.errors import Problem
from amem_cli.git.first_commits import FirstCommits
from amem_cli.index.file import delete_index
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.records import Progress
from amem_cli.index.sync import check_index, synchronise
from amem_cli.journal.change_store import ChangeStore
from amem_cli.journal.files import JournalFolder
from amem_cli.notes.note import PropertyNames
from amem_cli.settings import CONFIG_NAME, STATE_FOLDER, user_config_folder, user_state_folder
from amem_cli.vault.file_state import SystemClock
from amem_cli.workspace.languages import vault_languages
from amem_cli.workspace.workspace import Workspace


def check_up(
    root: Path,
    environment: Mapping[str, str],
    *,
    fix: bool = False,
    progress: Progress | None = None,
) -> list[Finding]:
    """Check a vault, however broken, and repair what is safe to repair if asked."""
    checkup = Checkup(root, environment)
    try:
        findings = examine(checkup.checks(), progress=progress)
        return apply_fixes(findings) if fix else findings
    finally:
        checkup.end()


class Checkup:
    """Reads a vault without writing; opens it for writing with the first fix."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self._environment = environment
        self._state = root / STATE_FOLDER
        self._user_file = user_config_folder(environment) / CONFIG_NAME
        self._workspace: Workspace | None = None
        self._temporary = contextlib.ExitStack()

    def checks(self) -> list[Check]:
        """All checks, in the order in which their findings are shown and fixed."""
        root = self.root
        user_state = user_state_folder(self._environment)
        checks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
            ("system", surroundings.sqlite_findings),
            ("system", lambda: surroundings.disk_findings(root)),
            ("settings", lambda: self._usable.findings),
            ("secrets", lambda: folders.secret_findings(root)),
            ("permissions", lambda: folders.state_findings(root)),
            ("files", lambda: self._of_own(folders.blocked_findings)),
            ("permissions", lambda: self._of_own(folders.writable_findings)),
            ("permissions", lambda: folders.user_findings(user_state, self._user_file)),
            ("index", self._index),
            ("leftovers", self._leftovers),
            ("notes", lambda: self._notes.findings),
            ("journal", self._journal_findings),
            ("review", self._review),
            ("models", self._encoder),
            ("models", self._language_model),
            ("pending", lambda: records.pending_findings(self._index_look.ports.index)),
            ("git", lambda: surroundings.git_findings(root)),
            ("place", lambda: surroundings.place_findings(root)),
            ("watching", lambda: surroundings.watch_findings(self._files.folders)),
        ]
        return [Check(name, partial(self._allowed_fixes, run)) for name, run in checks]

    def end(self) -> None:
        """Close all that was opened."""
        self._close()
        self._temporary.close()

    def _close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    def _allowed_fixes(self, run: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
        """Findings without the fixes that would write to a vault whose settings are not certain.

        The settings say what the notes' properties are called.
        """
        for finding in run():
            is_users = Path(finding.path).is_absolute()
            if not (is_users or (self._is_own and self._usable.trusted)):
                finding = replace(finding, fix=None)
            yield finding

    @property
    def _is_own(self) -> bool:
        """Whether `.amem` is the vault's own folder; through a link nothing is read or written."""
        return self._state.is_dir() and not self._state.is_symlink()

    @cached_property
    def _usable(self) -> settings.UsableSettings:
        vault_file = self._state / CONFIG_NAME if self._is_own else None
        return settings.read_settings(vault_file, self._user_file, self._environment)

    @cached_property
    def _vault(self) -> ReadOnlyVault:
        return ReadOnlyVault(self.root, excluded=self._usable.settings.exclude_folders)

    @cached_property
    def _index_look(self) -> IndexLook:
        def open_ports(index: MemoryIndex, folder: Path) -> VaultPorts:
            self._temporary.callback(index.close)
            journal = self._journal if self._is_own else JournalFolder(folder / "none", "nobody")
            return VaultPorts(
                vault=self._vault,
                index=index,
                open_changes=lambda: ChangeStore(self._vault, journal),
                journal=journal,
                clock=SystemClock(),
                names=PropertyNames.of(self._usable.settings),
            )

        index = self._state / "index.db" if self._is_own else None
        return look_at_index(index, self._temporary, open_ports)

    @cached_property
    def _journal_look(self) -> records.JournalLook:
        return records.look_at_journal(self._journal)

    @cached_property
    def _notes(self) -> notes.NotesLook:
        return notes.look_at_notes(
            self._index_look.ports,
            self._open_ports,
            self._files.holds,
            FirstCommits(self.root, self._environment),
            complete=self._is_own
            and not any(
                each.message.startswith(notes.UNREAD) for each in self._journal_look.problems
            ),
        )

    @cached_property
    def _journal(self) -> JournalFolder:
        # This machine's name matters for writing only.
        return JournalFolder(self.root / records.JOURNAL, "nobody")

    @cached_property
    def _files(self) -> VaultFiles:
        return VaultFiles(self.root)

    def _open_ports(self) -> VaultPorts:
        if self._workspace is None:
            self._workspace = Workspace(self.root, environment=self._environment)
            synchronise(self._workspace.ports)
        return self._workspace.ports

    def _update_index(self) -> str:
        if records.without_unread(check_index(self._open_ports()), self._notes.unread):
            return self._rebuild_index()
        return f"Updated the index: {self._open_ports().index.notes.count()} notes."

    def _rebuild_index(self) -> str:
        self._close()
        delete_index(self._state / "index.db")
        return f"Rebuilt the index: {self._open_ports().index.notes.count()} notes."

    def _of_own(self, run: Callable[[Path, str], Iterable[Finding]]) -> Iterable[Finding]:
        return run(self.root, self._usable.settings.notes_dir) if self._is_own else ()

    def _encoder(self) -> Iterator[Finding]:
        model, index = self._usable.settings.encoder_model, self._index_look.ports.index
        yield from settings.encoder_findings(model, self._environment)
        yield from settings.change_of_encoder_findings(index.vectors, model, self._environment)
        languages = vault_languages(self._vault, self._notes.paths)
        yield from settings.languages_finding(languages, self._usable.settings)

    def _language_model(self) -> Iterator[Finding]:
        return settings.language_model_findings(self._usable, self.root, self._environment)

    def _index(self) -> Iterable[Finding]:
        if not self._is_own:
            return ()
        return records.index_findings(
            self._index_look,
            self._notes.unread,
            update=self._update_index,
            rebuild=self._rebuild_index,
        )

    def _journal_findings(self) -> Iterable[Finding]:
        if not self._is_own:
            return ()
        index, complete = self._index_look.ports.index, self._notes.complete
        return records.journal_findings(
            self._journal_look, self.root / records.JOURNAL, index, complete=complete
        )

    def _leftovers(self) -> Iterator[Finding]:
        return folders.leftover_findings(
            self.root, self._files.temporary, lambda: synchronise(self._open_ports())
        )

    def _review(self) -> Iterator[Finding]:
        problems: list[Problem] = []
        ChangeStore(self._vault, self._journal).waiting(problems)
        hint = "It holds no part of a note; look at the file and delete it."
        return (from_problem(problem, hint=hint) for problem in problems)
