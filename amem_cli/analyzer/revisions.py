"""Which older notes a note revises in natural words, though it names none of them.

A revision shares what the older note is about, names what changes or another value for it, and has
a sign of change: "0.16, up from 0.14", "the Sunday copying is history". That is never certain, so
what comes of it is proposed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.analyzer.cue_patterns import any_phrase
from amem_cli.analyzer.link_evidence import note_terms, rarity
from amem_cli.analyzer.own_words import OwnSentence
from amem_cli.language.dates import DaysNamed, days_named, moment_in
from amem_cli.language.lexicon import phrases
from amem_cli.language.words import TOKEN, cjk_bigrams, fold, is_unspaced, plain_word, stem

if TYPE_CHECKING:
    from amem_cli.analyzer.link_evidence import LinkCandidate
    from amem_cli.notes.note import Note

_MOST_SIGNS = 20
# Beside a sign, in words and in letters of scripts without blanks.
_WORDS_BESIDE = 6
_LETTERS_BESIDE = 60
_UNSPACED_BESIDE = 8
_CLAUSE = re.compile(r"[;:()!?。，；：！？]|[,.](?!\d)| [–—-] ")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# One of one digit is in every second note.
_TELLING = re.compile(r"\d.*\d")
_RARITY_OF_A_VALUE = 3.0
_WORTH_OF_A_TIME = 4
_CUES = frozenset({"replaced", "refuted"})
_LEAST_STRENGTH = 0.1
_MOST_SHARE = 0.5

# Logistic regression over the nearest older notes of 29 invented people's notes.
_INTERCEPT = -6.98
_WEIGHTS: Mapping[str, float] = {
    "strength": 0.27,
    "lead": 0.20,
    "mutual": 0.79,
    "days": 0.20,
    "shared": 0.55,
    "named": 0.12,
    "named_by_cue": 0.15,
    "time": 1.52,
    "exchanged": 0.22,
    "number": 0.49,
    "concludes": 0.49,
    "share": 2.89,
}


class Sign(NamedTuple):
    """A sign of change at a place in a folded sentence.

    Attributes:
        table: that of the language file which has its phrase.
        part: where what changes stands: behind it (`acts`), before it (`states`), or anywhere in
            the sentence (`alone`).
    """

    table: str
    part: str
    start: int
    end: int


class SignedSentence(NamedTuple):
    """A sentence with signs of change.

    Attributes:
        stems, values: words, and numbers and weekdays, where a sign lets expect what changes.
        former: of the values those right beside a sign.
    """

    own: OwnSentence
    signs: Sequence[Sign]
    stems: frozenset[str]
    values: frozenset[str]
    former: frozenset[str]


class Revision(NamedTuple):
    """What speaks for it that a note revises an older one.

    Attributes:
        older: position of that note among the candidates.
        features: by name, as `revision_probability` takes them.
        sentences: those that name something of it beside a sign, the most telling first.
    """

    older: int
    features: dict[str, float | None]
    sentences: list[SignedSentence]


def revision_probability(features: Mapping[str, float | None]) -> float:
    """How likely it is, 0..1, that a note revises an older one.

    Args:
        features: by name, as `_WEIGHTS` has them; None for what is not known.
    """
    known = {name: value for name, value in features.items() if value is not None}
    score = _INTERCEPT + sum(_WEIGHTS[name] * value for name, value in known.items())
    return 1 / (1 + math.exp(-score))


def signed_sentences(own: Iterable[OwnSentence]) -> list[SignedSentence]:
    """The sentences with signs of change, without questions and conditions."""
    ends = ("?", "？", *phrases("doubts.question_ends"))
    found = []
    for sentence in own:
        folded = sentence.folded
        signs = list(islice(_signs(folded), _MOST_SIGNS))
        if signs and not folded.rstrip(" \"”'’)」").endswith(ends):
            beside = [_beside(folded, sign) for sign in signs]
            near = [text for text, sign in zip(beside, signs, strict=True) if sign.part != "alone"]
            stems, values = _stems("\n".join(beside)), values_in("\n".join(beside))
            former = values_in("\n".join(near))
            found.append(SignedSentence(sentence, signs, stems, values, former))
    return found


def _signs(folded: str) -> Iterator[Sign]:
    for table in ("changed", "replaced", "refuted", "settled"):
        for part in ("acts", "states", "alone"):
            for match in any_phrase(f"{table}.{part}").finditer(folded):
                supposed = any_phrase("doubts.suppositions").search(folded, 0, match.start())
                if match[0] and not supposed:
                    yield Sign(table, part, *match.span())


def _beside(folded: str, sign: Sign) -> str:
    if sign.part == "alone":
        return folded
    if sign.part == "acts":
        clause = _CLAUSE.split(folded[sign.end : sign.end + _LETTERS_BESIDE].lstrip())[0]
        near, words = slice(_UNSPACED_BESIDE), clause.split(" ")[:_WORDS_BESIDE]
    else:
        before = folded[max(0, sign.start - _LETTERS_BESIDE) : sign.start].rstrip()
        words = _CLAUSE.split(before)[-1].split(" ")[-_WORDS_BESIDE:]
        near = slice(-_UNSPACED_BESIDE, None)
    return " ".join(word[near] if is_unspaced(word) else word for word in words)


def _stems(folded: str) -> frozenset[str]:
    found: set[str] = set()
    for token in TOKEN.findall(folded):
        found.update(cjk_bigrams(token) if is_unspaced(token) else (stem(plain_word(token)),))
    return frozenset(found)


def values_in(folded: str) -> frozenset[str]:
    """Numbers and weekdays."""
    numbers = (match[0].replace(",", ".") for match in _NUMBER.finditer(folded))
    days = (token.removesuffix("s") for token in TOKEN.findall(folded))
    return frozenset((*numbers, *_weekdays().intersection(days)))


# The candidates of one note are those of the next ones as well.
@lru_cache(maxsize=1024)
def _values_of(title: str, text: str) -> frozenset[str]:
    return values_in(fold(f"{title}\n{text}"))


@cache
def _weekdays() -> frozenset[str]:
    return frozenset(fold(" ".join(phrases("dates.weekdays"))).split())


def possible_revisions(
    note: Note,
    own: Sequence[OwnSentence],
    signed: Sequence[SignedSentence],
    candidates: Sequence[LinkCandidate],
    strengths: Sequence[float],
    *,
    document_frequency: Callable[[str], int],
    total: int,
) -> Iterator[Revision]:
    """The candidates of which a signed sentence names something.

    Args:
        own: all sentences of the note.
        strengths: of a link to each candidate, 0..1.
        document_frequency: number of notes of the vault that hold a folded word, of `total` notes.
    """
    if not signed:
        return
    written = moment_in(note.created)
    today = None if written is None else written.date()
    terms = note_terms(note.title, note.body, note.keywords)
    numbers = values_in(fold(f"{note.title}\n{note.body}"))
    concludes = any(any_phrase("changed.concluding").match(each.folded) for each in own)
    times = [days_named(each.own.folded, today) if today else [] for each in signed]
    rarities: dict[str, float] = {}
    odds = [math.log(max(each, 1e-4) / (1 - min(each, 0.9999))) for each in strengths]
    for at, older in enumerate(candidates):
        if strengths[at] < _LEAST_STRENGTH:
            continue
        theirs = note_terms(older.title, older.text, older.keywords)
        for key in (terms.keys() & theirs.keys()) - rarities.keys():
            rarities[key] = rarity(max(2, document_frequency(terms[key].word)), total)
        rare = {key: rarities[key] for key in terms.keys() & theirs.keys()}
        their_values = _values_of(older.title, older.text)
        made = moment_in(older.created)
        then = None if made is None else made.date()
        weighed = [
            (named, is_then, each)
            for each, spans in zip(signed, times, strict=True)
            for named, is_then in ((_named(each, rare, their_values), _tells_time(spans, then)),)
            if named or is_then
        ]
        if not weighed:
            continue
        weighed.sort(key=lambda each: -each[0] - _WORTH_OF_A_TIME * each[1])
        cues = [named for named, _, each in weighed if any(s.table in _CUES for s in each.signs)]
        days = None if then is None or today is None else max(0, (today - then).days)
        others = [one for place, one in enumerate(odds) if place != at]
        features: dict[str, float | None] = {
            "strength": odds[at],
            # Before the next best candidate.
            "lead": odds[at] - max(others, default=odds[at]),
            "mutual": 0.0 if older.reverse_rank is None else 1 / (1 + older.reverse_rank),
            "days": None if days is None else math.log1p(days),
            # How rare is what both notes name, at most and beside a sign.
            "shared": sum(sorted(rare.values(), reverse=True)[:2]),
            "named": weighed[0][0],
            "named_by_cue": max(cues, default=0.0),
            "time": max(is_then for _, is_then, _ in weighed),
            "exchanged": max(_exchanged(each, rare, their_values) for _, _, each in weighed),
            "number": float(any(map(_TELLING.fullmatch, numbers & their_values))),
            "concludes": float(concludes),
            "share": min(len(weighed) / len(own), _MOST_SHARE),
        }
        yield Revision(at, features, [each for _, _, each in weighed])


def _named(sentence: SignedSentence, rare: Mapping[str, float], values: frozenset[str]) -> float:
    """How rare the two rarest things are that a sentence names beside a sign."""
    found = sorted((rare[key] for key in rare.keys() & sentence.stems), reverse=True)
    found += [_RARITY_OF_A_VALUE] * bool(sentence.values & values)
    return sum(found[:2])


def _exchanged(sentence: SignedSentence, rare: Mapping[str, float], old: frozenset[str]) -> float:
    """1 if a sentence about the same thing names the older note's value beside a sign, and another
    value of that kind: "14 days, not 30"."""
    former = sentence.former & old
    new = values_in(sentence.own.folded) - old
    kinds = ({one[0].isdigit() for one in values} for values in (former, new))
    return float(bool(rare) and not set.isdisjoint(*kinds))


def _tells_time(named: Iterable[DaysNamed], then: date | None) -> float:
    """Whether a sentence names the time when the older note was written: 1 for its day, less for a
    longer time."""
    spans = (
        (each.last - each.first).days for each in named if then and each.first <= then <= each.last
    )
    return max((1.0 if not span else 0.6 if span <= 31 else 0.2 for span in spans), default=0.0)
