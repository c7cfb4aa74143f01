"""The shape of the small cases that a language model is tried with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Belonging = Literal["related", "look-alike", "unrelated"]


@dataclass(frozen=True, slots=True)
class OlderNote:
    """A note that is there already, and how it stands to the new one."""

    belonging: Belonging
    title: str
    context: str
    text: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrialCase:
    """A new note beside older ones.

    Attributes:
        about: parts of words, small letters; a keyword that holds one is about the note's matter.
        changes: the note makes the summary of its one related note wrong.
    """

    title: str
    text: str
    about: tuple[str, ...]
    older: tuple[OlderNote, ...]
    changes: bool = False

    @property
    def related(self) -> frozenset[int]:
        """Places of the older notes that belong with the new one."""
        return frozenset(at for at, one in enumerate(self.older) if one.belonging == "related")
