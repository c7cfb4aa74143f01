"""Statistics of a vault: counts, and the tokens of its models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from amem_cli.graph.graph import of_link, public, vault_graph

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph
    from amem_cli.index.events import ModelTotals
    from amem_cli.index.memory_index import VaultPorts


def note_days(graph: Graph) -> dict[str, str]:
    """The day of each note (ISO 8601) by its path; empty if it is unknown."""
    return {path: _day(note.made) or _day(note.modified) for path, note in graph.nodes.items()}


def link_days(graph: Graph, made: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """The day of each link by the paths of its notes.

    It is the one in `made`, by the ids or paths of its notes; of a link that the journal does not
    record, as a person's in a text, the day of the younger of its two notes.
    """
    days = note_days(graph)
    pairs: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        pairs[edge.source, edge.target].append(edge)
    found = {}
    for (source, target), edges in pairs.items():
        by_person = any(edge.by == "person" for edge in edges)
        in_text = by_person and any(edge.kind == "wikilink" for edge in edges)
        moment = None if in_text else of_link(made, graph.nodes[source].key, graph.nodes[target])
        found[source, target] = _day(moment or "") or max(days[source], days[target])
    return found


def _day(moment: str) -> str:
    """The day of a moment; empty if the text is none."""
    try:
        return date.fromisoformat(moment[:10]).isoformat()
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of the vault; tokens and seconds are of the memory process alone.

    Attributes:
        pending: notes that wait for the memory process.
        proposed: changes that wait for a person.
        problems: places in notes that need a person.
        processed: notes that the memory process has finished.
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
    orphans_without_amem: int = 0
    models: tuple[ModelTotals, ...] = ()

    @property
    def rates(self) -> dict[str, float]:
        """Averages of the notes that were processed, and the shares of notes without links."""
        processed, notes = self.processed or 1, self.notes or 1
        return {
            "calls_per_note": self.model_calls / processed,
            "tokens_per_note": (self.prompt_tokens + self.answer_tokens) / processed,
            "seconds_per_note": self.model_seconds / processed,
            "orphan_rate": self.orphans / notes,
            "orphan_rate_without_amem": self.orphans_without_amem / notes,
        }


def stats(ports: VaultPorts, *, private: bool = True) -> Stats:
    index = ports.index
    graph = vault_graph(index)
    if not private:
        graph = public(graph)
    makers = graph.makers()
    keys = {note.key for note in graph.nodes.values()}
    # What the vault would be without the machine's links.
    own = replace(graph, edges=tuple(each for each in graph.edges if each.by == "person"))
    totals = index.events.model_totals()
    return Stats(
        notes=len(graph.nodes),
        links=len(makers),
        machine_links=sum(maker == "machine" for maker in makers.values()),
        broken_links=len(graph.broken),
        orphans=len(graph.orphans()),
        tags=len(index.notes.tag_counts(public=not private)),
        pending=sum(note.path in graph.nodes for note in index.queue.pending()),
        proposed=sum(
            private or (each.note or each.path) in keys for each in ports.changes.waiting()
        ),
        problems=len(index.files.problems()),
        processed=totals.notes,
        model_calls=totals.calls,
        prompt_tokens=totals.prompt_tokens,
        answer_tokens=totals.answer_tokens,
        model_seconds=totals.seconds,
        orphans_without_amem=len(own.orphans()),
        models=tuple(index.events.model_use()),
    )
