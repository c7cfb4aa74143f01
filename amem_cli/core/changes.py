"""Changes of several notes that are made as a whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from amem_cli.core.errors import Problem
from amem_cli.core.journal import Event
from amem_cli.core.proposals import Proposal


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

    def apply(
        self,
        writes: Sequence[NoteWrite],
        events: Sequence[Event],
        *,
        proposed: Sequence[Proposal] = (),
        decided: Sequence[str] = (),
    ) -> None:
        """Write notes, record events and keep or drop proposals, as a whole or not at all.

        That holds across a kill as well.

        Args:
            proposed: changes that wait for a person from now on.
            decided: ids of proposals that wait no longer.

        Raises:
            WriteConflict: a note changed since it was read; nothing was written.
            SettingsError: a note or the journal cannot be written; nothing was written.
        """

    def waiting(self, problems: list[Problem] | None = None) -> list[Proposal]:
        """Proposals that no person has decided on, oldest first."""

    def recover(self) -> list[Problem]:
        """Finish or take back what a killed process left half done."""
