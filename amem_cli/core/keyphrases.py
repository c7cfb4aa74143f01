"""Keywords of a note: its own phrases, chosen by statistics, meaning and variety.

The choice among the phrases follows EmbedRank (Bennani-Smires et al., 2018): cosine to the note,
and maximal marginal relevance against saying the same thing twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from amem_cli.core.phrase_statistics import scored_phrases
from amem_cli.core.words import TOKEN, is_unspaced, stem, words

if TYPE_CHECKING:
    from amem_cli.core.ports import Vectors

Encode = Callable[[Sequence[str]], "Vectors"]

_MAX_TEXT = 20_000
_CANDIDATES = 16
_WORDS_PER_KEYWORD = 9
_DIVERSITY = 0.2
_SHARE_OF_STATISTICS = 0.6
_FOR_OPENING = 0.2


def candidate_phrases(text: str, limit: int = 20) -> list[str]:
    """Phrases of the text that may be its keywords, the likeliest first, without an encoder.

    Returns:
        At most `limit` phrases in the text's own spelling, each of one to three words, that do not
        repeat one another. Proper nouns, identifiers and hyphenated words stay whole.
    """
    chosen: list[str] = []
    stems: list[frozenset[str]] = []
    for phrase in (scored.text for scored in scored_phrases(text)):
        if len(chosen) >= limit:
            break
        own = _stems(phrase)
        if not any(_repeats(own, other) for other in stems):
            chosen.append(phrase)
            stems.append(own)
    return chosen


def extract_keywords(text: str, encode: Encode, *, limit: int = 5) -> list[str]:
    """The keywords of a note, the most important first.

    Args:
        encode: texts to unit vectors; called once, with the text and at most 16 phrases.
        limit: most keywords; a short note gets fewer, in proportion to its words.

    Returns:
        Distinct phrases that occur in the text; empty for a text without meaningful words.
    """
    scored = scored_phrases(text)[:_CANDIDATES]
    # Better few keywords than a silly one.
    scored = [phrase for phrase in scored if phrase.firm] or scored[:1]
    wanted = min(limit, _wanted(text), len(scored))
    if wanted <= 0:
        return []
    phrases = [phrase.text for phrase in scored]
    vectors = encode([text[:_MAX_TEXT], *phrases])
    near = _rescaled([float(value) for value in vectors[1:] @ vectors[0]])
    statistics = _rescaled([phrase.score for phrase in scored])
    relevance = [
        _SHARE_OF_STATISTICS * statistic
        + (1 - _SHARE_OF_STATISTICS) * meaning
        + _FOR_OPENING * phrase.opens
        for statistic, meaning, phrase in zip(statistics, near, scored, strict=True)
    ]
    return [phrases[i] for i in _varied(relevance, vectors[1:], phrases, wanted)]


def _wanted(text: str) -> int:
    length = sum(
        len(match.group()) / 2 if is_unspaced(match.group()) else 1.0
        for match in TOKEN.finditer(text[:_MAX_TEXT])
    )
    return math.ceil(length / _WORDS_PER_KEYWORD)


def _rescaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


def _varied(
    relevance: Sequence[float], vectors: Vectors, phrases: Sequence[str], wanted: int
) -> list[int]:
    likeness = vectors @ vectors.T
    stems = [_stems(phrase) for phrase in phrases]
    chosen: list[int] = []

    def marginal(i: int) -> float:
        nearest = max((float(likeness[i, j]) for j in chosen), default=0.0)
        return relevance[i] - _DIVERSITY * nearest

    while len(chosen) < wanted:
        free = [
            i
            for i in range(len(phrases))
            if i not in chosen and not any(_repeats(stems[i], stems[j]) for j in chosen)
        ]
        if not free:
            break
        chosen.append(max(free, key=marginal))
    return chosen


def _stems(phrase: str) -> frozenset[str]:
    if is_unspaced(phrase):
        return frozenset(phrase)
    return frozenset(map(stem, words(phrase)))


def _repeats(one: frozenset[str], other: frozenset[str]) -> bool:
    return 2 * len(one & other) >= min(len(one), len(other)) > 0
