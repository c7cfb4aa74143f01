"""Which older notes a note revises in natural words, though it names none of them.

A revision shares what the older note is about and has a sign of change: "0.16, up from 0.14", "the
Sunday copying is history". That is never certain, so what comes of it is proposed.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.analyzer.cue_patterns import any_phrase
from amem_cli.analyzer.link_evidence import note_terms, rarity
from amem_cli.analyzer.own_words import Link, OwnSentence
from amem_cli.language.lexicon import phrases
from amem_cli.language.words import TOKEN, cjk_bigrams, fold, is_unspaced, plain_word, stem
from amem_cli.notes.note import SUPERSEDING

if TYPE_CHECKING:
    from amem_cli.analyzer.link_evidence import LinkCandidate
    from amem_cli.notes.note import Note

# Given a sentence, how near its words are to those of the candidates, by path.
SentenceNearness = Callable[[str], Mapping[str, float]]

_MOST_SIGNS = 20
# Beside a sign, in words and in letters of scripts without blanks.
_WORDS_BESIDE = 6
_LETTERS_BESIDE = 60
_UNSPACED_BESIDE = 8
_CLAUSE = re.compile(r"[;:()!?。，；：！？]|[,.](?!\d)| [–—-] ")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_RARITY_OF_A_VALUE = 3.0
_CUES = frozenset({"replaced", "refuted"})
_LEAST_STRENGTH = 0.05
_MOST_SHARE = 0.5
# In different words: few notes of those vaults are shorter, and nothing is known of such.
_SHORTEST = 20
# The spread of nearness among candidates is no less.
_LEAST_SPREAD = 1e-3

# Logistic regression over the nearest older notes of 47 invented people's notes
# (training/revision_strength.py).
_INTERCEPT = 0.12
_WEIGHTS: Mapping[str, float] = {
    "strength": 0.58,
    "nearness": 0.32,
    "shared": 0.49,
    "named_by_cue": 0.18,
    "concludes": 0.42,
    "share": 1.99,
    "length": -1.48,
}
# The same with what the judge of links says, of people from whom it did not learn: of the score by
# the evidence, and of the judge's log odds that the note supersedes or contradicts the older one.
_INTERCEPT_JUDGED, _EVIDENCE, _JUDGE = 0.46, 0.47, 0.69
# The judge's log odds are never surer than this.
_MOST_LOG_ODDS = 6.0


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
    """

    own: OwnSentence
    signs: Sequence[Sign]
    stems: frozenset[str]
    values: frozenset[str]


class Revision(NamedTuple):
    """What speaks for it that a note revises an older one.

    Attributes:
        older: position of that note among the candidates.
        features: by name, as `revision_probability` takes them.
        sentences: those with signs of change, the one that says most of it first.
    """

    older: int
    features: dict[str, float]
    sentences: list[SignedSentence]


def revision_probability(
    features: Mapping[str, float], judged: Mapping[str, float] | None = None
) -> float:
    """How likely it is, 0..1, that a note revises an older one."""
    score = _INTERCEPT + sum(weight * features[name] for name, weight in _WEIGHTS.items())
    if judged is not None:
        odds = judged_log_odds(judged)
        score = _INTERCEPT_JUDGED + _EVIDENCE * score + _JUDGE * odds
    return 1 / (1 + math.exp(-score))


def judged_log_odds(judged: Mapping[str, float]) -> float:
    """Natural logarithm of the odds, by the judge's probabilities, that the newer of two notes
    supersedes or contradicts the older one."""
    revised = sum(judged[relation] for relation in SUPERSEDING)
    odds = math.log(max(revised, 1e-9)) - math.log(max(1 - revised, 1e-9))
    return max(-_MOST_LOG_ODDS, min(odds, _MOST_LOG_ODDS))


def signed_sentences(own: Iterable[OwnSentence]) -> list[SignedSentence]:
    """The sentences with signs of change, without questions and conditions."""
    ends = ("?", "？", *phrases("doubts.question_ends"))
    found = []
    for sentence in own:
        folded = sentence.folded
        # What another note is called says nothing of a change.
        outside = (each for each in _signs(folded) if not _is_in_link(each, sentence.links))
        signs = list(islice(outside, _MOST_SIGNS))
        if signs and not folded.rstrip(" \"”'’)」").endswith(ends):
            beside = "\n".join(_beside(folded, sign) for sign in signs)
            found.append(SignedSentence(sentence, signs, _stems(beside), values_in(beside)))
    return found


