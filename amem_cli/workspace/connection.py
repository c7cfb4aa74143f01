"""Opens the parts of a vault from its settings, each when it is first needed, for a caller."""

from __future__ import annotations

import contextlib
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
    setting_keys,
    user_settings_file,
)

# The rest is imported where it is used, so that a command loads only what it needs.
if TYPE_CHECKING:
    from amem_cli.git.first_commits import FirstCommits
    from amem_cli.index.memory_index import MemoryIndex, VaultPorts
    from amem_cli.index.records import Progress
    from amem_cli.index.vectors import EncoderChoice
    from amem_cli.journal.change_store import ChangeStore
    from amem_cli.journal.events import Event, NoteWrite
    from amem_cli.models.ports import Encoder, LanguageModel
    from amem_cli.vault.file_state import SystemClock
    from amem_cli.vault.folder import VaultFolder

    Collect = Callable[[Sequence[NoteWrite], Sequence[Event]], None]
    Notify = Callable[[str], None] | None
    # What a model is opened by: settings, vault, where each setting is from, variables, notices.
    OpenedBy = tuple[Settings, Path, Mapping[str, str], Mapping[str, str], Notify]


# Given a label, and whether to show it before there is anything to count.
ShowProgress: TypeAlias = "Callable[[str, bool], AbstractContextManager[Progress | None]]"


class Stopped(Exception):
    """Nobody waits for the result any more: a verb that shows progress, or asks a model, ends."""


class Caller:
    """Who calls the verbs of a workspace.

    Args:
        progress: shows what takes time; called in the thread that does the work.
        saved: called with the path of a note as soon as what a person wrote is on disk.
        model: the memory process asks it in place of the vault's; None for the vault's own.

    Attributes:
        sees_private: notes with `private: true` are found, read and named.
        client: the program that the journal names with each change; empty for the user's own.
    """

    def __init__(
        self,
        *,
        progress: ShowProgress = lambda label, at_once: nullcontext(),
        saved: Callable[[str], None] = lambda path: None,
        sees_private: bool = True,
        client: str = "",
        model: LanguageModel | None = None,
    ) -> None:
        self.sees_private = sees_private
        self.client = client
        self.saved = saved
        self.model = model
        self._progress = progress
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._interrupt: Callable[[], None] | None = None
        self._interrupting: threading.Thread | None = None

    @contextmanager
    def progress(self, label: str, *, at_once: bool = False) -> Iterator[Progress]:
        """Show what is done inside; yields a function to call with (done, total).

        Args:
            at_once: show it although nothing will be counted.

        Raises:
            Stopped: nobody waits for the result any more.
        """
        self._refuse_if_stopped()
        with self._progress(label, at_once) as show:

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
            self._stopped.set()
            if self._interrupt is not None and self._interrupting is None:
                # In another thread: closing a model takes a while, for which nobody waits here.
                self._interrupting = threading.Thread(target=self._interrupt, daemon=True)
                self._interrupting.start()

    def _refuse_if_stopped(self) -> None:
        if self._stopped.is_set():
            raise Stopped


@dataclass
class ConfiguredModels:
    """The settings in force and the models that they name, each opened once for all threads.

    Attributes:
        overrides: settings given by the command's own options, by field name.
    """

    root: Path
    overrides: Mapping[str, Any]
    environment: Mapping[str, str] = field(repr=False)
    notify: Callable[[str], None] | None
    _opening_lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)
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
        """The settings in force."""
        return self._layers[0]

    @property
    def origin(self) -> Mapping[str, str]:
        """Where each setting comes from, by dotted key."""
        return self._layers[1]

    def renew(self) -> tuple[str, ...]:
        """Read the settings again, and let go of models in whose place they name others.

        Returns:
            The keys of the settings that changed.

        Raises:
            SettingsError: they cannot be read; the former ones stay in force.
        """
        former = self._layers
        del self.__dict__["_layers"]
        try:
            present = self.settings
        except SettingsError:
            # A watcher goes on with the former settings until the file can be read again.
            self.__dict__["_layers"] = former
            raise
        names, before = setting_keys().items(), former[0]
        changed = tuple(key for key, at in names if getattr(before, at) != getattr(present, at))
        if any(key.startswith("llm.") for key in changed):
            self.close_model()
        if "encoder.model" in changed:
            with self._opening_lock:
                self._opened.pop("encoder", None)
        return changed

    @property
    def encoder(self) -> Encoder:
        """The encoder of the settings, loaded with the first text."""
        from amem_cli.models.prepared import open_chosen_encoder

        encoder: Encoder = self._once("encoder", lambda: open_chosen_encoder(*self._opened_by))
        return encoder

    @encoder.setter
    def encoder(self, encoder: Encoder) -> None:
        self._opened["encoder"] = encoder

    @property
    def model(self) -> LanguageModel | None:
        """The language model of the settings; None if there is to be none."""
        model: LanguageModel | None = self._once("model", self._opened_model)
        return model

    @model.setter
    def model(self, model: LanguageModel | None) -> None:
        self._opened["model"] = model

    def close_model(self) -> None:
        """Close the language model, also in the middle of an answer; the next call opens it."""
        model = self._opened.pop("model", None)
        if model is not None:
            model.close()

    @property
    def _opened_by(self) -> OpenedBy:
        return self.settings, self.root, self.origin, self.environment, self.notify

    def _once(self, name: str, open_it: Callable[[], object]) -> Any:
        with self._opening_lock:
            if name not in self._opened:
                self._opened[name] = open_it()
            return self._opened[name]

    def _opened_model(self) -> LanguageModel | None:
        return None if self.settings.llm_backend == "none" else open_budgeted(*self._opened_by)


