"""The metadata that the offline analyzer gives a note: keywords, and tags of the vault.

A tag is judged by the nearest notes, by its name and by the note's own words. There is no context:
a sentence taken from the note says nothing that its title and text do not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.analyzer.keywords import extract_keywords
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.language.words import fold, is_unspaced, stem, words
from amem_cli.markdown.links import normalise_tag, tag_key
from amem_cli.notes.note import Metadata, Note
from amem_cli.notes.passages import embedded_text, split_passages

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.models.ports import Vectors

TAGS_COMPARED = 40
NEIGHBOURS_FOR_TAGS = 8
# Notes less alike than this have nothing to say about each other's tags.
LEAST_LIKENESS_TO_VOTE = 0.2


def note_vector(
    index: MemoryIndex, encode: Callable[[Sequence[str]], Vectors], note: Note
) -> Vectors:
    """The enhanced embedding of a note with the metadata it has by now, shape (dimension,)."""
    passages = split_passages(note.body)
    known = index.notes.summary(note.path)
    if known is not None and _described(known) == _described(note):
        stored = index.vectors.of_note(note.path)
        if stored is not None and index.text.passages(note.path) == passages:
            return stored
    texts = [embedded_text(note, passage) for passage in passages] or [note.title]
    mean: Vectors = encode(texts).mean(axis=0)
    length = float((mean @ mean) ** 0.5)
    unit: Vectors = mean / length if length > 0 else mean
    return unit


def _described(note: Note | NoteSummary) -> tuple[object, ...]:
    return note.title, note.context, note.keywords, note.tags


@dataclass(frozen=True)
class AnalyzerValues:
    """The offline analyzer's values for a note, each computed on demand.

    Attributes:
        apart: paths of the notes that lend it no tags.
    """

    index: MemoryIndex
    encode: Callable[[Sequence[str]], Vectors]
    note: Note
    text: str
    apart: Collection[str] = ()

    @cached_property
    def _vector(self) -> Vectors:
        return note_vector(self.index, self.encode, self.note)

    @cached_property
    def _neighbours(self) -> list[TaggedNeighbour]:
        # One more than needed: the note itself is in the index already.
        most = NEIGHBOURS_FOR_TAGS + 1 + len(self.apart)
        near = self.index.vectors.scores(self._vector, most)
        kept = [path for path in near if path not in self.apart and path != self.note.path]
        return [
            TaggedNeighbour(summary.tags, similarity)
            for path in kept[:NEIGHBOURS_FOR_TAGS]
            for similarity in (near[path],)
            if similarity >= LEAST_LIKENESS_TO_VOTE
            and (summary := self.index.notes.summary(path)) is not None
            # Nothing of a private note may turn up in the properties of a public one.
            and (self.note.private or not summary.private)
        ]

    def metadata(self, fields: Sequence[str]) -> Metadata:
        """Values for these fields; empty where nothing is certain enough, as the context always."""
        return Metadata(
            self._keywords() if "keywords" in fields else (),
            self._tags() if "tags" in fields else (),
        )

    def _keywords(self) -> tuple[str, ...]:
        title = self.note.title
        found = extract_keywords(
            f"{title}\n\n{self.text}",
            self.encode,
            title=title,
            document_frequency=self.index.text.document_frequency,
            vector=self._vector,
        )
        return tuple(found)

    def offered_tags(self, counts: Mapping[str, int], limit: int = 20) -> tuple[str, ...]:
        """Tags for a model to choose from: first those that the note's neighbourhood uses, the
        likeliest first, then those that most notes of the vault carry (`counts`)."""
        votes: dict[str, float] = {}
        for neighbour in self._neighbours:
            for tag in neighbour.tags:
                votes[tag] = votes.get(tag, 0.0) + max(0.0, neighbour.similarity)
        near = sorted(votes, key=lambda tag: (-votes[tag], tag))
        usual = sorted(counts, key=lambda tag: (-counts[tag], tag))
        return tuple(dict.fromkeys([*near[: limit // 2], *usual]))[:limit]

    def tag_counts(self) -> Mapping[str, int]:
        """How many notes have a tag that the note may get."""
        return self.index.notes.tag_counts(public=not self.note.private, without=self.apart)

    def _tags(self) -> tuple[str, ...]:
        counts = self.tag_counts()
        common = sorted(counts, key=lambda tag: (-counts[tag], tag))[:TAGS_COMPARED]
        names = [tag.replace("/", " ").replace("-", " ") for tag in common]
        compared: dict[str, Vectors] = {}
        if names:
            compared = dict(zip(common, self.encode(names), strict=True))
        uses = [TagUse(tag, count, compared.get(tag)) for tag, count in counts.items()]
        return tuple(suggest_tags(self._vector, self.note.title, self.text, uses, self._neighbours))


_PARTS = re.compile(r"[/_-]")
_LEAST_ELECTORATE = 4
# Cosines of MiniLM: below the first the nearest note is about something else, from the second on it
# is about the same.
_UNRELATED = 0.2
_RELATED = 0.4
_USUAL_TAGS_PER_NOTE = 2
# A logistic regression on the notes of thirteen people; at the least score three of four tags are
# ones that a person gave the note, also on seven others (docs/memory.md).
_VOTE_WEIGHT = 1.42
_NAME_WEIGHT = 1.10
_WORD_BONUS = 0.19
_TITLE_BONUS = 0.47
_LEAST_SCORE = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class TagUse:
    """A tag of the vault, the notes that carry it, and its name's unit vector if it was encoded."""

    tag: str
    count: int
    vector: Vectors | None = None


