"""What two models would make of the same notes, side by side, or one below the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from amem_cli.language.safe_text import on_one_line
from amem_cli.memory.compare import SideResult
from amem_cli.models.price import money
from amem_cli.terminal.output import Part, PlainConsole, Styled
from amem_cli.workspace.documents import COMPARED, document

if TYPE_CHECKING:
    from amem_cli.memory.compare import Comparison, SideTotals
    from amem_cli.memory.outcome import EvolvedNote, NewLink
    from amem_cli.terminal.output import Console

LETTERS = ("A", "B")
# On a narrower terminal the two columns would hold a few words a line.
LEAST_WIDTH = 90
_LABEL = 10
# Lines of refused parts that are shown of a note.
_REFUSED_SHOWN = 3

Line = tuple[Part, ...]


class _Aspect(NamedTuple):
    """One row of a note: what it is about, and the lines of each side."""

    label: str
    cells: tuple[list[Line], list[Line]]


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
    _show_sides(console, comparison)
    for number in range(max(map(len, comparison.results))):
        _show_note(console, comparison, number)
    _show_totals(console, comparison, totals, currency)


def _show_sides(console: Console, comparison: Comparison) -> None:
    """Which model is A and which is B."""
    for letter, side in zip(LETTERS, comparison.sides, strict=True):
        if side.model is None:
            how = "no model is asked"
        else:
            asked = "metadata, links and changes" if side.settings.trusted else "contexts alone"
            how = f"asked for {asked}"
        console.print(
            Styled((f"{letter}  ", "bold cyan"), on_one_line(side.name), (f"  {how}", "dim"))
        )


def _show_note(console: Console, comparison: Comparison, number: int) -> None:
    """What both sides would make of one note, as far as they were asked."""
    note = comparison.notes[number]
    results = [results[number : number + 1] for results in comparison.results]
    console.print()
    console.print(Styled((on_one_line(note.title), "bold"), (f"  {on_one_line(note.path)}", "dim")))
    for letter, side in zip(LETTERS, comparison.sides, strict=True):
        if note.private and side.model is not None and side.model.is_remote:
            console.print(Styled((f"private: not sent to {letter}", "yellow")))
    pair = [each[0] if each else SideResult(failure="not asked") for each in results]
    aspects = list(_aspects(*pair))
    width = getattr(console, "width", 0)
    if isinstance(console, PlainConsole) or width < LEAST_WIDTH:
        _show_stacked(console, aspects)
    else:
        _show_columns(console, aspects)


def _show_stacked(console: Console, aspects: Sequence[_Aspect]) -> None:
    for label, cells in aspects:
        if cells[0] == cells[1]:
            _show_lines(console, label, "=", cells[0])
            continue
        for letter, lines in zip(LETTERS, cells, strict=True):
            _show_lines(console, label, letter, lines or [(("–", "dim"),)])
            label = ""


def _show_lines(console: Console, label: str, mark: str, lines: Sequence[Line]) -> None:
    for line in lines:
        console.print(Styled((f"  {label:<{_LABEL}}{mark}  ", "cyan"), *line))
        label = mark = " " if mark else ""


def _show_columns(console: Console, aspects: Sequence[_Aspect]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(width=_LABEL, style="cyan")
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    table.add_row("", *(Text(letter, style="bold cyan") for letter in LETTERS))
    for label, cells in aspects:
        texts = [Text("\n").join(Styled(*line).as_text() for line in lines) for lines in cells]
        table.add_row(label, *(text if text.plain else Text("–", style="dim") for text in texts))
    console.print(table)


def _aspects(one: SideResult, other: SideResult) -> Iterator[_Aspect]:
    """What there is to compare; what neither side has is left out."""
    pairs = (
        ("", [_failure(each) for each in (one, other)]),
        ("context", [_context(one, other), _context(other, one)]),
        ("keywords", [_words(one, other, "keywords"), _words(other, one, "keywords")]),
        ("tags", [_words(one, other, "tags"), _words(other, one, "tags")]),
        ("links", [_links(one, other), _links(other, one)]),
        ("changes", [_changes(each) for each in (one, other)]),
        ("refused", [_refused(each) for each in (one, other)]),
    )
    is_empty = True
    for label, (first, second) in pairs:
        if first or second:
            is_empty = False
            yield _Aspect(label, (first, second))
    if is_empty:
        nothing: list[Line] = [(("nothing to write", "dim"),)]
        yield _Aspect("", (nothing, nothing))


def _failure(result: SideResult) -> list[Line]:
    return [((f"no answer: {result.failure}", "red"),)] if result.failure else []


def _context(result: SideResult, other: SideResult) -> list[Line]:
    context = result.metadata.context
    style = "" if context == other.metadata.context else "green"
    return [((context, style),)] if context else []


def _words(result: SideResult, other: SideResult, field: str) -> list[Line]:
    """The values, those of this side alone marked."""
    known = {each.casefold() for each in getattr(other.metadata, field)}
    parts: list[Part] = []
    for value in getattr(result.metadata, field):
        parts += [", "] if parts else []
        shown = f"#{value}" if field == "tags" else value
        parts.append(_marked(shown, value.casefold() in known))
    return [tuple(parts)] if parts else []


def _marked(text: str, is_shared: bool) -> Part:
    # Where there are no colours, the sign tells what the other side does not have.
    return text if is_shared else (f"+{text}", "green")


def _links(result: SideResult, other: SideResult) -> list[Line]:
    shared = {link.path for link in other.links}
    return [line for link in result.links for line in _link(link, shared)]


def _link(link: NewLink, shared: Collection[str]) -> Iterator[Line]:
    weight = f"  {link.relation.replace('_', ' ')}, {link.strength:.1f}"
    yield _marked(f"→ {on_one_line(link.title)}", link.path in shared), (weight, "magenta")
    if link.reason:
        yield ((f"  {link.reason}", "dim"),)


def _changes(result: SideResult) -> list[Line]:
    lines: list[Line] = []
    for how, notes in (("", result.evolved), (" (to review)", result.proposed)):
        for note in notes:
            lines += _changed_note(note, how)
    for link in result.changed_links:
        what = "unlinks" if link.after is None else "reweighs the link with"
        lines.append((f"{on_one_line(link.source)} {what} {on_one_line(link.title)}",))
    return lines


def _changed_note(note: EvolvedNote, how: str) -> Iterator[Line]:
    from amem_cli.terminal.notes import change_lines

    yield ((on_one_line(note.title), "bold"), how)
    for change in note.changes:
        for text, style in change_lines(change):
            yield (f"  {change.field}: ", (text, style))


def _refused(result: SideResult) -> list[Line]:
    lines: list[Line] = [((each, "yellow"),) for each in result.refused[:_REFUSED_SHOWN]]
    more = len(result.refused) - _REFUSED_SHOWN
    return [*lines, ((f"… and {more} more", "dim"),)] if more > 0 else lines


def _show_totals(
    console: Console,
    comparison: Comparison,
    totals: tuple[SideTotals, SideTotals],
    currency: str,
) -> None:
    """What the notes add up to, and what a note costs."""
    asked = [len(results) for results in comparison.results]
    rows = [
        ("notes asked about", [f"{count} of {len(comparison.notes)}" for count in asked]),
        ("described", [str(each.described) for each in totals]),
        ("  with a context", [str(each.contexts) for each in totals]),
        ("links", [str(each.links) for each in totals]),
        ("changes to older notes", [str(each.changes) for each in totals]),
        ("refused answers", [str(each.refused) for each in totals]),
        ("no answer", [str(each.failed) for each in totals]),
        ("seconds a note", [f"{each.seconds_per_note:.1f}" for each in totals]),
        ("tokens a note", [f"{each.tokens_per_note:,.0f}" for each in totals]),
    ]
    if any(each.cost for each in totals):
        rows.append(("cost a note", [_cost(each, currency) for each in totals]))
    width = max(len(text) for _, texts in rows for text in texts)
    console.print()
    letters = "  ".join(f"{letter:>{width}}" for letter in LETTERS)
    console.print(Styled(f"{'':<24}", (letters, "bold cyan")))
    for label, texts in rows:
        console.print(Styled((f"{label:<24}", "cyan"), "  ".join(f"{t:>{width}}" for t in texts)))
    made = totals[0].links + totals[1].links - comparison.links_by_both
    if made:
        console.print(f"{comparison.links_by_both} of {made} links are made by both")


def _cost(totals: SideTotals, currency: str) -> str:
    cost = totals.cost_per_note
    return "unknown" if cost is None else money(cost, currency)


def comparison_document(
    comparison: Comparison, totals: tuple[SideTotals, SideTotals]
) -> dict[str, Any]:
    """The whole comparison; a note's `results` are null where a model was not asked any more."""
    stopped = comparison.stopped
    return {
        "sides": [
            {
                "name": side.name,
                "model": None if side.model is None else side.model.name,
                "asked_for": _asked_for(side.model is not None, side.settings.trusted),
                "notes": len(results),
                "described": total.described,
                "contexts": total.contexts,
                "links": total.links,
                "changes": total.changes,
                "refused": total.refused,
                "failed": total.failed,
                "seconds_per_note": round(total.seconds_per_note, 3),
                "tokens_per_note": round(total.tokens_per_note, 1),
                "cost_per_note": total.cost_per_note,
            }
            for side, results, total in zip(
                comparison.sides, comparison.results, totals, strict=True
            )
        ],
        "links_by_both": comparison.links_by_both,
        "stopped": stopped[0] if stopped else "",
        "notes": [
            {
                "id": note.id,
                "path": note.path,
                "title": note.title,
                "results": [
                    document(COMPARED, results[number]) if number < len(results) else None
                    for results in comparison.results
                ],
            }
            for number, note in enumerate(comparison.notes)
        ],
    }


def _asked_for(is_asked: bool, trusted: bool) -> str:
    return "nothing" if not is_asked else "all" if trusted else "context"
