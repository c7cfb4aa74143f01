"""The vault at a glance, as far as agents are shown it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amem_cli.mcp import documents
from amem_cli.mcp import documents as bounds

if TYPE_CHECKING:
    from amem_cli.mcp.tool import Document
    from amem_cli.workspace.workspace import Workspace


def vault_summary(workspace: Workspace) -> Document:
    """Figures of the notes that agents are shown, the tags and the newest notes."""
    from amem_cli.graph.graph import Graph, vault_graph

    hidden, whole = frozenset(workspace.hidden()), vault_graph(workspace.index)
    graph = Graph(
        {path: note for path, note in whole.nodes.items() if path not in hidden},
        tuple(e for e in whole.edges if not {e.source, e.target} & hidden),
        tuple(link for link in whole.broken if link.source not in hidden),
    )
    tags = workspace.index.notes.tag_counts(public=not workspace.sees_private)
    most_used = sorted(tags.items(), key=lambda item: (-item[1], item[0]))[: bounds.WORDS]
    newest = sorted(graph.nodes.values(), key=lambda note: note.created or note.modified)[-10:]
    keys = {note.key for note in graph.nodes.values()}
    return {
        "notes": len(graph.nodes),
        "links": len({(edge.source, edge.target) for edge in graph.edges}),
        "machine_links": sum(edge.by == "machine" for edge in graph.edges),
        "broken_links": len(graph.broken),
        "orphans": len(graph.orphans()),
        "pending": sum(note.path not in hidden for note in workspace.index.queue.pending()),
        "proposed": sum(
            (each.note or each.path) in keys for each in workspace.ports.changes.waiting()
        ),
        "tags": [{"tag": bounds.cut(tag), "notes": count} for tag, count in most_used],
        "newest": [{**documents.named(note), "created": note.created} for note in reversed(newest)],
    }
