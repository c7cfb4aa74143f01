"""The small cases that a language model is tried with: everyday notes, and what is right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from amem_cli.data import table

# The verdict on a model holds for one set of cases; a change of them takes another name.
TRIAL = "trial-2"
VOCABULARY = ("baking", "garden", "health", "home", "travel", "work", "databases", "books")
# So many are asked before it is clear that a model can do nothing with such a question.
PROBES = 2


@dataclass(frozen=True, slots=True)
class OlderNote:
    """A note that is there already, and how it relates to the new one."""

    belonging: Literal["related", "look-alike", "unrelated"]
    title: str
    context: str
    text: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrialCase:
    """A new note beside older ones.

    Attributes:
        about: parts of words, folded; a keyword that holds one is about the note's matter.
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


@cache
def trial_cases() -> tuple[TrialCase, ...]:
    """All cases, those that decide most first."""
    return tuple(map(_case, table("trial_cases.toml")["case"]))


def _case(row: dict[str, Any]) -> TrialCase:
    older = (OlderNote(**{**each, "keywords": tuple(each["keywords"])}) for each in row["older"])
    return TrialCase(**{**row, "about": tuple(row["about"]), "older": tuple(older)})
