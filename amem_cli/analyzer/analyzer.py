"""The metadata that the offline analyzer gives a note: keywords, tags and a context.

The context is the note's own sentence nearest to the centre of its text (centroid summarisation,
Radev et al., 2004; LexRank, Erkan and Radev, 2004), with a preference for early sentences and for
the words of the title.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from amem_cli.analyzer.keywords import extract_keywords
from amem_cli.analyzer.tags import (
    TaggedNeighbour,
    TagUse,
    fitting_general_tags,
    general_names,
    keyword_tag,
    suggest_tags,
)
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.records import NoteSummary
from amem_cli.journal.provenance import provenance
from amem_cli.language.words import TOKEN, fold, is_stopword, is_unspaced, sentences, stem, words
from amem_cli.markdown.links import tag_key
from amem_cli.markdown.plain_text import prose
from amem_cli.notes.note import Metadata, Note
from amem_cli.notes.passages import embedded_text, split_passages

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

TAGS_COMPARED = 40
NEIGHBOURS_FOR_TAGS = 8
# Notes less alike than this have nothing to say about each other's tags.
LEAST_LIKENESS_TO_VOTE = 0.2
LONGEST_CONTEXT = 160
_MAX_TEXT = 20_000
_MAX_SENTENCES = 24
_UNWANTED = re.compile(r"\[\[|\]\]|\{\{|\}\}|-{3,}|[\x00-\x1f\x7f\u2028\u2029\ufeff]")
_CLAUSE_END = re.compile(r"[;:,–—](?=\s)|[，；：、]|\s[(–-](?=\s|\w)")
_EARLY_BONUS = 0.12
_TITLE_BONUS = 0.10


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
        # One more than needed: the note itself is in the index already.
        near = self.index.vectors.scores(self._vector, NEIGHBOURS_FOR_TAGS + 1)
        near.pop(self.note.path, None)
        return [
            TaggedNeighbour(self._telling_tags(summary), similarity)
            for path, similarity in near.items()
            if similarity >= LEAST_LIKENESS_TO_VOTE
            and (summary := self.index.notes.summary(path)) is not None
            # Nothing of a private note may turn up in the properties of a public one.
            and (self.note.private or not summary.private)
        ]

    def _telling_tags(self, summary: NoteSummary) -> tuple[str, ...]:
        """A note's tags without the general ones that the machine gave it: they come from words of
        that note, which say nothing of another one."""
        if not any(map(_is_general, summary.tags)):
            return summary.tags
        own = provenance(self.index.events.read(summary.key)).tags
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


def context_sentence(title: str, text: str, encode: Callable[[Sequence[str]], Vectors]) -> str:
    """What the note is about in one line of at most 160 characters.

    Args:
        encode: texts to unit vectors; called once, with at most 25 texts, and not at all for
            a single sentence.

    Returns:
        A sentence of the note without markup, led by the title if it lacks the title's words, and
        cut at a clause if it is too long. Never empty unless title and text are blank;
        never with `[[`, `{{`, `---` or a line break.
    """
    choices = _choices(text)
    best = choices[0] if choices else ""
    if len(choices) > 1:
        vectors = encode([f"{title}\n{prose(text[:_MAX_TEXT])}".strip(), *choices])
        best = choices[_most_central(title, choices, vectors)]
    return _shortened(_with_title(_cleaned(title), _cleaned(best))) or _any_text(title, text)


def _choices(text: str) -> list[str]:
    found = sentences(prose(text[:_MAX_TEXT]))
    telling = [sentence for sentence in found if _content_words(sentence) >= 4]
    return (telling or found)[:_MAX_SENTENCES]


def _content_words(sentence: str) -> float:
    total = 0.0
    for match in TOKEN.finditer(sentence):
        token = match.group()
        if is_unspaced(token):
            total += len(token) / 2
        elif any(character.isalpha() for character in token):
            total += 0.3 if is_stopword(fold(token)) else 1.0
    return total


def _most_central(title: str, choices: Sequence[str], vectors: Vectors) -> int:
    centre = vectors[0] + vectors[1:].mean(axis=0)
    near = vectors[1:] @ centre
    title_stems = {stem(word) for word in words(title) if not is_stopword(word)}
    scores = []
    for i, sentence in enumerate(choices):
        shared = title_stems & {stem(word) for word in words(sentence)}
        score = float(near[i]) + _EARLY_BONUS / (1 + i) + _TITLE_BONUS * bool(shared)
        is_question = sentence.rstrip("\"'”’»*_ ").endswith(("?", "？"))
        scores.append(score - 0.1 * is_question - 0.1 * (_content_words(sentence) < 5))
    return max(range(len(choices)), key=lambda i: (scores[i], -i))


def _with_title(title: str, sentence: str) -> str:
    title = title.rstrip(" .:")
    stems = set(map(stem, words(sentence)))
    if not sentence or not title or all(stem(word) in stems for word in words(title)):
        return sentence or title
    return sentence if len(title) > LONGEST_CONTEXT // 2 else f"{title}: {sentence}"


def _cleaned(text: str) -> str:
    # Removing one mark can join the halves of another.
    while _UNWANTED.search(text):
        text = _UNWANTED.sub(" ", text)
    return " ".join(text.split()).strip(" -–—:;,·•→|>*#")


def _shortened(sentence: str) -> str:
    if len(sentence) <= LONGEST_CONTEXT:
        return sentence
    window = sentence[: LONGEST_CONTEXT - 1]
    ends = [match.start() for match in _CLAUSE_END.finditer(window)]
    if ends and ends[-1] >= LONGEST_CONTEXT // 2:
        return window[: ends[-1]].rstrip(" ,;:–—-(") + "."
    blank = window.rfind(" ")
    return (window[:blank] if blank > LONGEST_CONTEXT // 2 else window).rstrip(" ,;:–—-(") + "…"


def _any_text(title: str, text: str) -> str:
    for source in (text[:_MAX_TEXT], text, title):
        cleaned = _cleaned(source)
        if cleaned:
            return _shortened(cleaned[: 2 * LONGEST_CONTEXT])
    return " ".join(f"{title} {text}".split())[:1] and "…"
