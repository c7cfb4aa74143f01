"""What two models would make of the same notes, one below the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from amem_cli.language.safe_text import on_one_line
from amem_cli.models.price import money
from amem_cli.terminal.notes import change_lines
from amem_cli.workspace.documents import COMPARED, document

if TYPE_CHECKING:
    from amem_cli.memory.compare import Comparison, SideTotals
    from amem_cli.memory.outcome import Outcome
    from amem_cli.terminal.output import Console, Part

LETTERS = ("A", "B")


def show_comparison(
    console: Console,
    comparison: Comparison,
    totals: tuple[SideTotals, SideTotals],
    currency: str,
) -> None:
    """Every note that a side was asked about, and what that adds up to.

    Args:
        currency: the sign before a cost.
    """
    for letter, side in zip(LETTERS, comparison.sides, strict=True):
        asked = "metadata, links and changes" if side.settings.trusted else "contexts alone"
        how = "no model is asked" if side.model is None else f"asked for {asked}"
        console.print((f"{letter}  ", "bold cyan"), on_one_line(side.name), (f"  {how}", "dim"))
    for number in range(max(map(len, comparison.results))):
        _show_note(console, comparison, number)
    _show_totals(console, comparison, totals, currency)


def _show_note(console: Console, comparison: Comparison, number: int) -> None:
    """What both sides would make of one note, as far as they were asked."""
    note = comparison.notes[number]
    console.print()
    console.print((on_one_line(note.title), "bold"), (f"  {on_one_line(note.path)}", "dim"))
    for letter, side in zip(LETTERS, comparison.sides, strict=True):
        if note.private and side.model is not None and side.model.is_remote:
            console.print((f"private: not sent to {letter}", "yellow"))
    one, other = ([*each, None][min(number, len(each))] for each in comparison.results)
    first, second = list(_lines(one, other)), list(_lines(other, one))
    if first == second:
        _show_lines(console, "=", first)
    else:
        _show_lines(console, "A", first)
        _show_lines(console, "B", second)


def _show_lines(console: Console, mark: str, lines: list[tuple[str, Part]]) -> None:
    for label, text in lines or [("", "nothing to write")]:
        console.print((f"  {mark:<3}{label:<10}", "cyan"), text)
        mark = ""


def _lines(result: Outcome | None, other: Outcome | None) -> Iterator[tuple[str, Part]]:
    """The lines of one side, each with what it is about; `+` marks what the other one lacks."""
    if result is None:
        yield "", ("not asked", "red")
        return
    if result.failed:
        yield "", (f"no answer: {result.problems[0]}", "red")
        return
    if result.metadata.context:
        yield "context", result.metadata.context
    for label, mark in (("keywords", ""), ("tags", "#")):
        known = {word.casefold() for word in getattr(other and other.metadata, label, ())}
        words = getattr(result.metadata, label)
        if words:
            marked = (f"{mark}{w}" if w.casefold() in known else f"+{mark}{w}" for w in words)
            yield label, ", ".join(marked)
    shared = {link.path for link in other.links} if other else set()
    for link in result.links:
        new = "" if link.path in shared else "+"
        weight = f"{link.relation.replace('_', ' ')}, {link.strength:.1f}"
        yield "link", f"{new}→ {on_one_line(link.title)}  {weight}"
        if link.reason:
            yield "", (f"  {link.reason}", "dim")
    for note in result.evolved:
        yield "change", (on_one_line(note.title), "bold")
        for change in note.changes:
            if change.field in note.fields:
                yield from (("", (f"  {change.field}: {t}", s)) for t, s in change_lines(change))
    for proposal in result.proposed:
        yield "to review", (on_one_line(proposal.path), "bold")
        field = proposal.change.field
        yield from (("", (f"  {field}: {t}", s)) for t, s in change_lines(proposal.change))
    for changed in result.changed_links:
        what = "unlinks" if changed.after is None else "reweighs the link with"
        yield "change", f"{on_one_line(changed.source)} {what} {on_one_line(changed.title)}"
    yield from (("refused", (problem, "yellow")) for problem in result.problems)


def _show_totals(
    console: Console,
    comparison: Comparison,
    totals: tuple[SideTotals, SideTotals],
    currency: str,
) -> None:
    """What the notes add up to, and what a note costs."""

    def cost(total: SideTotals) -> str:
        return "unknown" if total.cost_per_note is None else money(total.cost_per_note, currency)

    rows = {
        "notes asked about": [
            f"{len(each)} of {len(comparison.notes)}" for each in comparison.results
        ],
        "described": [f"{each.described}" for each in totals],
        "  with a context": [f"{each.contexts}" for each in totals],
        "links": [f"{each.links}" for each in totals],
        "changes to older notes": [f"{each.changes}" for each in totals],
        "refused answers": [f"{each.refused}" for each in totals],
        "no answer": [f"{each.failed}" for each in totals],
        "seconds a note": [f"{each.seconds_per_note:.1f}" for each in totals],
        "tokens a note": [f"{each.tokens_per_note:,.0f}" for each in totals],
    }
    if any(each.cost_per_note for each in totals):
        rows["cost a note"] = [cost(each) for each in totals]
    width = max(len(text) for texts in rows.values() for text in texts)
    console.print()
    for label, texts in {"": list(LETTERS), **rows}.items():
        console.print((f"{label:<24}", "cyan"), "  ".join(f"{t:>{width}}" for t in texts))
    made = totals[0].links + totals[1].links - comparison.links_by_both
    if made:
        console.print(f"{comparison.links_by_both} of {made} links are made by both")


def comparison_document(
    comparison: Comparison, totals: tuple[SideTotals, SideTotals]
) -> dict[str, Any]:
    """The whole comparison; a note's `results` are null where a model was not asked any more."""
    sides = []
    for side, results, total in zip(comparison.sides, comparison.results, totals, strict=True):
        asked_for = "all" if side.settings.trusted else "context"
        sides.append(
            {
                "name": side.name,
                "model": None if side.model is None else side.model.name,
                "asked_for": "nothing" if side.model is None else asked_for,
                **asdict(total),
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