class TaggedNeighbour(NamedTuple):
    """The tags of a note near to the new one, and the cosine of the two."""

    tags: tuple[str, ...]
    similarity: float


def suggest_tags(
    text_vector: Vectors,
    title: str,
    text: str,
    vocabulary: Sequence[TagUse],
    neighbours: Sequence[TaggedNeighbour],
    *,
    limit: int = 3,
) -> list[str]:
    """Tags of the vault that are likely to fit a note, the best fitting first.

    A tag is scored by the weighted vote of the nearest notes (nearest first), by the likeness of
    its name to the note (text_vector: its unit vector), and by its own words in title and text.
    """
    uses = [use for use in vocabulary if normalise_tag(use.tag) == use.tag]
    votes = _votes(neighbours)
    parts = {part for use in uses for part in _words_of(use.tag) if is_unspaced(part)}
    in_title = _stems_in(title, parts)
    said = in_title | _stems_in(text, parts)
    tagged_notes = max(1.0, sum(use.count for use in vocabulary) / _USUAL_TAGS_PER_NOTE)

    def score(use: TagUse) -> float:
        own = set(map(stem, _words_of(use.tag)))
        likeness = 0.0 if use.vector is None else max(0.0, float(text_vector @ use.vector))
        # Neighbours prove nothing about a tag that most notes carry; without this the first tag of
        # a young vault would spread over all of it.
        usual = min(1.0, use.count / tagged_notes)
        return (
            _VOTE_WEIGHT * votes.get(tag_key(use.tag), 0.0) * (1 - usual)
            + _NAME_WEIGHT * likeness
            + _WORD_BONUS * (bool(own) and own <= said)
            + _TITLE_BONUS * (bool(own) and own <= in_title)
        )

    scores = {use: score(use) for use in uses}
    fitting = [use for use in uses if scores[use] >= _LEAST_SCORE]
    fitting.sort(key=lambda use: (-scores[use], -use.count, use.tag))
    return [use.tag for use in fitting[:limit]]


def _words_of(tag: str) -> list[str]:
    return words(_PARTS.sub(" ", tag.rsplit("/", 1)[-1]))


def _stems_in(text: str, unspaced: Set[str]) -> set[str]:
    """Stems of a text's words, and those of some unspaced words that are somewhere in its runs."""
    folded = fold(text)
    return {*map(stem, words(text)), *(word for word in unspaced if word in folded)}


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
