"""What watching a vault needs of the outside, and what it has to tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

NewsKind = Literal[
    "watching", "noticed", "embedding", "searchable", "thinking", "learned", "waiting", "followed",
    "committed", "settings", "trouble", "well", "asking", "stopped",
]  # fmt: skip


class Hints(Protocol):
    """Where something may have changed in a folder; hints can be lost, never the truth."""

    def wait(self, seconds: float | None) -> None:
        """Sleep until there is a hint or a `wake`, or for so long."""

    def wake(self) -> None:
        """End a `wait` from another thread."""

    def take(self) -> tuple[set[str], bool]:
        """Paths hinted at since the last call, and whether hints were lost."""

    def trouble(self) -> str:
        """Why changes may go unseen, in a few words; empty where none do."""

    def close(self) -> None:
        """Stop; may be called twice."""


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened while watching.

    Attributes:
        text: one line for a person.
        detail: what a program wants to know of it, ready for JSON.
        result: the report or outcome behind it, where there is one.
    """

    kind: NewsKind
    text: str
    detail: dict[str, Any]
    result: Any = None
