"""One watcher per vault: a lock in the vault, and its status in the user's state folder."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from amem_cli.errors import SettingsError
from amem_cli.settings import read_state, user_state_folder, write_state

if TYPE_CHECKING:
    from filelock import FileLock

WatchState = Literal[
    "starting", "embedding", "watching", "thinking", "resting", "asking", "failing", "stopping"
]

LOCK_NAME = ".amem/watch.lock"
SETTINGS_NAME = "config.toml"
# Whoever asks if the lock is held holds it for an instant.
LOCK_SECONDS = 0.5
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """What a watcher is doing.

    Attributes:
        started: when the watcher began, ISO 8601 in UTC.
        doing: path of the note that is thought about, or empty.
        pending, notes: how many wait for the memory process, and are in the vault.
        reason: why it rests, what it asks, how far it is, or what failed just now; or empty.
        trouble: why changes may go unseen for as long as it says so; or empty.
        learned, links, evolved, tokens: what was done since it began.
    """

    pid: int
    machine: str
    started: str
    state: WatchState = "starting"
    doing: str = ""
    pending: int = 0
    notes: int = 0
    reason: str = ""
    trouble: str = ""
    learned: int = 0
    links: int = 0
    evolved: int = 0
    tokens: int = 0


class WatchLock:
    """This process's hold on watching a vault; the system releases it when the process ends."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._status_file, self._stop_file = _files(root, environment)
        self._lock: FileLock | None = None
        self._locked: os.stat_result | None = None

    def acquire(self) -> WatchStatus:
        """Become the vault's watcher; gives the first status, which others see from now on.

        Raises:
            SettingsError: another process watches the vault, or it cannot be locked.
        """
        from filelock import FileLock, Timeout

        path = self._root / LOCK_NAME
        # The lock would make it.
        if not path.parent.is_dir():
            raise SettingsError(f"{self._root} is not a vault any more", hint="Was it moved?")
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(timeout=LOCK_SECONDS, poll_interval=POLL_SECONDS)
        except Timeout:
            raise self._held() from None
        except OSError as error:
            raise SettingsError(
                f"cannot lock the vault: {error.strerror or error}",
                hint="Check .amem's permissions.",
            ) from None
        self._lock = lock
        with suppress(OSError):
            self._locked = path.lstat()
        # What the last watcher left behind when it was killed.
        self._clear()
        started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        status = WatchStatus(os.getpid(), platform.node(), started)
        self.write_status(status)
        return status

    def _held(self) -> SettingsError:
        status = read_status(self._root, self._environment)
        who = "by another user or on another machine"
        hint = "Stop it there first."
        if status is not None:
            who = f"by process {status.pid} on {status.machine} since {status.started}"
            hint = "amem watch --status shows it, amem watch --stop ends it."
        return SettingsError(f"this vault is watched already, {who}", hint=hint)

    def write_status(self, status: WatchStatus) -> str:
        """Let others know, or say why they cannot; a full disk keeps nobody from watching."""
        try:
            write_state(self._status_file, asdict(status))
        except SettingsError as error:
            return error.message
        return ""

    def is_kept(self) -> bool:
        """Whether this process is still the watcher of this vault.

        If only the lock was deleted it is taken again. False if its `.amem` was:
        without its journal and settings, all its notes would seem to be new.
        """
        if self._lock is None or self._locked is None:
            return False
        path = self._root / LOCK_NAME
        with suppress(OSError):
            if os.path.samestat(path.lstat(), self._locked):
                return True
        if not (path.parent / SETTINGS_NAME).is_file():
            return False
        self._lock.release()
        try:
            self._lock.acquire(timeout=LOCK_SECONDS, poll_interval=POLL_SECONDS)
            self._locked = path.lstat()
        except (OSError, TimeoutError):
            return False
        return True

    def stop_requested(self) -> bool:
        """Whether somebody asked this watcher to end."""
        return self._stop_file.exists()

    def release(self) -> None:
        """Let the vault go; may be called twice."""
        if self._lock is None:
            return
        # While the lock is held: later they may be the next watcher's.
        self._clear()
        self._lock.release()
        self._lock = None

    def _clear(self) -> None:
        for path in (self._status_file, self._stop_file):
            with suppress(OSError):
                path.unlink()


def is_watched(root: Path) -> bool:
    """Whether any process watches the vault, of this user and machine or another."""
    from filelock import FileLock, Timeout

    path = root / LOCK_NAME
    # The lock would make the file.
    if not path.exists():
        return False
    try:
        with FileLock(path, thread_local=False).acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def read_status(root: Path, environment: Mapping[str, str]) -> WatchStatus | None:
    """What the vault's watcher is doing; None also for another user's or machine's."""
    record = read_state(_files(root, environment)[0])
    if not isinstance(record, dict) or not is_watched(root):
        return None
    try:
        status = WatchStatus(**record)
        datetime.fromisoformat(status.started)
    except (TypeError, ValueError):
        return None
    return status


def stop_watcher(root: Path, environment: Mapping[str, str], seconds: float) -> bool:
    """Ask the vault's watcher to end, and wait so long at most; False if there is none.

    Raises:
        SettingsError: it is another user's or machine's, or does not end in time.
    """
    status = read_status(root, environment)
    if status is None:
        if not is_watched(root):
            return False
        raise SettingsError(
            "this vault is watched by another user or on another machine", hint="Stop it there."
        )
    try:
        _files(root, environment)[1].touch()
    except OSError as error:
        raise SettingsError(f"cannot stop the watcher: {error}") from None
    deadline = time.monotonic() + seconds
    while is_watched(root):
        if time.monotonic() > deadline:
            raise SettingsError(
                f"the watcher (process {status.pid}) did not end within {seconds:g} s",
                hint="It ends after the note at hand; one that hangs may be killed.",
            )
        time.sleep(POLL_SECONDS)
    return True


def _files(root: Path, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """Where the status of a vault's watcher is, and where it is asked to end."""
    # Resolved: a vault that is reached through a link is the same vault.
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
    folder = user_state_folder(environment) / "watchers"
    return folder / f"{name}.json", folder / f"{name}.stop"