def open_budgeted(
    settings: Settings,
    root: Path,
    origin: Mapping[str, str],
    environment: Mapping[str, str],
    notify: Notify,
) -> LanguageModel | None:
    """The language model of settings, within the day's tokens; see `models.open.open_model`."""
    from amem_cli.models.open import BudgetedModel, TokenLedger, open_model

    model = open_model(settings, root, origin, environment, notify)
    limit = settings.llm_daily_tokens
    if model is None or not limit:
        return model
    return BudgetedModel(model, TokenLedger(root, environment), limit)


@dataclass
class Connection:
    """What one thread works with at a time: its own connection to the index, and the files.

    Attributes:
        clock: None is the system's.
        notify: receives a line about anything that the user may want to know.
        collect: given what was changed, if the settings say that it is to be committed.
        keep_missing: whether notes that are missing stay known, as their owner has yet to decide.
        has_changes: something was changed since the last commit.
    """

    models: ConfiguredModels
    caller: Caller
    clock: SystemClock | None
    notify: Callable[[str], None] | None
    collect: Collect
    keep_missing: Callable[[], bool]
    has_changes: bool = False
    _serving: EncoderChoice | None = field(default=None, init=False, repr=False)

    @property
    def state_folder(self) -> Path:
        """The vault's `.amem`."""
        return self.models.root / STATE_FOLDER

    @cached_property
    def vault(self) -> VaultFolder:
        """The folder of notes."""
        from amem_cli.vault.folder import VaultFolder

        state = self.state_folder
        # A vault may come from somebody else: a link would lead what amem writes out of it.
        if state.is_symlink() or not state.is_dir():
            raise SettingsError(f"{state} is not a folder", hint="A vault keeps its own .amem.")
        return VaultFolder(self.models.root, excluded=self.models.settings.exclude_folders)

    @cached_property
    def index(self) -> MemoryIndex:
        """The open index."""
        from amem_cli.index.memory_index import MemoryIndex

        file = self.state_folder / "index.db"
        return MemoryIndex(file, notify=self.notify, refill=self._fill_index)

    def _fill_index(self) -> None:
        from amem_cli.index.sync import synchronise

        synchronise(self.ports)

    @cached_property
    def ports(self) -> VaultPorts:
        """What the use cases work on."""
        return self.ports_with(self.index)

    def ports_with(self, index: MemoryIndex) -> VaultPorts:
        """What the use cases work on, over another index."""
        from amem_cli.index.memory_index import VaultPorts
        from amem_cli.journal.files import JournalFolder
        from amem_cli.settings import machine_name
        from amem_cli.vault.file_state import SystemClock

        models = self.models
        journal = JournalFolder(self.state_folder / "journal", machine_name(models.environment))

        def open_changes() -> ChangeStore:
            from amem_cli.journal.change_store import ChangeStore

            applied = self._applied if models.settings.git_commit == "batch" else None
            # The client is looked up at each change, as the connection goes on to other callers.
            return ChangeStore(
                self.vault,
                journal,
                applied=applied,
                client=lambda: self.caller.client,
                notify=self.notify,
            )

        clock, names = self.clock or SystemClock(), PropertyNames.of(models.settings)
        return VaultPorts(
            vault=self.vault,
            index=index,
            open_changes=open_changes,
            journal=journal,
            clock=clock,
            names=names,
            keep_missing=self._missing_to_keep,
            first_commit=lambda path: self._first_commits(path),
        )

    @cached_property
    def _first_commits(self) -> FirstCommits:
        from amem_cli.git.first_commits import FirstCommits

        return FirstCommits(self.models.root, self.models.environment)

    def _applied(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        self.has_changes = True
        self.collect(writes, events)

    def _missing_to_keep(self) -> Container[str]:
        """Paths that stay known if they are missing: all, while a watcher asks about them."""
        from amem_cli.vault.file_state import EveryPath
        from amem_cli.workspace.watch_lock import read_status

        if self.keep_missing():
            return EveryPath()
        status = read_status(self.models.root, self.models.environment)
        # Another command must not forget the notes that a watcher is asking the user about.
        if status is None or status.state != "asking":
            return ()
        if self.notify is not None:
            self.notify(f"! {status.reason}")
        return EveryPath()

    @property
    def serving(self) -> EncoderChoice:
        """Chooses between the encoder of the settings and that of the vectors in the index."""
        from amem_cli.index.vectors import EncoderChoice
        from amem_cli.models.prepared import encoder_cache

        models = self.models
        name, cache = models.settings.encoder_model, encoder_cache(models.environment)
        if self._serving is None or self._serving.name != name:
            self._serving = EncoderChoice(
                self.index.vectors, lambda: models.encoder, name, cache=cache, notify=self.notify
            )
        return self._serving

    def close(self) -> None:
        """Close the index."""
        index = self.__dict__.get("index")
        if index is not None:
            with contextlib.suppress(KeyError):
                del self.__dict__["index"], self.__dict__["ports"]
            index.close()
