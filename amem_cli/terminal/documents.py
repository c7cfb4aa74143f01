"""Results as JSON documents, in the shapes that scripts and agents rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amem_cli.graph.graph import Graph
    from amem_cli.graph.stats import Stats
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.read import NoteView
    from amem_cli.search.search import Hit
    from amem_cli.search.supersession import Supersession


def hit_document(hit: Hit) -> dict[str, Any]:
    """One search hit."""
    note = hit.note
    return {
        "id": note.id,
        "path": note.path,
        "title": note.title,
        "score": hit.score,
        "created": note.created,
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "context": note.context,
        "snippet": hit.snippet,
        "via": hit.via,
        **_supersession(hit),
    }


def _supersession(found: Hit | Supersession) -> dict[str, Any]:
    return {
        "superseded_by": [_named(each) for each in found.superseded_by],
        "contradicted_by": [_named(each) for each in found.contradicted_by],
    }


def _named(note: NoteSummary) -> dict[str, Any]:
    return {"id": note.id, "path": note.path, "title": note.title}


def search_document(query: str, mode: str, hits: Sequence[Hit]) -> dict[str, Any]:
    """One search."""
    return {"query": query, "mode": mode, "hits": [hit_document(hit) for hit in hits]}


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """What `add` and `evolve` say of one note."""
    return {
        "id": outcome.id,
        "path": outcome.path,
        "title": outcome.title,
        "keywords": list(outcome.metadata.keywords),
        "tags": list(outcome.metadata.tags),
        "context": outcome.metadata.context,
        "links": [
            {
                "target": link.target,
                "path": link.path,
                "relation": link.relation,
                "reason": link.reason,
                "strength": link.strength,
            }
            for link in outcome.links
        ],
        "changed_links": [
            {
                "source": link.source,
                "target": link.before.target,
                "path": link.target,
                "removed": link.after is None,
                "relation": None if link.after is None else link.after.relation,
                "strength": None if link.after is None else link.after.strength,
                "reason": link.reason,
            }
            for link in outcome.changed_links
        ],
        "evolved": [
            {"id": note.id, "path": note.path, "fields": list(note.fields)}
            for note in outcome.evolved
        ],
        "proposed": [
            {
                "proposal": each.id,
                "id": each.note or None,
                "path": each.path,
                "field": each.change.field,
            }
            for each in outcome.proposed
        ],
        "pending": outcome.pending,
        "problems": list(outcome.problems),
        "model": {"name": outcome.model, **asdict(outcome.use)},
    }


def listed_document(
    note: NoteSummary, supersession: Supersession, usage: tuple[int, str] = (0, "")
) -> dict[str, Any]:
    """One row of `list`.

    Args:
        usage: how often amem showed or found the note, and when last.
    """
    return {
        **_summary_document(note),
        **_supersession(supersession),
        "retrieval_count": usage[0],
        "last_accessed": usage[1],
    }


def _summary_document(note: NoteSummary) -> dict[str, Any]:
    return {
        "id": note.id,
        "path": note.path,
        "title": note.title,
        "created": note.created,
        "modified": note.modified,
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "context": note.context,
    }


def note_document(view: NoteView) -> dict[str, Any]:
    """A whole note, with its links in both directions."""
    summary = view.summary
    return {
        **listed_document(summary, view.supersession, view.usage),
        "aliases": list(summary.aliases),
        "private": summary.private,
        "content": view.note.body,
        "links": [link.document() for link in view.links],
        "problem": summary.refused or None,
    }


def graph_document(graph: Graph) -> dict[str, Any]:
    """The whole network."""
    degrees = graph.degrees()
    return {
        "nodes": [
            {
                "id": note.id,
                "path": path,
                "title": note.title,
                "tags": list(note.tags),
                "degree": degrees[path],
            }
            for path, note in graph.nodes.items()
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "kind": edge.kind,
                "by": edge.by,
                "relation": edge.relation or None,
                "strength": edge.strength,
                "reason": edge.reason or None,
            }
            for edge in graph.edges
        ],
    }


def stats_document(stats: Stats) -> dict[str, Any]:
    """Figures, with the averages by processed note."""
    return {
        **asdict(stats),
        "calls_per_note": round(stats.calls_per_note, 3),
        "tokens_per_note": round(stats.tokens_per_note, 1),
        "seconds_per_note": round(stats.seconds_per_note, 3),
        "cost": _rounded(stats.cost),
        "cost_per_note": _rounded(stats.cost_per_note),
        "orphan_rate": round(stats.orphan_rate, 4),
        "orphan_rate_without_amem": round(stats.orphan_rate_without_amem, 4),
    }


def _rounded(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 8)
