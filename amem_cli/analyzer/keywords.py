"""Keywords of a note: its own phrases, chosen by statistics and meaning.

Phrases are scored by the text's statistics, after YAKE (Campos et al., 2020). Those are chosen that
people are likely to give the note, by that score, the cosine to the note (EmbedRank, Bennani-Smires
et al., 2018), their shape and their place.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from amem_cli.analyzer.unspaced_phrases import ScoredPhrase, unspaced_pieces
from amem_cli.data import word_set
from amem_cli.language.detect import detect_language
from amem_cli.language.lexicon import language as language_file
from amem_cli.language.lexicon import without_unseen, word_list
from amem_cli.language.words import (
    TOKEN,
    UNSPACED_RUN,
    fold,
    is_generic,
    is_stopword,
    is_unspaced,
    sentences,
    stem,
    words,
)
from amem_cli.markdown.plain_text import prose

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

_MAX_TEXT = 20_000
_LONGEST_PHRASE = 3
_SHORTEST_WORD, _LONGEST_WORD = 3, 60
_LENGTH_SCORE = {1: 1.0, 2: 1.25, 3: 1.2}
_GAP_WITHIN_PHRASE = re.compile(r"[ \u00a0]{1,2}")
_PAST = re.compile(r"[^e]ed$")
_DERIVED_ENDINGS = ("ed", "ing", "ly")
_KIND_SCORE = {
    "name": 1.6,
    "code": 1.5,
    "noun": 1.2,
    "word": 1.0,
    "derived": 0.6,
    "number": 0.4,
    "everyday": 0.45,
    "adjective": 0.4,
    "generic": 0.15,
}
_PROPER = frozenset(("name", "code", "noun"))
_UMLAUTS = str.maketrans("äöü", "aou")
# A shorter word at the end of a German compound says nothing of what the two have in common.
_SHORTEST_HEAD = 4


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    key: str
    kind: str
    sentence: int
    start: int
    end: int
    capital: bool


def scored_phrases(
    text: str, document_frequency: Callable[[str], int] | None = None
) -> list[ScoredPhrase]:
    """Phrases of the text with their scores, best first; each is spelled as it is seen in the text.

    A word weighs by its kind (name, identifier, noun, everyday word), its frequency, the sentences
    it is spread over and how early it comes; a phrase by the mean of its words, its length and its
    own frequency. Runs of Chinese, Japanese or Korean give pieces of 2 to 6 characters, the better
    with `document_frequency`: in how many notes of the vault a word is. Loose phrases come after
    the firm ones.
    """
    text = without_unseen(text[:_MAX_TEXT])
    plain = prose(text, with_code=True)
    language = detect_language(plain)
    lines = sentences(plain)
    tokens = [_tokens(line, number, language) for number, line in enumerate(lines)]
    tokens = _with_names_known(tokens)
    if language == "de":
        tokens = _without_opening_verbs(tokens)
    weights = _word_weights(tokens)
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    first: dict[str, Sequence[_Token]] = {}
    opening: set[str] = set()
    for line, line_tokens in zip(lines, tokens, strict=True):
        for members in _runs(line, line_tokens):
            key = " ".join(token.key for token in members)
            spellings[key][line[members[0].start : members[-1].end]] += 1
            first.setdefault(key, members)
            if members[0] is line_tokens[0]:
                opening.add(key)
    parts = _parts_only(spellings, first, language)
    ranked = [
        ScoredPhrase(
            counts.most_common(1)[0][0],
            _phrase_score(first[key], weights) * (1 + 0.2 * math.log(counts.total())),
            _is_firm(first[key], language, counts.total()) and key not in parts,
            key in opening,
        )
        for key, counts in spellings.items()
    ]
    ranked += unspaced_pieces(lines, document_frequency)
    return sorted(
        # Joined lines and removed markup can make phrases that the text does not have.
        (phrase for phrase in ranked if phrase.text in text),
        key=lambda phrase: (not phrase.firm, -phrase.score, phrase.text),
    )


def _tokens(line: str, number: int, language: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in TOKEN.finditer(line):
        written = match.group()
        bare = written.removesuffix("'s").removesuffix("’s")
        word = (words(bare) or [""])[0]
        kind = _kind(bare, word, language, opens=not tokens)
        end = match.start() + len(bare)
        key = _key(word)
        tokens.append(_Token(word, key, kind, number, match.start(), end, bare[:1].isupper()))
    return tokens


def _with_names_known(lines: Sequence[Sequence[_Token]]) -> list[list[_Token]]:
    """The tokens, but a word that opens a sentence is a name if it is one elsewhere."""
    names = {token.word for line in lines for token in line if token.kind == "name"}
    return [
        [
            replace(token, kind="name") if token.word in names and token.kind == "word" else token
            for token in line
        ]
        for line in lines
    ]


def _without_opening_verbs(lines: Sequence[Sequence[_Token]]) -> list[list[_Token]]:
    """The tokens, but what opens a German sentence is no noun if a pronoun or the like follows it,
    or if it is written small elsewhere: “Kaufe das Stativ”."""
    written_small = {token.word for line in lines for token in line if not token.capital}
    following = word_list("after_verbs")
    return [
        [
            replace(token, kind="adjective")
            if at == 0
            and token.kind == "noun"
            and (token.word in written_small or (line[1:] and line[1].word in following))
            else token
            for at, token in enumerate(line)
        ]
        for line in lines
    ]


def _key(word: str) -> str:
    """What the forms of a word share: `Vertrag`, `Verträge`."""
    return stem(word).translate(_UMLAUTS)


def _parts_only(
    spellings: Mapping[str, Counter[str]], first: Mapping[str, Sequence[_Token]], language: str
) -> set[str]:
    """Keys of single words that occur only within one and the same firm phrase."""
    parts: set[str] = set()
    counts = {key: spelled.total() for key, spelled in spellings.items()}
    for key, members in first.items():
        if len(members) > 1 and language != "de" and _is_firm(members, language, counts[key]):
            own = {token.key for token in members}
            parts |= {each for each in own if counts.get(each) == counts[key]}
    return parts


def _kind(written: str, word: str, language: str, *, opens: bool) -> str:
    if is_unspaced(written) or len(written) > _LONGEST_WORD or not word:
        return "stop"
    if not any(character.isalpha() for character in word):
        return "number"
    if is_stopword(word, language) or len(word) < 2 or _is_unfit(written, word, language):
        return "stop"
    if is_generic(word):
        return "generic"
    if written[0].isdigit():
        return "number"
    # An identifier: `max_delay`, `mp3`, `iPhone`.
    if "_" in written or any(each.isdigit() or each.isupper() for each in written[1:]):
        return "code"
    everyday = is_everyday(word)
    # German writes every noun with a capital, English only names.
    if language == "de":
        if written[0].isupper():
            return "everyday" if everyday else "noun"
        return "adjective"
    if written[0].isupper() and not opens:
        return "name"
    if everyday:
        return "everyday"
    return "derived" if word.endswith(_DERIVED_ENDINGS) else "word"


def _is_unfit(written: str, word: str, language: str) -> bool:
    if written[0].isupper() and any(map(str.isupper, written[1:])):
        return False
    return word in (_unfit_words(language) or _unfit_words("en"))


@cache
def _unfit_words(code: str) -> frozenset[str]:
    known = language_file(code)
    own = known.words if known else {}
    verbs = (form for verb in own.get("unfit_verbs", ()) for form in _forms(verb))
    return own.get("unfit", frozenset()) | frozenset(verbs)


def is_everyday(word: str) -> bool:
    """Whether a folded word, in any form, is common in English or German speech."""
    return stem(word) in _everyday_stems()


@cache
def _everyday_stems() -> frozenset[str]:
    return frozenset(map(stem, word_list("everyday")))


def _forms(verb: str) -> tuple[str, str, str]:
    """A regular verb with its third person and its past."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb, verb[:-1] + "ies", verb[:-1] + "ied"
    third = verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z")) else "s")
    return verb, third, verb.removesuffix("e") + "ed"


