"""A vault with its models, open for any number of threads."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.errors import AmemError, EncoderError, SettingsError, UsageError
from amem_cli.settings import STATE_FOLDER
from amem_cli.workspace.connection import Caller, ConfiguredModels, Connection

if TYPE_CHECKING:
    from typing_extensions import Self

    from amem_cli.git.batch import MachineCommits
    from amem_cli.index.memory_index import MemoryIndex, VaultPorts
    from amem_cli.index.sync import SyncReport
    from amem_cli.journal.events import Event, NoteWrite
    from amem_cli.memory.outcome import ModelTrust, Outcome, ProcessSettings
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.models.ports import Encoder, LanguageModel
    from amem_cli.settings import Settings
    from amem_cli.vault.file_state import SystemClock
    from amem_cli.vault.folder import VaultFolder

HEARD_SECONDS = 0.1
# How long closing waits for calls of other threads; their model is closed by then.
CLOSING_SECONDS = 30.0


@dataclass
class SharedVault:
    """A vault opened with its settings, usable from any thread.

    Each thread, or each `call`, has its own connection to the index; the models are shared.

    Attributes:
        overrides: settings given by the command's own options, by field name.
        notify: receives a line about anything that the user may want to know.
        environment: variables, keys among them.
        caller: who calls, outside of a `call`.
        clock: None is the system's.
        keep_missing: missing notes stay known, as somebody else decides what became of them.
    """

    root: Path
    overrides: Mapping[str, Any] = field(default_factory=dict)
    notify: Callable[[str], None] | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    caller: Caller = field(default_factory=Caller, repr=False)
    clock: SystemClock | None = field(default=None, repr=False)
    keep_missing: bool = False

    def __post_init__(self) -> None:
        self._models = self._new_models()
        self._own = threading.local()
        self._changed = threading.Condition()
        # Connections of threads that close them with the vault, of calls, and of calls to come.
        self._kept: list[Connection] = []
        self._lent: list[Connection] = []
        self._idle: list[Connection] = []
        self._version: object = None
        self._is_closed = False
        # Held by a call that writes notes, so that threads do not wait in locks of files;
        # reentrant, because verbs that write call one another (`update` calls `link`).
        self._writing = threading.RLock()
        # Held by the call that the language model works for.
        self._model_lock = threading.RLock()
        self._committing = threading.Lock()
        self._commits: MachineCommits | None = None

    def _new_models(self) -> ConfiguredModels:
        return ConfiguredModels(self.root, self.overrides, self.environment, self.notify)

    @property
    def is_closed(self) -> bool:
        """True once nothing can be asked any more."""
        return self._is_closed

    @property
    def _connection(self) -> Connection:
        """What this thread works with."""
        connection: Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._connect(self.caller)
            self._own.connection = connection
            with self._changed:
                self._kept.append(connection)
        return connection

    def _connect(self, caller: Caller) -> Connection:
        return Connection(
            self._models, caller, self.clock, self.notify, self._collect, lambda: self.keep_missing
        )

    @contextlib.contextmanager
    def call(self, caller: Caller | None = None, *, in_step: bool = True) -> Iterator[Self]:
        """One call of a program that keeps the vault open, with the settings as they are now.

        What it changed is committed at its end, if the settings say so.

        Args:
            caller: None is the workspace's own.
            in_step: bring the index in step with the folder first.

        Raises:
            UsageError: the vault was closed.
            SettingsError: the settings were changed and cannot be read, or the vault is gone.
        """
        before = getattr(self._own, "connection", None)
        with self._changed:
            if self._is_closed:
                raise UsageError(
                    "this memory is closed", hint="Open it again: AgenticMemorySystem(vault=…)."
                )
            self._take_up_settings()
            connection = self._idle.pop() if self._idle else self._connect(self.caller)
            # Under the same lock as the check above, or `close` would not wait for this call.
            self._lent.append(connection)
        connection.caller = caller or self.caller
        self._own.connection = connection
        try:
            if in_step:
                self.synchronise()
            yield self
        finally:
            try:
                if connection.has_changes:
                    connection.has_changes = False
                    self.commit()
            finally:
                # Even if the commit fails: `close` waits for every connection that is still lent.
                self._own.connection = before
                self._take_back(connection)

    def _take_up_settings(self) -> None:
        """Work with the settings as they are now; calls under way keep the former ones."""
        # The version is read before the settings, so that the next call notices a save in between.
        former, version = self._models, self.settings_version
        if version != self._version:
            # Other files may be in their place.
            idle, self._idle = self._idle, []
            for connection in idle:
                connection.close()
        # Nothing is made in place of a folder that is gone.
        if not (self.root / STATE_FOLDER).is_dir():
            raise SettingsError(
                f"{self.root} is no vault any more",
                hint="Was it moved or deleted, or its drive taken out? It is used once it is back.",
            )
        if version == self._version:
            return
        present = self._new_models()
        is_changed = (present.settings, present.origin) != (former.settings, former.origin)
        self._version = version
        if is_changed:
            self._models = present
            self._close_if_unused(former)

    def _take_back(self, connection: Connection) -> None:
        with self._changed:
            self._lent.remove(connection)
            is_kept = not self._is_closed and connection.models is self._models
            if is_kept:
                self._idle.append(connection)
            self._changed.notify_all()
        if not is_kept:
            connection.close()
            self._close_if_unused(connection.models)

    def _close_if_unused(self, models: ConfiguredModels) -> None:
        """End the model of settings that were replaced, once no call works with it."""
        with self._changed:
            is_used = any(each.models is models for each in (*self._lent, *self._kept))
        if models is not self._models and not is_used:
            models.close_model()

    def close(self, seconds: float = CLOSING_SECONDS) -> None:
        """End the model, wait for calls that are under way, and close the vault.

        Args:
            seconds: how long to wait at most.
        """
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
        # A call that waits for the model ends with that; its note stays pending.
        self._stop_models()
        end = time.monotonic() + seconds
        with self._changed:
            while self._lent and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            connections = [*self._idle, *self._kept]
            self._idle, self._kept = [], []
        for connection in connections:
            connection.close()
        # A call that had begun before may have started the model again.
        self._stop_models()

    def _stop_models(self) -> None:
        with self._changed:
            # Calls under way may still work with the model of settings that were replaced.
            used = [each.models for each in (*self._lent, *self._kept)]
        for models in (self._models, *used):
            models.close_model()

    @property
    def config_file(self) -> Path:
        """The vault's own settings."""
        return self._models.files[1]

    @property
    def models(self) -> ConfiguredModels:
        """The settings in force with their models."""
        return self._connection.models

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._connection.models.settings

    @property
    def settings_version(self) -> tuple[tuple[int, int, int] | None, ...]:
        """Differs if the files of the settings may have changed."""
        return tuple(map(_version, self._models.files))

    @property
    def vault(self) -> VaultFolder:
        """The folder of notes."""
        return self._connection.vault

    @property
    def index_file(self) -> Path:
        """The index of this vault."""
        return self.root / STATE_FOLDER / "index.db"

    @property
    def index(self) -> MemoryIndex:
        """This thread's connection to the index."""
        return self._connection.index

    @property
    def ports(self) -> VaultPorts:
        """What the use cases work on."""
        return self._connection.ports

    @property
    def encoder(self) -> Encoder:
        """The encoder to search and to add with: that of the settings, once all is embedded."""
        return self._connection.serving.current()

    @property
    def embedding_encoder(self) -> Encoder:
        """The encoder to go over to: that of the settings, if it can be had."""
        return self._connection.serving.preferred()

    @contextlib.contextmanager
    def loading_encoder(self) -> Iterator[None]:
        """Load the encoder beside the work inside, and have it loaded behind it."""
        from amem_cli.models.prepared import PreparedEncoder

        loading = None
        with contextlib.suppress(EncoderError, SettingsError):
            chosen = self.models.encoder
            loading = chosen.load_ahead() if isinstance(chosen, PreparedEncoder) else None
        try:
            yield
        finally:
            # A signal that comes in the instant before a wait is heard only after it.
            while loading is not None and loading.is_alive():
                loading.join(HEARD_SECONDS)

    @property
    def model(self) -> LanguageModel | None:
        """The language model of the settings; None if there is to be none."""
        return self._connection.models.model

    @property
    def model_trust(self) -> ModelTrust:
        """What the language model of the settings is asked for, as far as that was tested."""
        if self.settings.llm_backend == "none" and self.model is None:
            from amem_cli.memory.outcome import ModelTrust

            # The test and its verdicts are not loaded if there is no model.
            return ModelTrust("nothing")
        from amem_cli.workspace.verdicts import trust_in

        return trust_in(self.settings, self.environment)

    @property
    def process(self) -> MemoryProcess:
        """The memory process with this vault's models, or the caller's, and its settings."""
        own = self._connection.caller.model
        if own is not None:
            from amem_cli.memory.outcome import ModelTrust

            return self.process_with(own, ModelTrust("all"))
        trust = self.model_trust
        return self.process_with(
            None if trust.asked_for == "nothing" else self._model_or_stand_in(), trust
        )

    def process_with(self, model: LanguageModel | None, trust: ModelTrust) -> MemoryProcess:
        """The memory process with a model that is trusted so far."""
        from amem_cli.memory.process import MemoryProcess

        return MemoryProcess(
            ports=self.ports,
            encoder=self.encoder,
            model=model,
            settings=process_settings(self.settings, trust),
            serving=lambda: self.encoder,
        )

    def _model_or_stand_in(self) -> LanguageModel | None:
        try:
            return self.model
        except AmemError as error:
            from amem_cli.models.ports import UnavailableModel

            # Notes get what the analyzer makes of them, and wait for the model.
            return UnavailableModel(error, self.settings.llm_model or self.settings.llm_backend)

    def visible_outcome(self, outcome: Outcome) -> Outcome:
        """The outcome without the notes that the caller does not see."""
        hidden = self.hidden()
        if not hidden:
            return outcome
        return replace(
            outcome,
            links=tuple(link for link in outcome.links if link.path not in hidden),
            suggested=tuple(link for link in outcome.suggested if link.path not in hidden),
            changed_links=tuple(
                link for link in outcome.changed_links if not {link.source, link.target} & {*hidden}
            ),
            evolved=tuple(note for note in outcome.evolved if note.path not in hidden),
            proposed=tuple(
                proposal
                for proposal in outcome.proposed
                if proposal.path not in hidden
                and not (proposal.link_change and proposal.link_change.target in hidden)
            ),
        )

    def writing(self) -> AbstractContextManager[object]:
        """Other threads that write notes wait."""
        return self._writing

    @contextlib.contextmanager
    def model_at_work(self) -> Iterator[None]:
        """The language model works for this call alone, and is cut short when the call stops."""
        connection = self._connection
        own = connection.caller.model
        interrupt = connection.models.close_model if own is None else own.close
        # The lock comes first: a stop while this call waits must not close another call's model.
        with self._model_lock, connection.caller.interruptible(interrupt):
            yield

    def synchronise(self, *, keep_missing: bool = True) -> SyncReport:
        """Read what changed in the folder.

        Args:
            keep_missing: while a watcher asks what became of missing notes, they stay known.
        """
        from amem_cli.index.sync import synchronise

        with self._connection.caller.progress("reading notes") as progress:
            spared = None if keep_missing else ()
            return synchronise(self.ports, keep_missing=spared, progress=progress)

    def take_stock(self) -> int:
        """Record the notes of a new vault as their owner's, with nothing pending; their number."""
        from amem_cli.editing.edit import take_stock

        with self.writing():
            return take_stock(self.ports)

    def follow_renames(self, *, unless_done: bool = False) -> Sequence[str]:
        """Let the machine's links follow notes that were renamed; paths of notes that changed.

        Args:
            unless_done: only if a note was moved since the last time, and with a notice.
        """
        if unless_done and self.index.files.links_follow():
            return ()
        from amem_cli.editing.renames import update_renamed_links

        with self.writing():
            changed = update_renamed_links(self.ports)
        if unless_done and changed:
            self.notice(f"what amem wrote follows renamed notes in {', '.join(changed)}")
        return changed

    def embed_missing(self, *, go_over: bool = False) -> int:
        """Give new passages their vectors; returns how many got one.

        Args:
            go_over: to the encoder of the settings, also if that is to embed all notes anew.

        Raises:
            EncoderError, SettingsError: the encoder cannot be had.
        """
        from amem_cli.index.sync import embed_missing

        encoder = self.models.encoder if go_over else self.encoder
        waiting = self.index.vectors.count_to_embed(encoder.model_id) > 0
        with self._connection.caller.progress("embedding passages", at_once=waiting) as progress:
            return embed_missing(self.ports, encoder, progress=progress)

    @property
    def caller_now(self) -> Caller:
        """Who calls, in this thread."""
        return self._connection.caller

    @property
    def sees_private(self) -> bool:
        """True if the caller is shown notes with `private: true`."""
        return self._connection.caller.sees_private

    def hidden(self) -> Collection[str]:
        """Paths of the notes that the caller is not shown."""
        return () if self.sees_private else frozenset(self.index.notes.private_paths())

    def count_use(self, keys: Sequence[str]) -> None:
        """Remember that notes were found or read; a vault that cannot be written is read too."""
        from amem_cli.errors import IndexFault

        now = self.ports.clock.now().isoformat(timespec="seconds")
        with contextlib.suppress(IndexFault), self.index.changing():
            self.index.usage.count(keys, now)

    def _collect(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        # Two threads that collect at first must not make two collections.
        with self._changed:
            if self._commits is None:
                from amem_cli.git.batch import MachineCommits

                self._commits = MachineCommits(self.root, self.environment)
        self._commits.collect(writes, events)

    def commit(self) -> None:
        """Commit what the machine changed since the last time, if the settings say so."""
        for notice in self.commit_changes():
            self.notice(notice)

    def commit_changes(self) -> list[str]:
        """The same; gives the notices for the user."""
        if self._commits is None:
            return []
        with self._committing:
            try:
                return self._commits.commit()
            except AmemError as error:
                return [error.message]

    def notice(self, text: str) -> None:
        """Tell the user in one line."""
        if self.notify is not None:
            self.notify(text)


def process_settings(settings: Settings, trust: ModelTrust) -> ProcessSettings:
    """How far the memory process goes with a model that is trusted so far."""
    from amem_cli.journal.link_decisions import WRITTEN_FROM
    from amem_cli.memory.outcome import ProcessSettings

    return ProcessSettings(
        evolve=settings.evolution_mode != "off",
        review=settings.evolution_mode == "review",
        settle_seconds=settings.evolution_settle_seconds,
        max_links=settings.evolution_max_links,
        candidates=settings.evolution_candidates,
        deadline=settings.llm_deadline_seconds,
        trusted=trust.asked_for == "all",
        plausible=trust.plausible,
        learn=settings.evolution_feedback == "on",
        written_from=WRITTEN_FROM[settings.evolution_links],
    )


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    # The inode too: a file put in its place may have the same time and size.
    return status.st_mtime_ns, status.st_size, status.st_ino
