"""Orders the best notes of a search anew, by a model that reads question and text together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from amem_cli.core.ranking import reranked

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.ports import Reranker, Vectors

# A pair of question and text costs a run of the model; notes further down seldom hold the answer.
READ = 30


def read_again(
    index: MemoryIndex,
    reranker: Reranker,
    query: str,
    vector: Vectors,
    scores: Mapping[str, float],
) -> dict[str, float]:
    """Scores in which the reranker had its say, best first; the same where it has none.

    Each of the best notes is read by its title and the passage nearest to the question.
    """
    best = list(scores)[:READ]
    texts = [_text(index, path, vector) for path in best]
    told = reranker.scores(query, texts)
    if told is None:
        return dict(scores)
    return reranked(scores, dict(zip(best, told, strict=True)))


def _text(index: MemoryIndex, path: str, vector: Vectors) -> str:
    note, passages = index.notes.summary(path), index.text.passages(path)
    if len(passages) > 1:
        near = index.vectors.nearest_passages(path, vector)
        passages = [passages[near[0]]] if near else passages
    return "\n".join((note.title if note else "", *passages[:1]))
