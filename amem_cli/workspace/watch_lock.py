"""What a watcher says about itself in a file.

One watcher per vault: a lock in the vault, and its status in the user's state folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from amem_cli.errors import SettingsError
from amem_cli.settings import user_state_folder
from amem_cli.system.files import PLAIN, is_locked, move_over
from amem_cli.vault.dir_handle import read_own_file

if TYPE_CHECKING:
    import psutil
    from filelock import FileLock

WatchState = Literal[
    "starting", "embedding", "watching", "thinking", "resting", "asking", "failing", "stopping"
]

_LONGEST_TEXT = 4096


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


def status_of(record: Any) -> WatchStatus:
    """A status as a file holds it.

    Raises:
        ValueError, KeyError, TypeError: it is not a status.
    """
    values: dict[str, Any] = {}
    for each in fields(WatchStatus):
        value = record[each.name]
        # Not `isinstance`: to Python, JSON's `true` is a number too.
        if type(value) is not (int if each.type == "int" else str):
            raise ValueError(f"{each.name} is of the wrong kind")
        # It is shown on a terminal, which control characters would steer.
        values[each.name] = _plain(value) if isinstance(value, str) else max(0, value)
    if values["state"] not in get_args(WatchState) or not 1 < values["pid"] < 2**31:
        raise ValueError("it is no status of a watcher")
    datetime.fromisoformat(values["started"])
    return WatchStatus(**values)


def _plain(text: str) -> str:
    return "".join(letter for letter in text[:_LONGEST_TEXT] if letter.isprintable())


LOCK_NAME = ".amem/watch.lock"
SETTINGS_NAME = "config.toml"
# Whoever asks if the lock is held holds it for an instant.
LOCK_SECONDS = 0.5
POLL_SECONDS = 0.05
# Between taking the lock and writing the status.
TELL_SECONDS = 0.5
_LARGEST_STATUS = 64 * 1024
_SAME_START_SECONDS = 1.5


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
        lock = FileLock(str(path), thread_local=False)
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
        with suppress(OSError):
            # A request to stop that the last watcher did not hear is not meant for this one.
            self._stop_file.unlink()
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
        import psutil

        # With its start: the number of a watcher that was killed may become another process's.
        record = {**asdict(status), "process_started": _started(psutil.Process())}
        try:
            _write_privately(self._status_file, json.dumps(record).encode())
        except OSError as error:
            return f"cannot write into {self._status_file.parent}: {error.strerror or error}"
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
        """Whether somebody asked by file that this watcher ends, for systems without signals."""
        return self._stop_file.exists()

    def release(self) -> None:
        """Let the vault go; may be called twice."""
        if self._lock is None:
            return
        # While the lock is held: later they may be the next watcher's.
        for path in (self._status_file, self._stop_file):
            with suppress(OSError):
                path.unlink()
        self._lock.release()
        self._lock = None


def is_watched(root: Path) -> bool:
    """Whether any process watches the vault, of this user and machine or another."""
    return is_locked(root / LOCK_NAME)


def read_status(root: Path, environment: Mapping[str, str]) -> WatchStatus | None:
    """What the vault's watcher is doing; None also for another user's or machine's."""
    holder = _holder(root, environment) if is_watched(root) else None
    return None if holder is None else holder[0]


def stop_watcher(
    root: Path, environment: Mapping[str, str], seconds: float, *, signals: bool = os.name != "nt"
) -> bool:
    """End the vault's watcher, by a signal or else a file, and wait; False if there is none.

    Args:
        seconds: how long to wait at most.

    Raises:
        SettingsError: it is another user's or machine's, or does not end in time.
    """
    deadline = time.monotonic() + TELL_SECONDS
    holder = None
    while holder is None:
        if not is_watched(root):
            return False
        holder = _holder(root, environment)
        if holder is None:
            if time.monotonic() > deadline:
                raise SettingsError(
                    "this vault is watched by another user or on another machine",
                    hint="Stop it there.",
                )
            time.sleep(POLL_SECONDS)
    status, process = holder
    if status.pid == os.getpid():
        raise SettingsError("this vault is watched by this very process")
    _ask_to_end(process, _files(root, environment)[1], signals=signals)
    deadline = time.monotonic() + seconds
    while process.is_running() and is_watched(root):
        if time.monotonic() > deadline:
            raise SettingsError(
                f"the watcher (process {status.pid}) did not end within {seconds:g} s",
                hint="It ends after the note at hand; one that hangs may be killed.",
            )
        time.sleep(POLL_SECONDS)
    return True


def _ask_to_end(process: psutil.Process, stop_file: Path, *, signals: bool) -> None:
    import psutil

    try:
        if signals:
            # Refused by psutil if the number has come to be another process's.
            process.send_signal(signal.SIGTERM)
        else:
            _write_privately(stop_file, b"")
    except psutil.NoSuchProcess:
        return
    except (psutil.Error, OSError) as error:
        raise SettingsError(f"cannot stop the watcher: {error}") from None


def _holder(
    root: Path, environment: Mapping[str, str]
) -> tuple[WatchStatus, psutil.Process] | None:
    """The status, and the process that wrote it, of whoever holds the lock.

    What the file says is believed of a process only that began when the file says it did and that
    has the vault's lock open.
    """
    import psutil

    try:
        record = json.loads(read_own_file(_files(root, environment)[0], _LARGEST_STATUS))
        status = status_of(record)
        process = psutil.Process(status.pid)
        since = float(record["process_started"])
        if not abs(_started(process) - since) < _SAME_START_SECONDS or not _has_open(process, root):
            return None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError, psutil.Error):
        return None
    return status, process


def _started(process: psutil.Process) -> float:
    """When a process began, in seconds that no setting of the clock changes."""
    import psutil

    created = process.create_time()
    return created - psutil.boot_time() if sys.platform == "linux" else created


def _has_open(process: psutil.Process, root: Path) -> bool:
    """Whether a process has the vault's lock open; taken for granted if that costs seconds."""
    if sys.platform == "win32":
        return True
    lock = (root / LOCK_NAME).stat()
    for each in process.open_files():
        with suppress(OSError):
            if os.path.samestat(Path(each.path).stat(), lock):
                return True
    return False


def _files(root: Path, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """Where the status of a vault's watcher is, and where it is asked to end."""
    # Resolved: a vault that is reached through a link is the same vault.
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
    folder = user_state_folder(environment) / "watchers"
    return folder / f"{name}.json", folder / f"{name}.stop"


def _write_privately(path: Path, content: bytes) -> None:
    """Put a file that only the user may read in place of the one before."""
    path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.parent.chmod(0o700)
    # Not written in place: a reader could meet half a status, and would find no watcher.
    temporary = path.with_suffix(f".{secrets.token_hex(4)}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as stream:
            stream.write(content)
        move_over(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
