"""The vault at a glance, as far as agents are shown it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amem_cli.mcp import documents
from amem_cli.mcp import documents as bounds

_COUNTS = (
    "notes",
    "links",
    "machine_links",
    "broken_links",
    "orphans",
    "pending",
    "proposed",
)

if TYPE_CHECKING:
    from amem_cli.mcp.tool import Document
    from amem_cli.workspace.workspace import Workspace


def vault_summary(workspace: Workspace) -> Document:
    """Counts of the notes that agents are shown, the tags and the newest notes."""
    from amem_cli.search.read import Wanted

    counts = workspace.stats()
    tags = workspace.index.notes.tag_counts(public=not workspace.sees_private)
    most_used = sorted(tags.items(), key=lambda item: (-item[1], item[0]))[: bounds.WORDS]
    newest = workspace.list_notes(wanted=Wanted(), limit=10)
    return {
        **{name: getattr(counts, name) for name in _COUNTS},
        "tags": [{"tag": bounds.cut(tag), "notes": count} for tag, count in most_used],
        "newest": [{**documents.named(each.note), "created": each.note.created} for each in newest],
    }
