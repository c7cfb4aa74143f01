"""Opens the parts of a vault from its settings, each when it is first needed, for a caller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from amem_cli.errors import SettingsError
from amem_cli.notes.note import PropertyNames
from amem_cli.settings import (
    CONFIG_NAME,
    STATE_FOLDER,
    Settings,
    load_settings,
    obsidian_files,
    setting_keys,
    user_settings_file,
)

# The rest is imported where it is used, so that a command loads only what it needs.
if TYPE_CHECKING:
    from amem_cli.git.first_commits import FirstCommits
    from amem_cli.index.memory_index import MemoryIndex, VaultPorts
    from amem_cli.index.records import Progress
    from amem_cli.journal.change_store import ChangeStore
    from amem_cli.journal.events import Event, NoteWrite
    from amem_cli.models.ports import Encoder, Judge, LanguageModel
    from amem_cli.vault.folder import VaultFolder
    from amem_cli.workspace.open_vault import OpenVault

    Notify = Callable[[str], None] | None

# Given a label, and whether to show it before there is anything to count.
ShowProgress: TypeAlias = "Callable[[str, bool], AbstractContextManager[Progress | None]]"


class Stopped(Exception):
    """Nobody waits for the result any more: a verb that shows progress, or asks a model, ends."""


@dataclass
class Caller:
    """Who calls the verbs of a workspace.

    Attributes:
        show: shows what takes time; called in the thread that does the work.
        saved: called with the path of a note as soon as what a person wrote is on disk.
        sees_private: notes with `private: true` are found, read and named.
        client: the program that the journal names with each change; empty for the user's own.
    """

    show: ShowProgress = lambda label, at_once: nullcontext()
    saved: Callable[[str], None] = lambda path: None
    sees_private: bool = True
    client: str = ""
    _stopped: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _interrupt: Callable[[], None] | None = field(default=None, init=False, repr=False)
    _interrupting: threading.Thread | None = field(default=None, init=False, repr=False)

    @contextmanager
    def progress(self, label: str, *, at_once: bool = False) -> Iterator[Progress]:
        """Show what is done inside; yields a function to call with (done, total).

        Args:
            at_once: show it although nothing will be counted.

        Raises:
            Stopped: nobody waits for the result any more.
        """
        self._refuse_if_stopped()
        with self.show(label, at_once) as show:

            def report(done: int, total: int) -> None:
                self._refuse_if_stopped()
                if show is not None:
                    show(done, total)

            yield report

    def step(self, label: str) -> None:
        """Show what comes next, if anybody still waits for the result."""
        with self.progress(label):
            pass

    @contextmanager
    def interruptible(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Work inside is cut short by `interrupt`, from another thread, when the call stops."""
        with self._lock:
            # Under the lock: a stop that comes in between would find nothing to interrupt.
            self._refuse_if_stopped()
            self._interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None
                interrupting = self._interrupting
            if interrupting is not None:
                # What it cuts short must not be the work of the next call.
                interrupting.join()

    def stop(self) -> None:
        """Nobody waits for the result any more; does not wait for the work to end."""
        with self._lock:
            self._stopped = True
            if self._interrupt is not None and self._interrupting is None:
                # In another thread: closing a model takes a while, for which nobody waits here.
                self._interrupting = threading.Thread(target=self._interrupt, daemon=True)
                self._interrupting.start()

    def _refuse_if_stopped(self) -> None:
        if self._stopped:
            raise Stopped


@dataclass
class ConfiguredModels:
    """The settings in force and the models that they name, each opened once for all threads."""

    root: Path
    overrides: Mapping[str, Any]
    environment: Mapping[str, str] = field(repr=False)
    notify: Notify
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)
    # By name, so that a model that is None counts as opened.
    _opened: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def files(self) -> tuple[Path, Path]:
        """The user's and the vault's own settings."""
        own = self.root / STATE_FOLDER / CONFIG_NAME
        return user_settings_file(self.environment), own

    @cached_property
    def _layers(self) -> tuple[Settings, dict[str, str]]:
        user_file, own_file = self.files
        return load_settings(own_file, user_file, self.environment, self.overrides)

    @property
    def settings(self) -> Settings:
        return self._layers[0]

    @property
    def origin(self) -> Mapping[str, str]:
        """Where each setting comes from, by dotted key."""
        return self._layers[1]

    @property
    def version(self) -> tuple[object, ...]:
        """Differs if the files of the settings may have changed."""
        return tuple(map(_version, (*self.files, *obsidian_files(self.root))))

    def renew(self) -> tuple[str, ...]:
        """Read the settings again, and let go of models in whose place they name others.

        Returns:
            The keys of the settings that changed.

        Raises:
            SettingsError: they cannot be read; the former ones stay in force.
        """
        former = self.__dict__.get("_layers")
        user_file, own_file = self.files
        layers = load_settings(own_file, user_file, self.environment, self.overrides)
        self.__dict__["_layers"], present = layers, layers[0]
        if former is None:
            return ()
        names, before = setting_keys().items(), former[0]
        changed = tuple(key for key, at in names if getattr(before, at) != getattr(present, at))
        if any(key.startswith("llm.") for key in changed):
            self.close_model()
        if "encoder.model" in changed:
            with self._lock:
                self._opened.pop("encoder", None)
        return changed

    @property
    def encoder(self) -> Encoder:
        """The encoder of the settings, loaded with the first text."""
        from amem_cli.models.prepared import open_chosen_encoder

        encoder: Encoder = self._once("encoder", open_chosen_encoder)
        return encoder

    @encoder.setter
    def encoder(self, encoder: Encoder) -> None:
        self._opened["encoder"] = encoder

    @property
    def model(self) -> LanguageModel | None:
        """The language model of the settings; None if there is to be none."""
        if "model" not in self._opened and self.settings.llm_backend == "none":
            return None
        model: LanguageModel | None = self._once("model", open_budgeted)
        return model

    @model.setter
    def model(self, model: LanguageModel | None) -> None:
        self._opened["model"] = model

    @property
    def judge(self) -> Judge | None:
        """The judge of links; None if there is to be none, or what it needs is missing."""
        if "judge" not in self._opened and self.settings.llm_judge == "off":
            return None
        from amem_cli.models.judge import open_judge

        with self._lock:
            if "judge" not in self._opened:
                self._opened["judge"] = open_judge(self.settings, self.environment)
            judge: Judge | None = self._opened["judge"]
            return judge

    def close_model(self) -> None:
        """Close the language model and the judge, also in the middle of an answer; the next call
        opens them."""
        for model in (self._opened.pop("model", None), self._opened.pop("judge", None)):
            if model is not None:
                model.close()

    def _once(self, name: str, open_it: Callable[..., object]) -> Any:
        with self._lock:
            if name not in self._opened:
                self._opened[name] = open_it(
                    self.settings, self.root, self.origin, self.environment, self.notify
                )
            return self._opened[name]


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    # The inode too: a file put in its place may have the same time and size.
    return status.st_mtime_ns, status.st_size, status.st_ino