def _runs(line: str, tokens: Sequence[_Token]) -> Iterator[Sequence[_Token]]:
    for first in range(len(tokens)):
        for last in range(first, min(first + _LONGEST_PHRASE, len(tokens))):
            token = tokens[last]
            if token.kind == "stop":
                break
            if last > first:
                gap = line[tokens[last - 1].end : token.start]
                if _is_shortened(line, tokens[last - 1]):
                    gap = gap[1:]
                if _GAP_WITHIN_PHRASE.fullmatch(gap) is None:
                    break
            if _is_shortened(line, token):
                continue
            members = tokens[first : last + 1]
            cuts_a_name = _is_one_name(line, tokens, first - 1) or _is_one_name(line, tokens, last)
            if _is_phrase(members) and not cuts_a_name:
                yield members


def _is_shortened(line: str, token: _Token) -> bool:
    """Whether the token is an abbreviation with its point, as in `St. Anna`."""
    return line[token.end : token.end + 1] == "." and token.word in word_set("abbreviations.txt")


def _is_phrase(members: Sequence[_Token]) -> bool:
    kinds = {token.kind for token in members}
    if len(members) > 1 and members[-1].kind in ("derived", "number", "adjective"):
        return members[-1].word.endswith("ing")
    if len(members) > 1 and _PAST.search(members[-1].word) and not members[-1].capital:
        return False
    return bool(kinds - {"number", "generic"})


