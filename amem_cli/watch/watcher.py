"""The watcher of a vault: its loop and worker by the vault's settings, its lock and its status."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError
from amem_cli.settings import STATE_FOLDER, machine_name
from amem_cli.watch.events import WatchEvent, status_after
from amem_cli.watch.loop import Watch
from amem_cli.watch.worker import BackgroundWork
from amem_cli.workspace.workspace import Workspace

if TYPE_CHECKING:
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.watch.folder_watch import FolderWatch
    from amem_cli.workspace.watch_lock import WatchLock, WatchStatus

# The model leaves at least half of the machine to the person at it.
SHARE_OF_CORES = 2
# Others work on what is pending, too: it is counted so often, or less if that takes long.
COUNT_SECONDS = 10.0
COUNT_SHARE = 500.0

# These settings are read for every note; those of other commands matter to no watcher.
_TAKEN_UP = ("evolution.", "llm.", "watch.")
_OF_OTHERS = ("default_vault", "notes_dir", "search.")
_FROM_THE_START = "evolution.device"
Report = Callable[["WatchEvent | None", "WatchStatus"], None]


def background_threads(threads: int) -> int:
    """Threads for a model that works beside a person."""
    return max(1, min(threads, (os.cpu_count() or 1) // SHARE_OF_CORES))


class Watcher:
    """The one watcher of a vault.

    Args:
        report: receives each event and the status after it, from several threads but one at a
            time; None as the event if only counts changed.
    """

    def __init__(self, workspace: Workspace, report: Report) -> None:
        self._workspace = workspace
        self._on_event = report
        self._status: WatchStatus | None = None
        self._lock: WatchLock | None = None
        self._reporting = threading.Lock()
        self._count_at = 0.0
        self._troubles: set[str] = set()
        self._status_error = ""
        self._settings_version = workspace.settings_version
        self._has_new_settings = False
        self._watch: Watch | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the vault as its only watcher.

        Raises:
            SettingsError: another watcher holds it.
        """
        from amem_cli.workspace.watch_lock import WatchLock

        lock = WatchLock(self._workspace.root, self._workspace.environment)
        self._status = lock.acquire()
        self._lock = lock
        try:
            yield
        finally:
            self._lock = None
            lock.release()

    def elsewhere(self) -> str:
        """The other machine that runs the memory process for this vault; empty if this one does.

        Raises:
            SettingsError: it cannot be noted in the vault that this machine watches it.
        """
        from amem_cli.watch.idle import evolving_machine, register

        state = self._workspace.root / STATE_FOLDER
        machine = machine_name(self._workspace.environment)
        setting = self._workspace.settings.evolution_device
        if setting == "first":
            register(state, machine, datetime.now(timezone.utc))
        chosen = evolving_machine(state, setting, machine)
        return "" if chosen == machine else chosen

    def run(self, begin: Callable[[Watch], None], *, evolves: bool) -> None:
        """Watch until the watch is stopped.

        Args:
            begin: receives the watch before it begins, to arrange for its end.
            evolves: whether this machine runs the memory process.
        """
        workspace = self._workspace
        # The watch alone decides when a missing note is gone, not the memory process beside it.
        workspace.keep_missing = True
        self._watch = Watch(
            workspace.ports,
            self._open_folder,
            lambda: workspace.embedding_encoder,
            self._work() if evolves else None,
            self._report,
            time.monotonic,
            self._end_reason,
        )
        begin(self._watch)
        self._watch.run()

    def _open_folder(self) -> FolderWatch:
        from amem_cli.watch.folder_watch import FolderWatch

        return FolderWatch(self._workspace.root)

    def _work(self) -> BackgroundWork:
        from amem_cli.watch.idle import lower_priority

        return BackgroundWork(
            process=self._process,
            resting=self.resting,
            report=self._report,
            finished=self._commit,
            unload=lambda: self._workspace.models.close_model(),
            monotonic=time.monotonic,
            begin=lower_priority,
            idle_seconds=self._workspace.settings.watch_idle_seconds,
        )

    def _process(self) -> MemoryProcess:
        if self._has_new_settings:
            self._has_new_settings = False
            self._read_settings()
        return self._workspace.process

    def _commit(self) -> None:
        for notice in self._workspace.commit_changes():
            self._report(WatchEvent("committed", notice, {}))

    def resting(self) -> str:
        """Why the memory process is not to run at this moment; empty if it may."""
        reason = self._end_reason()
        if reason:
            return reason
        from amem_cli.git.state import git_is_busy
        from amem_cli.watch.idle import on_battery

        if self._watch is not None:
            if self._lock is not None and self._lock.stop_requested():
                self._watch.stop()
            if self._watch.vanished:
                return "many notes are missing"
        if self._workspace.settings.watch_on_battery == "pause" and on_battery():
            return "on battery"
        return git_is_busy(self._workspace.root)

    def _end_reason(self) -> str:
        """Why watching is to end; as this is asked often, changes from outside are noticed here."""
        if self._lock is not None and not self._lock.is_kept():
            return "the vault's folder .amem is gone, or another one took its place"
        version = self._workspace.settings_version
        if version != self._settings_version and self._watch is not None:
            self._settings_version = version
            if self._watch.work is None:
                self._read_settings()
            else:
                # The model must not be closed under the worker: it reads them between two notes.
                self._has_new_settings = True
                self._watch.work.renew()
        if time.monotonic() >= self._count_at:
            with self._reporting:
                self._update_status(None)
        return ""

    def _read_settings(self) -> None:
        try:
            keys = self._workspace.models.renew()
        except AmemError as error:
            text = f"settings: {error.message}"
            self._report(WatchEvent("trouble", text, {"reason": error.message}))
            return
        keys = tuple(key for key in keys if not key.startswith(_OF_OTHERS))
        taken = [key for key in keys if key.startswith(_TAKEN_UP) and key != _FROM_THE_START]
        left = [key for key in keys if key not in taken]
        if self._watch is not None and self._watch.work is not None:
            self._watch.work.idle_seconds = self._workspace.settings.watch_idle_seconds
        text = "settings changed" + (f": {', '.join(taken)}" if taken else "")
        if left:
            text += f"; start the watcher again for {', '.join(left)}"
        if keys:
            self._report(WatchEvent("settings", text, {"changed": taken, "restart": left}))

    def _report(self, event: WatchEvent) -> None:
        with self._reporting:
            # What fails again and again in the same way is reported once.
            if event.kind == "trouble":
                if event.text in self._troubles:
                    return
                self._troubles.add(event.text)
            elif event.kind in ("noticed", "learned", "well"):
                self._troubles.clear()
            self._update_status(event)

    def _update_status(self, event: WatchEvent | None) -> None:
        """Count what is pending, which other commands change too, and report what is new."""
        before = self._status
        if before is None or self._lock is None:
            return
        began, index = time.monotonic(), self._workspace.index
        pending = len(index.queue.pending())
        status = before if event is None else status_after(before, event)
        status = replace(status, pending=pending, notes=index.notes.count())
        now = time.monotonic()
        self._count_at = now + max(COUNT_SECONDS, COUNT_SHARE * (now - began))
        if not pending and status.state == "resting":
            status = replace(status, state="watching", reason="")
        self._status = status
        if status != before:
            error = self._lock.write_status(status)
            if error and not self._status_error:
                text = f"--status and --stop cannot see this watcher: {error}"
                self._on_event(WatchEvent("trouble", text, {"reason": error}), status)
            self._status_error = error
        if event is not None or status != before:
            self._on_event(event, status)
