"""The checks of `amem doctor` over one vault, however broken, and what its mends need."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from amem_cli import config
from amem_cli.adapters.journal_folder import JournalFolder
from amem_cli.adapters.untouched import Survey, UntouchedVault, index_copy, survey
from amem_cli.core.errors import Problem
from amem_cli.core.finding import Check, Finding, Mend, from_problem
from amem_cli.model_opening import OLLAMA_URL, OPENAI_URL, open_model
from amem_cli.services.checkup.reading import VaultReading, read_vault
from amem_cli.services.checkup.settings import UsableSettings, read_settings
from amem_cli.services.vault_ports import VaultPorts
from amem_cli.vault_location import STATE_FOLDER
from amem_cli.wiring import Workspace


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
        """All checks, in the order in which their findings are told and mended."""
        return [
            Check("system", self._system),
            Check("settings", lambda: self._usable.findings),
            Check("secrets", self._secrets),
            Check("permissions", self._permissions),
            Check("index", self._index),
            Check("leftovers", self._leftovers),
            Check("files", self._files),
            Check("conflicts", self._conflicts),
            Check("names", self._names),
            Check("headers", self._headers),
            Check("ids", self._ids),
            Check("links", self._links),
            Check("journal", self._journal),
            Check("review", self._review),
            Check("models", self._encoder),
            Check("models", self._language_model),
            Check("git", self._git),
            Check("place", self._place),
            Check("watching", self._watching),
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
        vault_file = self._state / config.CONFIG_NAME if self._is_own else None
        return read_settings(vault_file, self._user_file, self._environment)

    @property
    def _user_file(self) -> Path:
        return config.user_config_folder(self._environment) / config.CONFIG_NAME

    @cached_property
    def _vault(self) -> UntouchedVault:
        return UntouchedVault(self.root, excluded=self._usable.settings.exclude_folders)

    @cached_property
    def _reading(self) -> VaultReading:
        journal = self._journal_folder if self._is_own else None
        return read_vault(self._vault, journal, self._usable.settings.property_names)

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
        """Only where the settings are certain; they say what the notes' properties are called."""
        return self._is_own and self._usable.trusted

    def _open_ports(self) -> VaultPorts:
        from amem_cli.services.sync import synchronise

        if self._workspace is None:
            self._workspace = Workspace(self.root, environment=self._environment)
            synchronise(self._workspace.ports)
        return self._workspace.ports

    def _settle(self) -> None:
        from amem_cli.services.sync import synchronise

        synchronise(self._open_ports())

    def _update_index(self) -> str:
        from amem_cli.services.checkup.index import index_differences

        if index_differences(self._open_ports(), self._unread):
            return self._rebuild_index()
        return f"Brought the index up to date: {self._open_ports().index.notes.count()} notes."

    def _rebuild_index(self) -> str:
        from amem_cli.adapters.index_file import delete_index

        self.close()
        delete_index(self._state / "index.db")
        return f"Made the index anew: {self._open_ports().index.notes.count()} notes."

    @contextlib.contextmanager
    def _copied_ports(self) -> Iterator[VaultPorts | None]:
        from amem_cli.adapters.change_store import JournaledChanges
        from amem_cli.adapters.system_clock import SystemClock

        journal = self._journal_folder
        with index_copy(self._state / "index.db") as index:
            if index is None:
                yield None
                return
            yield VaultPorts(
                vault=self._vault,
                index=index,
                changes=JournaledChanges(self._vault, journal),
                journal=journal,
                clock=SystemClock(),
                names=self._usable.settings.property_names,
            )

    def _index(self) -> Iterable[Finding]:
        from amem_cli.services.checkup.index import index_findings

        if not self._is_own:
            return ()
        update: Mend | None = self._update_index if self._may_mend else None
        rebuild: Mend | None = self._rebuild_index if self._may_mend else None
        ports = self._copied_ports
        return index_findings(ports, self._unread, update=update, rebuild=rebuild)

    def _leftovers(self) -> Iterable[Finding]:
        from amem_cli.adapters.leftover_checks import leftover_findings

        settle = self._settle if self._may_mend else None
        return leftover_findings(self.root, self._survey.temporary, settle)

    def _files(self) -> Iterable[Finding]:
        from amem_cli.services.checkup.files import file_findings

        return file_findings(self._reading)

    def _conflicts(self) -> Iterable[Finding]:
        from amem_cli.services.checkup.files import conflict_findings

        return conflict_findings(self._reading)

    def _names(self) -> Iterable[Finding]:
        from amem_cli.services.checkup.files import name_findings

        return name_findings(self._reading)

    def _headers(self) -> Iterable[Finding]:
        from amem_cli.services.checkup.files import header_findings

        return header_findings(self._reading)

    def _ids(self) -> Iterable[Finding]:
        from amem_cli.services.checkup.duplicate_ids import duplicate_findings

        return duplicate_findings(self._reading, self._open_ports if self._may_mend else None)

    def _links(self) -> Iterable[Finding]:
        from amem_cli.services.checkup.broken_links import link_findings

        ports = self._open_ports if self._may_mend else None
        return link_findings(self._reading, self._survey.files, ports)

    def _journal(self) -> Iterable[Finding]:
        from amem_cli.services.checkup.journal import journal_findings

        ports = self._open_ports if self._may_mend else None
        return journal_findings(self._reading, ports, self._journal_lines)

    def _review(self) -> Iterable[Finding]:
        from amem_cli.adapters.review_folder import ReviewFolder

        problems: list[Problem] = []
        ReviewFolder(self._state / "review").waiting(problems)
        hint = "Nothing of a note is lost with it; look at the file and delete it."
        return [from_problem("review", problem, hint=hint) for problem in problems]

    def _journal_lines(self, name: str) -> Sequence[str]:
        from amem_cli.adapters.journal_checks import journal_lines

        return journal_lines(self._state / "journal", name)

    def _secrets(self) -> Iterable[Finding]:
        from amem_cli.adapters.permission_checks import secret_findings

        return secret_findings(self.root)

    def _permissions(self) -> Iterator[Finding]:
        from amem_cli.adapters.permission_checks import (
            folder_findings,
            state_findings,
            user_findings,
        )

        yield from state_findings(self.root)
        if self._is_own:
            yield from folder_findings(self.root, self._usable.settings.notes_dir)
        state = config.user_state_folder(self._environment)
        yield from user_findings(state, self._user_file, may_mend=True)

    def _encoder(self) -> Iterable[Finding]:
        from amem_cli.adapters.model_checks import encoder_findings

        return encoder_findings(self._usable.settings.encoder_model)

    def _language_model(self) -> Iterable[Finding]:
        from amem_cli.adapters.model_checks import language_model_findings

        settings, origin = self._usable.settings, self._usable.origin
        default = OLLAMA_URL if settings.llm_backend == "ollama" else OPENAI_URL
        return language_model_findings(
            settings,
            settings.llm_base_url or default,
            lambda: open_model(settings, self.root, origin, self._environment),
        )

    def _git(self) -> Iterable[Finding]:
        from amem_cli.adapters.git_checks import git_findings

        return git_findings(self.root, may_mend=self._is_own)

    def _place(self) -> Iterable[Finding]:
        from amem_cli.adapters.machine_checks import place_findings

        return place_findings(self.root)

    def _watching(self) -> Iterable[Finding]:
        from amem_cli.adapters.machine_checks import watch_findings

        return watch_findings(self._survey.folders) if os.name == "posix" else ()

    def _system(self) -> Iterator[Finding]:
        import apsw

        from amem_cli.adapters.machine_checks import disk_findings, sqlite_findings

        yield from sqlite_findings(apsw.sqlite_lib_version())
        yield from disk_findings(self.root)
