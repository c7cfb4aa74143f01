"""What the use cases need of the folder of notes."""

from __future__ import annotations

import time
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from amem_cli.errors import Problem


class FileState(NamedTuple):
    """What the system says of a file without reading it; times in nanoseconds.

    A vault has thousands, and every command makes them all; a tuple is made fastest.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """A note's bytes.

    Attributes:
        raw: the file, or its first 2 MiB if it is larger (`cut`).
    """

    state: FileState
    raw: bytes
    cut: bool

    @property
    def sha(self) -> str:
        """SHA-256 of what was read, hexadecimal."""
        import hashlib

        return hashlib.sha256(self.raw).hexdigest()


class EveryPath(Container[str]):
    """Holds all paths."""

    def __contains__(self, path: object) -> bool:
        return True


class Vault(Protocol):
    """A folder of notes. Every path given or returned is relative to it, with `/`."""

    def scan(self, problems: list[Problem] | None = None) -> Iterator[FileState]:
        """All notes, in no particular order; what cannot be a note goes to `problems`."""

    def look(
        self, paths: Collection[str], problems: list[Problem] | None = None
    ) -> Iterator[FileState]:
        """The notes at these paths, and those below them if a path is a folder's."""

    def is_readable(self, folder: str) -> bool:
        """False for a folder that may be there and cannot be listed; True if it is gone."""

    def has_unfinished_change(self) -> bool:
        """True if a killed process may have written only some notes of a change."""

    def exists(self, path: str) -> bool:
        """True if a regular file is at `path`."""

    def read(self, path: str) -> FileContent:
        """Read one note.

        Raises:
            NotFoundError: there is no such regular file.
            UnsafePath: the path leaves the vault, follows a link, or enters a dot folder.
        """

    def require_writable(self, path: str) -> None:
        """Refuse a note whose file or folder cannot be written; nothing is touched.

        Raises:
            SettingsError: it cannot be.
        """

    def move_to_trash(self, path: str) -> str:
        """Move a note to `.trash/`; returns its path there."""

    def read_trashed(self, path: str, sha: str) -> bytes | None:
        """A note that was moved to `.trash/` from `path`, if it is there with this hash."""


class SystemClock:
    """Time and randomness of the operating system."""

    def __init__(self) -> None:
        self._last = 0

    def now(self) -> datetime:
        """Local time with its offset."""
        return datetime.now().astimezone()

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, as file times are counted."""
        return time.time_ns()

    def moment(self, after: int) -> int:
        """Microseconds since the epoch, later than `after` and than every one given before."""
        # Events keep their order even if the clock is set back between two of them.
        self._last = max(time.time_ns() // 1000, after + 1, self._last + 1)
        return self._last

    def token(self) -> str:
        """Six random hexadecimal digits."""
        import secrets

        return secrets.token_hex(3)
