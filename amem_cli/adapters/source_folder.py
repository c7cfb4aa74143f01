"""Reads a folder of somebody else's notes: no link is followed, and no file without bound."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from amem_cli.adapters.note_paths import odd_name, shown_path
from amem_cli.core.errors import Problem, SettingsError

MAX_FILE_BYTES = 2 * 1024 * 1024 - 64 * 1024  # a note of 2 MiB with the header that it may get
MAX_OTHER_BYTES = 50 * 1024 * 1024
MAX_DEPTH = 64
MAX_FILES = 500_000
NOTE_ENDINGS = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the folder.

    Attributes:
        path: relative to the folder, with `/`.
        modified: when it was changed last, local time.
    """

    path: str
    raw: bytes
    modified: datetime


@dataclass
class SourceFolder:
    """The files of a folder, sorted by path.

    Args:
        root: the folder.
        left_out: a folder inside that is not entered, as the vault's own.
    """

    root: Path
    left_out: Path | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """A digest of where the folder lies."""
        place = os.fsencode(self.root.resolve())
        return hashlib.sha256(place).hexdigest()[:16]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All regular files that are not hidden; what cannot be taken is put in `problems`.

        Raises:
            SettingsError: the folder itself cannot be read, or holds far too much.
        """
        found: list[str] = []
        waiting = [("", 0)]
        while waiting:
            folder, depth = waiting.pop()
            if depth > MAX_DEPTH:
                self._tell(folder, "lies too deep and was left out")
                continue
            for entry in self._entries(folder):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name.startswith("."):
                    continue
                if entry.is_symlink():
                    self._tell(path, "is a symbolic link and was left out")
                elif entry.is_dir(follow_symlinks=False):
                    if self.left_out is None or Path(entry.path) != self.left_out:
                        waiting.append((path, depth + 1))
                elif not entry.is_file(follow_symlinks=False):
                    self._tell(path, "is not a regular file and was left out")
                elif (problem := odd_name(path)) is not None:
                    self.problems.append(problem)
                else:
                    found.append(path)
            if len(found) > MAX_FILES:
                raise SettingsError(
                    f"{self.root} holds more than {MAX_FILES} files", hint="Import its folders."
                )
        return tuple(sorted(found))

    @property
    def note_paths(self) -> tuple[str, ...]:
        """The markdown files."""
        return tuple(path for path in self.paths if path.lower().endswith(NOTE_ENDINGS))

    @property
    def other_paths(self) -> tuple[str, ...]:
        """All other files."""
        return tuple(path for path in self.paths if not path.lower().endswith(NOTE_ENDINGS))

    def files(self, problems: list[Problem]) -> Iterator[SourceFile]:
        """The markdown files one by one; what cannot be read is told and left out."""
        paths = self.note_paths
        problems += self.problems
        for path in paths:
            try:
                status, raw = self._read(path, MAX_FILE_BYTES)
            except OSError as error:
                reason = error.strerror or str(error)
                problems.append(Problem(path, 0, f"cannot be read: {reason}"))
                continue
            if len(raw) > MAX_FILE_BYTES:
                problems.append(
                    Problem(path, 0, "is larger than a note can be (2 MiB)", "Split it.")
                )
                continue
            yield SourceFile(path, raw, datetime.fromtimestamp(int(status.st_mtime)))

    def read(self, path: str, limit: int = MAX_OTHER_BYTES) -> bytes | None:
        """A file's bytes; None where it cannot be read or is larger than `limit`."""
        try:
            _, raw = self._read(path, limit)
        except OSError:
            return None
        return raw if len(raw) <= limit else None

    def size_of(self, path: str) -> int | None:
        """Bytes of a regular file, or None."""
        try:
            status = os.lstat(self.root / path)
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise SettingsError(f"cannot read {self.root}: {error.strerror}") from None
            self._tell(folder, f"cannot be read: {error.strerror}")
            return []

    def _read(self, path: str, limit: int) -> tuple[os.stat_result, bytes]:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(self.root / path, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is not a regular file")
            return status, stream.read(limit + 1)

    def _tell(self, path: str, message: str) -> None:
        self.problems.append(Problem(shown_path(path), 0, message))