def _is_firm(members: Sequence[_Token], language: str, count: int) -> bool:
    kinds = [token.kind for token in members]
    if len({token.word for token in members}) < len(members) or kinds[0] == "number":
        return False
    if len(members) == 1:
        if language == "de" and kinds[0] == "adjective":
            return False
        if kinds[0] == "derived" and not members[0].word.endswith("ing"):
            return members[0].sentence == 0
        return kinds[0] not in ("everyday", "generic") or members[0].sentence == 0 or count > 2
    if _is_proper(members, kinds):
        return True
    if kinds[-1] in ("generic", "adjective"):
        return False
    if count > 1:
        return True
    return len(members) < _LONGEST_PHRASE and not set(kinds) & {"name", "code", "adjective"}


def _is_proper(members: Sequence[_Token], kinds: Sequence[str]) -> bool:
    """A name or a title: `Mr Voss`, `Dirty Harry`, `Kessler Antriebstechnik`."""
    opens_with_capital = members[0].capital and kinds[0] in ("word", "everyday", "generic")
    return (kinds[0] in _PROPER or opens_with_capital) and all(
        kind in _PROPER for kind in kinds[1:]
    )


def _is_one_name(line: str, tokens: Sequence[_Token], left: int) -> bool:
    """Whether the token at `left` and the one after it belong to one name."""
    if left < 0 or left + 1 >= len(tokens):
        return False
    gap = line[tokens[left].end : tokens[left + 1].start]
    return tokens[left].kind == tokens[left + 1].kind == "name" and gap == " "


def _word_weights(lines: Sequence[Sequence[_Token]]) -> dict[str, float]:
    sentences_of: dict[str, list[int]] = defaultdict(list)
    best_kind: dict[str, float] = {}
    for line in lines:
        for token in line:
            if token.kind != "stop":
                key = token.key
                sentences_of[key].append(token.sentence)
                best_kind[key] = max(best_kind.get(key, 0.0), _KIND_SCORE[token.kind])
    return {
        key: best_kind[key]
        * (1 + 0.5 * math.log(len(places)))
        * (1 + len(set(places)) / max(1, len(lines)))
        / (1 + 0.25 * math.log(1 + places[0]))
        * min(1.0, 0.5 + len(key) / 12)
        for key, places in sentences_of.items()
    }


def _phrase_score(members: Sequence[_Token], weights: dict[str, float]) -> float:
    mean = sum(weights[token.key] for token in members) / len(members)
    return mean * _LENGTH_SCORE[len(members)]


Encode = Callable[[Sequence[str]], "Vectors"]

_CANDIDATES = 16
# A logistic regression on the notes of thirteen people, measured on seven others (docs/memory.md).
_INTERCEPT = -1.47
_BY_STATISTICS = 0.87
_BY_MEANING = 1.40
_FOR_SHAPE = 0.74
_FOR_OPENING = 0.78
_FOR_THREE_WORDS = -1.43
# By the place of its first use, from 0 to 1, and by the logarithm of the note's words; it was not
# fitted on notes of fewer or more.
_FOR_PLACE = -0.69
_FOR_LENGTH = -0.33
_SHORTEST, _LONGEST = 48, 160
_CHARACTERS_PER_KEYWORD = 50
# Above this nine in twenty keywords are ones that a person gave the note.
_LEAST_PROBABILITY = 0.40


