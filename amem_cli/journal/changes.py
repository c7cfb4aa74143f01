"""Changes of several notes that are made as a whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from amem_cli.errors import Problem
    from amem_cli.journal.events import Event
    from amem_cli.journal.proposals import Proposal

_YEAR_2200 = 7_258_118_400_000_000


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

    def moment(self, after: int) -> int:
        """Microseconds since the epoch for the id of a new event.

        Later than `after` and than every moment given before, also where the clock was set back.
        """

    def token(self) -> str:
        """Six random hexadecimal digits."""


def event_id(clock: Clock, newest: str = "") -> str:
    """A new event id; ids sort in the order in which they are made.

    Args:
        newest: the last id that is known, of any machine, whose clock may be ahead.
    """
    return f"{clock.moment(_moment_of(newest)):015x}{clock.token()}"


def _moment_of(event: str) -> int:
    try:
        moment = int(event[:15], 16)
    except ValueError:
        return 0
    # An id from a far future is no id of this program's, and would leave no room for later ones.
    return moment if len(event) == 21 and 0 < moment < _YEAR_2200 else 0


class ChangeStore(Protocol):
    """The way into the vault for every change."""

    def locked(self) -> AbstractContextManager[object]:
        """Hold the vault against other writers of this program; may be nested."""

    def working(self, seconds: float) -> AbstractContextManager[bool]:
        """Hold the memory process against that of other processes, waiting for so long.

        Yields False where another process still holds it.
        """

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
