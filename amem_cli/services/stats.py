"""Figures about a vault and about what its organisation cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amem_cli.core.graph import Graph, build
from amem_cli.services.feedback import LinkFeedback, decisions
from amem_cli.services.growth import Period, growth

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.index_records import ModelUse
    from amem_cli.services.growth import Span
    from amem_cli.services.vault_ports import VaultPorts


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


def vault_graph(index: MemoryIndex) -> Graph:
    """The whole network as the index has it."""
    from amem_cli.core.resolution import NameTable

    notes = list(index.notes.summaries())
    names = NameTable((note.path, note.aliases, note.title) for note in notes)
    return build(notes, index.links.all(), index.link_history.records(), names)


def stats(
    ports: VaultPorts, *, learn: bool = True, price: Price | None = None, by: Span = "month"
) -> Stats:
    """Count everything.

    Args:
        learn: decisions about links count for others.
        price: of the model in the settings.
        by: what growth is told by.
    """
    index = ports.index
    graph = vault_graph(index)
    own = replace(graph, edges=tuple(each for each in graph.edges if each.by == "person"))
    price = price or Price()
    totals = index.events.model_totals()
    return Stats(
        notes=index.notes.count(),
        links=len({(edge.source, edge.target) for edge in graph.edges}),
        machine_links=sum(edge.by == "machine" for edge in graph.edges),
        broken_links=len(graph.broken),
        orphans=len(graph.orphans()),
        tags=len(index.notes.tag_counts()),
        pending=len(index.queue.pending()),
        proposed=len(ports.changes.waiting()),
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
