"""What a check-up finds wrong, what to do about it, and what can be mended without a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from amem_cli.core.errors import Problem

Severity = Literal["problem", "notice"]
Mend = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        check: name of the check.
        path: vault-relative path, or that of a file of the user's; empty where there is no file.
        message: what is wrong, one line.
        hint: what to do about it; once mended, what was done.
        line: 1-based line, 0 where it concerns the whole file.
        severity: a `notice` is worth knowing, but leaves the vault healthy.
        mend: puts it right and says in one line what it did; None where that is not safe. Raises
            AmemError or OSError where it cannot.
    """

    check: str
    path: str
    message: str
    hint: str = ""
    line: int = 0
    severity: Severity = "problem"
    mend: Mend | None = None
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """A named look at one side of a vault or of the machine."""

    name: str
    run: Callable[[], Iterable[Finding]]


def from_problem(check: str, problem: Problem, *, hint: str = "") -> Finding:
    """A finding of a problem; `hint` where the problem brings none."""
    return Finding(check, problem.path, problem.message, problem.hint or hint, problem.line)
