"""Lists notes by what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex, NoteSummary
    from amem_cli.services.query import Filters

SORTS: dict[str, tuple[Callable[[NoteSummary], str], bool]] = {
    "created": (lambda note: note.created or note.modified, True),
    "modified": (lambda note: note.modified, True),
    "title": (lambda note: note.title.casefold(), False),
    "path": (lambda note: note.path, False),
}


def listed(
    index: MemoryIndex,
    *,
    filters: Filters,
    orphans: bool,
    pending: bool,
    sort: str,
    reverse: bool,
    limit: int | None,
) -> list[NoteSummary]:
    """Notes that pass all filters; dates sort newest first, names from A to Z."""
    notes = [note for note in index.summaries() if not filters or filters.admit(note)]
    if pending:
        waiting = {note.path for note in index.pending()}
        notes = [note for note in notes if note.path in waiting]
    if orphans:
        from amem_cli.services.stats import vault_graph

        alone = set(vault_graph(index).orphans())
        notes = [note for note in notes if note.path in alone]
    key, newest_first = SORTS[sort]
    notes.sort(key=key, reverse=newest_first != reverse)
    return notes[: max(0, limit)] if limit is not None else notes
