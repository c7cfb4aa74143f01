"""Forgiving matching of a few typed letters against names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_WHOLE, _IN_TITLE, _ASIDE, _SPREAD, _SPREAD_ASIDE = 1000, 600, 400, 200, 100
_AT_THE_START, _AT_A_WORD = 200, 100
# So little that the worst match in a title still beats the best outside of it.
_FARTHEST = 90


class PickerEntry(NamedTuple):
    """What can be chosen, folded.

    Attributes:
        title: what it is called.
        aside: all else by which it may be known, such as tags.
    """

    title: str
    aside: str


def folded(text: str) -> str:
    """A text without case, accents and compatibility forms, as it is compared."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def ranked(
    query: str, entries: Sequence[PickerEntry], among: Iterable[int] | None = None
) -> list[int]:
    """Positions of the entries that hold every word of a query, best first.

    A word is held by letters in its order, however far apart; those that are together, at the
    start of a title or of a word in it count more. Equals keep their order. What a query finds is
    also found by every beginning of it.

    Args:
        among: positions that are looked at, ascending or as they came from a shorter query; None
            looks at all.
    """
    words = folded(query).split()
    places = range(len(entries)) if among is None else sorted(among)
    if not words:
        return list(places)
    found = []
    for place in places:
        score = _score(words, entries[place])
        if score is not None:
            found.append((-score, place))
    return [place for _, place in sorted(found)]


def _score(words: Sequence[str], entry: PickerEntry) -> int | None:
    total = 0
    for word in words:
        one = _word_score(word, entry)
        if one is None:
            return None
        total += one
    return total


def _word_score(word: str, entry: PickerEntry) -> int | None:
    title, aside = entry
    at = title.find(word)
    if at >= 0:
        if word == title:
            return _WHOLE
        # The start of a later word counts more than an earlier place within a word.
        inner = at and title.find(f" {word}")
        if inner > 0:
            at = inner + 1
        start = _AT_THE_START if at == 0 else _AT_A_WORD if not title[at - 1].isalnum() else 0
        return _IN_TITLE + start - min(at, _FARTHEST)
    at = aside.find(word)
    if at >= 0:
        return _ASIDE + (_AT_A_WORD if at == 0 or not aside[at - 1].isalnum() else 0)
    spread = _spread(word, title)
    if spread is not None:
        return _SPREAD - min(spread, _FARTHEST)
    spread = _spread(word, aside)
    return None if spread is None else _SPREAD_ASIDE - min(spread, _FARTHEST)


def _spread(word: str, text: str) -> int | None:
    """How many other letters are between those of a word; None if they are not all there."""
    first = at = text.find(word[0])
    for char in word[1:]:
        if at < 0:
            return None
        at = text.find(char, at + 1)
    return None if at < 0 else at - first + 1 - len(word)
