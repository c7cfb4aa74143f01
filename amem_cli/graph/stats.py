"""How a vault grew: notes and links by month or week.

Figures about a vault and about what its organisation cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Literal

from amem_cli.graph.graph import public, vault_graph
from amem_cli.memory.learn import LinkFeedback, decisions

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph
    from amem_cli.index.draft import VaultPorts
    from amem_cli.index.records import ModelUse

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


# How the journal names a model of a server: `NAME at HOST`.
_AT_HOST = " at "


@dataclass(frozen=True, slots=True)
class Price:
    """What the model of the settings costs for a million tokens; 0: nobody said so.

    Attributes:
        model: its name in the settings.
    """

    model: str = ""
    input: float = 0.0
    output: float = 0.0

    def of(self, use: ModelUse) -> float | None:
        """Cost of what a model was asked for; 0 on this machine's own, None where it is unknown."""
        name, at, _ = use.model.rpartition(_AT_HOST)
        if not at:
            return 0.0
        if name != self.model or not (self.input or self.output):
            return None
        return (use.prompt_tokens * self.input + use.answer_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What one model was asked for in all, and what it cost.

    Attributes:
        cost: in the currency of the settings' prices; None where no price is known.
    """

    model: str
    notes: int
    calls: int
    prompt_tokens: int
    answer_tokens: int
    seconds: float
    cost: float | None


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of the vault; tokens and seconds are of the memory process alone.

    Attributes:
        orphans: notes without links; orphans_without_amem: how many there would be without the
            links that the machine made.
        models: what each model was asked for.
        growth: by month or week, oldest first, where anything was added.
        processed: notes that the memory process has finished with.
        pending: notes that wait for it.
        proposed: changes that wait for a person.
        problems: places in notes that need a person.
        link_feedback: what the person's decisions about links came to, by who made the links.
    """

    notes: int
    links: int
    machine_links: int
    broken_links: int
    orphans: int
    tags: int
    pending: int
    proposed: int
    problems: int
    processed: int
    model_calls: int
    prompt_tokens: int
    answer_tokens: int
    model_seconds: float
    link_feedback: tuple[LinkFeedback, ...] = ()
    orphans_without_amem: int = 0
    models: tuple[ModelCost, ...] = ()
    growth: tuple[Period, ...] = ()

    @property
    def orphan_rate(self) -> float:
        """Share of notes without links."""
        return self.orphans / self.notes if self.notes else 0.0

    @property
    def orphan_rate_without_amem(self) -> float:
        """What that share would be without the machine's links."""
        return self.orphans_without_amem / self.notes if self.notes else 0.0

    @property
    def cost(self) -> float | None:
        """What all models cost; None where the price of one is not known."""
        known = [each.cost for each in self.models if each.cost is not None]
        return sum(known, 0.0) if len(known) == len(self.models) else None

    @property
    def cost_per_note(self) -> float | None:
        """That by processed note."""
        cost = self.cost
        return None if cost is None or not self.processed else cost / self.processed

    @property
    def calls_per_note(self) -> float:
        """Model calls by processed note."""
        return self.model_calls / self.processed if self.processed else 0.0

    @property
    def tokens_per_note(self) -> float:
        """Tokens in and out by processed note."""
        total = self.prompt_tokens + self.answer_tokens
        return total / self.processed if self.processed else 0.0

    @property
    def seconds_per_note(self) -> float:
        """Model time by processed note."""
        return self.model_seconds / self.processed if self.processed else 0.0


def stats(
    ports: VaultPorts,
    *,
    learn: bool = True,
    price: Price | None = None,
    by: Span = "month",
    private: bool = True,
) -> Stats:
    """Count everything.

    Args:
        learn: decisions about links count for others.
        price: of the model in the settings.
        by: what growth is told by.
        private: private notes, and what waits for them, count too.
    """
    index = ports.index
    graph = vault_graph(index)
    if not private:
        graph = public(graph)
    keys = {note.key for note in graph.nodes.values()}
    own = replace(graph, edges=tuple(each for each in graph.edges if each.by == "person"))
    price = price or Price()
    totals = index.events.model_totals()
    return Stats(
        notes=len(graph.nodes),
        links=len({(edge.source, edge.target) for edge in graph.edges}),
        machine_links=sum(edge.by == "machine" for edge in graph.edges),
        broken_links=len(graph.broken),
        orphans=len(graph.orphans()),
        tags=len(index.notes.tag_counts(public=not private)),
        pending=sum(note.path in graph.nodes for note in index.queue.pending()),
        proposed=sum(
            private or (each.note or each.path) in keys for each in ports.changes.waiting()
        ),
        problems=len(index.files.problems()),
        processed=int(totals["notes"]),
        model_calls=int(totals["calls"]),
        prompt_tokens=int(totals["prompt_tokens"]),
        answer_tokens=int(totals["answer_tokens"]),
        model_seconds=float(totals["seconds"]),
        link_feedback=tuple(decisions(index, learn=learn).by_judge()),
        orphans_without_amem=len(own.orphans()),
        models=tuple(ModelCost(*use, cost=price.of(use)) for use in index.events.model_use()),
        growth=tuple(growth(graph, index.link_history.first_made(), by)),
    )
