"""Finds notes by meaning and by words, with the notes linked to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from amem_cli.core.errors import UsageError
from amem_cli.core.resolution import resolve

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex, NoteSummary
    from amem_cli.core.ports import Encoder

Mode = Literal["hybrid", "semantic", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
CANDIDATES = 100
MAX_HITS = 1000


@dataclass(frozen=True, slots=True)
class Filters:
    """Which notes may be found.

    Attributes:
        tags: all of these, nested ones included (`inbox` finds `inbox/to-read`).
        since, until: bounds of the day a note was created; inclusive.
        path: a folder or the beginning of a path.
    """

    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    path: str = ""

    def __bool__(self) -> bool:
        return bool(self.tags or self.since or self.until or self.path)

    def admit(self, note: NoteSummary) -> bool:
        """True for a note that may be found."""
        if self.path and not note.path.startswith(self.path.rstrip("*").strip("/")):
            return False
        own = [tag.casefold() for tag in note.tags]
        for tag in self.tags:
            wanted = tag.removeprefix("#").casefold()
            if not any(each == wanted or each.startswith(wanted + "/") for each in own):
                return False
        day = (note.created or note.modified)[:10]
        if self.since and day < self.since.date().isoformat():
            return False
        return not (self.until and day > self.until.date().isoformat())


@dataclass(frozen=True, slots=True)
class Hit:
    """A note found.

    Attributes:
        score: 0..1, higher is better.
        via: None, or the id (path, where it has none) of the hit whose link brought this one in.
        marks: starts and ends of the query's words in the snippet.
    """

    note: NoteSummary
    score: float
    snippet: str
    via: str | None = None
    marks: tuple[tuple[int, int], ...] = ()


def search(
    index: MemoryIndex,
    query: str,
    *,
    encoder: Encoder | None,
    mode: Mode = "hybrid",
    limit: int = 5,
    neighbors: bool = True,
    filters: Filters = Filters(),
) -> list[Hit]:
    """The best notes for a query, then notes linked to them.

    Args:
        encoder: not needed for `keyword`.
        limit: how many direct hits; at most as many neighbours follow them.

    Raises:
        UsageError: the query is empty, or a mode that needs an encoder has none.
    """
    if not query.strip():
        raise UsageError("the query is empty", hint='Say what to look for: amem search "…".')
    if mode != "keyword" and encoder is None:
        raise UsageError(f"{mode} search needs an encoder")
    from amem_cli.services.question import Question

    limit = max(1, min(limit, MAX_HITS))
    allowed = _allowed(index, filters)
    question = Question(index, query, max(CANDIDATES, limit * 2), allowed)
    if mode == "keyword" or encoder is None:
        scores = question.by_words()
    else:
        vector = encoder.encode([query], query=True)[0]
        if mode == "semantic":
            scores = question.by_meaning(vector)
        else:
            scores = question.by_both(vector, encoder.readable(query))
    top = dict(list(scores.items())[:limit])
    hits = [_hit(index, path, score, question.terms, None) for path, score in top.items()]
    found = [hit for hit in hits if hit is not None]
    if neighbors:
        found.extend(_neighbors(index, question.terms, found, scores, limit, allowed))
    return found


def _allowed(index: MemoryIndex, filters: Filters) -> set[str] | None:
    if not filters:
        return None
    return {note.path for note in index.summaries() if filters.admit(note)}


def _hit(
    index: MemoryIndex, path: str, score: float, terms: Sequence[str], via: str | None
) -> Hit | None:
    from amem_cli.core.snippets import marks, snippet_of_terms

    note = index.summary(path)
    if note is None:
        return None
    snippet = snippet_of_terms(index.passages(path), terms)
    return Hit(note, round(score, 4), snippet, via, marks(snippet, terms))


def _neighbors(
    index: MemoryIndex,
    terms: Sequence[str],
    hits: Sequence[Hit],
    scores: dict[str, float],
    limit: int,
    allowed: set[str] | None,
) -> list[Hit]:
    """Notes one link away from a hit, by their own score and that of the hit."""
    direct = {hit.note.path for hit in hits}
    floor = min((hit.score for hit in hits), default=0.0)
    best: dict[str, tuple[float, str]] = {}
    for hit in hits:
        for path in linked_paths(index, hit.note.path):
            if path in direct or (allowed is not None and path not in allowed):
                continue
            score = min(floor, (hit.score + scores.get(path, 0.0)) / 2)
            if score > best.get(path, (-1.0, ""))[0]:
                best[path] = (score, hit.note.key)
    order = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))[:limit]
    found = [_hit(index, path, score, terms, via) for path, (score, via) in order]
    return [hit for hit in found if hit is not None]


def linked_paths(index: MemoryIndex, path: str) -> list[str]:
    """Notes that a note links to or is linked from, each once, links out first."""
    outgoing = (resolve(link.target, path, index) for link in index.links_of(path))
    incoming = (source for source, _ in index.links_to(path))
    found = dict.fromkeys(target for target in (*outgoing, *incoming) if target is not None)
    found.pop(path, None)
    return list(found)
