"""Searches notes by meaning and by words; makes hits, with the snippet that shows why."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from amem_cli.errors import EncoderError, SettingsError, UsageError
from amem_cli.index.full_text import german_stem, indexable_text, reads_german, search_terms
from amem_cli.language.words import TOKEN, fold, index_stems, is_unspaced, stem
from amem_cli.markdown.plain_text import plain_text
from amem_cli.search.filters import EVERY_NOTE, Filters
from amem_cli.search.scoring import QueryScorer
from amem_cli.search.supersession import with_current_first

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.models.ports import Encoder, Reranker, Vectors

Mode = Literal["hybrid", "semantic", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
CANDIDATES = 100
MAX_HITS = 1000


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result.

    Attributes:
        score: 0..1, higher is better.
        snippet: from the nearest passage for `semantic`, else from the one with the most words of
            the query.
        via: None, or the key of the hit whose link led here.
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


def encoder_if_any(opened: Callable[[], Encoder], notify: Callable[[str], None]) -> Encoder | None:
    """The encoder from `opened`; None, with a notice, if it is not available."""
    try:
        return opened()
    except (EncoderError, SettingsError) as error:
        notify(f"! {error.message}; the notes are searched by words alone")
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

    A note that supersedes another one comes right before it, whatever its own score, and is added
    if the search did not find it; it does not count towards `limit`.

    Args:
        encoder: not needed for `keyword`.
        limit: number of direct hits; at most as many neighbours follow them.
        reranker: reads the best of a `hybrid` search again.

    Raises:
        UsageError: the query is empty, or a mode that needs an encoder has none.
    """
    if not query.strip():
        raise UsageError("the query is empty", hint='Say what to look for: amem search "…".')
    if mode != "keyword" and encoder is None:
        raise UsageError(f"{mode} search needs an encoder")

    limit = max(1, min(limit, MAX_HITS))
    allowed = None
    if filters:
        allowed = {note.path for note in index.notes.outlines() if filters.admit(note)}
    scorer = QueryScorer(index, query, max(CANDIDATES, limit * 2), allowed)
    vector: Vectors | None = None
    if mode == "keyword" or encoder is None:
        scores = scorer.by_words()
    else:
        vector = encoder.encode([query], query=True)[0]
        if mode == "semantic":
            scores = scorer.by_meaning(vector)
        else:
            scores = scorer.by_both(vector, encoder.readable(query))
            if reranker is not None:
                scores = scorer.reranked(reranker, query, vector, scores)

    def hit(path: str, score: float, via: str | None) -> Hit | None:
        note = index.notes.summary(path)
        if note is None:
            return None
        passages = index.text.passages(path)
        if vector is not None and len(passages) > 1:
            order = index.vectors.nearest_passages(path, vector)
            if order and mode == "semantic":
                passages = [passages[order[0]]]
            else:
                # Of passages with as many words of the query the nearest one is shown.
                passages = [passages[i] for i in dict.fromkeys((*order, *range(len(passages))))]
        text = snippet_of_terms(passages, scorer.terms)
        return Hit(note, round(score, 4), text, via, marks(text, scorer.terms))

    hits = [hit(path, score, None) for path, score in list(scores.items())[:limit]]
    direct = [each for each in hits if each is not None]
    linked: Sequence[Hit | None] = ()
    if neighbors:
        linked = [
            hit(path, score, via)
            for path, score, via in _neighbors(index, direct, scores, allowed)[:limit]
        ]
    return with_current_first(
        index, [*direct, *(each for each in linked if each is not None)], hit, allowed
    )


def _neighbors(
    index: MemoryIndex,
    hits: Sequence[Hit],
    scores: Mapping[str, float],
    allowed: Collection[str] | None,
) -> list[tuple[str, float, str]]:
    """Paths one link away from a hit, by the mean of their score and the hit's, with its id."""
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
    order = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    return [(path, score, via) for path, (score, via) in order]


def linked_paths(index: MemoryIndex, path: str) -> list[str]:
    """Notes that a note links to or is linked from, each once, links out first."""
    outgoing = (target for target, _ in index.links.outgoing(path))
    incoming = (source for source, _ in index.links.incoming(path))
    found = dict.fromkeys((*outgoing, *incoming))
    found.pop(path, None)
    return list(found)


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
    """At most `limit` characters of `text` around `place`, cut between words if possible."""
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
    """Starts and ends, in order, of the query's words in a text, in any inflection.

    Args:
        terms: the `search_terms` of the query, or their corrections: stems of the index.
    """
    pieces = [piece for term in terms for piece in _pieces(term)]
    wanted = {_bare(form) for piece in pieces for form in (piece, stem(piece))}
    beginnings = tuple(_bare(term[:-1]) for term in terms if term.endswith("*"))
    german = {german_stem(piece) for piece in pieces if piece.isalpha()}
    stemmed = reads_german(text)
    spans: list[tuple[int, int]] = []
    for match in TOKEN.finditer(text):
        token = match.group()
        if is_unspaced(token):
            spans += _pairs(token, match.start(), wanted)
            continue
        for word in _indexed_words(token):
            bare = _bare(word)
            if (
                not wanted.isdisjoint(index_stems(bare))
                or (beginnings and bare.startswith(beginnings))
                or ((stemmed or bare != word) and german_stem(word) in german)
            ):
                spans.append(match.span())
                break
    return _joined(spans)


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
