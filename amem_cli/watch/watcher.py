"""The watcher of a vault: its loop and worker by the vault's settings, its lock and its status.

A vault may be cloned on several machines; their files in `.amem/devices` decide which one works.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.errors import AmemError, SettingsError
from amem_cli.journal.change_store import WRITE_LOCK
from amem_cli.memory.outcome import Outcome
from amem_cli.settings import STATE_FOLDER, machine_name
from amem_cli.system.processes import lower_priority
from amem_cli.vault.dir_handle import make_own_folder, own_files, read_own_file
from amem_cli.vault.safe_write import create_file
from amem_cli.watch.worker import BackgroundWork, WatchEvent, on_battery
from amem_cli.workspace.workspace import Workspace

if TYPE_CHECKING:
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.watch.loop import Watch
    from amem_cli.workspace.watch_lock import WatchLock, WatchStatus

# The model leaves at least half of the machine to the person at it.
SHARE_OF_CORES = 2
# Others work on what is pending, too: it is counted so often, or less if that takes long.
COUNT_SECONDS = 10.0
COUNT_SHARE = 500.0
STOP_CHECK_SECONDS = 0.5
# How long an end that is overdue waits for a change to be written, to be told, and for the model.
CHANGE_SECONDS = 1.0
TELL_SECONDS = 0.2
CLOSE_SECONDS = 1.0

# These settings are read for every note; those of other commands matter to no watcher.
_TAKEN_UP = ("encoder.", "evolution.", "llm.", "watch.")
_OF_OTHERS = ("default_vault", "notes_dir")
_FROM_THE_START = "evolution.device"

_FOLDER = "devices"
_MOST_DEVICES = 1000
_LARGEST_FILE = 4096
_SINCE = "%Y-%m-%dT%H:%M:%SZ"

Report = Callable[["WatchEvent | None", "WatchStatus"], None]


def background_threads(threads: int) -> int:
    """Threads for a model that works beside a person."""
    return max(1, min(threads, (os.cpu_count() or 1) // SHARE_OF_CORES))


class Watcher:
    """The one watcher of a vault.

    `report` receives each event and the status after it, from several threads but one at a time;
    None as the event if only counts changed.
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
        self._settings_version = workspace.models.version
        self._has_new_settings = False
        self._watch: Watch | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the vault as its only watcher; `SettingsError` if another one holds it."""
        from amem_cli.workspace.watch_lock import WatchLock

        lock = WatchLock(self._workspace.root, self._workspace.environment)
        self._status = lock.acquire()
        self._lock = lock
        released = threading.Event()
        threading.Thread(target=self._listen, args=(lock, released), daemon=True).start()
        try:
            yield
        finally:
            released.set()
            self._lock = None
            lock.release()

    def _listen(self, lock: WatchLock, released: threading.Event) -> None:
        """Wait for `amem watch --stop`, which then counts as a signal to end."""
        while not released.wait(STOP_CHECK_SECONDS):
            if lock.stop_requested():
                signal.raise_signal(signal.SIGTERM)
                # The main thread handles it, which may sleep or be busy.
                if self._watch is not None:
                    self._watch.stop()
                return

    def elsewhere(self) -> str:
        """The other machine that runs the memory process for this vault; empty if this one does."""
        state = self._workspace.root / STATE_FOLDER
        machine = machine_name(self._workspace.environment)
        setting = self._workspace.settings.evolution_device
        if setting == "first":
            register(state, machine, datetime.now(timezone.utc))
        chosen = evolving_machine(state, setting, machine)
        return "" if chosen == machine else chosen

    def run(
        self, begin: Callable[[Watch], None], leave: Callable[[], None], *, evolves: bool
    ) -> None:
        """Watch until the watch is stopped."""
        from amem_cli.watch.folder_watch import FolderWatch
        from amem_cli.watch.loop import Watch

        workspace = self._workspace
        work = BackgroundWork(
            process=self._process,
            resting=self.resting,
            report=self._report,
            finished=self._commit,
            unload=lambda: workspace.models.close_model(),
            monotonic=time.monotonic,
            begin=lower_priority,
            idle_seconds=workspace.settings.watch_idle_seconds,
        )
        # The watch alone decides when a missing note is gone, not the memory process beside it.
        workspace.keep_missing = True
        self._watch = Watch(
            workspace.ports,
            lambda: FolderWatch(workspace.root),
            lambda: workspace.encoder,
            work if evolves else None,
            self._report,
            time.monotonic,
            self._end_reason,
            lambda: self._leave(leave),
        )
        begin(self._watch)
        self._watch.run()

    def _leave(self, leave: Callable[[], None]) -> None:
        from filelock import FileLock, Timeout

        # A change that is being written is completed first; the next command would do it, too.
        with suppress(Timeout, OSError):
            FileLock(self._workspace.root / STATE_FOLDER / WRITE_LOCK).acquire(CHANGE_SECONDS)
        lock, status = self._lock, self._status
        if lock is not None:
            lock.release()
        close_model = self._workspace.models.close_model

        def tell() -> None:
            # Kept: nothing is reported after the last event.
            self._reporting.acquire(timeout=TELL_SECONDS)
            if status is not None:
                event = WatchEvent("stopped", "stopped", {})
                self._on_event(event, status_after(status, event))

        # Whoever should read the event may not read at all; a model that hangs would stay behind.
        for last, seconds in ((tell, 2 * TELL_SECONDS), (close_model, CLOSE_SECONDS)):
            thread = threading.Thread(target=last, daemon=True)
            thread.start()
            thread.join(seconds)
        leave()

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

        if self._watch is not None and self._watch.vanished:
            return "many notes are missing"
        if self._workspace.settings.watch_on_battery == "pause" and on_battery():
            return "on battery"
        return git_is_busy(self._workspace.root)

    def _end_reason(self) -> str:
        """Why watching is to end; as this is asked often, changes from outside are noticed here."""
        if self._lock is not None and not self._lock.is_kept():
            return "the vault's folder .amem is gone, or another one took its place"
        version = self._workspace.models.version
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


def status_after(status: WatchStatus, event: WatchEvent) -> WatchStatus:
    changes: dict[str, Any] = _state_after(status, event)
    if "trouble" in event.detail:
        changes["trouble"] = event.text if event.detail["trouble"] else ""
    if isinstance(event.result, Outcome):
        use = event.result.use
        changes.update(
            learned=status.learned + (event.kind == "learned"),
            links=status.links + len(event.result.links),
            evolved=status.evolved + len(event.result.evolved),
            tokens=status.tokens + use.prompt_tokens + use.answer_tokens,
        )
    return replace(status, **changes)


def _state_after(status: WatchStatus, event: WatchEvent) -> dict[str, Any]:
    kind, detail = event.kind, event.detail
    quiet = {"state": "watching", "doing": "", "reason": ""}
    if kind == "asking":
        return {"state": "asking", "doing": "", "reason": event.text}
    if kind == "stopped":
        return {**quiet, "state": "stopping"}
    # A question stays until no note is missing any more, whatever else happens.
    if status.state == "asking" and detail.get("missing") != 0:
        return {}
    if kind == "embedding":
        return {} if status.doing else {"state": "embedding", "reason": event.text}
    if kind == "thinking":
        return {"state": "thinking", "doing": detail["path"], "reason": ""}
    if kind == "waiting" and event.result is None:
        return {"state": "resting", "doing": "", "reason": detail["reason"]}
    if kind == "trouble" and "trouble" not in detail:
        return {"state": "failing", "doing": "", "reason": event.text}
    if kind in ("learned", "watching", "well", "waiting"):
        return quiet
    ended = status.state == "failing" or (status.state == "embedding" and kind == "searchable")
    return quiet if ended and kind in ("noticed", "searchable", "settings") else {}


def register(state_folder: Path, machine: str, now: datetime) -> None:
    """Record in `.amem` since when this machine watches the vault, if it is not recorded yet: later
    than others of the same second.

    Raises:
        SettingsError: it cannot be written.
    """
    path = state_folder / _FOLDER / f"{machine}.json"
    if _since(path):
        return
    taken = {since for since, _ in _known(state_folder)}
    while (since := now.astimezone(timezone.utc).strftime(_SINCE)) in taken:
        now += timedelta(seconds=1)
    record = {"machine": machine, "since": since}
    try:
        make_own_folder(path.parent)
        # A file that is not valid, as after a merge by hand, counts nowhere.
        path.unlink(missing_ok=True)
        create_file(path, json.dumps(record).encode() + b"\n")
    except OSError as error:
        raise SettingsError(
            f"cannot write {_FOLDER}/{path.name}: {error.strerror}",
            hint="Check .amem's permissions.",
        ) from None


def evolving_machine(state_folder: Path, setting: str, machine: str) -> str:
    """The machine whose watcher runs the memory process.

    Every clone draws the same answer from the same files, whatever its clock says.

    Args:
        setting: `first`: the one that has watched the vault for longest; `any`: each; or a name.
    """
    if setting != "first":
        return machine if setting == "any" else setting
    return min(_known(state_folder), default=("", machine))[1]


def _known(state_folder: Path) -> list[tuple[str, str]]:
    """Of each machine since when it watches the vault, and its name."""
    files = islice(own_files(state_folder / _FOLDER, "*.json"), _MOST_DEVICES)
    return [(since, path.stem) for path in files if (since := _since(path))]


def _since(path: Path) -> str:
    """Since when a machine has watched the vault; empty if its file does not say."""
    try:
        record = json.loads(read_own_file(path, _LARGEST_FILE))
        machine, since = record["machine"], str(record["since"])
        # Moments are compared as text, so each must be written in the one form.
        written = datetime.strptime(since, _SINCE).strftime(_SINCE) == since
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ""
    return since if written and machine == path.stem else ""
