"""Records of every change which client it was made through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.core.changes import ChangeStore, NoteWrite
    from amem_cli.core.errors import Problem
    from amem_cli.core.journal import Event
    from amem_cli.core.proposals import Proposal

NAME_CHARACTERS = 60
FIELD = "client"


def client_name(name: str, version: str = "") -> str:
    """What the journal calls a client: a few plain characters of what it calls itself."""
    said = f"{name} {version}".strip()
    plain = "".join(char if char.isalnum() or char in "._-/ " else "-" for char in said)
    return " ".join(plain[:NAME_CHARACTERS].split()) or "unnamed"


@dataclass(frozen=True, slots=True)
class LabelledChanges:
    """A change store whose events name the client.

    Attributes:
        client: its name as it is at that moment; empty adds nothing.
    """

    changes: ChangeStore
    client: Callable[[], str]

    def locked(self) -> AbstractContextManager[object]:
        """As the store does."""
        return self.changes.locked()

    def working(self, seconds: float) -> AbstractContextManager[bool]:
        """As the store does."""
        return self.changes.working(seconds)

    def apply(
        self,
        writes: Sequence[NoteWrite],
        events: Sequence[Event],
        *,
        proposed: Sequence[Proposal] = (),
        decided: Sequence[str] = (),
    ) -> None:
        """As the store does, with the client in each event."""
        client = self.client()
        if client:
            events = [replace(each, extra={**each.extra, FIELD: client}) for each in events]
        self.changes.apply(writes, events, proposed=proposed, decided=decided)

    def waiting(self, problems: list[Problem] | None = None) -> list[Proposal]:
        """As the store does."""
        return self.changes.waiting(problems)

    def recover(self) -> list[Problem]:
        """As the store does."""
        return self.changes.recover()
