"""What two models would make of the same notes, side by side, or one below the other."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from amem_cli.language.safe_text import on_one_line, printable
from amem_cli.memory.compare import SideResult
from amem_cli.models.price import money
from amem_cli.terminal.notes import change_lines
from amem_cli.terminal.output import Part, Styled
from amem_cli.workspace.documents import COMPARED, document

if TYPE_CHECKING:
    from rich.text import Text

    from amem_cli.memory.compare import Comparison, SideTotals
    from amem_cli.terminal.output import Console

LETTERS = ("A", "B")
# On a narrower terminal the two columns would hold a few words a line.
LEAST_WIDTH = 90
_LABEL = 10
# Lines of refused parts that are shown of a note.
_REFUSED_SHOWN = 3

Line: TypeAlias = tuple[Part, ...]
# One row of a note: what it is about, and the lines of each side.
Aspect: TypeAlias = tuple[str, list[Line], list[Line]]


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
        console.print(
            Styled((f"{letter}  ", "bold cyan"), on_one_line(side.name), (f"  {how}", "dim"))
        )
    for number in range(max(map(len, comparison.results))):
        _show_note(console, comparison, number)
    _show_totals(console, comparison, totals, currency)


def _show_note(console: Console, comparison: Comparison, number: int) -> None:
    """What both sides would make of one note, as far as they were asked."""
    note = comparison.notes[number]
    console.print()
    console.print(Styled((on_one_line(note.title), "bold"), (f"  {on_one_line(note.path)}", "dim")))
    for letter, side in zip(LETTERS, comparison.sides, strict=True):
        if note.private and side.model is not None and side.model.is_remote:
            console.print(Styled((f"private: not sent to {letter}", "yellow")))
    not_asked = SideResult(failure="not asked")
    one, other = ([*each, not_asked][min(number, len(each))] for each in comparison.results)
    aspects = _aspects(one, other)
    if not console.is_terminal or shutil.get_terminal_size().columns < LEAST_WIDTH:
        _show_stacked(console, aspects)
    else:
        _show_columns(aspects)


def _show_stacked(console: Console, aspects: Sequence[Aspect]) -> None:
    for label, first, second in aspects:
        cells = (("=", first),) if first == second else (("A", first), ("B", second))
        for mark, lines in cells:
            for line in lines or [(("–", "dim"),)]:
                console.print(Styled((f"  {label:<{_LABEL}}{mark:<3}", "cyan"), *line))
                label = mark = ""


def _show_columns(aspects: Sequence[Aspect]) -> None:
    from rich.console import Console as RichConsole
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(width=_LABEL, style="cyan")
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    table.add_row("", *(Text(letter, style="bold cyan") for letter in LETTERS))
    for label, *cells in aspects:
        texts = [Text("\n").join(map(_drawn, lines)) for lines in cells]
        table.add_row(label, *(text if text.plain else Text("–", style="dim") for text in texts))
    RichConsole(highlight=False).print(table)


def _drawn(line: Line) -> Text:
    from rich.text import Text

    pairs = ((part, "") if isinstance(part, str) else part for part in line)
    return Text.assemble(*((printable(text), style) for text, style in pairs))


def _aspects(one: SideResult, other: SideResult) -> list[Aspect]:
    """What there is to compare; what neither side has is left out."""
    firsts, seconds = _lines(one, other), _lines(other, one)
    found = [(label, lines, seconds[label]) for label, lines in firsts.items()]
    nothing: list[Line] = [(("nothing to write", "dim"),)]
    return [each for each in found if each[1] or each[2]] or [("", nothing, nothing)]


def _lines(result: SideResult, other: SideResult) -> dict[str, list[Line]]:
    """The lines of one side by what they are about; what the other one lacks is marked."""
    context = result.metadata.context
    style = "" if context == other.metadata.context else "green"
    refused: list[Line] = [((each, "yellow"),) for each in result.refused[:_REFUSED_SHOWN]]
    if (more := len(result.refused) - _REFUSED_SHOWN) > 0:
        refused.append(((f"… and {more} more", "dim"),))
    return {
        "": [((f"no answer: {result.failure}", "red"),)] if result.failure else [],
        "context": [((context, style),)] if context else [],
        "keywords": _words(result.metadata.keywords, other.metadata.keywords, ""),
        "tags": _words(result.metadata.tags, other.metadata.tags, "#"),
        "links": _links(result, other),
        "changes": _changes(result),
        "refused": refused,
    }


def _words(words: Sequence[str], others: Sequence[str], mark: str) -> list[Line]:
    known = {each.casefold() for each in others}
    parts: list[Part] = []
    for word in words:
        parts += [", "] if parts else []
        parts.append(_marked(f"{mark}{word}", word.casefold() in known))
    return [tuple(parts)] if parts else []


def _marked(text: str, is_shared: bool) -> Part:
    # Where there are no colours, the sign tells what the other side does not have.
    return text if is_shared else (f"+{text}", "green")


def _links(result: SideResult, other: SideResult) -> list[Line]:
    shared = {link.path for link in other.links}
    lines: list[Line] = []
    for link in result.links:
        weight = f"  {link.relation.replace('_', ' ')}, {link.strength:.1f}"
        title = _marked(f"→ {on_one_line(link.title)}", link.path in shared)
        lines.append((title, (weight, "magenta")))
        lines += [((f"  {link.reason}", "dim"),)] if link.reason else []
    return lines


def _changes(result: SideResult) -> list[Line]:
    lines: list[Line] = []
    for how, notes in (("", result.evolved), (" (to review)", result.proposed)):
        for note in notes:
            lines.append(((on_one_line(note.title), "bold"), how))
            for change in note.changes:
                lines += [(f"  {change.field}: ", shown) for shown in change_lines(change)]
    for link in result.changed_links:
        what = "unlinks" if link.after is None else "reweighs the link with"
        lines.append((f"{on_one_line(link.source)} {what} {on_one_line(link.title)}",))
    return lines


def _show_totals(
    console: Console,
    comparison: Comparison,
    totals: tuple[SideTotals, SideTotals],
    currency: str,
) -> None:
    """What the notes add up to, and what a note costs."""
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
    costs = [each.cost_per_note for each in totals]
    if any(each.cost for each in totals):
        rows["cost a note"] = ["unknown" if c is None else money(c, currency) for c in costs]
    width = max(len(text) for texts in rows.values() for text in texts)
    console.print()
    letters = "  ".join(f"{letter:>{width}}" for letter in LETTERS)
    console.print(Styled(f"{'':<24}", (letters, "bold cyan")))
    for label, texts in rows.items():
        console.print(Styled((f"{label:<24}", "cyan"), "  ".join(f"{t:>{width}}" for t in texts)))
    made = totals[0].links + totals[1].links - comparison.links_by_both
    if made:
        console.print(f"{comparison.links_by_both} of {made} links are made by both")


_COUNTED = ("described", "contexts", "links", "changes", "refused", "failed")


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
                "notes": len(results),
                **{name: getattr(total, name) for name in _COUNTED},
                "seconds_per_note": round(total.seconds_per_note, 3),
                "tokens_per_note": round(total.tokens_per_note, 1),
                "cost_per_note": total.cost_per_note,
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
