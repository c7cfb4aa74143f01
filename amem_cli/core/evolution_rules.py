"""What a new note changes in the metadata of the older notes it is linked to, without a model.

Only what the new note says in so many words: that it takes an older note's place. Labels that two
notes could share say nothing about a change of meaning; adding them was wrong far more often than
right (docs/memory.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from amem_cli.core.link_evidence import LinkCandidate
from amem_cli.core.link_reasons import phrases_in
from amem_cli.core.model_changes import Evolution
from amem_cli.core.note import MemoryLink, Note
from amem_cli.core.words import detect_language, fold

_LONGEST_CONTEXT = 240


def superseded(
    note: Note, links: Sequence[MemoryLink], candidates: Sequence[LinkCandidate]
) -> list[Evolution]:
    """Contexts of the older notes that the new one supersedes, closed with a clause that says so.

    Args:
        note: the new note.
        links: the links made from it.
        candidates: the older notes that were candidates, the linked ones among them.
    """
    older_notes = {entry.path: entry for entry in candidates}
    changes = []
    for link in links:
        older = older_notes.get(link.target)
        if older is None or link.relation != "supersedes":
            continue
        context = _closed_context(note, older)
        if context is not None:
            changes.append(Evolution(older.path, context=context, reason=link.reason))
    return changes


def _closed_context(note: Note, older: LinkCandidate) -> str | None:
    is_told = fold(note.title) in fold(older.context)
    if not (older.context and note.title and note.created) or is_told:
        return None
    form = phrases_in(detect_language(older.context))["superseded_since"]
    title = " ".join(note.title.replace("[[", "").replace("]]", "").split())[:80]
    closing = form.format(date=note.created[:10], title=title)
    opening = older.context.rstrip(" .。")
    if len(opening) + len(closing) > _LONGEST_CONTEXT:
        return None
    return opening + closing
