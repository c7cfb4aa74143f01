"""Hints of changes in a vault's folder, from the operating system (watchdog)."""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
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
    FileSystemEventHandler,
)
from watchdog.observers import Observer

# Reading a note makes events too (opened, closed without writing); the program's own are not wanted.
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
_INOTIFY_LOG = "watchdog.observers.inotify_c"


class FolderWatch:
    """Watches the visible folders of a vault, and its journal.

    Every top folder is watched by itself, so that what git and Obsidian do in their own folders
    costs nothing. Events say where to look, never what is there.

    Raises:
        OSError: nothing at all can be watched.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._hints: set[str] = set()
        self._lost = False
        self._changed = threading.Condition()
        self._handler = _Handler(self)
        self._watched: dict[str, Any] = {}
        self._identity = _identity(root)
        self._log = _OverflowLog(self)
        logging.getLogger(_INOTIFY_LOG).addHandler(self._log)
        self._observer: Any = Observer()
        try:
            self._observer.start()
            self._watch_root()
        except BaseException:
            self.close()
            raise

    def wait(self, seconds: float | None) -> None:
        """Sleep until there is a hint, or for so long."""
        with self._changed:
            if not self._hints and not self._lost:
                self._changed.wait(seconds)

    def wake(self) -> None:
        """End a `wait`, as when work has come from elsewhere."""
        with self._changed:
            self._changed.notify_all()

    def take(self) -> tuple[set[str], bool]:
        """Paths where something happened since the last call, and whether hints were lost."""
        with self._changed:
            hints, self._hints = self._hints, set()
            lost, self._lost = self._lost, False
        if any("/" not in path for path in hints):
            self._watch_top_folders()
        return hints, lost

    def trouble(self) -> str:
        """Why changes may go unseen, in a few words; empty where all is watched."""
        if _identity(self._root) != self._identity:
            return "the vault's folder was moved or replaced"
        if not self._observer.is_alive():
            return "watching ended unexpectedly"
        watched, folders = _inotify_watches(), _visible_folders(self._root)
        if watched is not None and watched < folders:
            return f"the system's limit of watches is reached ({watched} of {folders} folders)"
        return ""

    def close(self) -> None:
        """Stop watching; may be called twice."""
        logging.getLogger(_INOTIFY_LOG).removeHandler(self._log)
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join(5)

    def _watch_root(self) -> None:
        self._watched[""] = self._observer.schedule(
            self._handler, str(self._root), recursive=False, event_filter=EVENTS
        )
        self._watch_top_folders()
        journal = self._root / JOURNAL
        journal.mkdir(parents=True, exist_ok=True)
        self._schedule(JOURNAL, journal)

    def _watch_top_folders(self) -> None:
        present = set(_visible(self._root))
        for name in present - set(self._watched):
            self._schedule(name, self._root / name)
        for name in set(self._watched) - present - {"", JOURNAL}:
            with suppress(KeyError, OSError):
                self._observer.unschedule(self._watched.pop(name))

    def _schedule(self, name: str, folder: Path) -> None:
        # A folder that went away, or one beyond the limit: `trouble` tells of the latter.
        with suppress(OSError):
            self._watched[name] = self._observer.schedule(
                self._handler, str(folder), recursive=True, event_filter=EVENTS
            )

    def _tell(self, *paths: str) -> None:
        found = [path for path in map(self._relative, paths) if path is not None]
        if found:
            with self._changed:
                self._hints.update(found)
                self._changed.notify_all()

    def _tell_lost(self) -> None:
        with self._changed:
            self._lost = True
            self._changed.notify_all()

    def _relative(self, path: str) -> str | None:
        """The path in the vault with `/`; None outside, and in what is nobody's note."""
        with suppress(ValueError):
            parts = Path(path).relative_to(self._root).parts
            inside = "/".join(parts)
            if inside.startswith(JOURNAL):
                return JOURNAL
            if parts and not any(part.startswith(".") for part in parts):
                return inside
        return None


class _Handler(FileSystemEventHandler):
    """Takes down where something happened; anything more could fail and end all watching."""

    def __init__(self, watch: FolderWatch) -> None:
        self._watch = watch

    def on_any_event(self, event: FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if not event.is_directory:
            paths = [path for path in paths if path.endswith((NOTE_SUFFIX, ".jsonl"))]
        self._watch._tell(*paths)


class _OverflowLog(logging.Handler):
    """The only place where watchdog tells that the system's queue ran over."""

    def __init__(self, watch: FolderWatch) -> None:
        super().__init__(logging.WARNING)
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        self._watch._tell_lost()


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _visible(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                entry.name
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def _visible_folders(root: Path) -> int:
    """How many folders of notes there are, the vault's own included."""
    count, folders = 0, [root]
    while folders:
        folder = folders.pop()
        count += 1
        folders += [folder / name for name in _visible(folder)]
    return count


def _inotify_watches() -> int | None:
    """How many watches this process has, by the kernel; None where it has no inotify."""
    if sys.platform != "linux":
        return None
    total, found = 0, False
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}").endswith("inotify"):
                    found = True
                    lines = Path(f"/proc/self/fdinfo/{name}").read_text().splitlines()
                    total += sum(line.startswith("inotify") for line in lines)
    return total if found else None
