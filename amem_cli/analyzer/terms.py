"""What a note's words say: the terms of its subject, the titles it mentions, what it replaces.

Terms are names, identifiers, nouns and rare words. Replacing or contradicting an older note counts
only if a sentence says so without doubt or denial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from amem_cli.data import word_set
from amem_cli.language.words import (
    TOKEN,
    cjk_bigrams,
    detect_language,
    fold,
    is_generic,
    is_stopword,
    is_unspaced,
    stem,
    words,
)
from amem_cli.markdown.plain_text import prose
from amem_cli.notes.note import Relation

DocumentFrequency = Callable[[str], int]

_MAX_TEXT = 8_000
_WORDS_OF_A_QUOTATION = 4
# Only there does a capital say something; the first word of a sentence always has one.
_MID_SENTENCE = re.compile(r"(?<=[\w,;:)(&/„\"“+] )[A-ZÄÖÜ][\w'’-]{1,40}")


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a note: as it was written, and how much it says about the subject."""

    written: str
    word: str
    kind: str


def note_terms(title: str, text: str, keywords: Sequence[str] = ()) -> dict[str, Term]:
    """The meaningful words of a note by stem, in the order of first use."""
    plain = prose(text[:_MAX_TEXT], with_code=True)
    language = detect_language(plain)
    capitalised = {match.group() for match in _MID_SENTENCE.finditer(plain)}
    terms: dict[str, Term] = {}
    for source in (title, *keywords, plain):
        for match in TOKEN.finditer(source):
            for term in _terms_of(match.group(), language, capitalised):
                terms.setdefault(stem(term.word), term)
    return terms


def _terms_of(written: str, language: str, capitalised: set[str]) -> list[Term]:
    if is_unspaced(written):
        return [
            Term(pair, pair, "cjk")
            for pair in cjk_bigrams(written)
            if word_set("stopwords/zh.txt").isdisjoint(pair)
        ]
    folded = words(written)
    word = folded[0] if folded else ""
    if not 3 <= len(word) <= 60 or is_generic(word) or is_stopword(word, language):
        return []
    return [
        Term(
            written.removesuffix("'s").removesuffix("’s"),
            word,
            _kind(word, written, language, capitalised),
        )
    ]


def _kind(word: str, written: str, language: str, capitalised: set[str]) -> str:
    if "_" in word or (any(c.isdigit() for c in word) and any(c.isalpha() for c in word)):
        return "code"
    if is_everyday(word):
        return "everyday"
    if word[0].isdigit():
        return "word" if len(word) > 3 else "everyday"
    if written in capitalised:
        return "noun" if language == "de" else "name"
    return "everyday" if language == "de" and written.islower() else "word"


def is_everyday(word: str) -> bool:
    """Whether a folded word, in any form, is common in English or German speech."""
    return stem(word) in _everyday_stems()


@cache
def _everyday_stems() -> frozenset[str]:
    return frozenset(map(stem, word_set("everyday/en.txt") | word_set("everyday/de.txt")))


def is_dull(word: str) -> bool:
    """Whether a folded word says nothing about a subject in any note."""
    return is_stopword(word) or is_generic(word) or word.isdigit() or is_everyday(word)


def searchable(text: str) -> str:
    """The text as `mentions_title` wants it: folded words between single blanks."""
    return f" {' '.join(words(_unjoined(text[:_MAX_TEXT])))} "


def mentions_title(
    title: str, searchable_text: str, document_frequency: DocumentFrequency, total: int
) -> bool:
    """Whether the text has the whole title, and hardly by chance.

    A title of one word must be rare in the vault and not an everyday word; one of four
    words is quoted.
    """
    wanted = words(_unjoined(title))
    # Scripts without blanks have no words to compare.
    if is_unspaced(wanted[0] if wanted else ""):
        return len(fold(title)) >= 3 and fold(title) in searchable_text
    if not wanted or f" {' '.join(wanted)} " not in searchable_text:
        return False
    if len(wanted) >= _WORDS_OF_A_QUOTATION and sum(not is_stopword(word) for word in wanted) > 1:
        return True
    telling = [word for word in wanted if len(word) > 2 and not is_dull(word)]
    if not telling:
        return False
    usual = max(2.0, 0.02 * total)
    rarest = min(document_frequency(word) for word in telling)
    return rarest <= usual or (len(wanted) > 1 and len(telling) > 1 and rarest <= 3 * usual)


def _unjoined(text: str) -> str:
    return text.replace("-", " ").replace("_", " ")


