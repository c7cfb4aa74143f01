"""The metadata that the offline analyzer gives a note of a vault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from amem_cli.analyzer.context import context_sentence
from amem_cli.analyzer.keywords import extract_keywords
from amem_cli.analyzer.tags import (
    TaggedNeighbour,
    TagUse,
    general_names,
    general_tag_evidence,
    keyword_tag,
    suggest_tags,
)
from amem_cli.index.records import NoteSummary
from amem_cli.journal.provenance import provenance
from amem_cli.markdown.tags import tag_key
from amem_cli.notes.note import Metadata, Note
from amem_cli.notes.passages import embedded_text, split_passages

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
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


class Analyzed:
    """The offline analyzer's values for one note, each made when it is asked for.

    Args:
        text: the note's text.
    """

    def __init__(
        self,
        index: MemoryIndex,
        encode: Callable[[Sequence[str]], Vectors],
        note: Note,
        text: str,
    ) -> None:
        self._index = index
        self._encode = encode
        self._note = note
        self._text = text

    @cached_property
    def _vector(self) -> Vectors:
        return note_vector(self._encode, self._note)

    @cached_property
    def _neighbours(self) -> list[TaggedNeighbour]:
        near = self._index.vectors.scores(self._vector, NEIGHBOURS_FOR_TAGS + 1)
        near.pop(self._note.path, None)
        return [
            TaggedNeighbour(self._telling_tags(summary), similarity)
            for path, similarity in near.items()
            if similarity >= LEAST_LIKENESS_TO_VOTE
            and (summary := self._index.notes.summary(path)) is not None
            and (self._note.private or not summary.private)
        ]

    def _telling_tags(self, summary: NoteSummary) -> tuple[str, ...]:
        """A note's tags without the general ones that a machine gave it: those come of words of
        that note, which say nothing of another one."""
        if not any(map(_is_general, summary.tags)):
            return summary.tags
        own = provenance(self._index.events.read(summary.key)).tags
        return tuple(tag for tag in summary.tags if tag not in own or not _is_general(tag))

    def metadata(self, wanted: Sequence[str]) -> Metadata:
        """Values for the wanted fields."""
        keywords: tuple[str, ...] = ()
        if "keywords" in wanted or "tags" in wanted:
            titled = f"{self._note.title}\n\n{self._text}"
            found = extract_keywords(titled, self._encode)
            keywords = tuple(found)
        tags = self._tags(self._note.keywords or keywords) if "tags" in wanted else ()
        context = ""
        if "context" in wanted:
            context = context_sentence(self._note.title, self._note.body, self._encode)
        return Metadata(keywords if "keywords" in wanted else (), tags, context)

    def near_tags(self, limit: int = 8) -> list[str]:
        """Tags of the vault that the note's neighbourhood uses, the likeliest first."""
        votes: dict[str, float] = {}
        for neighbour in self._neighbours:
            for tag in neighbour.tags:
                votes[tag] = votes.get(tag, 0.0) + max(0.0, neighbour.similarity)
        return sorted(votes, key=lambda tag: (-votes[tag], tag))[:limit]

    def _tags(self, keywords: Sequence[str]) -> tuple[str, ...]:
        counts = self._index.notes.tag_counts(public=not self._note.private)
        named = [tag for tag in counts if not _is_general(tag)]
        common = sorted(named, key=lambda tag: (-counts[tag], tag))[:TAGS_COMPARED]
        names = [tag.replace("/", " ").replace("-", " ") for tag in common]
        compared: dict[str, Vectors] = {}
        if names:
            compared = dict(zip(common, self._encode(names), strict=True))
        uses = [TagUse(tag, count, compared.get(tag)) for tag, count in counts.items()]
        fitting = suggest_tags(self._vector, keywords, uses, self._neighbours)
        fitting = fitting or self._general_tags(counts)
        if not fitting and (tag := keyword_tag(keywords)) is not None:
            fitting = [tag]
        return tuple(fitting)

    def _general_tags(self, vocabulary: Iterable[str]) -> list[str]:
        evidence = general_tag_evidence(self._note.title, self._text)
        texts = evidence.texts()
        chosen = evidence.chosen(self._vector, self._encode(texts)) if texts else []
        written = {tag_key(tag): tag for tag in vocabulary}
        return [written.get(tag_key(tag), tag) for tag in chosen]


def _is_general(tag: str) -> bool:
    return tag_key(tag) in general_names()
