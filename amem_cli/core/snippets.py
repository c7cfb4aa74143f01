"""The piece of a note that shows why it was found."""

from __future__ import annotations

from collections.abc import Sequence

from amem_cli.core.wikilinks import plain_text
from amem_cli.core.words import search_terms

SNIPPET_CHARACTERS = 240


def snippet(passages: Sequence[str], query: str, limit: int = SNIPPET_CHARACTERS) -> str:
    """One line of at most `limit` characters around the query's words.

    The passage with the most different query words is taken, the first one on a tie.
    """
    terms = search_terms(query)
    texts = [" ".join(plain_text(passage).split()) for passage in passages] or [""]
    best = max(texts, key=lambda text: sum(term in text.casefold() for term in terms))
    places = [place for place in (best.casefold().find(term) for term in terms) if place >= 0]
    return window(best, min(places, default=0), limit)


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