_CUES: tuple[tuple[Relation, re.Pattern[str]], ...] = (
    (
        "supersedes",
        re.compile(
            r"\b(?:supersed(?:es?|ed|ing)|replac(?:es?|ed|ing)|no longer holds?"
            r"|no longer valid|overturns?|revokes?|withdraw(?:s|n)?|obsoletes?|corrects"
            r"|ersetzt|löst ab|abgelöst|gilt nicht mehr|hinfällig|überholt"
            r"|widerrufen|remplace|sustituye)\b|取代|代替|作废"
        ),
    ),
    (
        "contradicts",
        re.compile(
            r"\b(?:contradicts?|contrary to|disproves?|refutes?|was wrong about|opposite of"
            r"|widerspricht|widerlegt|im gegensatz zu|entgegen|contredit|contradice)\b|矛盾|相反"
        ),
    ),
)
# With what is replaced right behind it.
_REPLACES = re.compile(
    r"\b(?:replaces|supersedes|obsoletes|revokes|overturns|remplace|sustituye|ersetzt|löst"
    r"|(?:i|we|they|have|has|had|will|now|hereby) (?:replaced?|superseded?)"
    r"|(?:ich ersetze|wir ersetzen|ich löse|wir lösen))"
    r"(?: (?:the|my|our|his|her|their|this|that|old|former|previous|earlier|usual"
    r"|de[nrm]|die|das|mein\w{0,2}|unser\w{0,2}|alte[nrs]?|bisherige[nrs]?|früher[enrs]{1,2}"
    r"|le|la|les|el|los|las|mi|mon|ma|notre|nuestr[ao])){0,3}\W{1,3}"
)
# Letters on either side: what is called a sentence may be a whole note.
_LOOKED_AT = 300
# "löst … ab".
_PARTED = re.compile(r"[^,;:.]{0,60} ab\b")
_AGAINST = re.compile(
    r"\b(?:not(?! only)|never|hardly|scarcely|nothing|nobody|none|no|cannot|without|neither|nor"
    r"|may|might|could|should|would|nicht(?! nur)|nie|niemals|nichts|kein\w{0,2}|keineswegs|kaum"
    r"|ohne|könnten?|sollten?|würden?|dürften?)\b|n['’]t\b"
)
# Behind the verb as well: "Das ersetzt den Rückblick nicht."
_DENIED = re.compile(r"\b(?:nicht(?! nur)|keineswegs|not at all)\b")
_UNLESS = re.compile(
    r"\b(?:if|whether|unless|perhaps|maybe|wenn|falls|ob|vielleicht|quizás|peut-être)\b"
)
_CLAUSE = re.compile(r"[,;:()–—]")
_NEXT_WORD = re.compile(r"\s+(\w+)")
_NARROWED = re.compile(r"['’]|-\w")
_BY = re.compile(r"\b(?:by|with|durch|par|por)\b")
# After these, what is replaced is something else than what the title names.
_NARROWING = frozenset(["of", "von", "vom", "des", "der", "du", "de", "del", "della"])


def replaced_titles(titles: Sequence[str], sentences: Iterable[str]) -> set[int]:
    """Which of the titles name what a sentence says in so many words is replaced, by position.

    The whole title of two words or more follows the verb, and nothing that belongs to it follows
    that. So the words may be everyday ones, which elsewhere are in a text by chance.
    """
    verbs = [
        verb
        for sentence in map(fold, sentences)
        for verb in _REPLACES.finditer(sentence)
        if not is_doubted(sentence, verb)
    ]
    return {at for at, title in enumerate(titles) if verbs and _is_replaced(title, verbs)}


def _is_replaced(title: str, verbs: Iterable[re.Match[str]]) -> bool:
    tokens = TOKEN.findall(fold(title))
    if any(map(is_unspaced, tokens)) or sum(not is_stopword(token) for token in tokens) < 2:
        return False
    named = re.compile(r"\W{1,3}".join(map(re.escape, tokens)) + r"(?!\w)")
    return any(_is_object(named, verb) for verb in verbs)


def _is_object(named: re.Pattern[str], verb: re.Match[str]) -> bool:
    found = named.match(verb.string, verb.end())
    if found is None:
        return False
    rest = verb.string[found.end() : found.end() + _LOOKED_AT]
    if "lös" in verb[0]:
        return _PARTED.match(rest) is not None
    follows = _NEXT_WORD.match(rest)
    if _NARROWED.match(rest):
        return False
    return follows is None or (is_stopword(follows[1]) and follows[1] not in _NARROWING)


def stance(title: str, sentence: str) -> Relation | None:
    """What a sentence that names another note says of it: that it is replaced, or wrong."""
    folded = fold(sentence)
    named = folded.rfind(" ".join(fold(title).split()))
    for relation, cue in _CUES:
        for found in cue.finditer(folded):
            # "lunch is replaced by the review": not the review is.
            until = min(max(named, 0), found.end() + _LOOKED_AT)
            takes_its_place = _BY.search(folded, found.end(), until) is not None
            if not (takes_its_place or is_doubted(folded, found)):
                return relation
    return None


def is_doubted(sentence: str, cue: re.Match[str]) -> bool:
    """Whether a folded sentence denies, asks or supposes what it says with the cue."""
    before = sentence[max(cue.start() - _LOOKED_AT, 0) : cue.start()]
    after = sentence[cue.end() : cue.end() + _LOOKED_AT]
    clause = _CLAUSE.split(before)[-1]
    asks = sentence[-_LOOKED_AT:].rstrip(" \"”'’)").endswith("?")
    return (
        asks
        or _AGAINST.search(clause) is not None
        or _DENIED.search(_CLAUSE.split(after)[0]) is not None
        or _UNLESS.search(before) is not None
    )
