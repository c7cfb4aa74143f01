"""What a check reports: what is wrong, what to do about it, and how to fix it automatically."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from amem_cli.errors import AmemError, Problem, reason_of
from amem_cli.index.records import Progress

Fix = Callable[[], str]
# The findings of one aspect of a vault.
Check = Callable[[], Iterable["Finding"]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or worth knowing.

    Attributes:
        path: vault-relative path, or absolute if outside of the vault; empty if there is none.
        message: what is wrong, one line.
        hint: what to do about it; once fixed, what was done.
        line: 1-based line, 0 if it concerns the whole file.
        severity: a `notice` is worth knowing, but leaves the vault healthy.
        fix: repairs it and returns one line about what it did; None if that is not safe.
        asks: the fix changes what a person wrote, and is made only if they agree.
        check: name of the check; if empty, the name under which `examine` ran it.
    """

    path: str
    message: str
    hint: str = ""
    line: int = 0
    severity: Literal["problem", "notice"] = "problem"
    fix: Fix | None = None
    asks: bool = False
    fixed: bool = False
    check: str = ""


def from_problem(problem: Problem, hint: str = "") -> Finding:
    """A finding for a problem; `hint` is used if the problem has none."""
    return Finding(problem.path, problem.message, problem.hint or hint, problem.line)


def examine(
    checks: Sequence[tuple[str, Check]], *, progress: Progress | None = None
) -> list[Finding]:
    """Run named checks in order; one that fails becomes a finding itself."""
    findings: list[Finding] = []
    for done, (name, check) in enumerate(checks, 1):
        try:
            findings.extend(replace(found, check=found.check or name) for found in check())
        # A vault may be broken in unexpected ways; that must not stop the other checks.
        except Exception as error:
            usual = "Fix the other findings first, then run `amem doctor` again."
            hint = error.hint if isinstance(error, AmemError) else usual
            message = f"the check could not be made: {reason_of(error)}"
            findings.append(Finding("", message, hint, check=name))
        if progress is not None:
            progress(done, len(checks))
    return findings


def apply_fixes(
    findings: Sequence[Finding], agree: Callable[[int], bool] = lambda count: False
) -> list[Finding]:
    """Run every fix in order; the hint then says what was done, or why it failed."""
    asking = sum(finding.asks and finding.fix is not None for finding in findings)
    is_agreed = asking > 0 and agree(asking)
    return [
        _fixed(each, each.fix) if each.fix and (is_agreed or not each.asks) else each
        for each in findings
    ]


def is_healthy(findings: Sequence[Finding]) -> bool:
    """True if nothing is left but notices and what was fixed."""
    return all(finding.fixed or finding.severity == "notice" for finding in findings)


def _fixed(finding: Finding, fix: Fix) -> Finding:
    try:
        return replace(finding, hint=fix(), fixed=True)
    except Exception as error:
        hint = error.hint if isinstance(error, AmemError) else ""
        return replace(finding, hint=f"Not fixed: {reason_of(error)}. {hint}".strip())
