"""What a check-up finds wrong, what to do about it, and what can be mended without a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from amem_cli.errors import AmemError, Problem
from amem_cli.index.records import Progress

Severity = Literal["problem", "notice"]
Mend = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        check: name of the check.
        path: vault-relative path, or that of a file of the user's; empty if there is none.
        message: what is wrong, one line.
        hint: what to do about it; once mended, what was done.
        line: 1-based line, 0 if it concerns the whole file.
        severity: a `notice` is worth knowing, but leaves the vault healthy.
        mend: puts it right and says in one line what it did; None if that is not safe. Raises
            AmemError or OSError if it cannot.
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
    """A finding of a problem; `hint` if the problem brings none."""
    return Finding(check, problem.path, problem.message, problem.hint or hint, problem.line)


def examine(checks: Sequence[Check], *, progress: Progress | None = None) -> list[Finding]:
    """Everything that the checks find, in their order; a check that fails is a finding itself."""
    findings: list[Finding] = []
    for done, check in enumerate(checks, 1):
        try:
            findings.extend(check.run())
        except Exception as error:
            findings.append(_not_made(check.name, error))
        if progress is not None:
            progress(done, len(checks))
    return findings


def mend(findings: Sequence[Finding]) -> list[Finding]:
    """Put right what can be, one after the other; the hint then says what was done, or why not."""
    return [finding if finding.mend is None else _mended(finding) for finding in findings]


def is_healthy(findings: Sequence[Finding]) -> bool:
    """True if nothing is left but notices and what was mended."""
    return all(finding.fixed or finding.severity == "notice" for finding in findings)


def _mended(finding: Finding) -> Finding:
    assert finding.mend is not None
    try:
        done = finding.mend()
    except AmemError as error:
        hint = f"Not mended: {error.message}. {error.hint}".strip()
        return replace(finding, hint=hint)
    except Exception as error:
        return replace(finding, hint=f"Not mended: {_reason(error)}.")
    return replace(finding, hint=done, fixed=True)


def _not_made(name: str, error: Exception) -> Finding:
    if isinstance(error, AmemError):
        return Finding(name, "", f"the check could not be made: {error.message}", error.hint)
    hint = "Mend what the other findings name first, then run `amem doctor` again."
    return Finding(name, "", f"the check could not be made: {_reason(error)}", hint)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"