def _signs(folded: str) -> Iterator[Sign]:
    for table in ("changed", "replaced", "refuted", "settled"):
        for part in ("acts", "states", "alone"):
            for match in any_phrase(f"{table}.{part}").finditer(folded):
                supposed = any_phrase("doubts.suppositions").search(folded, 0, match.start())
                if match[0] and not supposed:
                    yield Sign(table, part, *match.span())


def _is_in_link(sign: Sign, links: Iterable[Link]) -> bool:
    return any(link.start <= sign.start and sign.end <= link.end for link in links)


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
    leads: Mapping[str, int],
    strengths: Sequence[float],
    *,
    document_frequency: Callable[[str], int],
    total: int,
    nearness: SentenceNearness,
) -> Iterator[Revision]:
    """The candidates of which a signed sentence may speak.

    Args:
        own: all sentences of the note. One with links speaks of the notes that they lead to alone.
        leads: where a link by a folded name leads, as a position among the candidates.
        strengths: of a link to each candidate, 0..1.
        document_frequency: number of notes of the vault that hold a folded word, of `total` notes.
    """
    if not signed:
        return
    terms = note_terms(note.title, note.body, note.keywords)
    concludes = any(any_phrase("changed.concluding").match(each.folded) for each in own)
    near = [_in_deviations(nearness(each.own.text), candidates) for each in signed]
    linked = [{leads.get(link.name, -1) for link in each.own.links} for each in signed]
    rarities: dict[str, float] = {}
    for at, older in enumerate(candidates):
        strength = min(strengths[at], 0.9999)
        of_it = [i for i, places in enumerate(linked) if not places or at in places]
        if strength < _LEAST_STRENGTH or not of_it:
            continue
        theirs = note_terms(older.title, older.text, older.keywords)
        for key in (terms.keys() & theirs.keys()) - rarities.keys():
            rarities[key] = rarity(max(2, document_frequency(terms[key].word)), total)
        rare = {key: rarities[key] for key in terms.keys() & theirs.keys()}
        their_values = _values_of(older.title, older.text)
        named = {i: _named(signed[i], rare, their_values) for i in of_it}
        cues = [named[i] for i in of_it if any(sign.table in _CUES for sign in signed[i].signs)]
        features = {
            "strength": math.log(strength / (1 - strength)),
            "nearness": max(near[i][at] for i in of_it),
            # How rare is what both notes name, at most and beside a sign.
            "shared": max(_rarest(rare, rare.keys()), *named.values()),
            "named_by_cue": max(cues, default=0.0),
            "concludes": float(concludes),
            "share": min(sum(map(bool, named.values())) / len(own), _MOST_SHARE),
            # A long note shares words with many.
            "length": math.log1p(max(len(theirs), _SHORTEST)),
        }
        best = sorted(of_it, key=lambda i: (named[i], near[i][at]), reverse=True)
        telling = [signed[each] for each in best if named[each]]
        yield Revision(at, features, telling or [signed[best[0]]])


def _in_deviations(
    nearness: Mapping[str, float], candidates: Sequence[LinkCandidate]
) -> list[float]:
    """How near each candidate is, above their mean and in standard deviations; those of which
    nothing is known are as near as the mean."""
    if not nearness:
        return [0.0] * len(candidates)
    mean = statistics.fmean(nearness.values())
    spread = max(statistics.pstdev(nearness.values(), mean), _LEAST_SPREAD)
    return [(nearness.get(each.path, mean) - mean) / spread for each in candidates]


def _rarest(rare: Mapping[str, float], stems: Collection[str]) -> float:
    """How rare the two rarest of some shared things are."""
    return sum(sorted((rare[key] for key in rare.keys() & stems), reverse=True)[:2])


def _named(sentence: SignedSentence, rare: Mapping[str, float], values: frozenset[str]) -> float:
    """How rare the two rarest things are that a sentence names beside a sign."""
    found = sorted((rare[key] for key in rare.keys() & sentence.stems), reverse=True)
    found += [_RARITY_OF_A_VALUE] * bool(sentence.values & values)
    return sum(found[:2])
