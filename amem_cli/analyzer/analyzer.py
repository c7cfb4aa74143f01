"""The metadata that the offline analyzer gives a note of a vault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from amem_cli.analyzer.context import context_sentence
from amem_cli.analyzer.keywords import extract_keywords
from amem_cli.analyzer.tags import (
    TaggedNeighbour,
    TagUse,
    fitting_general_tags,
    general_names,
    keyword_tag,
    suggest_tags,
)
from amem_cli.index.port import MemoryIndex
from amem_cli.index.records import NoteSummary
from amem_cli.journal.ownership import ownership
from amem_cli.markdown.tags import tag_key
from amem_cli.notes.note import Metadata, Note
from amem_cli.notes.passages import embedded_text, split_passages

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

TAGS_COMPARED = 40
NEIGHBOURS_FOR_TAGS = 8
# Notes less alike than this have nothing to say about each other's tags.
LEAST_LIKENESS_TO_VOTE = 0.2


def note_vector(encode: Callable[[Sequence[str]], Vectors], note: Note) -> Vectors:
    """The enhanced embedding of a note with the metadata it has by now, shape (dimension,)."""
    passages = split_passages(note.body)
    texts = [embedded_text(note, passage.text) for passage in passages] or [note.title]
    mean: Vectors = encode(texts).mean(axis=0)
    length = float((mean @ mean) ** 0.5)
    unit: Vectors = mean / length if length > 0 else mean
    return unit


@dataclass(frozen=True)
class AnalyzerValues:
    """The offline analyzer's values for one note, each computed on demand.

    Attributes:
        encode: texts to unit vectors.
        text: the note's text.
    """

    index: MemoryIndex
    encode: Callable[[Sequence[str]], Vectors]
    note: Note
    text: str

    @cached_property
    def _vector(self) -> Vectors:
        return note_vector(self.encode, self.note)

    @cached_property
    def _neighbours(self) -> list[TaggedNeighbour]:
        near = self.index.vectors.scores(self._vector, NEIGHBOURS_FOR_TAGS + 1)
        near.pop(self.note.path, None)
        return [
            TaggedNeighbour(self._telling_tags(summary), similarity)
            for path, similarity in near.items()
            if similarity >= LEAST_LIKENESS_TO_VOTE
            and (summary := self.index.notes.summary(path)) is not None
            and (self.note.private or not summary.private)
        ]

    def _telling_tags(self, summary: NoteSummary) -> tuple[str, ...]:
        """A note's tags without the general ones that the machine gave it: they come from words of
        that note, which say nothing of another one."""
        if not any(map(_is_general, summary.tags)):
            return summary.tags
        own = ownership(self.index.events.read(summary.key)).tags
        return tuple(tag for tag in summary.tags if tag not in own or not _is_general(tag))

    @cached_property
    def _keywords(self) -> tuple[str, ...]:
        return tuple(extract_keywords(f"{self.note.title}\n\n{self.text}", self.encode))

    def metadata(self, fields: Sequence[str]) -> Metadata:
        """Values for these fields."""
        note = self.note
        return Metadata(
            self._keywords if "keywords" in fields else (),
            self._tags(note.keywords or self._keywords) if "tags" in fields else (),
            context_sentence(note.title, note.body, self.encode) if "context" in fields else "",
        )

    def near_tags(self, limit: int = 8) -> list[str]:
        """Tags of the vault that the note's neighbourhood uses, the likeliest first."""
        votes: dict[str, float] = {}
        for neighbour in self._neighbours:
            for tag in neighbour.tags:
                votes[tag] = votes.get(tag, 0.0) + max(0.0, neighbour.similarity)
        return sorted(votes, key=lambda tag: (-votes[tag], tag))[:limit]

    def _tags(self, keywords: Sequence[str]) -> tuple[str, ...]:
        counts = self.index.notes.tag_counts(public=not self.note.private)
        named = [tag for tag in counts if not _is_general(tag)]
        common = sorted(named, key=lambda tag: (-counts[tag], tag))[:TAGS_COMPARED]
        names = [tag.replace("/", " ").replace("-", " ") for tag in common]
        compared: dict[str, Vectors] = {}
        if names:
            compared = dict(zip(common, self.encode(names), strict=True))
        uses = [TagUse(tag, count, compared.get(tag)) for tag, count in counts.items()]
        fitting = suggest_tags(self._vector, keywords, uses, self._neighbours)
        if not fitting:
            written = {tag_key(tag): tag for tag in counts}
            title, vector = self.note.title, self._vector
            general = fitting_general_tags(title, self.text, vector, self.encode)
            fitting = [written.get(tag_key(tag), tag) for tag in general]
        if not fitting and (tag := keyword_tag(keywords)) is not None:
            fitting = [tag]
        return tuple(fitting)


def _is_general(tag: str) -> bool:
    return tag_key(tag) in general_names()