def candidate_phrases(text: str, limit: int = 20) -> list[str]:
    """Phrases of the text that may be its keywords, the likeliest first, without an encoder.

    Each is of one to three words in the text's own spelling, and none repeats another. Proper
    nouns, identifiers and hyphenated words stay whole.
    """
    return _distinct((scored.text for scored in scored_phrases(text)), limit, text)


def extract_keywords(
    text: str,
    encode: Encode,
    *,
    title: str = "",
    limit: int = 5,
    document_frequency: Callable[[str], int] | None = None,
    vector: Vectors | None = None,
) -> list[str]:
    """Distinct phrases of a note that are likely to be its keywords, the likeliest first.

    A short note gets fewer, and none if none is likely enough. What the title says already is none:
    a keyword is there for another note, or a search, to find. `encode` (texts to unit vectors) is
    called once, with the text and at most 16 phrases. `document_frequency` tells in how many notes
    of the vault a word is; without it fewer words of Chinese are known for words.
    """
    scored = [
        phrase
        for phrase in scored_phrases(text, document_frequency)
        # A loose one of these is more often cut out of two words than a word.
        if (phrase.firm or not is_unspaced(phrase.text)) and not _says_nothing(phrase.text, title)
    ][:_CANDIDATES]
    if not scored:
        return []
    phrases = [phrase.text for phrase in scored]
    if vector is None:
        vector, *_ = encode([text[:_MAX_TEXT]])
    near = _rescaled([float(value) for value in encode(phrases) @ vector])
    statistics = _rescaled([phrase.score for phrase in scored])
    length = _FOR_LENGTH * math.log(min(max(_SHORTEST, len(text.split())), _LONGEST))
    likely = [
        (
            _INTERCEPT
            + _BY_STATISTICS * statistic
            + _BY_MEANING * meaning
            + _FOR_SHAPE * phrase.firm
            + _FOR_OPENING * phrase.opens
            + _FOR_THREE_WORDS * (len(words(phrase.text)) == _LONGEST_PHRASE)
            + _FOR_PLACE * text.find(phrase.text) / len(text)
            + length,
            phrase.text,
        )
        for statistic, meaning, phrase in zip(statistics, near, scored, strict=True)
    ]
    least = math.log(_LEAST_PROBABILITY / (1 - _LEAST_PROBABILITY))
    ranked = sorted((each for each in likely if each[0] >= least), key=lambda each: -each[0])
    # A character of Chinese says as much as three letters.
    unspaced = sum(map(len, UNSPACED_RUN.findall(text)))
    most = min(limit, 1 + (len(text) + 2 * unspaced) // _CHARACTERS_PER_KEYWORD)
    return _distinct((phrase for _, phrase in ranked), most, text)


def _says_nothing(phrase: str, title: str) -> bool:
    """Whether a title has all words of a phrase, or the phrase is too short to say anything."""
    if is_unspaced(phrase):
        return fold(phrase) in fold(title)
    return (len(phrase) < _SHORTEST_WORD and phrase.islower()) or _stems(phrase) <= _stems(title)


def _distinct(phrases: Iterable[str], limit: int, text: str) -> list[str]:
    """The first phrases of the text of which none repeats another."""
    is_german = detect_language(text) == "de"
    chosen: list[str] = []
    stems: list[frozenset[str]] = []
    for phrase in phrases:
        if len(chosen) >= limit:
            break
        own = _stems(phrase)
        if not any(_repeats(own, other) or (is_german and _is_head(own, other)) for other in stems):
            chosen.append(phrase)
            stems.append(own)
    return chosen


def _rescaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


def _stems(phrase: str) -> frozenset[str]:
    if is_unspaced(phrase):
        return frozenset(phrase)
    return frozenset(map(_key, words(phrase)))


def _is_head(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one is a German compound and the other its last part: `Kameratasche`, `Tasche`."""
    if len(one) > 1 or len(other) > 1:
        return False
    short, long = sorted(("".join(one), "".join(other)), key=len)
    return len(short) >= _SHORTEST_HEAD and long.endswith(short)


def _repeats(one: frozenset[str], other: frozenset[str]) -> bool:
    return 2 * len(one & other) >= min(len(one), len(other)) > 0
