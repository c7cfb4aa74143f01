"""Finds notes by meaning and by words, with the notes linked to them.

Orders the best notes of a search anew, by a model that reads question and text together.
The piece of a note that shows why it was found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize

from amem_cli.errors import EncoderError, SettingsError, UsageError
from amem_cli.index.full_text import german_stem, indexable_text, reads_german, search_terms
from amem_cli.language.spelling import index_stems
from amem_cli.language.words import TOKEN, fold, is_unspaced, stem
from amem_cli.markdown.links import plain_text
from amem_cli.search.ranking import reranked

if TYPE_CHECKING:
    from amem_cli.index.port import MemoryIndex
    from amem_cli.index.records import NoteOutline, NoteSummary
    from amem_cli.models.ports import Encoder, Reranker, Vectors

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
    from amem_cli.search.scoring import Question
    from amem_cli.search.supersession import with_current_first

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


SNIPPET_CHARACTERS = 240
_BREAK = re.compile(r"[\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_SHORTEST_ROOT = 4


def snippet(passages: Sequence[str], query: str, limit: int = SNIPPET_CHARACTERS) -> str:
    """One line of at most `limit` characters around the query's words.

    The passage with the most different query words is taken, the first one on a tie.
    """
    return snippet_of_terms(passages, search_terms(query), limit)


def snippet_of_terms(
    passages: Sequence[str], terms: Sequence[str], limit: int = SNIPPET_CHARACTERS
) -> str:
    """The same for the `search_terms` of a query."""
    passage = _best_passage(passages or [""], terms)
    best = " ".join(plain_text(passage).split())
    folded = fold(best)
    places = [place for place in map(folded.find, terms) if place >= 0]
    # Another inflection or spelling is found by cutting the text into words, which takes longer.
    places = places or [start for start, _ in marks(best, terms)[:1]]
    return window(best, min(places, default=0), limit)


def _best_passage(passages: Sequence[str], terms: Sequence[str]) -> str:
    held = [_held(fold(text), terms) for text in passages]
    if not any(held) and len(passages) > 1:
        # It is another inflection or spelling that was found.
        roots = [_root(word) for term in terms for word in _pieces(term)]
        held = [_held(_bare(text), roots) for text in passages]
    return passages[held.index(max(held))]


def _held(text: str, terms: Sequence[str]) -> int:
    return sum(term in text for term in terms)


def _root(word: str) -> str:
    stemmed = german_stem(word) if word.isalpha() and not is_unspaced(word) else word
    return _bare(stemmed if len(stemmed) >= _SHORTEST_ROOT else stem(word))


def window(text: str, place: int, limit: int) -> str:
    """At most `limit` characters of `text` around `place`, cut between words where there are."""
    if len(text) <= limit:
        return text
    start = max(0, min(place - limit // 4, len(text) - limit + 2))
    if start > 0:
        blank = text.find(" ", start, start + 20)
        start = blank + 1 if blank >= 0 else start
    end = min(len(text), start + limit - 2)
    if end < len(text):
        blank = text.rfind(" ", end - 20, end)
        end = blank if blank > start else end
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def marks(text: str, terms: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Where a text has the words of a query, in any inflection: starts and ends, in order.

    Args:
        terms: the `search_terms` of the query, or what they were corrected to: stems of the index.
    """
    pieces = [piece for term in terms for piece in _pieces(term)]
    wanted = {_bare(form) for piece in pieces for form in (piece, stem(piece))}
    beginnings = tuple(_bare(term[:-1]) for term in terms if term.endswith("*"))
    german = {german_stem(piece) for piece in pieces if piece.isalpha()}
    stemmed = reads_german(text)
    found: list[tuple[int, int]] = []
    for match in TOKEN.finditer(text):
        token = match.group()
        if is_unspaced(token):
            found += _pairs(token, match.start(), wanted)
            continue
        for word in _indexed_words(token):
            bare = _bare(word)
            if (
                not wanted.isdisjoint(index_stems(bare))
                or (beginnings and bare.startswith(beginnings))
                or ((stemmed or bare != word) and german_stem(word) in german)
            ):
                found.append(match.span())
                break
    return _joined(found)


def _pieces(term: str) -> list[str]:
    """The words of a term as the index has them."""
    return [word for word in _BREAK.split(fold(term)) if word]


def _indexed_words(token: str) -> list[str]:
    written = indexable_text(token).partition("\n")[0]
    return [word for word in _BREAK.split(written) if word]


def _bare(text: str) -> str:
    """Folded text without accents."""
    folded = fold(text)
    if folded.isascii():
        return folded
    return _ACCENTS.sub("", unicodedata.normalize("NFD", folded))


def _pairs(run: str, start: int, wanted: set[str]) -> list[tuple[int, int]]:
    return [
        (start + i, start + i + width)
        for i in range(len(run))
        for width in (1, 2)
        if i + width <= len(run) and _bare(run[i : i + width]) in wanted
    ]


def _joined(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
