"""The metadata that the offline analyzer gives a note: keywords, tags and a context.

A tag of the vault is judged by the nearest notes and by its name; a general one, which people use
for any note, by words that speak for it, in English and German. The context is the note's own
sentence nearest to the centre of its text (centroid summarisation, Radev et al., 2004; LexRank,
Erkan and Radev, 2004), with a preference for early sentences and for the words of the title.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.analyzer.keywords import extract_keywords
from amem_cli.data import lines
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.records import NoteSummary
from amem_cli.journal.provenance import provenance
from amem_cli.language.words import (
    TOKEN,
    detect_language,
    fold,
    is_stopword,
    is_unspaced,
    sentences,
    stem,
    words,
)
from amem_cli.markdown.links import normalise_tag, tag_key
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
    """The offline analyzer's values for a note, each computed on demand."""

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
        if not fitting and (tag := _keyword_tag(keywords)) is not None:
            fitting = [tag]
        return tuple(fitting)


def _is_general(tag: str) -> bool:
    return tag_key(tag) in general_names()


def context_sentence(title: str, text: str, encode: Callable[[Sequence[str]], Vectors]) -> str:
    """What the note is about in one line of at most 160 characters.

    A sentence of the note without markup, led by the title if it lacks the title's words, and cut
    at a clause if it is too long. Empty only if title and text are blank; never with `[[`, `{{`,
    `---` or a line break. `encode` (texts to unit vectors) is called once, with at most 25 texts,
    and not at all for a single sentence.
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
    keywords: Sequence[str],
    vocabulary: Sequence[TagUse],
    neighbours: Sequence[TaggedNeighbour],
    *,
    limit: int = 3,
) -> list[str]:
    """Valid tags for a note, the best fitting first, written as the vault writes them.

    A tag of the vault is scored by the weighted vote of the nearest notes (nearest first, five to
    ten), by its own words among the note's keywords and by the likeness of its name to the note
    (text_vector: its unit vector).
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


def _keyword_tag(keywords: Sequence[str]) -> str | None:
    """The keyword of the fewest words, the first of these, as a tag in small letters."""
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
    text_vector: Vectors,
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


_MAX_TEXT_FOR_TAGS = 8_000
_MOST_COMPARED = 6
_UNLIKE = 4
_LIKENESS_WEIGHT = 6.0
_LEAST_GENERAL_SCORE = 2.25
_LEAST_SCORE_ALONE = 1.3
_FOR_SAYING_AGAIN = 0.3


class GeneralTag(NamedTuple):
    """A tag of the list as notes of one language have it, with the stems of the words that speak
    for it, and with its name and those words as a text to be encoded."""

    name: str
    stems: frozenset[str]
    described: str


def fitting_general_tags(
    title: str,
    text: str,
    text_vector: Vectors,
    encode: Callable[[Sequence[str]], Vectors],
    limit: int = 2,
) -> list[str]:
    """The general tags that both words and meaning of a note support, the best first.

    `text_vector` is the note's unit vector. `encode` is called once, and not at all if no word
    speaks for a tag.
    """
    said = Counter(map(stem, words(f"{title}\n{text[:_MAX_TEXT_FOR_TAGS]}")))
    in_title = set(map(stem, words(title)))
    weighted: list[tuple[GeneralTag, float]] = []
    unlike: list[GeneralTag] = []
    for tag in _general_tags(detect_language(f"{title}\n\n{text[:_MAX_TEXT_FOR_TAGS]}")):
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
    return frozenset(name for row in lines("general_tags.txt") for name in row.split(" | ")[:2])


@cache
def _general_tags(language: str) -> tuple[GeneralTag, ...]:
    """The tags for notes of a language: German ones for `de`, English ones for any other."""
    tags = []
    for row in lines("general_tags.txt"):
        english, german, in_english, in_german = row.split(" | ")
        name, spoken = (german, in_german) if language == "de" else (english, in_english)
        tags.append(GeneralTag(name, frozenset(map(stem, words(spoken))), f"{name}: {spoken}"))
    return tuple(tags)
