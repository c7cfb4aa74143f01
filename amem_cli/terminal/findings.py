"""What a check-up found, for a person and for a program."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from amem_cli.doctor.finding import Finding, is_healthy
from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import Styled

if TYPE_CHECKING:
    from amem_cli.terminal.output import Console

SHOWN_OF_A_CHECK = 20


def findings_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """All findings as JSON; `line` is 0 if one concerns a whole file."""
    return {
        "healthy": is_healthy(findings),
        "findings": [
            {
                "check": finding.check,
                "path": finding.path,
                "line": finding.line,
                "message": finding.message,
                "hint": finding.hint,
                "severity": finding.severity,
                "fixable": finding.fix is not None,
                "fixed": finding.fixed,
            }
            for finding in findings
        ],
    }


def show_findings(
    console: Console, findings: Sequence[Finding], *, fixing: bool, whole: bool
) -> None:
    """Findings by check with what to do, then how many there are.

    Args:
        fixing: what could be mended was.
        whole: show all of a check, however many.
    """
    for check, group in groupby(findings, key=lambda finding: finding.check):
        all_of_check = list(group)
        console.print(Styled((check, "bold cyan")))
        shown = all_of_check if whole else all_of_check[:SHOWN_OF_A_CHECK]
        for finding in shown:
            _show(console, finding)
        hidden = len(all_of_check) - len(shown)
        if hidden:
            console.print(f"  … and {hidden} more (--verbose shows all)")
    console.print(Styled((_summary(findings, fixing=fixing), "bold")))


def _show(console: Console, finding: Finding) -> None:
    mark, style = ("✓", "green") if finding.fixed else ("!", "yellow")
    if finding.severity == "notice" and not finding.fixed:
        mark, style = "·", "dim"
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    where = (f"{on_one_line(place)}  " if place else "", "bold")
    console.print(Styled((f"  {mark} ", style), where, on_one_line(finding.message)))
    if finding.hint:
        console.print(Styled((f"      {on_one_line(finding.hint)}", "dim")))


def _summary(findings: Sequence[Finding], *, fixing: bool) -> str:
    problems = [finding for finding in findings if finding.severity == "problem"]
    notices = _count(len(findings) - len(problems), "notice")
    beside = f", {notices}" if len(findings) > len(problems) else ""
    if not problems:
        return f"healthy: no problems found{beside}"
    said = _count(len(problems), "problem")
    mended = sum(finding.fixed for finding in problems)
    if fixing:
        left = len(problems) - mended
        rest = f"{left} left for you" if left else "nothing left to do"
        return f"{said}{beside}: {mended} mended, {rest}"
    fixable = sum(finding.fix is not None for finding in problems)
    could = f"`amem doctor --fix` could mend {fixable}" if fixable else "none that --fix could mend"
    return f"{said}{beside}; {could}"


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
