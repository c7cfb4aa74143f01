"""The checks of `amem doctor` on one vault, however broken, and what their fixes need."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from amem_cli.doctor.finding import Check, Finding, from_problem
from amem_cli.doctor.folders import (
    leftover_findings,
    secret_findings,
    state_findings,
    user_findings,
    writable_findings,
)
from amem_cli.doctor.notes import (
    conflict_findings,
    duplicate_findings,
    file_findings,
    header_findings,
    link_findings,
    name_findings,
)
from amem_cli.doctor.reading import (
    JOURNAL,
    ReadOnlyVault,
    VaultFiles,
    VaultSnapshot,
    index_copy,
    list_files,
    read_vault,
)
from amem_cli.doctor.records import index_differences, index_findings, journal_findings
from amem_cli.doctor.settings import (
    UsableSettings,
    encoder_findings,
    language_model_findings,
    read_settings,
)
from amem_cli.doctor.surroundings import (
    disk_findings,
    git_findings,
    place_findings,
    sqlite_findings,
    watch_findings,
)
from amem_cli.errors import Problem
from amem_cli.index.file import delete_index
from amem_cli.index.ports import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.journal.change_store import ChangeStore
from amem_cli.journal.files import JournalFolder
from amem_cli.notes.note import PropertyNames
from amem_cli.settings import CONFIG_NAME, STATE_FOLDER, user_config_folder, user_state_folder
from amem_cli.vault.port import SystemClock
from amem_cli.workspace.workspace import Workspace


class Checkup:
    """Reads a vault without writing; opens it for writing with the first fix.

    Args:
        root: the vault's folder.
        environment: variables of the process.
    """

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self._environment = environment
        self._state = root / STATE_FOLDER
        self._user_file = user_config_folder(environment) / CONFIG_NAME
        self._workspace: Workspace | None = None

    def checks(self) -> list[Check]:
        """All checks, in the order in which their findings are shown and fixed."""
        root, ports = self.root, self._open_ports
        user_state = user_state_folder(self._environment)
        checks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
            ("system", sqlite_findings),
            ("system", lambda: disk_findings(root)),
            ("settings", lambda: self._usable.findings),
            ("secrets", lambda: secret_findings(root)),
            ("permissions", lambda: state_findings(root)),
            ("permissions", self._writable),
            ("permissions", lambda: user_findings(user_state, self._user_file)),
            ("index", self._index),
            ("leftovers", self._leftovers),
            ("files", lambda: file_findings(self._snapshot)),
            ("conflicts", lambda: conflict_findings(self._snapshot)),
            ("names", lambda: name_findings(self._snapshot)),
            ("headers", lambda: header_findings(self._snapshot)),
            ("ids", lambda: duplicate_findings(self._snapshot, ports)),
            ("links", lambda: link_findings(self._snapshot, self._files, ports)),
            ("journal", lambda: journal_findings(self._snapshot, self._state / "journal", ports)),
            ("review", self._review),
            ("models", lambda: encoder_findings(self._usable.settings.encoder_model)),
            ("models", lambda: language_model_findings(self._usable, root, self._environment)),
            ("git", lambda: git_findings(root)),
            ("place", lambda: place_findings(root)),
            ("watching", lambda: watch_findings(self._files.folders)),
        ]
        return [Check(name, partial(self._allowed_fixes, run)) for name, run in checks]

    def close(self) -> None:
        """Close what a fix opened."""
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
    def _usable(self) -> UsableSettings:
        vault_file = self._state / CONFIG_NAME if self._is_own else None
        return read_settings(vault_file, self._user_file, self._environment)

    @cached_property
    def _names(self) -> PropertyNames:
        return PropertyNames.of(self._usable.settings)

    @cached_property
    def _vault(self) -> ReadOnlyVault:
        return ReadOnlyVault(self.root, excluded=self._usable.settings.exclude_folders)

    @cached_property
    def _snapshot(self) -> VaultSnapshot:
        return read_vault(self._vault, self._journal if self._is_own else None, self._names)

    @cached_property
    def _journal(self) -> JournalFolder:
        # This machine's name matters for writing only.
        return JournalFolder(self.root / JOURNAL, "nobody")

    @cached_property
    def _files(self) -> VaultFiles:
        return list_files(self.root)

    def _open_ports(self) -> VaultPorts:
        if self._workspace is None:
            self._workspace = Workspace(self.root, environment=self._environment)
            synchronise(self._workspace.ports)
        return self._workspace.ports

    def _update_index(self) -> str:
        if index_differences(self._open_ports(), self._snapshot.unread):
            return self._rebuild_index()
        return f"Updated the index: {self._open_ports().index.notes.count()} notes."

    def _rebuild_index(self) -> str:
        self.close()
        delete_index(self._state / "index.db")
        return f"Rebuilt the index: {self._open_ports().index.notes.count()} notes."

    @contextlib.contextmanager
    def _copied_ports(self) -> Iterator[VaultPorts | None]:
        with index_copy(self._state / "index.db") as index:
            yield (
                None
                if index is None
                else VaultPorts(
                    vault=self._vault,
                    index=index,
                    open_changes=lambda: ChangeStore(self._vault, self._journal),
                    journal=self._journal,
                    clock=SystemClock(),
                    names=self._names,
                )
            )

    def _writable(self) -> Iterable[Finding]:
        return writable_findings(self.root, self._usable.settings.notes_dir) if self._is_own else ()

    def _index(self) -> Iterable[Finding]:
        if not self._is_own:
            return ()
        return index_findings(
            self._copied_ports,
            self._snapshot.unread,
            update=self._update_index,
            rebuild=self._rebuild_index,
        )

    def _leftovers(self) -> Iterator[Finding]:
        return leftover_findings(
            self.root, self._files.temporary, lambda: synchronise(self._open_ports())
        )

    def _review(self) -> Iterator[Finding]:
        problems: list[Problem] = []
        ChangeStore(self._vault, self._journal).waiting(problems)
        hint = "It holds no part of a note; look at the file and delete it."
        return (from_problem("review", problem, hint=hint) for problem in problems)
