"""The piece of a note that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amem_cli.core.spelling import index_stems
from amem_cli.core.wikilinks import plain_text
from amem_cli.core.words import TOKEN, indexable_text, is_unspaced, search_terms, stem

SNIPPET_CHARACTERS = 240
_BREAK = re.compile(r"[\W_]+")


def snippet(passages: Sequence[str], query: str, limit: int = SNIPPET_CHARACTERS) -> str:
    """One line of at most `limit` characters around the query's words.

    The passage with the most different query words is taken, the first one on a tie.
    """
    return snippet_of_terms(passages, search_terms(query), limit)


def snippet_of_terms(
    passages: Sequence[str], terms: Sequence[str], limit: int = SNIPPET_CHARACTERS
) -> str:
    """The same for the `search_terms` of a query."""
    passage = max(passages or [""], key=lambda text: _held(text, terms))
    best = " ".join(plain_text(passage).split())
    places = [place for place in (best.casefold().find(term) for term in terms) if place >= 0]
    return window(best, min(places, default=0), limit)


def _held(text: str, terms: Sequence[str]) -> int:
    folded = text.casefold()
    return sum(term in folded for term in terms)


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
    wanted = {*terms, *(stem(term) for term in terms)}
    found: list[tuple[int, int]] = []
    for match in TOKEN.finditer(text):
        token = match.group()
        if is_unspaced(token):
            found += _pairs(token, match.start(), wanted)
        elif any(not wanted.isdisjoint(index_stems(word)) for word in _indexed_words(token)):
            found.append(match.span())
    return _joined(found)


def _indexed_words(token: str) -> list[str]:
    return [word for word in _BREAK.split(indexable_text(token)) if word]


def _pairs(run: str, start: int, wanted: set[str]) -> list[tuple[int, int]]:
    width = min(2, len(run))
    return [
        (start + i, start + i + width)
        for i in range(len(run) - width + 1)
        if run[i : i + width] in wanted
    ]


def _joined(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
