"""The report of an import, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import plural

if TYPE_CHECKING:
    from amem_cli.errors import Problem
    from amem_cli.exchange.import_notes import ImportReport
    from amem_cli.exchange.plan import PlannedNote

SHOWN = 10


def import_document(report: ImportReport, *, dry_run: bool) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "kind": report.kind,
        "dry_run": dry_run,
        "imported": list(report.paths),
        "made": [{"source": note.shown, "path": note.path, "id": note.id} for note in report.made],
        "skipped": report.skipped,
        "there": [
            {
                **_named(note, note.path),
                "reason": note.reason,
                "changed": note.decision == "changed",
            }
            for note in report.there
        ],
        "changed": sum(note.decision == "changed" for note in report.there),
        "duplicates": [
            {
                **_named(note, note.path if note.decision == "make" else ""),
                "same_text": note.same_text,
            }
            for note in report.duplicates
        ],
        "refused": [_problem(problem) for problem in report.refused],
        "noted": [_problem(problem) for problem in report.noted],
        "unresolved": [{"source": place, "target": target} for place, target in report.unresolved],
        "files": [{"source": source, "path": path} for source, path in report.files],
        "rewritten_links": report.retargeted,
        "problems": [
            f"{problem.line or problem.path}: {problem.message}" for problem in report.refused
        ],
    }


def import_lines(report: ImportReport, *, dry_run: bool, verbose: bool) -> Iterator[str]:
    """The report as lines of text; if verbose all of them, not only the first few."""
    limit = 10**9 if verbose or dry_run else SHOWN

    def existing(*decisions: str) -> list[str]:
        return [
            f"= {note.shown}: {note.reason}"
            for note in report.there
            if not decisions or note.decision in decisions
        ]

    created = [f"+ {note.shown} -> {note.path}" for note in report.made]
    yield f"from {report.kind}"
    for lines in (
        *((created, existing()) if dry_run else (existing("changed"), existing("known"))),
        [
            f"! {note.shown}: the same text is in {note.same_text}"
            for note in report.duplicates
            if note.decision == "make"
        ],
        [f"! {_problem_line(problem)}" for problem in report.refused],
        [f"! {_problem_line(problem)}" for problem in report.noted],
        [f"? {place}: no note is called “{target}”" for place, target in report.unresolved],
    ):
        # A foreign file's name may hold a line break, which would fake a line of the report.
        yield from map(on_one_line, lines[:limit])
        if len(lines) > limit:
            yield f"  … and {len(lines) - limit} more (--verbose shows all)"
    yield _summary(report, dry_run)


def _summary(report: ImportReport, dry_run: bool) -> str:
    count = len(report.made)
    verb = "would be imported" if dry_run else "imported"
    parts = [f"{plural(count, 'note')} {verb}", f"{report.skipped} existed already"]
    changed = sum(note.decision == "changed" for note in report.there)
    if changed:
        parts[-1] += f" ({changed} changed in the source since)"
    twins = sum(note.decision == "make" for note in report.duplicates)
    if twins:
        parts[0] += f" ({twins} with the text of an existing note; `amem dedupe` shows them)"
    if report.refused:
        parts.append(f"{len(report.refused)} refused")
    if report.files:
        copied = "would be copied" if dry_run else "copied"
        parts.append(f"{plural(len(report.files), 'file')} {copied}")
    if report.retargeted:
        parts.append(f"{plural(report.retargeted, 'link')} rewritten to lead to the same note")
    if report.unresolved:
        parts.append(f"{plural(len(report.unresolved), 'link')} to no note")
    return ", ".join(parts)


def _problem_line(problem: Problem) -> str:
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    return f"{place}: {problem.message}." + (f" {problem.hint}" if problem.hint else "")


def _named(note: PlannedNote, path: str) -> dict[str, Any]:
    return {"source": note.shown, "path": path or None}


def _problem(problem: Problem) -> dict[str, Any]:
    return {"path": problem.path, "line": problem.line, "reason": problem.message}
