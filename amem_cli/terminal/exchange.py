"""What an import did, or would do, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.language.safe_text import on_one_line

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
        "there": [_there(note) for note in report.there],
        "changed": sum(note.decision == "changed" for note in report.there),
        "duplicates": [_duplicate(note) for note in report.duplicates],
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
    """The report as lines of text.

    Args:
        verbose: name everything, not only the first few.
    """
    limit = 10**9 if verbose or dry_run else SHOWN
    yield f"from {report.kind}"
    if dry_run:
        yield from _listed([f"+ {note.shown} -> {note.path}" for note in report.made], limit)
        yield from _listed([f"= {note.shown}: {note.reason}" for note in report.there], limit)
    else:
        changed = [note for note in report.there if note.decision == "changed"]
        yield from _listed([f"= {note.shown}: {note.reason}" for note in changed], limit)
        known = [note for note in report.there if note.decision == "known"]
        yield from _listed([f"= {note.shown}: {note.reason}" for note in known], limit)
    twins = [note for note in report.duplicates if note.decision == "make"]
    same = [f"! {note.shown}: the same text is in {note.same_text}" for note in twins]
    yield from _listed(same, limit)
    yield from _listed([f"! {_told(problem)}" for problem in report.refused], limit)
    yield from _listed([f"! {_told(problem)}" for problem in report.noted], limit)
    shown = [f"? {place}: nothing is called “{target}”" for place, target in report.unresolved]
    yield from _listed(shown, limit)
    yield _summary(report, dry_run)


def _summary(report: ImportReport, dry_run: bool) -> str:
    count = len(report.made)
    verb = "would be imported" if dry_run else "imported"
    were = "was" if report.skipped == 1 else "were"
    parts = [f"{_counted(count, 'note')} {verb}", f"{report.skipped} {were} there already"]
    changed = sum(note.decision == "changed" for note in report.there)
    if changed:
        parts[-1] += f" ({changed} changed in the source since)"
    twins = sum(note.decision == "make" for note in report.duplicates)
    if twins:
        parts[0] += f" ({twins} with a text that was there; `amem dedupe` shows them)"
    if report.refused:
        parts.append(f"{len(report.refused)} refused")
    if report.files:
        copied = "would be copied" if dry_run else "copied"
        parts.append(f"{_counted(len(report.files), 'file')} {copied}")
    if report.retargeted:
        parts.append(f"{_counted(report.retargeted, 'link')} rewritten to mean the same note")
    if report.unresolved:
        parts.append(f"{_counted(len(report.unresolved), 'link')} to no note")
    return ", ".join(parts)


def _listed(lines: Sequence[str], limit: int) -> Iterator[str]:
    yield from (on_one_line(line) for line in lines[:limit])
    if len(lines) > limit:
        yield f"  … and {len(lines) - limit} more (--verbose shows all)"


def _told(problem: Problem) -> str:
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    return f"{place}: {problem.message}." + (f" {problem.hint}" if problem.hint else "")


def _there(note: PlannedNote) -> dict[str, Any]:
    return {
        "source": note.shown,
        "path": note.path or None,
        "reason": note.reason,
        "changed": note.decision == "changed",
    }


def _duplicate(note: PlannedNote) -> dict[str, Any]:
    return {
        "source": note.shown,
        "path": note.path if note.decision == "make" else None,
        "same_text": note.same_text,
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {"path": problem.path, "line": problem.line, "reason": problem.message}


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
