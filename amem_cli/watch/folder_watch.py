"""Hints of changes in a vault's folder, from the operating system (watchdog)."""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
)
from watchdog.observers import Observer

from amem_cli.system.inotify import watched_folders

# Not those of reading (opened, closed without writing), which amem itself would cause.
EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
JOURNAL = ".amem/journal"
NOTE_SUFFIX = ".md"
# watchdog begins to watch a new folder a moment after it was made.
RECOUNTS = 3
RECOUNT_SECONDS = 0.2
_WATCHDOG_LOG = "watchdog.observers"


class FolderWatch:
    """Watches the visible folders of a vault, and its journal; `OSError` if nothing can be watched.

    Every top folder is watched by itself, so that what git and Obsidian do in their own folders
    costs nothing. Events say where to look, never what is there. Another one has to take its place
    once it `is_outdated`.
    """

    def __init__(self, root: Path) -> None:
        self._given = root
        self._root = root.resolve()
        self._identity = _identity(root)
        self._lock = threading.Lock()
        # A queue, for it may be put into from a handler of a signal.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._hints: set[str] = set()
        self._lost = self._outdated = False
        self._uncounted = True
        # The only place that says that the system's queue ran over.
        self._log = logging.Handler(logging.WARNING)
        self._log.emit = lambda record: self._lose_hints()  # type: ignore[method-assign]
        # watchdog warns of a folder that comes back while the old one is still known to it.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._observer: Any = Observer()
        logging.getLogger(_WATCHDOG_LOG).addHandler(self._log)
        self._former_hook = threading.excepthook
        threading.excepthook = self._thread_ended
        try:
            self._observer.start()
            self._schedule("")
            journal = self._root / JOURNAL
            if self._root.is_dir() and not journal.is_symlink():
                with suppress(OSError):
                    journal.mkdir(parents=True, exist_ok=True)
            self._folders = self._present()
            for name in self._folders:
                # A folder that went away, or one beyond the limit, which `trouble` reports.
                with suppress(OSError, RuntimeError):
                    self._schedule(name)
        except BaseException:
            self.close()
            raise

    def _schedule(self, name: str) -> None:
        path = str(self._root / name)
        self._observer.schedule(self, path, recursive=bool(name), event_filter=EVENTS)

    def wait(self, seconds: float | None) -> None:
        """Sleep until there is a hint or a `wake`, or for so long."""
        with self._lock:
            is_quiet = not self._hints and not self._lost
        with suppress(Empty):
            self._bell.get(is_quiet, None if seconds is None else max(0.0, seconds))
            while True:
                self._bell.get_nowait()

    def wake(self) -> None:
        """End a `wait`, or the next one if there is none; safe in a signal handler."""
        self._bell.put(None)

    def take(self) -> tuple[set[str], bool]:
        """Paths where something happened since the last call, and whether hints were lost."""
        with self._lock:
            hints, self._hints = self._hints, set()
            lost, self._lost = self._lost, False
        return hints, lost

    def trouble(self) -> str:
        """Why changes may go unseen, in a few words; empty if all is watched."""
        if _identity(self._given) != self._identity:
            return "the vault's folder was moved or replaced"
        if not self._is_alive():
            return "watching ended unexpectedly"
        return self._beyond_limit()

    def is_outdated(self) -> bool:
        """Whether top folders came or went, or watching ended."""
        return self._outdated or not self._is_alive() or self._present() != self._folders

    def _is_alive(self) -> bool:
        emitters = list(self._observer.emitters)
        return (
            self._observer.is_alive()
            and not _has_dead_reader(self._observer, "_inotify_fd")
            and all(each.is_alive() and not _has_dead_reader(each, "_inotify") for each in emitters)
        )

    def close(self) -> None:
        """Stop watching; may be called twice."""
        # What is left of a folder that went away must not keep the rest from ending.
        with suppress(KeyError):
            self._observer.stop()
        if self._observer.is_alive():
            self._observer.join(5)
        # Not before: its threads complain of a change that comes while they end.
        logging.getLogger(_WATCHDOG_LOG).removeHandler(self._log)
        if threading.excepthook == self._thread_ended:
            threading.excepthook = self._former_hook

    def _thread_ended(self, failure: threading.ExceptHookArgs) -> None:
        """Keep a failure in watchdog's own threads off the terminal; all is watched anew."""
        if type(failure.thread).__module__.startswith("watchdog."):
            self._lose_hints()
        else:
            self._former_hook(failure)

    def _present(self) -> set[str]:
        """Names of the folders to be watched with all that is below them."""
        names = {JOURNAL} if _is_folder(self._root / JOURNAL) else set()
        # Where it was moved away, or too many files are open, `trouble` reports it.
        with suppress(OSError), os.scandir(self._root) as entries:
            folders = (each.name for each in entries if each.is_dir(follow_symlinks=False))
            names.update(name for name in folders if not name.startswith("."))
        return names

    def _beyond_limit(self) -> str:
        """What is wrong if the system watches fewer folders than there are.

        Counting takes long in a large vault, so it is done only after folders came or went.
        """
        if not self._uncounted:
            return ""
        self._uncounted = False
        watched: int | None = 0
        folders = 0
        for _ in range(RECOUNTS):
            folders = 1 + sum(1 for name in self._present() for _ in os.walk(self._root / name))
            watched = watched_folders()
            if watched is None or watched >= folders:
                return ""
            time.sleep(RECOUNT_SECONDS)
        self._uncounted = True
        return f"the system's limit of watches is reached ({watched} of {folders} folders)"

    def dispatch(self, event: FileSystemEvent) -> None:
        """Note where something happened; anything more could fail and end watchdog's thread."""
        paths = (os.fsdecode(path) for path in (event.src_path, event.dest_path) if path)
        hints = {path for path in map(self._relative, paths) if path is not None}
        if not event.is_directory:
            hints = {path for path in hints if path == JOURNAL or path.endswith(NOTE_SUFFIX)}
        if not hints:
            return
        with self._lock:
            is_first = not self._hints
            self._hints |= hints
            if event.is_directory:
                self._uncounted = True
                if any("/" not in path for path in hints):
                    self._lost = self._outdated = True
        if is_first:
            self.wake()

    def _lose_hints(self) -> None:
        with self._lock:
            self._lost = self._outdated = True
        self.wake()

    def _relative(self, path: str) -> str | None:
        """The path in the vault with `/`; None outside of it and in hidden folders."""
        try:
            parts = Path(path).relative_to(self._root).parts
        except ValueError:
            return None
        inside = "/".join(parts)
        if inside == JOURNAL or inside.startswith(f"{JOURNAL}/"):
            return JOURNAL
        return None if not parts or any(part.startswith(".") for part in parts) else inside


def _has_dead_reader(owner: Any, name: str) -> bool:
    """Whether the thread has ended that reads the system's queue, which watchdog does not show."""
    reader = getattr(owner, name, None)
    return isinstance(reader, threading.Thread) and not reader.is_alive()


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.parent.is_symlink()
