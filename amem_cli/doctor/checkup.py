"""The checks of `amem doctor` over one vault, however broken, and what its mends need."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from amem_cli.doctor.finding import Check, Finding, from_problem
from amem_cli.doctor.git import git_findings
from amem_cli.doctor.leftovers import leftover_findings
from amem_cli.doctor.links import link_findings
from amem_cli.doctor.machine import disk_findings, place_findings, sqlite_findings, watch_findings
from amem_cli.doctor.models import encoder_findings, language_model_findings
from amem_cli.doctor.notes import (
    conflict_findings,
    duplicate_findings,
    file_findings,
    header_findings,
    name_findings,
)
from amem_cli.doctor.permissions import (
    folder_findings,
    secret_findings,
    state_findings,
    user_findings,
)
from amem_cli.doctor.reading import (
    OpenPorts,
    Survey,
    UntouchedVault,
    VaultReading,
    index_copy,
    read_vault,
    survey,
)
from amem_cli.doctor.records import index_differences, index_findings, journal_findings
from amem_cli.doctor.settings import UsableSettings, read_settings
from amem_cli.errors import Problem
from amem_cli.index.draft import VaultPorts
from amem_cli.index.file import delete_index
from amem_cli.index.sync import synchronise
from amem_cli.journal.change_store import ChangeStore
from amem_cli.journal.files import JournalFolder, ReviewFolder
from amem_cli.locations import STATE_FOLDER, user_config_folder, user_state_folder
from amem_cli.models.open import OLLAMA_URL, OPENAI_URL, open_model
from amem_cli.notes.note import PropertyNames
from amem_cli.settings import CONFIG_NAME
from amem_cli.vault.clock import SystemClock
from amem_cli.vault.dir_handle import own_files
from amem_cli.workspace.workspace import Workspace


class Checkup:
    """Looks at a vault without writing; opens it for writing with the first mend.

    Args:
        root: the vault's folder.
        environment: variables of the process.
    """

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self._environment = environment
        self._state = root / STATE_FOLDER
        self._workspace: Workspace | None = None

    def checks(self) -> list[Check]:
        """All checks, in the order in which their findings are shown and mended."""
        return [
            Check("system", sqlite_findings),
            Check("system", lambda: disk_findings(self.root)),
            Check("settings", lambda: self._usable.findings),
            Check("secrets", lambda: secret_findings(self.root)),
            Check("permissions", self._permissions),
            Check("index", self._index),
            Check("leftovers", self._leftovers),
            Check("files", lambda: file_findings(self._reading)),
            Check("conflicts", lambda: conflict_findings(self._reading)),
            Check("names", lambda: name_findings(self._reading)),
            Check("headers", lambda: header_findings(self._reading)),
            Check("ids", lambda: duplicate_findings(self._reading, self._ports)),
            Check("links", lambda: link_findings(self._reading, self._survey.files, self._ports)),
            Check("journal", self._journal),
            Check("review", self._review),
            Check("models", lambda: encoder_findings(self._usable.settings.encoder_model)),
            Check("models", self._language_model),
            Check("git", lambda: git_findings(self.root, may_mend=self._is_own)),
            Check("place", lambda: place_findings(self.root)),
            Check("watching", lambda: watch_findings(self._survey.folders)),
        ]

    def close(self) -> None:
        """Close what a mend opened."""
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    @property
    def _is_own(self) -> bool:
        """Whether `.amem` is the vault's own folder; through a link nothing is read or written."""
        return self._state.is_dir() and not self._state.is_symlink()

    @cached_property
    def _usable(self) -> UsableSettings:
        vault_file = self._state / CONFIG_NAME if self._is_own else None
        return read_settings(vault_file, self._user_file, self._environment)

    @property
    def _user_file(self) -> Path:
        return user_config_folder(self._environment) / CONFIG_NAME

    @cached_property
    def _vault(self) -> UntouchedVault:
        return UntouchedVault(self.root, excluded=self._usable.settings.exclude_folders)

    @cached_property
    def _reading(self) -> VaultReading:
        journal = self._journal_folder if self._is_own else None
        return read_vault(self._vault, journal, PropertyNames.of(self._usable.settings))

    @property
    def _unread(self) -> frozenset[str]:
        return frozenset(problem.path for problem in self._reading.problems)

    @property
    def _journal_folder(self) -> JournalFolder:
        # The name of this machine is only of use for writing.
        return JournalFolder(self._state / "journal", "nobody")

    @cached_property
    def _survey(self) -> Survey:
        return survey(self.root)

    @property
    def _may_mend(self) -> bool:
        """Only if the settings are certain; they say what the notes' properties are called."""
        return self._is_own and self._usable.trusted

    @property
    def _ports(self) -> OpenPorts | None:
        """What opens the vault for a mend; None if nothing may be mended."""
        return self._open_ports if self._may_mend else None

    def _open_ports(self) -> VaultPorts:
        if self._workspace is None:
            self._workspace = Workspace(self.root, environment=self._environment)
            synchronise(self._workspace.ports)
        return self._workspace.ports

    def _settle(self) -> None:
        synchronise(self._open_ports())

    def _update_index(self) -> str:
        if index_differences(self._open_ports(), self._unread):
            return self._rebuild_index()
        return f"Brought the index up to date: {self._open_ports().index.notes.count()} notes."

    def _rebuild_index(self) -> str:
        self.close()
        delete_index(self._state / "index.db")
        return f"Made the index anew: {self._open_ports().index.notes.count()} notes."

    @contextlib.contextmanager
    def _copied_ports(self) -> Iterator[VaultPorts | None]:
        journal = self._journal_folder
        with index_copy(self._state / "index.db") as index:
            if index is None:
                yield None
                return
            yield VaultPorts(
                vault=self._vault,
                index=index,
                changes=ChangeStore(self._vault, journal),
                journal=journal,
                clock=SystemClock(),
                names=PropertyNames.of(self._usable.settings),
            )

    def _permissions(self) -> Iterator[Finding]:
        yield from state_findings(self.root)
        if self._is_own:
            yield from folder_findings(self.root, self._usable.settings.notes_dir)
        state = user_state_folder(self._environment)
        yield from user_findings(state, self._user_file, may_mend=True)

    def _index(self) -> Iterator[Finding]:
        if self._is_own:
            update = self._update_index if self._may_mend else None
            rebuild = self._rebuild_index if self._may_mend else None
            yield from index_findings(
                self._copied_ports, self._unread, update=update, rebuild=rebuild
            )

    def _leftovers(self) -> Iterator[Finding]:
        settle = self._settle if self._may_mend else None
        return leftover_findings(self.root, self._survey.temporary, settle)

    def _journal(self) -> Iterator[Finding]:
        return journal_findings(self._reading, self._ports, self._journal_lines)

    def _journal_lines(self, name: str) -> Sequence[str]:
        """The lines of one of the journal's files; none if it cannot be read."""
        for path in own_files(self._state / "journal", "*.jsonl"):
            if path.name == name:
                with contextlib.suppress(OSError):
                    return path.read_bytes().decode("utf-8", "replace").split("\n")
        return ()

    def _review(self) -> Iterator[Finding]:
        problems: list[Problem] = []
        ReviewFolder(self._state / "review").waiting(problems)
        hint = "Nothing of a note is lost with it; look at the file and delete it."
        yield from (from_problem("review", problem, hint=hint) for problem in problems)

    def _language_model(self) -> Iterator[Finding]:
        settings, origin = self._usable.settings, self._usable.origin
        default = OLLAMA_URL if settings.llm_backend == "ollama" else OPENAI_URL
        return language_model_findings(
            settings,
            settings.llm_base_url or default,
            lambda: open_model(settings, self.root, origin, self._environment),
        )
