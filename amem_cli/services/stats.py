"""Figures about a vault and about what its organisation cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.core.graph import Graph, build
from amem_cli.services.feedback import LinkFeedback, decisions

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.services.vault_ports import VaultPorts


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of the vault; tokens and seconds are of the memory process alone.

    Attributes:
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

    notes = list(index.summaries())
    names = NameTable((note.path, note.aliases, note.title) for note in notes)
    return build(notes, index.all_links(), index.link_records(), names)


def stats(ports: VaultPorts, *, learn: bool = True) -> Stats:
    """Count everything.

    Args:
        learn: decisions about links count for others.
    """
    index = ports.index
    graph = vault_graph(index)
    totals = index.model_totals()
    return Stats(
        notes=index.count(),
        links=len({(edge.source, edge.target) for edge in graph.edges}),
        machine_links=sum(edge.by == "machine" for edge in graph.edges),
        broken_links=len(graph.broken),
        orphans=len(graph.orphans()),
        tags=len(index.tag_counts()),
        pending=len(index.pending()),
        proposed=len(ports.changes.waiting()),
        problems=len(index.problems()),
        processed=int(totals["notes"]),
        model_calls=int(totals["calls"]),
        prompt_tokens=int(totals["prompt_tokens"]),
        answer_tokens=int(totals["answer_tokens"]),
        model_seconds=float(totals["seconds"]),
        link_feedback=tuple(decisions(index, learn=learn).by_judge()),
    )
