"""What two models would make of the same notes, one below the other."""

from __future__ import annotations

from typing import Any

from amem_cli.language.safe_text import on_one_line
from amem_cli.memory.compare import Comparison, totals
from amem_cli.memory.outcome import Outcome
from amem_cli.terminal.notes import outcome_rows
from amem_cli.terminal.output import Console, Row
from amem_cli.workspace.documents import COMPARED, document

LETTERS = ("A", "B")
# Of `totals`: how each is named, and written.
_TOTALS = {
    "described": ("described", ""),
    "contexts": ("  with a context", ""),
    "links": ("links", ""),
    "changes": ("changes to older notes", ""),
    "refused": ("refused answers", ""),
    "failed": ("no answer", ""),
    "seconds_per_note": ("seconds a note", ".1f"),
    "tokens_per_note": ("tokens a note", ",.0f"),
}


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Every note that a side was asked about, and what that adds up to."""
    for letter, side in zip(LETTERS, comparison.sides, strict=True):
        asked = "metadata, links and changes" if side.settings.trusted else "contexts alone"
        if side.settings.trusted and not side.settings.keywords:
            asked = "contexts, tags, links and changes"
        how = "no model is asked" if side.model is None else f"asked for {asked}"
        console.print((f"{letter}  ", "bold cyan"), on_one_line(side.name), (f"  {how}", "dim"))
    for number in range(max(map(len, comparison.results))):
        _show_note(console, comparison, number)
    _show_totals(console, comparison)


def _show_note(console: Console, comparison: Comparison, number: int) -> None:
    note = comparison.notes[number]
    console.print()
    console.print((on_one_line(note.title), "bold"), (f"  {on_one_line(note.path)}", "dim"))
    for letter, side in zip(LETTERS, comparison.sides, strict=True):
        if note.private and side.model is not None and side.model.is_remote:
            console.print((f"private: not sent to {letter}", "yellow"))
    one, other = (_rows([*each, None][min(number, len(each))]) for each in comparison.results)
    for mark, rows in [("=", one)] if one == other else [("A", one), ("B", other)]:
        for row in rows:
            console.print((f"{mark:<2}", "cyan"), *row)
            mark = ""


def _rows(result: Outcome | None) -> list[Row]:
    if result is None:
        return [(("  not asked", "red"),)]
    if result.failed:
        return [((f"  no answer: {result.problems[0]}", "red"),)]
    return list(outcome_rows(result, details=True)) or [("  nothing to write",)]


def _show_totals(console: Console, comparison: Comparison) -> None:
    sides = [totals(each) for each in comparison.results]
    count = len(comparison.notes)
    rows = {
        "": [*LETTERS],
        "notes asked about": [f"{len(each)} of {count}" for each in comparison.results],
        **{label: [f"{s[name]:{form}}" for s in sides] for name, (label, form) in _TOTALS.items()},
    }
    width = max(len(text) for texts in rows.values() for text in texts)
    console.print()
    for label, texts in rows.items():
        console.print((f"{label:<24}", "cyan"), "  ".join(f"{t:>{width}}" for t in texts))
    made = sum(side["links"] for side in sides) - comparison.links_by_both
    if made:
        console.print(f"{comparison.links_by_both} of {made} links are made by both")


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison; a note's `results` are null where a model was not asked any more."""
    sides = []
    for side, results in zip(comparison.sides, comparison.results, strict=True):
        asked_for = "all" if side.settings.trusted else "context"
        sides.append(
            {
                "name": side.name,
                "model": None if side.model is None else side.model.name,
                "asked_for": "nothing" if side.model is None else asked_for,
                **totals(results),
                "notes": len(results),
            }
        )
    notes = []
    for number, note in enumerate(comparison.notes):
        pair = [each[number : number + 1] for each in comparison.results]
        shown = [document(COMPARED, each[0]) if each else None for each in pair]
        notes.append({"id": note.id, "path": note.path, "title": note.title, "results": shown})
    return {
        "sides": sides,
        "links_by_both": comparison.links_by_both,
        "stopped": comparison.stopped[0] if comparison.stopped else "",
        "notes": notes,
    }
