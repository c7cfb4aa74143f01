"""The words of a note that tell its subject: names, identifiers, nouns and rare words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from amem_cli.core.markdown_prose import prose
from amem_cli.core.words import (
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
from amem_cli.data import word_set

DocumentFrequency = Callable[[str], int]

_MAX_TEXT = 8_000
_WORDS_OF_A_QUOTATION = 4
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
    """True for a folded word, in any form, that is common in English or German speech."""
    return stem(word) in _everyday_stems()


@cache
def _everyday_stems() -> frozenset[str]:
    return frozenset(map(stem, word_set("everyday/en.txt") | word_set("everyday/de.txt")))


def is_dull(word: str) -> bool:
    """True for a folded word that says nothing about a subject in any note."""
    return is_stopword(word) or is_generic(word) or word.isdigit() or is_everyday(word)


def searchable(text: str) -> str:
    """The text as `mentions_title` wants it: folded words between single blanks."""
    return f" {' '.join(words(_unjoined(text[:_MAX_TEXT])))} "


def mentions_title(
    title: str, searchable_text: str, document_frequency: DocumentFrequency, total: int
) -> bool:
    """True where the whole title stands in the text and does so hardly by chance.

    A title of one word must be rare in the vault and no everyday word; one of four words is quoted.
    """
    wanted = words(_unjoined(title))
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