def open_budgeted(
    settings: Settings,
    root: Path,
    origin: Mapping[str, str],
    environment: Mapping[str, str],
    notify: Notify,
) -> LanguageModel | None:
    """The language model of settings, within the day's tokens; see `models.open.open_model`."""
    from amem_cli.models.open import GuardedModel, TokenLedger, open_model

    model = open_model(settings, root, origin, environment, notify)
    limit = settings.llm_daily_tokens
    if model is None:
        return None
    return GuardedModel(model, TokenLedger(root, environment) if limit else None, limit)


@dataclass
class Connection:
    """What one thread works with: its own connection to the index, and the files."""

    owner: OpenVault
    # Of the settings that it was opened with.
    version: object
    caller: Caller
    has_changes: bool = False
    is_in_call: bool = False

    def __post_init__(self) -> None:
        self.models = self.owner.models

    @cached_property
    def vault(self) -> VaultFolder:
        from amem_cli.vault.folder import VaultFolder

        state = self.models.root / STATE_FOLDER
        # A vault may come from somebody else: a link would lead what amem writes out of it.
        if state.is_symlink() or not state.is_dir():
            raise SettingsError(f"{state} is not a folder", hint="A vault keeps its own .amem.")
        return VaultFolder(self.models.root, excluded=self.models.settings.exclude_folders)

    @cached_property
    def index(self) -> MemoryIndex:
        from amem_cli.index.memory_index import MemoryIndex
        from amem_cli.index.sync import synchronise

        file = self.models.root / STATE_FOLDER / "index.db"
        return MemoryIndex(file, notify=self.models.notify, refill=lambda: synchronise(self.ports))

    @cached_property
    def ports(self) -> VaultPorts:
        """What the use cases work on."""
        from amem_cli.index.memory_index import VaultPorts
        from amem_cli.journal.files import JournalFolder
        from amem_cli.settings import machine_name
        from amem_cli.vault.file_state import SystemClock

        models = self.models
        folder = models.root / STATE_FOLDER / "journal"
        journal = JournalFolder(folder, machine_name(models.environment))

        def open_changes() -> ChangeStore:
            from amem_cli.journal.change_store import ChangeStore

            # The client is looked up at each change, as the connection goes on to other callers.
            return ChangeStore(
                self.vault,
                journal,
                applied=self._applied if models.settings.git_commit == "batch" else None,
                client=lambda: self.caller.client,
                notify=models.notify,
            )

        return VaultPorts(
            vault=self.vault,
            index=self.index,
            open_changes=open_changes,
            journal=journal,
            clock=self.owner.clock or SystemClock(),
            names=PropertyNames.of(models.settings),
            daily=models.settings.daily_notes,
            keep_missing=self._missing_to_keep,
            first_commit=lambda path: self._first_commits(path),
        )

    @cached_property
    def _first_commits(self) -> FirstCommits:
        from amem_cli.git.first_commits import FirstCommits

        return FirstCommits(self.models.root, self.models.environment)

    def _applied(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        self.has_changes = True
        self.owner.collect(writes, events)

    def _missing_to_keep(self) -> Container[str]:
        """Paths that stay known if they are missing: all, while a watcher asks about them."""
        from amem_cli.vault.file_state import EveryPath
        from amem_cli.workspace.watch_lock import read_status

        if self.owner.keep_missing:
            return EveryPath()
        status = read_status(self.models.root, self.models.environment)
        # Another command must not forget the notes that a watcher is asking the user about.
        if status is None or status.state != "asking":
            return ()
        if self.models.notify is not None:
            self.models.notify(f"! {status.reason}")
        return EveryPath()

    def close(self) -> None:
        index = self.__dict__.pop("index", None)
        if index is not None:
            self.__dict__.pop("ports", None)
            index.close()
