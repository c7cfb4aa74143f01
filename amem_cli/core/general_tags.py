"""General tags that people use for notes, with words that speak for each, in English and German."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from amem_cli.core.words import detect_language, stem, words
from amem_cli.data import lines

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amem_cli.core.ports import Vectors

    Vector = npt.NDArray[np.float32]

_MAX_TEXT = 8_000
_MOST_COMPARED = 6
_UNLIKE = 4
_LIKENESS_WEIGHT = 6.0
_LEAST_SCORE = 2.25
_LEAST_SCORE_ALONE = 1.3
_FOR_SAYING_AGAIN = 0.3


@dataclass(frozen=True, slots=True)
class GeneralTag:
    """A tag of the list as notes of one language have it.

    Attributes:
        stems: of the words that speak for it.
        described: its name and those words, to be encoded.
    """

    name: str
    stems: frozenset[str]
    described: str


@dataclass(frozen=True, slots=True)
class GeneralTagEvidence:
    """What the words of a note say of the general tags.

    Attributes:
        spoken_for: the tags that the note has words of, the likeliest first, with the weight of
            those words: about one each, two in the title.
        unlike: a few tags that it has no word of; their likeness to the note is what chance gives.
    """

    spoken_for: tuple[tuple[GeneralTag, float], ...]
    unlike: tuple[GeneralTag, ...]

    def texts(self) -> list[str]:
        """What is to be encoded, in the order in which `chosen` wants the vectors."""
        tags = [tag for tag, _ in self.spoken_for]
        return [tag.described for tag in (*tags, *self.unlike)] if tags else []

    def chosen(self, text_vector: Vector, vectors: Vectors, limit: int = 2) -> list[str]:
        """The tags that words and meaning of the note bear out, the best first.

        Args:
            text_vector: unit vector of the note.
            vectors: of `texts()`.

        Returns:
            At most `limit`; none where words and meaning say too little.
        """
        if not self.spoken_for:
            return []
        likeness = [float(value) for value in vectors @ text_vector]
        by_chance = sum(likeness[len(self.spoken_for) :]) / max(1, len(self.unlike))
        scores = [
            (weight + _LIKENESS_WEIGHT * (near - by_chance), tag.name)
            for (tag, weight), near in zip(self.spoken_for, likeness, strict=False)
        ]
        ranked = sorted(scores, reverse=True)[:limit]
        fitting = [name for score, name in ranked if score >= _LEAST_SCORE]
        # One that may fit is better than none: by it the note is found among the tags.
        return fitting or [name for score, name in ranked[:1] if score >= _LEAST_SCORE_ALONE]


def general_tag_evidence(title: str, text: str) -> GeneralTagEvidence:
    """The general tags that the words of a note speak for.

    Args:
        text: the note's, without its title.
    """
    spoken = Counter(map(stem, words(f"{title}\n{text[:_MAX_TEXT]}")))
    headed = set(map(stem, words(title)))
    weights: list[tuple[GeneralTag, float]] = []
    unlike: list[GeneralTag] = []
    for tag in general_tags(detect_language(f"{title}\n\n{text[:_MAX_TEXT]}")):
        found = tag.stems & spoken.keys()
        weight = sum(1 + _FOR_SAYING_AGAIN * math.log(spoken[each]) for each in found)
        if found:
            weights.append((tag, weight + len(found & headed)))
        else:
            unlike.append(tag)
    weights.sort(key=lambda entry: -entry[1])
    every = max(1, len(unlike) // _UNLIKE)
    return GeneralTagEvidence(tuple(weights[:_MOST_COMPARED]), tuple(unlike[::every][:_UNLIKE]))


@cache
def general_names() -> frozenset[str]:
    """The English and the German names of all general tags."""
    return frozenset(name for row in _rows() for name in row[:2])


def _rows() -> list[list[str]]:
    return [line.split(" | ") for line in lines("general_tags.txt")]


@cache
def general_tags(language: str) -> tuple[GeneralTag, ...]:
    """The tags for notes of a language: German ones for `de`, English ones for any other."""
    made = []
    for english, german, in_english, in_german in _rows():
        name, spoken = (german, in_german) if language == "de" else (english, in_english)
        made.append(GeneralTag(name, frozenset(map(stem, words(spoken))), f"{name}: {spoken}"))
    return tuple(made)
