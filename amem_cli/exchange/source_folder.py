"""Reads the files of a folder that may be somebody else's.

No link is followed, no pipe is waited for, and every file has a limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from amem_cli.errors import Problem, SettingsError
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.folder import odd_name, shown_path

# A note of 2 MiB with the header that it may get.
MAX_NOTE_BYTES = 2 * 1024 * 1024 - 64 * 1024
MAX_OTHER_BYTES = 50 * 1024 * 1024
# A loop of mounts has no end.
MAX_DEPTH = 64
MAX_FILES = 500_000
NOTE_ENDINGS = (".md", ".markdown")


@dataclass
class SourceFolder:
    """The files of a folder, sorted by path.

    Args:
        root: the folder.
        left_out: a folder inside that is skipped, such as the vault.

    Attributes:
        problems: what `paths` left out, and why.
    """

    root: Path
    left_out: Path | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """A digest of the folder's path."""
        place = os.fsencode(self.root.resolve())
        return hashlib.sha256(place).hexdigest()[:16]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All regular files that are not hidden.

        Raises:
            SettingsError: the folder itself cannot be read, or it holds too many files.
        """
        files: list[str] = []
        waiting = [("", 0)]
        while waiting:
            folder, depth = waiting.pop()
            if depth > MAX_DEPTH:
                self._leave_out(folder, "lies too deep and was left out")
                continue
            for entry in self._entries(folder):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name.startswith("."):
                    continue
                if entry.is_symlink():
                    self._leave_out(path, "is a symbolic link and was left out")
                elif entry.is_dir(follow_symlinks=False):
                    if self.left_out is None or Path(entry.path) != self.left_out:
                        waiting.append((path, depth + 1))
                elif not entry.is_file(follow_symlinks=False):
                    self._leave_out(path, "is not a regular file and was left out")
                elif (problem := odd_name(path)) is not None:
                    self.problems.append(problem)
                else:
                    files.append(path)
            if len(files) > MAX_FILES:
                raise SettingsError(
                    f"{self.root} holds more than {MAX_FILES} files", hint="Import its folders."
                )
        return tuple(sorted(files))

    @property
    def note_paths(self) -> tuple[str, ...]:
        """The markdown files."""
        return tuple(path for path in self.paths if path.lower().endswith(NOTE_ENDINGS))

    @property
    def other_paths(self) -> tuple[str, ...]:
        """All other files."""
        return tuple(path for path in self.paths if not path.lower().endswith(NOTE_ENDINGS))

    def files(self, problems: list[Problem]) -> Iterator[tuple[str, bytes, datetime]]:
        """Path, bytes and local time of the last change of each markdown file that can be read."""
        paths = self.note_paths
        problems += self.problems
        for path in paths:
            try:
                status, raw = self._read(path, MAX_NOTE_BYTES)
            except OSError as error:
                reason = error.strerror or str(error)
                problems.append(Problem(path, 0, f"cannot be read: {reason}"))
                continue
            if len(raw) > MAX_NOTE_BYTES:
                problems.append(
                    Problem(path, 0, "is larger than a note can be (2 MiB)", "Split it.")
                )
                continue
            yield path, raw, datetime.fromtimestamp(int(status.st_mtime))

    def read(self, path: str, limit: int = MAX_OTHER_BYTES) -> bytes | None:
        """A file's bytes; None if it cannot be read or is larger than `limit`."""
        try:
            _, raw = self._read(path, limit)
        except OSError:
            return None
        return raw if len(raw) <= limit else None

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise SettingsError(f"cannot read {self.root}: {error.strerror}") from None
            self._leave_out(folder, f"cannot be read: {error.strerror}")
            return []

    def _read(self, path: str, limit: int) -> tuple[os.stat_result, bytes]:
        # A path may become a link or a pipe between the scan and the reading.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(self.root / path, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is not a regular file")
            return status, stream.read(limit + 1)

    def _leave_out(self, path: str, message: str) -> None:
        self.problems.append(Problem(shown_path(path), 0, message))


@contextlib.contextmanager
def inner_folder(root: Path, folders: Sequence[str], *, make: bool = False) -> Iterator[OpenFolder]:
    """A folder below `root`, entered without following links.

    Raises:
        OSError: it is not there, or a part is a link (ELOOP).
    """
    with OpenFolder(root) as folder:
        for name in folders:
            if make:
                folder.make(name)
            folder.enter(name)
        yield folder


def sha_of(folder: OpenFolder, name: str) -> str | None:
    """SHA-256 of a regular file; None if there is nothing, empty for anything else."""
    try:
        handle = folder.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        digest = hashlib.sha256()
        while piece := stream.read(1024 * 1024):
            digest.update(piece)
        return digest.hexdigest()
