"""Finds the word that a misspelt one was meant to be."""

from __future__ import annotations

from collections.abc import Iterable

from amem_cli.language.words import is_unspaced, stem

_SHORTEST = 4
_TWO_MISTAKES = 8


def mistakes_allowed(word: str) -> int:
    """How many letters of a word may be wrong; none in a short one, in a number, or in Chinese."""
    if len(word) < _SHORTEST or not word.isalpha() or is_unspaced(word):
        return 0
    return 2 if len(word) >= _TWO_MISTAKES else 1


def nearest_spelling(word: str, known: Iterable[tuple[str, int]]) -> str | None:
    """The known word with the fewest mistakes between, the most frequent of several.

    Args:
        known: stems with the number of notes each occurs in.
    """
    allowed = mistakes_allowed(word)
    forms = index_stems(word)
    best: tuple[int, int, str] | None = None
    for term, count in known:
        between = min(distance(form, term, allowed) for form in forms)
        if between <= allowed and (best is None or (between, -count, term) < best):
            best = (between, -count, term)
    return best[2] if best else None


def index_stems(word: str) -> set[str]:
    """What the index may have made of a word: it cuts endings as Porter's stemmer does."""
    forms = {word, stem(word)}
    if word.endswith(("s", "e")):
        forms.add(word[:-1])
    elif word.endswith("y"):
        forms.add(word[:-1] + "i")
    return forms


def distance(left: str, right: str, limit: int) -> int:
    """Letters to insert, drop, replace, or swap with the next; `limit + 1` if there are more."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        current = [i]
        for j, other in enumerate(right, 1):
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + (letter != other))
            swapped = i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other
            current.append(min(cost, before[j - 2] + 1) if swapped else cost)
        if min(current) > limit:
            return limit + 1
        before, row = row, current
    return min(row[-1], limit + 1)
