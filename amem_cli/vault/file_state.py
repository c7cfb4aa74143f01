"""What is known of a file, and the computer's clock."""

from __future__ import annotations

import time
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


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
    """All paths, but for some."""

    def __init__(self, besides: Container[str] = ()) -> None:
        self._besides = besides

    def __contains__(self, path: object) -> bool:
        return path not in self._besides


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
        """Microseconds since the epoch for the id of a new event.

        Later than `after` and than every moment given before, even if the clock was set back.
        """
        self._last = max(time.time_ns() // 1000, after + 1, self._last + 1)
        return self._last

    def token(self) -> str:
        """Six random hexadecimal digits."""
        import secrets

        return secrets.token_hex(3)
