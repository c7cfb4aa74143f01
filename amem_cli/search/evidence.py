"""What speaks for a hit, as a score from 0 to 1 that means the same in every search.

The ranking compares the notes of one search with one another; this asks of each note alone how
likely it is that somebody who searched so wanted it. docs/retrieval.md says how it was fitted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from amem_cli.language.detect import detect_language
from amem_cli.language.lexicon import calendar_words
from amem_cli.language.words import fold

# Spread of the cosines of notes that have nothing to do with a query.
_CHANCE = 0.08
# More rare words than this say nothing more.
_MOST_RARE_WORDS = 3.0
# A number that more than this share of the notes hold, such as a year, names none of them.
_USUAL = 0.1
_A_FEW = 3
_CAPITALISED = re.compile(r"(?<=[^\W_])[,;:]?[ \t]+[„“\"'(]?([^\W\d_][\w'’-]*)")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one note has of a query.

    Attributes:
        nearness: cosine of its best passage, less what the best of so many passages and notes has
            by chance; None without an encoder.
        coverage: share of the query's words that it holds, weighted by rarity, 0..1; a word that no
            note holds weighs most.
        rare_words: how many words it holds, each by its rarity, as if all were as rare as can be;
            0..3.
        exact: it holds every word of the query, or a phrase, a number or a name of it.
    """

    nearness: float | None
    coverage: float
    rare_words: float
    exact: bool = False


class Scale(NamedTuple):
    """Weights of a logistic regression, and the score below which nothing is close."""

    nearness: float
    coverage: float
    rare_words: float
    offset: float
    floor: float

    def score(self, evidence: Evidence) -> float:
        """0..1; what was found exactly is never below the floor."""
        logit = (
            self.nearness * (evidence.nearness or 0.0)
            + self.coverage * evidence.coverage
            + self.rare_words * evidence.rare_words
            + self.offset
        )
        likely = 1 / (1 + math.exp(-logit))
        return max(likely, self.floor) if evidence.exact else likely


# Fitted on nine vaults (docs/retrieval.md), for spread vectors with the multilingual encoder.
BY_MEANING = Scale(nearness=4.019, coverage=2.948, rare_words=0.0, offset=-3.341, floor=0.051)
BY_SPREAD_MEANING = Scale(
    nearness=3.455, coverage=3.141, rare_words=0.0, offset=-3.578, floor=0.052
)
BY_WORDS = Scale(nearness=0.0, coverage=1.633, rare_words=2.301, offset=-4.69, floor=0.055)


def scale_for(readable: float | None, *, is_spread: bool = False) -> Scale:
    """The scale for a query of which an encoder reads this share; None without an encoder."""
    if readable is None:
        return BY_WORDS
    pairs = zip(BY_SPREAD_MEANING if is_spread else BY_MEANING, BY_WORDS, strict=True)
    return Scale(*(readable * near + (1 - readable) * said for near, said in pairs))


def chance(notes: int) -> float:
    """The cosine that the nearest of so many notes has by chance alone."""
    # The largest of n normally distributed values is near sigma times sqrt(2 ln n).
    return _CHANCE * math.sqrt(2 * math.log(max(2, notes)))


def rarity(count: int, total: int) -> float:
    """The weight of a word by how many of all notes hold it."""
    return math.log(1 + total / (count + 0.5))


def gathered(
    query: str,
    terms: Sequence[str],
    matches: Sequence[tuple[int, frozenset[str]]],
    nearness: dict[str, float] | None,
    paths: Sequence[str],
    total: int,
) -> dict[str, Evidence]:
    """The evidence of notes, by path.

    Args:
        matches: for each term in how many of the `total` notes it occurs, and which hold it.
        nearness: of each note, see `Evidence`; None without an encoder.
    """
    weights = [rarity(count, total) for count, _ in matches]
    whole, rarest = sum(weights), rarity(0, total)
    telling = _naming_terms(query, terms, [count for count, _ in matches], total)
    found = {}
    for path in paths:
        held = [path in holding for _, holding in matches]
        weight = sum(w for w, is_held in zip(weights, held, strict=True) if is_held)
        found[path] = Evidence(
            nearness=None if nearness is None else nearness.get(path, 0.0),
            coverage=weight / whole if whole else 0.0,
            rare_words=min(_MOST_RARE_WORDS, weight / rarest) if rarest else 0.0,
            exact=bool(held)
            and (all(held) or any(h and t for h, t in zip(held, telling, strict=True))),
        )
    return found


def _naming_terms(
    query: str, terms: Sequence[str], counts: Sequence[int], total: int
) -> list[bool]:
    """Which terms name something: phrases, numbers that few notes hold, names."""
    names = _names(query)
    usual = max(_A_FEW, _USUAL * total)
    return [
        " " in term or term in names or (any(map(str.isdigit, term)) and count <= usual)
        for term, count in zip(terms, counts, strict=True)
    ]


def _names(query: str) -> set[str]:
    """Folded words within a sentence that have a capital; German gives one to every noun."""
    if detect_language(query) == "de":
        return set()
    written = (match.group(1) for match in _CAPITALISED.finditer(query))
    names = {
        fold(word).removesuffix("'s").removesuffix("’s") for word in written if word[0].isupper()
    }
    return names - calendar_words()
