"""The checks of `amem doctor` on one vault, however broken, and what their fixes need."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from amem_cli.doctor import folders, notes, records, settings, surroundings
from amem_cli.doctor.finding import Check, Finding, apply_fixes, examine, from_problem
from amem_cli.doctor.reading import (
    JOURNAL,
    ReadOnlyVault,
    VaultFiles,
    VaultSnapshot,
    index_copy,
    read_vault,
)
from amem_cli.errors import IndexFault, Problem
from amem_cli.git.first_commits import FirstCommits
from amem_cli.index.file import delete_index
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.records import Progress
from amem_cli.index.sync import synchronise
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
        checkup.close()


class Checkup:
    """Reads a vault without writing; opens it for writing with the first fix."""

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
            ("files", lambda: notes.file_findings(self._snapshot)),
            ("conflicts", lambda: notes.conflict_findings(self._snapshot)),
            ("names", lambda: notes.name_findings(self._snapshot)),
            ("headers", lambda: notes.header_findings(self._snapshot)),
            ("ids", lambda: notes.duplicate_findings(self._snapshot, ports)),
            ("dates", lambda: notes.created_findings(self._snapshot, self._first_commits, ports)),
            ("links", self._links),
            ("journal", lambda: records.journal_findings(self._snapshot, self._state, ports)),
            ("review", self._review),
            ("models", self._encoder),
            ("models", self._language_model),
            ("pending", self._pending),
            ("git", lambda: surroundings.git_findings(root)),
            ("place", lambda: surroundings.place_findings(root)),
            ("watching", lambda: surroundings.watch_findings(self._files.folders)),
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
    def _usable(self) -> settings.UsableSettings:
        vault_file = self._state / CONFIG_NAME if self._is_own else None
        return settings.read_settings(vault_file, self._user_file, self._environment)

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
    def _first_commits(self) -> FirstCommits:
        return FirstCommits(self.root, self._environment)

    @cached_property
    def _files(self) -> VaultFiles:
        return VaultFiles(self.root)

    def _open_ports(self) -> VaultPorts:
        if self._workspace is None:
            self._workspace = Workspace(self.root, environment=self._environment)
            synchronise(self._workspace.ports)
        return self._workspace.ports

    def _update_index(self) -> str:
        if records.index_differences(self._open_ports(), self._snapshot.unread):
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

    def _of_own(self, run: Callable[[Path, str], Iterable[Finding]]) -> Iterable[Finding]:
        return run(self.root, self._usable.settings.notes_dir) if self._is_own else ()

    def _encoder(self) -> Iterator[Finding]:
        model = self._usable.settings.encoder_model
        yield from settings.encoder_findings(model, self._environment)
        yield from self._of_index(
            lambda index: settings.change_of_encoder_findings(
                index.vectors, model, self._environment
            )
        )
        languages = vault_languages(self._vault, list(self._snapshot.notes))
        yield from settings.languages_finding(languages, self._usable.settings)

    def _pending(self) -> Iterable[Finding]:
        return self._of_index(records.pending_findings)

    def _of_index(self, run: Callable[[MemoryIndex], Iterable[Finding]]) -> list[Finding]:
        if not self._is_own:
            return []
        # An unusable index is a finding of its own.
        with contextlib.suppress(IndexFault), self._copied_ports() as ports:
            return [] if ports is None else list(run(ports.index))
        return []

    def _language_model(self) -> Iterator[Finding]:
        return settings.language_model_findings(self._usable, self.root, self._environment)

    def _links(self) -> Iterator[Finding]:
        moves = self._snapshot.moves(None)
        if self._is_own:
            with contextlib.suppress(IndexFault), self._copied_ports() as ports:
                moves = self._snapshot.moves(None if ports is None else ports.index)
        return notes.link_findings(self._snapshot, self._files, moves, self._open_ports)

    def _index(self) -> Iterable[Finding]:
        if not self._is_own:
            return ()
        return records.index_findings(
            self._copied_ports,
            self._snapshot.unread,
            update=self._update_index,
            rebuild=self._rebuild_index,
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
