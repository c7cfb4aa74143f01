"""Which share of many texts is in which language.

Of 100 small words of an English note at least 30 are among its stop words, of other languages at
most 11: measured on seven invented people's notes and two published vaults, and on the paragraphs
of tests/language/test_survey.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amem_cli.data import word_set
from amem_cli.language.words import detect_language, is_unspaced, words

# A language of Latin letters that is none of those with stop words.
OTHER = "other"
# What each share is called. A script alone does not tell Russian from Ukrainian.
_NAMES = {
    "ar": "in Arabic script",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "he": "in Hebrew script",
    "hi": "in Devanagari",
    "hy": "Armenian",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "in Cyrillic script",
    "th": "Thai",
    "zh": "Chinese",
}
_NAMED_SHARES = 4
# Letters of a text that are looked at; more of it seldom say anything else.
_LETTERS_READ = 1500
# Lists, names and headings have no stop words in any language: only paragraphs with so many words
# that begin with a small letter count.
_PROSE_WORDS = 8
# A shorter line was not wrapped, so the next one does not continue it.
_SHORT_LINE = 55
# A text with fewer such words, or of another script with fewer letters, tells nothing.
_LEAST_WORDS = 12
_LEAST_LETTERS = 10
_ENGLISH_FROM = 0.16
# Their neighbours share words with German, French and Spanish: Portuguese has 26 in 100 of Spanish.
_NAMED_FROM = 0.33
_LATIN = ("en", "de", "fr", "es")
_LETTERS_A_WORD = 5.0
_UNSPACED_LETTERS_A_WORD = 2.0


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """The share of each language by words, 0..1, most first; empty if no text tells.

    Args:
        texts: prose without markup and code; of each, the beginning counts.

    Returns:
        Shares by two-letter code, of a script for those that `detect_language` tells by it, or
        `OTHER`. Texts that do not tell, such as lists, count for nothing.
    """
    amounts: dict[str, float] = {}
    for text in texts:
        text = text[:_LETTERS_READ]
        if language := language_of_prose(text):
            amounts[language] = amounts.get(language, 0.0) + _words_in(text)
    total = sum(amounts.values())
    ranked = sorted(amounts, key=lambda language: (-amounts[language], language))
    return {language: amounts[language] / total for language in ranked}


def named_shares(shares: Mapping[str, float]) -> str:
    """The greatest shares in words, as `German 52 %, English 48 %`."""
    named = [
        f"{_NAMES.get(language, 'another language')} {100 * share:.0f} %"
        for language, share in shares.items()
        if share >= 0.005
    ]
    return ", ".join(named[:_NAMED_SHARES])


def language_of_prose(text: str) -> str:
    """The language of one text, as `language_shares` counts it; empty if it does not tell."""
    language = detect_language(text)
    if language not in _LATIN:
        is_enough = sum(map(str.isalpha, text)) >= _LEAST_LETTERS
        return language if is_enough else ""
    small = _small_words(text)
    if len(small) < _LEAST_WORDS:
        return ""
    if language != "en" and _share(small, language) >= _NAMED_FROM:
        return language
    return "en" if _share(small, "en") >= _ENGLISH_FROM else OTHER


def _small_words(text: str) -> list[str]:
    """Folded words of paragraphs that begin with a small letter."""
    found: list[str] = []
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        paragraph += [word for word in line.split() if word[0].islower()]
        if len(line) < _SHORT_LINE:
            if len(paragraph) >= _PROSE_WORDS:
                found += words(" ".join(paragraph))
            paragraph = []
    return found


def _share(small: list[str], language: str) -> float:
    known = word_set(f"stopwords/{language}.txt")
    return sum(word in known for word in small) / len(small)


def _words_in(text: str) -> float:
    """How many words a text has, about; those of an unspaced script count by their letters."""
    unspaced = sum(map(is_unspaced, text))
    spaced = sum(map(str.isalpha, text)) - unspaced
    return spaced / _LETTERS_A_WORD + unspaced / _UNSPACED_LETTERS_A_WORD
