"""Changes of several notes that are made as a whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from amem_cli.core.errors import Problem
from amem_cli.core.journal import Event


@dataclass(frozen=True, slots=True)
class NoteWrite:
    """New bytes for one note.

    Attributes:
        before: the bytes that `after` was made from; None where the note is to be created.
        after: None moves the note to the trash.
    """

    path: str
    before: bytes | None
    after: bytes | None


class Clock(Protocol):
    """Time and randomness."""

    def now(self) -> datetime:
        """Local time with its offset."""

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, as file times are counted."""

    def token(self) -> str:
        """Six random hexadecimal digits."""


def event_id(clock: Clock) -> str:
    """A new event id; ids sort by time."""
    moment = clock.time_ns() // 1000
    return f"{moment:015x}{clock.token()}"


class ChangeStore(Protocol):
    """The way into the vault for every change."""

    def locked(self) -> AbstractContextManager[object]:
        """Hold the vault against other writers of this program; may be nested."""

    def apply(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        """Write notes and record events, as a whole or not at all, also across a kill.

        Raises:
            WriteConflict: a note changed since it was read; nothing was written.
            SettingsError: a note or the journal cannot be written; nothing was written.
        """

    def recover(self) -> list[Problem]:
        """Finish or take back what a killed process left half done."""
