"""How a vault grew: notes and links by month or week."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
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
    days = {path: _day(note.created) or _day(note.modified) for path, note in graph.nodes.items()}
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
        return moment.isoformat()[:7]
    year, week, _ = moment.isocalendar()
    return f"{year:04}-W{week:02}"


@dataclass(frozen=True, slots=True)
class Gap:
    """Periods in a row in which nothing was added.

    Attributes:
        periods: how many, at least two.
    """

    periods: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """How a vault grew, in few lines.

    Attributes:
        earlier: all that was added before, its `period` empty; None where nothing was.
        rows: the last periods, oldest first, up to today's or to one that notes place in the
            future; many without anything are one row.
    """

    earlier: Period | None
    rows: tuple[Period | Gap, ...]


def timeline(grown: Sequence[Period], today: date, by: Span, most: int) -> Timeline:
    """The last `most` rows of what `growth` found."""
    now = Period(period_of(today.isoformat(), by))
    rows: list[Period | Gap] = []
    last: int | None = None
    for each in [*grown, *([now] if grown and grown[-1].period < now.period else [])]:
        place = _place(each.period, by)
        missing = 0 if last is None else place - last - 1
        if missing == 1:
            rows.append(Period(_name(place - 1, by)))
        elif missing > 1:
            rows.append(Gap(missing))
        rows.append(each)
        last = place
    former = [each for each in rows[:-most] if isinstance(each, Period)]
    counts = [(each.notes, each.links_by_person, each.links_by_machine) for each in former]
    earlier = Period("", *map(sum, zip(*counts, strict=True))) if counts else None
    return Timeline(earlier, tuple(rows[-most:]))


def _place(period: str, by: Span) -> int:
    """A number that is one more for the next period."""
    if by == "month":
        return int(period[:4]) * 12 + int(period[5:]) - 1
    return date.fromisocalendar(int(period[:4]), int(period[6:]), 1).toordinal() // 7


def _name(place: int, by: Span) -> str:
    if by == "month":
        return f"{place // 12:04}-{place % 12 + 1:02}"
    return period_of(date.fromordinal(place * 7 + 1).isoformat(), by)


def _day(moment: str) -> str:
    """The day of a moment; empty where the text is none."""
    try:
        return date.fromisoformat(moment[:10]).isoformat()
    except ValueError:
        return ""
