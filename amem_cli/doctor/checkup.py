"""The checks of `amem doctor` on one vault, however broken, and what their fixes need."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from amem_cli.doctor import folders, git, models, notes, records, settings
from amem_cli.doctor.finding import Check, Finding, apply_fixes, examine
from amem_cli.doctor.reading import IndexLook, ReadOnlyVault, VaultFiles, look_at_index
from amem_cli.errors import Problem
from amem_cli.index.file import delete_index
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.records import Progress
from amem_cli.index.sync import check_index, synchronise
from amem_cli.journal.change_store import ChangeStore
from amem_cli.journal.files import JournalFolder
from amem_cli.notes.note import PropertyNames
from amem_cli.settings import CONFIG_NAME, STATE_FOLDER, user_config_folder
from amem_cli.vault.file_state import SystemClock
from amem_cli.workspace.languages import encoder_proposal, vault_languages
from amem_cli.workspace.workspace import Workspace


def check_up(
    root: Path,
    environment: Mapping[str, str],
    *,
    fix: bool = False,
    agree: Callable[[int], bool] = lambda count: False,
    progress: Progress | None = None,
) -> list[Finding]:
    """Check a vault, however broken, and repair what is safe to repair if asked."""
    checkup = _Checkup(root, environment)
    try:
        findings = examine(checkup.checks(), progress=progress)
        return apply_fixes(findings, agree) if fix else findings
    finally:
        checkup.end()


class _Checkup:
    """Reads a vault without writing; opens it for writing with the first fix."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._state = root / STATE_FOLDER
        # `.amem` is the vault's own folder; through a link nothing is read or written.
        self._is_own = self._state.is_dir() and not self._state.is_symlink()
        self._workspace: Workspace | None = None
        self._temporary = contextlib.ExitStack()

    def checks(self) -> list[tuple[str, Check]]:
        """All checks, in the order in which their findings are shown and fixed."""
        everywhere: list[tuple[str, Check]] = [
            ("settings", lambda: self._usable.findings),
            (
                "permissions",
                lambda: folders.place_findings(self._root, self._usable.settings.notes_dir),
            ),
            ("notes", lambda: self._notes.findings),
            ("cards", lambda: notes.card_findings(self._look.ports, self._files.holds)),
            ("models", self._encoder),
            ("models", lambda: models.language_model_findings(self._usable, *self._place)),
            ("pending", lambda: records.pending_findings(self._look.ports.index)),
            ("git", lambda: git.git_findings(*self._place)),
        ]
        own: list[tuple[str, Check]] = [
            ("secrets", lambda: folders.secret_findings(self._state)),
            ("index", self._index),
            ("leftovers", self._leftovers),
            ("journal", lambda: records.journal_findings(self._journal, self._root)),
            ("review", self._review),
        ]
        checks = [*everywhere[:2], *(own if self._is_own else ()), *everywhere[2:]]
        return [(name, partial(self._allowed_fixes, check)) for name, check in checks]

    def end(self) -> None:
        self._close()
        self._temporary.close()

    def _close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    def _allowed_fixes(self, check: Check) -> Iterator[Finding]:
        """Findings without their fixes, unless the settings are certain.

        The settings say what the notes' properties are called.
        """
        for finding in check():
            is_allowed = self._is_own and self._usable.trusted
            yield finding if is_allowed else replace(finding, fix=None)

    @property
    def _place(self) -> tuple[Path, Mapping[str, str]]:
        return self._root, self._environment

    @cached_property
    def _usable(self) -> settings.UsableSettings:
        vault_file = self._state / CONFIG_NAME if self._is_own else None
        user_file = user_config_folder(self._environment) / CONFIG_NAME
        return settings.read_settings(vault_file, user_file, self._environment)

    @cached_property
    def _vault(self) -> ReadOnlyVault:
        return ReadOnlyVault(self._root, excluded=self._usable.settings.exclude_folders)

    @cached_property
    def _look(self) -> IndexLook:
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
                daily=self._usable.settings.daily_notes,
            )

        index = self._state / "index.db" if self._is_own else None
        return look_at_index(index, self._temporary, open_ports)

    @cached_property
    def _notes(self) -> notes.NotesLook:
        problems: list[Problem] = []
        self._journal.read_new({}, problems)
        complete = not any(each.message.startswith(notes.UNREAD) for each in problems)
        return notes.look_at_notes(
            self._look.ports,
            self._open_ports,
            self._files.holds,
            complete=self._is_own and complete,
        )

    @cached_property
    def _journal(self) -> JournalFolder:
        # This machine's name matters for writing only.
        return JournalFolder(self._root / records.JOURNAL, "nobody")

    @cached_property
    def _files(self) -> VaultFiles:
        return VaultFiles(self._root)

    def _open_ports(self) -> VaultPorts:
        if self._workspace is None:
            self._workspace = Workspace(self._root, environment=self._environment)
            synchronise(self._workspace.ports)
        return self._workspace.ports

    def _index(self) -> Iterator[Finding]:
        return records.index_findings(self._look, self._notes.unread, self._mend_index)

    def _mend_index(self) -> str:
        done = "Updated"
        if self._look.fault or records.without_unread(
            check_index(self._open_ports()), self._notes.unread
        ):
            done = "Rebuilt"
            self._close()
            delete_index(self._state / "index.db")
        return f"{done} the index: {self._open_ports().index.notes.count()} notes."

    def _leftovers(self) -> Iterator[Finding]:
        return folders.leftover_findings(
            self._root, self._files.temporary, lambda: synchronise(self._open_ports())
        )

    def _encoder(self) -> Iterator[Finding]:
        settings = self._usable.settings
        yield from models.encoder_findings(settings.encoder_model, self._environment)
        languages = vault_languages(self._vault, self._notes.paths)
        if proposed := encoder_proposal(languages, settings):
            yield Finding("", proposed.message, proposed.hint, severity="notice")

    def _review(self) -> Iterator[Finding]:
        problems: list[Problem] = []
        ChangeStore(self._vault, self._journal).waiting(problems)
        hint = "It holds no part of a note; look at the file and delete it."
        return (Finding(each.path, each.message, hint, each.line) for each in problems)
