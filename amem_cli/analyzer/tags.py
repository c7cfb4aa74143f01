"""Which tags fit a note: those of the vault, and general ones that people use for notes.

A tag of the vault is judged by the nearest notes and by its name; a general one by words that speak
for it, in English and German. Neither needs a language model.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from amem_cli.data import lines
from amem_cli.language.words import detect_language, stem, words
from amem_cli.markdown.links import normalise_tag, tag_key

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amem_cli.models.ports import Vectors

    Vector = npt.NDArray[np.float32]

_PARTS = re.compile(r"[/_-]")
_VOTE_WEIGHT = 1.0
_LEAST_ELECTORATE = 4
# Cosines of MiniLM: below the first the nearest note is about something else, from the second on it
# is about the same.
_UNRELATED = 0.2
_RELATED = 0.4
_USUAL_TAGS_PER_NOTE = 2
_WORD_BONUS = 0.45
_NAME_WEIGHT = 0.8
_LEAST_SCORE = 0.3
_LEAST_USES_OF_A_COMMON_TAG = 2


@dataclass(frozen=True, slots=True)
class TagUse:
    """A tag of the vault.

    Attributes:
        count: notes that carry it.
        vector: unit vector of the tag's name, None if it was not encoded.
    """

    tag: str
    count: int
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class TaggedNeighbour:
    """The tags of a note near to the new one, and the cosine of the two."""

    tags: tuple[str, ...]
    similarity: float


def suggest_tags(
    text_vector: Vector,
    keywords: Sequence[str],
    vocabulary: Sequence[TagUse],
    neighbours: Sequence[TaggedNeighbour],
    *,
    limit: int = 3,
) -> list[str]:
    """Tags for a note, the best fitting first, written as the vault writes them.

    A tag of the vault is scored by the weighted vote of the nearest notes, by its own words among
    the note's keywords and by the likeness of its name to the note.

    Args:
        text_vector: unit vector of the note.
        keywords: the note's keywords, the most important first.
        neighbours: the nearest notes, nearest first; five to ten of them.

    Returns:
        At most `limit` valid tags; none if none fits.
    """
    uses = {tag_key(use.tag): use for use in vocabulary if normalise_tag(use.tag) == use.tag}
    votes = _votes(neighbours)
    stems = {stem(word) for keyword in keywords for word in words(keyword)}
    tagged_notes = sum(use.count for use in vocabulary) / _USUAL_TAGS_PER_NOTE
    scores = {
        key: _score(use, votes, stems, text_vector, tagged_notes) for key, use in uses.items()
    }
    fitting = sorted(
        (key for key, score in scores.items() if score >= _LEAST_SCORE),
        key=lambda key: (-scores[key], -uses[key].count, key),
    )
    return [uses[key].tag for key in fitting[: max(0, limit)]]


def keyword_tag(keywords: Sequence[str]) -> str | None:
    """The keyword that makes the most general tag: the one of the fewest words, the first of these.

    Args:
        keywords: the note's, the most important first.

    Returns:
        A valid tag in small letters; None if no keyword makes one.
    """
    for keyword in sorted(keywords, key=lambda each: len(words(each))):
        tag = None if keyword[:1].isdigit() else normalise_tag(keyword.lower())
        if tag is not None and len(tag) > 1:
            return tag
    return None


def _votes(neighbours: Sequence[TaggedNeighbour]) -> Mapping[str, float]:
    """Share of the neighbours' weight behind each tag; nearer than the others weighs more.

    If even the nearest has little to do with the note, the votes count for little.
    """
    if not neighbours:
        return {}
    nearest = max(neighbour.similarity for neighbour in neighbours)
    relevance = min(1.0, max(0.0, (nearest - _UNRELATED) / (_RELATED - _UNRELATED)))
    floor = min(neighbour.similarity for neighbour in neighbours)
    weights = [0.05 + max(0.0, neighbour.similarity - floor) for neighbour in neighbours]
    electorate = sum(weights) * max(1.0, _LEAST_ELECTORATE / len(neighbours))
    votes: dict[str, float] = defaultdict(float)
    for neighbour, weight in zip(neighbours, weights, strict=True):
        for key in {tag_key(tag) for tag in neighbour.tags}:
            votes[key] += relevance * weight / electorate
    return votes


def _score(
    use: TagUse,
    votes: Mapping[str, float],
    keyword_stems: set[str],
    text_vector: Vector,
    tagged_notes: float,
) -> float:
    named = {stem(word) for part in _PARTS.split(use.tag) for word in words(part)}
    last = {stem(word) for word in words(_PARTS.sub(" ", use.tag.rsplit("/", 1)[-1]))}
    likeness = 0.0 if use.vector is None else max(0.0, float(text_vector @ use.vector))
    bonus = _WORD_BONUS if last and last <= keyword_stems else 0.0
    if not bonus and named & keyword_stems:
        bonus = _WORD_BONUS / 2
    # A tag used once is as often a slip as a habit.
    habit = 1.0 if use.count >= _LEAST_USES_OF_A_COMMON_TAG else 0.7
    # Neighbours prove nothing about a tag that most notes carry; without this the first tag of a
    # young vault would spread over all of it.
    usual = min(1.0, use.count / max(1.0, tagged_notes))
    vote = votes.get(tag_key(use.tag), 0.0) * (1 - usual)
    return habit * (_VOTE_WEIGHT * vote + _NAME_WEIGHT * likeness) + bonus


_MAX_TEXT = 8_000
_MOST_COMPARED = 6
_UNLIKE = 4
_LIKENESS_WEIGHT = 6.0
_LEAST_GENERAL_SCORE = 2.25
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


def fitting_general_tags(
    title: str,
    text: str,
    text_vector: Vector,
    encode: Callable[[Sequence[str]], Vectors],
    limit: int = 2,
) -> list[str]:
    """The general tags that both words and meaning of a note support, the best first.

    Args:
        text: the note's, without its title.
        text_vector: unit vector of the note.
        encode: texts to unit vectors; called once, and not at all if no word speaks for a tag.

    Returns:
        At most `limit`; none if words and meaning say too little.
    """
    said = Counter(map(stem, words(f"{title}\n{text[:_MAX_TEXT]}")))
    in_title = set(map(stem, words(title)))
    weighted: list[tuple[GeneralTag, float]] = []
    unlike: list[GeneralTag] = []
    for tag in _general_tags(detect_language(f"{title}\n\n{text[:_MAX_TEXT]}")):
        stems = tag.stems & said.keys()
        weight = sum(1 + _FOR_SAYING_AGAIN * math.log(said[each]) for each in stems)
        if stems:
            weighted.append((tag, weight + len(stems & in_title)))
        else:
            unlike.append(tag)
    if not weighted:
        return []
    weighted = sorted(weighted, key=lambda entry: -entry[1])[:_MOST_COMPARED]
    # The likeness of the note to a few tags that it has no word of is what chance gives.
    unlike = unlike[:: max(1, len(unlike) // _UNLIKE)][:_UNLIKE]
    vectors = encode([tag.described for tag in (*(tag for tag, _ in weighted), *unlike)])
    likeness = [float(value) for value in vectors @ text_vector]
    by_chance = sum(likeness[len(weighted) :]) / max(1, len(unlike))
    scores = [
        (weight + _LIKENESS_WEIGHT * (near - by_chance), tag.name)
        for (tag, weight), near in zip(weighted, likeness, strict=False)
    ]
    ranked = sorted(scores, reverse=True)[:limit]
    fitting = [name for score, name in ranked if score >= _LEAST_GENERAL_SCORE]
    # One that may fit is better than none: by it the note is found among the tags.
    return fitting or [name for score, name in ranked[:1] if score >= _LEAST_SCORE_ALONE]


@cache
def general_names() -> frozenset[str]:
    """The English and the German names of all general tags."""
    return frozenset(name for row in _rows() for name in row[:2])


def _rows() -> list[list[str]]:
    return [line.split(" | ") for line in lines("general_tags.txt")]


@cache
def _general_tags(language: str) -> tuple[GeneralTag, ...]:
    """The tags for notes of a language: German ones for `de`, English ones for any other."""
    tags = []
    for english, german, in_english, in_german in _rows():
        name, spoken = (german, in_german) if language == "de" else (english, in_english)
        tags.append(GeneralTag(name, frozenset(map(stem, words(spoken))), f"{name}: {spoken}"))
    return tuple(tags)
