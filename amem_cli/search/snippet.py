"""The piece of a note that shows why it was found, with the query's words marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from amem_cli.index.text import indexable_text
from amem_cli.language.words import (
    TOKEN,
    fold,
    fold_scripts,
    german_stem,
    index_stems,
    is_unspaced,
    stem,
    stems,
    without_accents,
)
from amem_cli.markdown.plain_text import plain_text, with_boxes

SNIPPET_CHARACTERS = 240
_BREAK = re.compile(r"[\W_]+")
_SHORTEST_ROOT = 4


def snippet(
    passages: Sequence[str],
    terms: Sequence[str],
    limit: int = SNIPPET_CHARACTERS,
    languages: Sequence[str] = (),
) -> str:
    """One line of at most `limit` characters around the query's words.

    The passage with the most different query words is taken, the first one on a tie.
    """
    passage = with_boxes(_best_passage(passages or [""], terms))
    best = " ".join(plain_text(passage).split())
    folded = fold(best)
    places = [place for place in map(folded.find, terms) if place >= 0]
    # Another inflection or spelling is found by cutting the text into words, which takes longer.
    places = places or [start for start, _ in marks(best, terms, languages)[:1]]
    return window(best, min(places, default=0), limit)


def _best_passage(passages: Sequence[str], terms: Sequence[str]) -> str:
    held = [sum(map(fold(text).__contains__, terms)) for text in passages]
    if not any(held) and len(passages) > 1:
        # It is another inflection or spelling that was found.
        roots = [_root(word) for term in terms for word in _pieces(term)]
        held = [sum(map(_bare(text).__contains__, roots)) for text in passages]
    return passages[held.index(max(held))]


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


def marks(
    text: str, terms: Sequence[str], languages: Sequence[str] = ()
) -> tuple[tuple[int, int], ...]:
    """Starts and ends, in order, of the query's words in a text, in any inflection."""
    pieces = [piece for term in terms for piece in _pieces(term)]
    wanted = {_bare(form) for piece in pieces for form in (piece, stem(piece))}
    beginnings = tuple(_bare(term[:-1]) for term in terms if term.endswith("*"))
    meant = {stem for piece in pieces for stem in stems(piece, languages)}
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
                or not meant.isdisjoint(stems(word, languages))
            ):
                spans.append(match.span())
                break
    return _joined(spans)


def _pieces(term: str) -> list[str]:
    """The words of a term as the index has them."""
    return [word for word in _BREAK.split(fold(term)) if word]


@lru_cache(maxsize=10_000)
def _indexed_words(token: str) -> tuple[str, ...]:
    return tuple(filter(None, _BREAK.split(indexable_text(token))))


@lru_cache(maxsize=10_000)
def _bare(text: str) -> str:
    """Folded text without accents."""
    return without_accents(fold_scripts(fold(text)))


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
