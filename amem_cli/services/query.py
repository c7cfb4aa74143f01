"""Finds notes by meaning and by words, with the notes linked to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize

from amem_cli.core.errors import EncoderError, SettingsError, UsageError

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.index_records import (
        NoteOutline,
        NoteSummary,
    )
    from amem_cli.core.ports import Encoder, Reranker, Vectors

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
        path: a folder or a note as it is written, or a pattern of paths with `*`, `?` or `[…]`,
            where `*` may stand for several folders.
        hidden: paths of notes that are not to be found, nor told of in any other way.
    """

    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    path: str = ""
    hidden: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.since or self.until or self.path or self.hidden)

    def admit(self, note: NoteOutline) -> bool:
        """True for a note that may be found."""
        if note.path in self.hidden:
            return False
        if self.path and not is_within(note.path, self.path):
            return False
        if self.since and day_of(note) < self.since.date().isoformat():
            return False
        if self.until and day_of(note) > self.until.date().isoformat():
            return False
        return not self.tags or self._have_tags(note.tags)

    def _have_tags(self, tags: Sequence[str]) -> bool:
        own = [tag.casefold() for tag in tags]
        for tag in self.tags:
            wanted = tag.removeprefix("#").strip("/").casefold()
            if not any(each == wanted or each.startswith(wanted + "/") for each in own):
                return False
        return True


EVERY_NOTE = Filters()


def day_of(note: NoteOutline) -> str:
    """The day that a note names as its own, else the one, here, on which it was saved last."""
    if note.created:
        return note.created[:10]
    return datetime.fromisoformat(note.modified).astimezone().date().isoformat()


def is_within(path: str, place: str) -> bool:
    """True for a note that is, or lies below, a folder or what a pattern names."""
    wanted, own = _plain_place(place), normalize("NFC", path)
    if wanted == ".":
        return True
    if own in (wanted, f"{wanted}.md") or own.startswith(f"{wanted}/"):
        return True
    is_pattern = any(sign in wanted for sign in "*?[")
    return is_pattern and (fnmatchcase(own, wanted) or fnmatchcase(own, f"{wanted}/*"))


@lru_cache(maxsize=8)
def _plain_place(place: str) -> str:
    return normalize("NFC", normpath(place.strip().strip("/") or "."))


@dataclass(frozen=True, slots=True)
class Hit:
    """A note found.

    Attributes:
        score: 0..1, higher is better.
        snippet: of the passage that was found: the nearest in meaning for `semantic`; else the
            one with the most words of the query, where several have as many the nearest of them.
        via: None, or the id (path, where it has none) of the hit whose link brought this one in.
        marks: starts and ends of the query's words in the snippet.
        superseded_by, contradicted_by: notes whose links say so, the newest first.
    """

    note: NoteSummary
    score: float
    snippet: str
    via: str | None = None
    marks: tuple[tuple[int, int], ...] = ()
    superseded_by: tuple[NoteSummary, ...] = ()
    contradicted_by: tuple[NoteSummary, ...] = ()


def encoder_if_any(opened: Callable[[], Encoder], tell: Callable[[str], None]) -> Encoder | None:
    """The encoder that `opened` gives; None, which is told, where it cannot be had."""
    try:
        return opened()
    except (EncoderError, SettingsError) as error:
        tell(f"! {error.message}; the notes are searched by words alone")
        return None


def search(
    index: MemoryIndex,
    query: str,
    *,
    encoder: Encoder | None,
    mode: Mode = "hybrid",
    limit: int = 5,
    neighbors: bool = True,
    filters: Filters = EVERY_NOTE,
    reranker: Reranker | None = None,
) -> list[Hit]:
    """The best notes for a query, then notes linked to them.

    A note that supersedes another one comes right before it, whatever its own score, and is
    brought in where it was not found; it does not count as one of the `limit`.

    Args:
        encoder: not needed for `keyword`.
        limit: how many direct hits; at most as many neighbours follow them.
        reranker: reads the best of a `hybrid` search again.

    Raises:
        UsageError: the query is empty, or a mode that needs an encoder has none.
    """
    if not query.strip():
        raise UsageError("the query is empty", hint='Say what to look for: amem search "…".')
    if mode != "keyword" and encoder is None:
        raise UsageError(f"{mode} search needs an encoder")
    from amem_cli.services.question import Question
    from amem_cli.services.standing import with_current_first

    limit = max(1, min(limit, MAX_HITS))
    allowed = _allowed(index, filters)
    question = Question(index, query, max(CANDIDATES, limit * 2), allowed)
    vector: Vectors | None = None
    if mode == "keyword" or encoder is None:
        scores = question.by_words()
    else:
        vector = encoder.encode([query], query=True)[0]
        if mode == "semantic":
            scores = question.by_meaning(vector)
        else:
            scores = question.by_both(vector, encoder.readable(query))
            if reranker is not None:
                from amem_cli.services.reranking import read_again

                scores = read_again(index, reranker, query, vector, scores)
    shown = _Shown(index, question.terms, vector, by_words=mode != "semantic")
    top = dict(list(scores.items())[:limit])
    hits = [shown.hit(path, score, None) for path, score in top.items()]
    found = [hit for hit in hits if hit is not None]
    if neighbors:
        found.extend(_neighbors(index, shown, found, scores, limit, allowed))
    return with_current_first(index, found, shown.hit, allowed)


def _allowed(index: MemoryIndex, filters: Filters) -> set[str] | None:
    if not filters:
        return None
    return {note.path for note in index.notes.outlines() if filters.admit(note)}


@dataclass(frozen=True, slots=True)
class _Shown:
    """How what was found is shown for one query."""

    index: MemoryIndex
    terms: Sequence[str]
    vector: Vectors | None
    by_words: bool

    def hit(self, path: str, score: float, via: str | None) -> Hit | None:
        from amem_cli.core.snippets import marks, snippet_of_terms

        note = self.index.notes.summary(path)
        if note is None:
            return None
        snippet = snippet_of_terms(self._passages(path), self.terms)
        return Hit(note, round(score, 4), snippet, via, marks(snippet, self.terms))

    def _passages(self, path: str) -> list[str]:
        """The passages that may be shown, those preferred among equals first."""
        passages = self.index.text.passages(path)
        if self.vector is None or len(passages) < 2:
            return passages
        order = self.index.vectors.nearest_passages(path, self.vector)
        if order and not self.by_words:
            return [passages[order[0]]]
        near = set(order)
        return [passages[i] for i in (*order, *(i for i in range(len(passages)) if i not in near))]


def _neighbors(
    index: MemoryIndex,
    shown: _Shown,
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
    found = [shown.hit(path, score, via) for path, (score, via) in order]
    return [hit for hit in found if hit is not None]


def linked_paths(index: MemoryIndex, path: str) -> list[str]:
    """Notes that a note links to or is linked from, each once, links out first."""
    outgoing = (target for target, _ in index.links.outgoing(path))
    incoming = (source for source, _ in index.links.incoming(path))
    found = dict.fromkeys((*outgoing, *incoming))
    found.pop(path, None)
    return list(found)
