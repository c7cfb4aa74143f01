"""Figures of a vault as a person reads them."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from amem_cli.graph.stats import Gap, Period, timeline
from amem_cli.terminal.output import Styled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from amem_cli.graph.stats import ModelCost, Span, Stats
    from amem_cli.terminal.output import Console

ROWS_SHOWN = 12
BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show_stats(
    console: Console, stats: Stats, *, watcher: str, today: str = "", by: Span = "month"
) -> None:
    """Figures of the vault, what its watcher does, what models cost, and how the vault grew."""
    rows = (
        ("notes", f"{stats.notes}"),
        ("links", f"{stats.links} ({stats.machine_links} by amem, {stats.broken_links} broken)"),
        ("orphans", _orphans(stats)),
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
            f"{stats.calls_per_note:.2f} calls, {stats.tokens_per_note:.0f} tokens,"
            f" {stats.seconds_per_note:.1f} s{_cost(stats.cost_per_note)}",
        ),
        *(("", _model(each)) for each in stats.models),
        *([("today", today)] if today else []),
        *(
            (
                "decided",
                f"{each.kept} links of {each.judge} kept, {each.removed} removed:"
                f" it links from a strength of {each.minimum:.2g} on",
            )
            for each in stats.link_feedback
        ),
    )
    for name, value in rows:
        console.print(Styled((f"{name:<10}", "cyan"), value))
    for line in _chart(stats, date.today(), by):
        console.print(line)


def _orphans(stats: Stats) -> str:
    with_amem = f"{stats.orphans} ({stats.orphan_rate:.0%} of the notes)"
    if stats.orphans_without_amem == stats.orphans:
        return with_amem
    before = f"{stats.orphans_without_amem} ({stats.orphan_rate_without_amem:.0%})"
    return f"{with_amem}; {before} without amem's links"


def _cost(amount: float | None) -> str:
    return f", cost {amount:.3g}" if amount else ""


def _model(use: ModelCost) -> str:
    cost = "no price set" if use.cost is None else f"cost {use.cost:.3g}" if use.cost else ""
    tokens = f"{use.prompt_tokens} tokens in, {use.answer_tokens} out"
    told = f"{use.model}: {use.calls} calls, {tokens}, {use.seconds:.0f} s"
    return f"{told}, {cost}" if cost else told


def _chart(stats: Stats, today: date, by: Span) -> Iterator[Styled]:
    """A line for each of the last periods; of many in which nothing was added one line tells."""
    if not stats.growth:
        return
    told = timeline(stats.growth, today, by, ROWS_SHOWN)
    most = max((each.notes for each in told.rows if isinstance(each, Period)), default=0)
    yield Styled((f"\n{by:<10}", "cyan"), (f"{'notes':<{BAR_WIDTH + 7}}links", "cyan"))
    if told.earlier is not None:
        yield _row("earlier", told.earlier, "")
    for each in told.rows:
        if isinstance(each, Gap):
            yield Styled((f"…         {each.periods} {by}s in which nothing was added", "dim"))
        else:
            yield _row(each.period, each, _bar(each.notes, most))


def _row(name: str, period: Period, bar: str) -> Styled:
    links = []
    if period.links_by_person:
        links.append(f"+{period.links_by_person} by you")
    if period.links_by_machine:
        links.append(f"+{period.links_by_machine} by amem")
    count = f"+{period.notes}" if period.notes else ""
    told = f"{count:<7}{bar:<{BAR_WIDTH}}{', '.join(links)}".rstrip()
    return Styled((f"{name:<10}" if told else name, "dim"), told)


def _bar(value: int, most: int) -> str:
    eighths = round(value * (BAR_WIDTH - 1) * 8 / most) if most else 0
    rest = _EIGHTHS[eighths % 8].strip()
    return "█" * (eighths // 8) + rest or ("▏" if value else "")
