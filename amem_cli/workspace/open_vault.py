"""A vault with its models, open for any number of threads."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.errors import AmemError, SettingsError, UsageError
from amem_cli.settings import STATE_FOLDER
from amem_cli.workspace.connection import Caller, ConfiguredModels, Connection

if TYPE_CHECKING:
    from typing_extensions import Self

    from amem_cli.git.batch import CommitBatch
    from amem_cli.index.memory_index import MemoryIndex, VaultPorts
    from amem_cli.index.sync import SyncReport
    from amem_cli.journal.events import Event, NoteWrite
    from amem_cli.memory.outcome import ModelTrust, ProcessSettings
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.models.ports import Encoder, LanguageModel
    from amem_cli.settings import Settings
    from amem_cli.vault.file_state import SystemClock
    from amem_cli.vault.folder import VaultFolder

# How long closing waits for calls of other threads; their model is closed by then.
CLOSING_SECONDS = 30.0


@dataclass
class OpenVault:
    """A vault opened with its settings, usable from any thread.

    Each thread has its own connection to the index; the models are shared.

    Attributes:
        overrides: settings given by the command's own options, by field name.
        notify: receives a line about anything that the user may want to know.
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
    is_closed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.models = ConfiguredModels(self.root, self.overrides, self.environment, self.notify)
        self._version = self.models.version
        self._changed = threading.Condition()
        self._connections: dict[threading.Thread, Connection] = {}
        # Held by the call that the language model works for.
        self._model_lock = threading.RLock()
        self._committing = threading.Lock()
        self._batch: CommitBatch | None = None

    @property
    def _connection(self) -> Connection:
        thread = threading.current_thread()
        connection = self._connections.get(thread)
        if connection is None:
            connection = Connection(self, self._version, self.caller)
            with self._changed:
                ended = [each for each in self._connections if not each.is_alive()]
                for each in ended:
                    self._connections.pop(each).close()
                self._connections[thread] = connection
        return connection

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
        with self._changed:
            if self.is_closed:
                raise UsageError(
                    "this memory is closed", hint="Open it again: AgenticMemorySystem(vault=…)."
                )
            self._take_up_settings()
            connection = self._connection
            # Under the same lock as the check above, or `close` would not wait for this call.
            connection.is_in_call = True
        connection.caller = caller or self.caller
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
                # Even if the commit fails: `close` waits for every call under way.
                connection.caller = self.caller
                with self._changed:
                    connection.is_in_call = False
                    if self.is_closed:
                        connection.close()
                    self._changed.notify_all()

    def _take_up_settings(self) -> None:
        """Work with the settings as they are now, once no call has the model at work."""
        # Nothing is made in place of a folder that is gone.
        if not (self.root / STATE_FOLDER).is_dir():
            raise SettingsError(
                f"{self.root} is no vault any more",
                hint="Was it moved or deleted, or its drive taken out? It is used once it is back.",
            )
        # The version is read before the settings, so that the next call notices a save in between.
        version = self.models.version
        if version != self._version and self._model_lock.acquire(blocking=False):
            try:
                self.models.renew()
            finally:
                self._model_lock.release()
            self._version = version
        thread = threading.current_thread()
        connection = self._connections.get(thread)
        if connection is not None and connection.version != self._version:
            # Other files may be in their place.
            self._connections.pop(thread).close()

    def close(self, seconds: float = CLOSING_SECONDS) -> None:
        """End the model, wait for calls that are under way, and close the vault.

        Args:
            seconds: how long to wait at most.
        """
        with self._changed:
            if self.is_closed:
                return
            self.is_closed = True
        # A call that waits for the model ends with that; its note stays pending.
        self.models.close_model()
        with self._changed:
            self._changed.wait_for(
                lambda: not any(each.is_in_call for each in self._connections.values()), seconds
            )
            idle = [each for each in self._connections.values() if not each.is_in_call]
        for connection in idle:
            connection.close()
        # A call that had begun before may have started the model again.
        self.models.close_model()

    @property
    def settings(self) -> Settings:
        return self.models.settings

    @property
    def vault(self) -> VaultFolder:
        return self._connection.vault

    @property
    def index_file(self) -> Path:
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
        return self.models.encoder

    @property
    def caller_now(self) -> Caller:
        return self._connection.caller

    @property
    def model_trust(self) -> ModelTrust:
        """What the language model of the settings is asked for, as far as that was tested."""
        if self.settings.llm_backend == "none" and self.models.model is None:
            from amem_cli.memory.outcome import ModelTrust

            # The test and its verdicts are not loaded if there is no model.
            return ModelTrust("nothing")
        from amem_cli.workspace.verdicts import trust_in

        return trust_in(self.settings, self.environment)

    @property
    def process(self) -> MemoryProcess:
        """The memory process with this vault's models and settings."""
        trust, model = self.model_trust, None
        if trust.asked_for != "nothing":
            try:
                model = self.models.model
            except AmemError as error:
                from amem_cli.models.ports import UnavailableModel

                # Notes get what the analyzer makes of them, and wait for the model.
                name = self.settings.llm_model or self.settings.llm_backend
                model = UnavailableModel(error, name)
        return self.process_with(model, trust)

    def process_with(self, model: LanguageModel | None, trust: ModelTrust) -> MemoryProcess:
        """The memory process with a model that is trusted so far."""
        from amem_cli.memory.process import MemoryProcess

        return MemoryProcess(
            ports=self.ports,
            encoder=self.encoder,
            model=model,
            settings=process_settings(self.settings, trust),
            judge=self.models.judge,
        )

    @contextlib.contextmanager
    def model_at_work(self) -> Iterator[None]:
        """The language model works for this call alone, and is cut short when the call stops."""
        # The lock comes first: a stop while this call waits must not close another call's model.
        with self._model_lock, self.caller_now.interruptible(self.models.close_model):
            yield

    def synchronise(self, *, keep_missing: bool = True) -> SyncReport:
        """Read what changed in the folder.

        Args:
            keep_missing: while a watcher asks what became of missing notes, they stay known.
        """
        from amem_cli.index.sync import synchronise

        with self.caller_now.progress("reading notes") as progress:
            spared = None if keep_missing else ()
            return synchronise(self.ports, keep_missing=spared, progress=progress)

    def follow_renames(self, *, unless_done: bool = False) -> Sequence[str]:
        """Let the machine's links follow notes that were renamed; paths of notes that changed.

        Args:
            unless_done: only if a note was moved since the last time, and with a notice.
        """
        if unless_done and self.index.files.links_follow():
            return ()
        from amem_cli.editing.renames import update_renamed_links

        changed = update_renamed_links(self.ports)
        if unless_done and changed:
            self.notice(f"what amem wrote follows renamed notes in {', '.join(changed)}")
        return changed

    def embed_missing(self) -> int:
        """Give new passages their vectors; returns how many got one.

        Raises:
            EncoderError, SettingsError: the encoder cannot be had.
        """
        from amem_cli.index.sync import embed_missing

        encoder = self.encoder
        waiting = self.index.vectors.count_to_embed(encoder.model_id) > 0
        with self.caller_now.progress("embedding passages", at_once=waiting) as progress:
            return embed_missing(self.ports, encoder, progress=progress)

    @property
    def sees_private(self) -> bool:
        """True if the caller is shown notes with `private: true`."""
        return self.caller_now.sees_private

    def hidden(self) -> Collection[str]:
        """Paths of the notes that the caller is not shown."""
        return () if self.sees_private else frozenset(self.index.notes.private_paths())

    def count_use(self, keys: Sequence[str]) -> None:
        """Remember that notes were found or read; a vault that cannot be written is read too."""
        from amem_cli.errors import IndexFault

        now = self.ports.clock.now().isoformat(timespec="seconds")
        with contextlib.suppress(IndexFault), self.index.changing():
            self.index.usage.count(keys, now)

    def collect(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        """Keep what was changed for the next commit."""
        # Two threads that collect at first must not make two collections.
        with self._changed:
            if self._batch is None:
                from amem_cli.git.batch import CommitBatch

                self._batch = CommitBatch()
            self._batch.collect(writes, events)

    def commit(self) -> None:
        """Commit what the machine changed since the last time, if the settings say so."""
        for notice in self.commit_changes():
            self.notice(notice)

    def commit_changes(self) -> list[str]:
        """Commit as `commit` does; returns the notices for the user."""
        with self._changed:
            batch, self._batch = self._batch, None
        if not batch:
            return []
        from amem_cli.git.batch import commit_batch

        with self._committing:
            try:
                return commit_batch(batch, self.root, self.environment)
            except AmemError as error:
                return [error.message]

    def notice(self, text: str) -> None:
        """Tell the user in one line."""
        if self.notify is not None:
            self.notify(text)


def process_settings(settings: Settings, trust: ModelTrust) -> ProcessSettings:
    """How far the memory process goes with a model that is trusted so far."""
    from amem_cli.journal.link_decisions import MINIMUM_STRENGTHS
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
        keywords=trust.keywords,
        minimum_strength=MINIMUM_STRENGTHS[settings.evolution_links],
    )
