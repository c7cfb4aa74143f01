"""Statistics of a vault, and the findings of a check-up, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from amem_cli.doctor.finding import Finding, is_healthy
from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import plural

if TYPE_CHECKING:
    from amem_cli.graph.stats import Stats
    from amem_cli.index.events import ModelTotals
    from amem_cli.terminal.output import Console


def show_stats(console: Console, stats: Stats, *, watcher: str, today: str = "") -> None:
    """Counts of the vault, its watcher, and the use of models."""
    rates = stats.rates
    rows = (
        ("notes", f"{stats.notes}"),
        ("links", _links(stats)),
        ("orphans", _orphans(stats, rates)),
        ("tags", f"{stats.tags}"),
        ("pending", f"{stats.pending}"),
        ("watcher", watcher or "none (amem watch)"),
        ("proposed", f"{stats.proposed}"),
        ("problems", f"{stats.problems}"),
        (
            "model",
            f"{stats.model_calls} calls, {stats.prompt_tokens + stats.answer_tokens} tokens,"
            f" {stats.model_seconds:.0f} s over {stats.processed} notes",
        ),
        (
            "per note",
            f"{rates['calls_per_note']:.2f} calls, {rates['tokens_per_note']:.0f} tokens,"
            f" {rates['seconds_per_note']:.1f} s",
        ),
        *(("", _model(each)) for each in stats.models),
        *([("today", today)] if today else []),
    )
    for name, value in rows:
        console.print((f"{name:<10}", "cyan"), value)


def _links(stats: Stats) -> str:
    unwritten = stats.broken_links
    beside = f"; {unwritten} to notes not yet written" if unwritten else ""
    return f"{stats.links} ({stats.machine_links} by amem){beside}"


def _orphans(stats: Stats, rates: Mapping[str, float]) -> str:
    with_amem = f"{stats.orphans} ({rates['orphan_rate']:.0%} of the notes)"
    if stats.orphans_without_amem == stats.orphans:
        return with_amem
    before = f"{stats.orphans_without_amem} ({rates['orphan_rate_without_amem']:.0%})"
    return f"{with_amem}; {before} without amem's links"


def _model(use: ModelTotals) -> str:
    reused = f" ({use.reused_tokens / use.prompt_tokens:.0%} reused)" if use.reused_tokens else ""
    tokens = f"{use.prompt_tokens} tokens in{reused}, {use.answer_tokens} out"
    return f"{use.model}: {use.calls} calls, {tokens}, {use.seconds:.0f} s"


SHOWN_OF_A_CHECK = 20
_FINDING = ("check", "path", "line", "message", "hint", "severity", "fixed")


def findings_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """All findings as JSON; `line` is 0 for a whole file."""
    return {
        "healthy": is_healthy(findings),
        "findings": [
            {
                **{name: getattr(finding, name) for name in _FINDING},
                "fixable": finding.fix is not None and not finding.asks,
            }
            for finding in findings
        ],
    }


def show_findings(
    console: Console, findings: Sequence[Finding], *, fixing: bool, whole: bool
) -> None:
    """Findings by check, at most a few of each if not `whole`; then how many there are."""
    for check, group in groupby(findings, key=lambda finding: finding.check):
        all_of_check = list(group)
        console.print((check, "bold cyan"))
        shown = all_of_check if whole else all_of_check[:SHOWN_OF_A_CHECK]
        for finding in shown:
            _show_finding(console, finding)
        hidden = len(all_of_check) - len(shown)
        if hidden:
            console.print(f"  … and {hidden} more (--verbose shows all)")
    console.print((_summary(findings, fixing=fixing), "bold"))


def _show_finding(console: Console, finding: Finding) -> None:
    mark, style = ("✓", "green") if finding.fixed else ("!", "yellow")
    if finding.severity == "notice" and not finding.fixed:
        mark, style = "·", "dim"
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    where = (f"{on_one_line(place)}  " if place else "", "bold")
    console.print((f"  {mark} ", style), where, on_one_line(finding.message))
    if finding.hint:
        console.print((f"      {on_one_line(finding.hint)}", "dim"))


def _summary(findings: Sequence[Finding], *, fixing: bool) -> str:
    problems = [finding for finding in findings if finding.severity == "problem"]
    notices = plural(len(findings) - len(problems), "notice")
    beside = f", {notices}" if len(findings) > len(problems) else ""
    if not problems:
        return f"healthy: no problems found{beside}"
    total = plural(len(problems), "problem")
    fixed = sum(finding.fixed for finding in problems)
    if fixing:
        left = len(problems) - fixed
        rest = f"{left} left for you" if left else "nothing left to do"
        return f"{total}{beside}: {fixed} fixed, {rest}"
    fixable = sum(finding.fix is not None and not finding.asks for finding in problems)
    advice = f"`amem doctor --fix` can fix {fixable}" if fixable else "none that --fix can fix"
    return f"{total}{beside}; {advice}"
