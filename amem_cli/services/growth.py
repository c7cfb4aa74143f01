"""How a vault grew: notes and links by month or week."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from amem_cli.core.graph import Edge, Graph

Span = Literal["month", "week"]
SPANS: tuple[Span, ...] = ("month", "week")


@dataclass(frozen=True, slots=True)
class Period:
    """What was added in a month or a week of what is there now.

    Attributes:
        period: `2026-03`, or `2026-W10` (ISO 8601 weeks).
        links_by_person, links_by_machine: linked pairs of notes; one that both made is a person's.
    """

    period: str
    notes: int = 0
    links_by_person: int = 0
    links_by_machine: int = 0


def growth(graph: Graph, made: Mapping[tuple[str, str], str], by: Span) -> list[Period]:
    """Periods in which anything was added, oldest first.

    A link counts on the day that the journal names; one that a person wrote into a text, for which
    there is none, on the day of the younger of its two notes.

    Args:
        made: when links were made, by the ids or paths of their notes.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    days = {path: _day(note.created) or note.modified[:10] for path, note in graph.nodes.items()}
    for day in days.values():
        counts[period_of(day, by)][0] += 1
    pairs: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        pairs[edge.source, edge.target].append(edge)
    for (source, target), edges in pairs.items():
        by_person = any(edge.by == "person" for edge in edges)
        written = by_person and any(edge.kind == "wikilink" for edge in edges)
        keys = graph.nodes[source].key, graph.nodes[target].key
        told = "" if written else made.get(keys) or made.get((keys[0], target)) or ""
        day = _day(told) or max(days[source], days[target])
        counts[period_of(day, by)][1 if by_person else 2] += 1
    return [Period(name, *counts[name]) for name in sorted(counts) if name]


def period_of(day: str, by: Span) -> str:
    """The month or ISO week of a day; empty where the text is no day."""
    try:
        moment = date.fromisoformat(day)
    except ValueError:
        return ""
    if by == "month":
        return day[:7]
    year, week, _ = moment.isocalendar()
    return f"{year:04}-W{week:02}"


def latest(periods: Mapping[str, Period], today: date, by: Span, count: int) -> Iterator[Period]:
    """The last periods up to today's, oldest first, those in which nothing was added too."""
    names: list[str] = []
    day = today
    while len(names) < count:
        names.append(period_of(day.isoformat(), by))
        day = day.replace(day=1) - timedelta(days=1) if by == "month" else day - timedelta(days=7)
    for name in reversed(names):
        yield periods.get(name, Period(name))


def _day(moment: str) -> str:
    return moment[:10] if moment[:4].isdigit() else ""
