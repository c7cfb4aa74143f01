"""Opens a vault and its models from the settings, each when it is first needed."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli import config
from amem_cli.core.errors import EncoderError, SettingsError
from amem_cli.services.vault_ports import VaultPorts
from amem_cli.vault_location import STATE_FOLDER, user_settings_file

if TYPE_CHECKING:
    from amem_cli.adapters.serving_encoder import ServingEncoder
    from amem_cli.adapters.sqlite_index import SqliteIndex
    from amem_cli.adapters.vault_folder import VaultFolder
    from amem_cli.core.changes import NoteWrite
    from amem_cli.core.journal import Event
    from amem_cli.core.model_trust import ModelTrust
    from amem_cli.core.ports import Encoder, LanguageModel, Reranker
    from amem_cli.git.batch import MachineCommits
    from amem_cli.services.evolve import MemoryProcess

HEARD_SECONDS = 0.1


@dataclass
class Workspace:
    """A vault opened with its settings.

    Attributes:
        overrides: settings given by the command's own options, by field name.
        notify: told when something takes long for the first time.
        environment: variables, keys among them.
        models_of: another opening of the same vault, whose models this one uses too.
    """

    root: Path
    overrides: Mapping[str, Any] = field(default_factory=dict)
    notify: Callable[[str], None] | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    models_of: Workspace | None = field(default=None, repr=False)
    _collecting: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _opening: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)

    def sharing_models(self) -> Workspace:
        """Another opening of the vault, for another thread; this one closes the models."""
        opened = replace(self, models_of=self.models_of or self)
        # Also where the files say something else by now: that is for the owner to take up.
        opened.__dict__["_layers"] = self._layers
        return opened

    @property
    def config_file(self) -> Path:
        """The vault's own settings."""
        return self.root / STATE_FOLDER / config.CONFIG_NAME

    @cached_property
    def _layers(self) -> tuple[config.Settings, dict[str, str]]:
        user_file = user_settings_file(self.environment)
        settings, origin = config.load(self.config_file, user_file, self.environment)
        origin.update({config.key_of(name): "option" for name in self.overrides})
        return replace(settings, **self.overrides), origin

    @property
    def settings(self) -> config.Settings:
        """The settings in force."""
        return self._layers[0]

    @property
    def origin(self) -> Mapping[str, str]:
        """Where each setting comes from, by dotted key."""
        return self._layers[1]

    @property
    def settings_version(self) -> tuple[tuple[int, int, int] | None, ...]:
        """Differs where the files of the settings may have changed."""
        return tuple(map(_version, (user_settings_file(self.environment), self.config_file)))

    def renew_settings(self) -> tuple[str, ...]:
        """Read the settings again; of what was opened with the former ones, the model is closed.

        Returns:
            Dotted keys of the settings that have other values.

        Raises:
            SettingsError: they cannot be read; the former ones stay in force.
        """
        former = self._layers
        del self.__dict__["_layers"]
        try:
            present = self.settings
        except SettingsError:
            self.__dict__["_layers"] = former
            raise
        names = config.keys().items()
        changed = (key for key, name in names if getattr(former[0], name) != getattr(present, name))
        found = tuple(changed)
        if any(key.startswith("llm.") for key in found):
            self.close_model()
        return found

    def close_model(self) -> None:
        """Close the language model, also in the middle of an answer; it is opened anew for the
        next one."""
        model = self.__dict__.pop("model", None)
        if model is not None:
            model.close()

    @cached_property
    def vault(self) -> VaultFolder:
        """The folder of notes."""
        from amem_cli.adapters.vault_folder import VaultFolder

        state = self.root / STATE_FOLDER
        if state.is_symlink() or not state.is_dir():
            raise SettingsError(f"{state} is not a folder", hint="A vault keeps its own .amem.")
        return VaultFolder(self.root, excluded=self.settings.exclude_folders)

    def refuse_if_gone(self) -> None:
        """Refuse to go on where the folder is not there any more: nothing is made in its place.

        Raises:
            SettingsError: it is gone.
        """
        if not (self.root / STATE_FOLDER).is_dir():
            raise SettingsError(
                f"{self.root} is no vault any more",
                hint="Was it moved or deleted, or its drive taken out? It is used once it is back.",
            )

    @property
    def index_file(self) -> Path:
        """The index of this vault."""
        return self.root / STATE_FOLDER / "index.db"

    @cached_property
    def index(self) -> SqliteIndex:
        """The open index."""
        from amem_cli.adapters.sqlite_index import SqliteIndex

        return SqliteIndex(self.index_file, notify=self.notify, refill=self._fill_index)

    def _fill_index(self) -> None:
        from amem_cli.services.sync import synchronise

        synchronise(self.ports)

    @cached_property
    def ports(self) -> VaultPorts:
        """What the use cases work on."""
        return self.ports_with(self.index)

    def ports_with(self, index: SqliteIndex) -> VaultPorts:
        """The same vault over another index."""
        from amem_cli.adapters.change_store import JournaledChanges
        from amem_cli.adapters.journal_folder import JournalFolder
        from amem_cli.adapters.machine_name import machine_name
        from amem_cli.adapters.system_clock import SystemClock

        journal = JournalFolder(
            self.root / STATE_FOLDER / "journal", machine_name(self.environment)
        )
        applied = self._collect if self.settings.git_commit == "batch" else None
        changes = JournaledChanges(self.vault, journal, applied=applied)
        names = self.settings.property_names
        return VaultPorts(self.vault, index, changes, journal, SystemClock(), names, self._spared)

    def _spared(self) -> Container[str]:
        """Missing notes that stay known: all, while a watcher asks what became of them."""
        from amem_cli.adapters.watch_lock import read_status
        from amem_cli.core.vault_port import EveryPath

        status = read_status(self.root, self.environment)
        if status is None or status.state != "asking":
            return ()
        if self.notify is not None:
            self.notify(f"! {status.reason}")
        return EveryPath()

    @property
    def encoder(self) -> Encoder:
        """The encoder to search and to add with: that of the settings, once all is embedded."""
        return self._serving.current()

    @property
    def embedding_encoder(self) -> Encoder:
        """The encoder to go over to: that of the settings, where it can be had."""
        return self._serving.preferred()

    @cached_property
    def _serving(self) -> ServingEncoder:
        from amem_cli.adapters.serving_encoder import ServingEncoder
        from amem_cli.model_opening import encoder_cache

        name, cache = self.settings.encoder_model, encoder_cache(self.environment)
        return ServingEncoder(
            self.index, lambda: self.chosen_encoder, name, cache=cache, notify=self.notify
        )

    @cached_property
    def chosen_encoder(self) -> Encoder:
        """The encoder of the settings, loaded with the first text."""
        if self.models_of is not None:
            with self.models_of._opening:
                return self.models_of.chosen_encoder
        from amem_cli.model_opening import open_chosen_encoder

        return open_chosen_encoder(
            self.settings, self.root, self.origin, self.environment, self.notify
        )

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker of the settings, loaded with the first search; None where none is named."""
        if self.models_of is not None:
            with self.models_of._opening:
                return self.models_of.reranker
        from amem_cli.model_opening import open_reranker

        return open_reranker(self.settings, self.root, self.origin, self.environment, self.notify)

    @contextlib.contextmanager
    def loading_encoder(self) -> Iterator[None]:
        """Load the encoder beside the work inside, and have it loaded behind it."""
        from amem_cli.adapters.encoder_open import PreparedEncoder

        chosen = None
        with contextlib.suppress(EncoderError, SettingsError):
            chosen = self.chosen_encoder
        if not isinstance(chosen, PreparedEncoder):
            yield
            return
        loading = chosen.load_ahead()
        try:
            yield
        finally:
            # A signal that comes in the instant before a wait is heard only after it.
            while loading.is_alive():
                loading.join(HEARD_SECONDS)

    @cached_property
    def model(self) -> LanguageModel | None:
        """The language model of the settings; None where there shall be none."""
        if self.models_of is not None:
            with self.models_of._opening:
                return self.models_of.model
        from amem_cli.model_opening import open_model

        model = open_model(self.settings, self.root, self.origin, self.environment)
        limit = self.settings.llm_daily_tokens
        if model is None or not limit:
            return model
        from amem_cli.adapters.daily_budget import BudgetedModel, TokenLedger

        return BudgetedModel(model, TokenLedger(self.root, self.environment), limit)

    @property
    def model_trust(self) -> ModelTrust:
        """What the language model of the settings is asked for, as far as that was tested."""
        from amem_cli.adapters.model_verdicts import trust_in
        from amem_cli.model_opening import server_url

        return trust_in(self.settings, server_url(self.settings), self.environment)

    @property
    def process(self) -> MemoryProcess:
        """The memory process with this vault's models and settings.

        Raises:
            SettingsError, ModelError: the language model of the settings cannot be used.
        """
        from amem_cli.services.evolve import MemoryProcess
        from amem_cli.services.process_plan import ProcessSettings

        settings, trust = self.settings, self.model_trust
        return MemoryProcess(
            ports=self.ports,
            encoder=self.encoder,
            model=None if trust.asked_for == "nothing" else self.model,
            settings=ProcessSettings(
                evolve=settings.evolution_mode != "off",
                review=settings.evolution_mode == "review",
                settle_seconds=settings.evolution_settle_seconds,
                max_links=settings.evolution_max_links,
                candidates=settings.evolution_candidates,
                deadline=settings.llm_deadline_seconds,
                trusted=trust.asked_for == "all",
                plausible=trust.plausible,
                learn=settings.evolution_feedback == "on",
            ),
        )

    @cached_property
    def _commits(self) -> MachineCommits:
        from amem_cli.git.batch import MachineCommits

        return MachineCommits(self.root, self.environment)

    def _collect(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        # Two threads that collect at first must not make two collections.
        with self._collecting:
            self._commits.collect(writes, events)

    def commit_changes(self) -> list[str]:
        """Commit what the machine changed since the last call, where the settings say so.

        Returns:
            Notices for the user, one line each.
        """
        commits = self.__dict__.get("_commits")
        return commits.commit() if commits is not None else []

    def close(self) -> None:
        """Close what was opened."""
        if "index" in self.__dict__:
            self.index.close()
        model = self.__dict__.get("model")
        if model is not None and self.models_of is None:
            model.close()


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
