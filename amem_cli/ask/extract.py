"""An answer without a language model: the nearest sentences, and whether any is near enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amem_cli.language.words import sentences
from amem_cli.search.evidence import chance
from amem_cli.search.search import current_first
from amem_cli.search.snippet import marks

MOST_SENTENCES = 60
MOST_QUOTED = 3
LONGEST_QUOTE = 320
# Sentences around the one that is quoted are quoted too, in so many letters: beside a model's
# answer; without a model, of the best source and of others.
_ROOM, ROOM_OF_BEST, ROOM_OF_OTHERS = 240, 480, 160
# A further note is quoted if its best sentence is this near to the best of all.
_NEXT_BEST = 0.75
# A sentence is worth its cosine with the question, and this share of the score of its note.
_WORTH_SHARE = 2.0
# Of how near a sentence comes: its cosine, and this share of what it holds of the question's words.
_COVERAGE_SHARE = 0.5

# Fitted on the questions of nine vaults, each also put to three others (docs/ask.md). So high that
# 5 in 100 questions of others are answered.
_NOTE_COSINE, _SENTENCE, _WORDS, _OFFSET = 10.85, 6.59, 1.33, -6.44
# With an encoder for many languages, over eleven vaults whose questions were also asked in another
# language, which shares no words with the notes: 12 in 100 questions of others are answered.
_NOTE_COSINE_SPREAD, _SENTENCE_SPREAD, _OFFSET_SPREAD = 12.25, 6.94, -3.95
# Without an encoder.
_COVERAGE_ALONE, _WORDS_ALONE, _OFFSET_ALONE = 3.53, 1.87, -4.39
# So much less is near enough to be quoted as uncertain: of questions of others, 25 in 100 get
# quotations then.
_UNSURE = 1.5
# Sums of weights may miss one by a little.
_WHOLE = 0.999


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near the notes come to a question.

    Attributes:
        note_cosine: of the best note; None without an encoder.
        sentence: best cosine of a sentence, with half of what it holds of the question's words.
        words: how well words alone find the best note, as if of one among few.
        coverage: best share of the question's words, weighted by rarity, that one note holds.
        is_spread: the encoder is one for many languages.
    """

    note_cosine: float | None
    sentence: float
    words: float
    coverage: float
    notes: int
    is_spread: bool = False

    @property
    def score(self) -> float:
        """At least 0 if the notes more likely hold an answer than not."""
        if self.note_cosine is None:
            return _COVERAGE_ALONE * self.coverage + _WORDS_ALONE * self.words + _OFFSET_ALONE
        above_chance = self.note_cosine - chance(self.notes)
        if self.is_spread:
            near = _NOTE_COSINE_SPREAD * above_chance + _SENTENCE_SPREAD * self.sentence
            return near + _OFFSET_SPREAD
        near = _NOTE_COSINE * above_chance + _SENTENCE * self.sentence
        return near + _WORDS * self.words + _OFFSET

    @property
    def is_near(self) -> bool:
        """Whether an answer is worth giving: also if one note holds every word of the question."""
        return self.score >= 0 or self.coverage >= _WHOLE

    @property
    def is_close(self) -> bool:
        """Whether the nearest sentences are worth showing, though they may not be an answer."""
        return self.is_near or self.score >= -_UNSURE


def nearest_sentence(found: Sequence[Sentence], cosines: Sequence[float]) -> float:
    """How near the best of the sentences comes, see `Nearness`."""
    pairs = zip(found, cosines, strict=True)
    return max((cosine + _COVERAGE_SHARE * each.coverage for each, cosine in pairs), default=0.0)


def coverage(held: Sequence[str], weights: Mapping[str, float]) -> float:
    """Share of the weight of all terms that some of them have, 0..1."""
    whole = sum(weights.values())
    return sum(weights[term] for term in dict.fromkeys(held)) / whole if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a source, its number there, and what share of the question it holds."""

    label: str
    place: int
    text: str
    coverage: float


def sentences_of(
    label: str, text: str, weights: Mapping[str, float], languages: Sequence[str] = ()
) -> list[Sentence]:
    """The sentences of a source, each with what it holds of the question."""
    return [
        Sentence(label, at, each, coverage(held, weights))
        for at, each in enumerate(sentences(text))
        for held in ([term for term in weights if marks(each, [term], languages)],)
    ]


def likeliest(found: Sequence[Sentence]) -> list[Sentence]:
    """The sentences that hold most of the question, at most 60; of each source at least one."""
    order = sorted(found, key=lambda each: -each.coverage)
    first = {each.label: each for each in reversed(order)}
    return list(dict.fromkeys((*first.values(), *order)))[:MOST_SENTENCES]


def nearest(
    found: Sequence[Sentence],
    cosines: Sequence[float] | None,
    worth: Mapping[str, float],
    newer: Mapping[str, Sequence[str]],
    by_token: Mapping[int, float] | None = None,
) -> list[Sentence]:
    """The best sentence of each of the best sources, the nearest first, at most three.

    A source that supersedes another comes right before it, however near it is itself.

    Args:
        cosines: of each sentence with the question, if there are any.
        worth: of each source, 0..1.
        newer: the sources that supersede one.
        by_token: how near sentences are token by token, by their place in `found`: this tells those
            of one source apart better.
    """
    # Without an encoder, words alone tell the sentences of a note apart.
    near = cosines if cosines is not None else [_COVERAGE_SHARE * each.coverage for each in found]
    values = [
        max(0.0, cosine) + _WORTH_SHARE * worth[each.label]
        for each, cosine in zip(found, near, strict=True)
    ]
    order = sorted(range(len(found)), key=lambda at: (-values[at], at))
    best: dict[str, int] = {}
    for at in order:
        best.setdefault(found[at].label, at)
    least = _NEXT_BEST * values[order[0]] if order else 0.0
    kept = [at for at in best.values() if values[at] > 0 and values[at] >= least]
    labels = [found[at].label for at in kept[:MOST_QUOTED]]
    current = [label for label, _ in current_first(labels, newer, best)]
    for at, _ in sorted((by_token or {}).items(), key=lambda each: (each[1], -each[0])):
        best[found[at].label] = at
    return [found[best[label]] for label in current[:MOST_QUOTED]]


def quotation(sentence: Sentence, found: Sequence[Sentence], room: int = _ROOM) -> str:
    """A sentence with those around it while all stay shorter than `room`, so that it can be
    understood; one that is too long by itself is cut."""
    own = {each.place: each.text for each in found if each.label == sentence.label}
    text, before, after = sentence.text, sentence.place - 1, sentence.place + 1
    grown = ""
    while grown != text:
        grown = text
        if after in own and len(text) + len(own[after]) < room:
            text, after = _side_by_side(text, own[after]), after + 1
        if before in own and len(text) + len(own[before]) < room:
            text, before = _side_by_side(own[before], text), before - 1
    longest = max(LONGEST_QUOTE, room)
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _side_by_side(text: str, following: str) -> str:
    """Two sentences, or items of a list, which often end without a sign."""
    has_ended = text.rstrip("\"'”’»").endswith((*".!?…:;,。！？",))
    return f"{text}{'' if has_ended else ';'} {following}"
