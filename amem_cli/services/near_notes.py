"""Which older notes a note might have to do with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.core.full_text import search_terms
from amem_cli.core.index_port import MemoryIndex
from amem_cli.core.index_records import NoteSummary
from amem_cli.core.keyphrases import candidate_phrases
from amem_cli.core.link_evidence import LinkCandidate
from amem_cli.services.query import linked_paths

if TYPE_CHECKING:
    from amem_cli.core.ports import Vectors

REVERSE_DEPTH = 12
PHRASES = 12


@dataclass(frozen=True, slots=True)
class NearNote:
    """An older note with what speaks for a link to it."""

    summary: NoteSummary
    evidence: LinkCandidate


def near_notes(
    index: MemoryIndex, path: str, text: str, vector: Vectors, limit: int
) -> list[NearNote]:
    """The nearest notes by meaning and by words, the nearest first.

    Args:
        path: the note itself, which is left out.
        text: its text; vector: its enhanced embedding, shape (dimension,).
    """
    near = index.vectors.scores(vector, limit + 1)
    terms = [term for phrase in candidate_phrases(text, PHRASES) for term in search_terms(phrase)]
    said = index.text.keyword_scores(list(dict.fromkeys(terms)), limit + 1)
    near.update(index.vectors.scores(vector, len(said), sorted(set(said) - set(near))))
    near.pop(path, None)
    order = sorted(near.items(), key=lambda item: (-item[1], item[0]))
    found = []
    for rank, (other, similarity) in enumerate(order):
        summary = index.notes.summary(other)
        if summary is not None:
            reverse = _reverse_rank(index, other, path, similarity) if rank < limit else None
            found.append(NearNote(summary, _evidence(index, summary, similarity, rank, reverse)))
    return found


def at_best(
    index: MemoryIndex, summaries: Sequence[NoteSummary], vector: Vectors
) -> list[LinkCandidate]:
    """Notes with what speaks for a link to each, as if it and the other were the nearest to each
    other; which notes are that depends on the rest of the vault.

    Args:
        vector: the other note's enhanced embedding, shape (dimension,).
    """
    paths = [summary.path for summary in summaries]
    near = index.vectors.scores(vector, len(paths), paths)
    return [_evidence(index, each, near.get(each.path, 0.0), 0, 0) for each in summaries]


def _reverse_rank(index: MemoryIndex, other: str, path: str, similarity: float) -> int | None:
    """The place of the note among the other one's nearest, by their similarity."""
    vector = index.vectors.of_note(other)
    if vector is None:
        return None
    nearest = index.vectors.scores(vector, REVERSE_DEPTH)
    closer = [
        each
        for each, cosine in nearest.items()
        if each not in (other, path) and cosine > similarity
    ]
    return len(closer) if len(closer) < REVERSE_DEPTH - 2 else None


def _evidence(
    index: MemoryIndex, note: NoteSummary, similarity: float, rank: int, reverse: int | None
) -> LinkCandidate:
    return LinkCandidate(
        path=note.path,
        title=note.title,
        text="\n\n".join(index.text.passages(note.path)),
        similarity=similarity,
        rank=rank,
        reverse_rank=reverse,
        keywords=note.keywords,
        tags=note.tags,
        context=note.context,
        created=note.created,
        links=frozenset(linked_paths(index, note.path)),
    )


def older(notes: Iterable[NearNote], created: str) -> list[NearNote]:
    """Those that were there first; a note without a date counts as old."""
    return [note for note in notes if not note.summary.created or note.summary.created <= created]
