"""Which languages texts are in: a text alone, the notes of a vault together, a query there.

A script tells its language. Latin letters are those of many, which differ by their function words.
Only words that begin with a small letter count: `Dan`, `Ben`, `Meg` and `Van` are names in English,
and elsewhere words of grammar. A word that several languages have speaks for each of them a little.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from amem_cli.data import table, word_set

# A language of Latin letters of which no function words are known.
OTHER = "other"
# What each is called. A script alone does not tell Russian from Ukrainian.
_NAMES = {
    "ar": "in Arabic script", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "in Hebrew script",
    "hi": "in Devanagari", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "in Cyrillic script", "sv": "Swedish", "th": "Thai",
    "tr": "Turkish", "zh": "Chinese",
}  # fmt: skip
_NAMED_SHARES = 4
_NOUNS_IN_ENGLISH = "stopwords/nouns_in_english.txt"
_NOUN_WEIGHT = 0.4
_LETTERS_READ = 20_000
_SURVEYED_LETTERS = 1500
# A text tells a language of Latin letters clearly by so many different words of it.
_CLEAR_WORDS = 3
# It may be in another language than English if so much speaks for that one.
_LEAST_EVIDENCE = 0.75
_LEAST_SHARE = 0.06
# As many small words with hardly one of English grammar are of some other language; those of lists,
# whose lines are short, are not.
_PROSE_WORDS, _WORDS_OF_A_LINE, _FEW_OF_ENGLISH = 25, 8, 0.03
_LEAST_LETTERS = 10
# A note with more small words has to be clearly in a language to get its stems.
_SHORT_TEXT = 30
_POSSIBLE_SHARE = 0.03
# Of the notes that clearly tell their language, a language has at least this share to count. If
# they are fewer than a tenth, notes that hint at one count too, which takes a greater share.
_FAIR_SHARE, _FAIR_SHARE_OF_HINTS = 0.03, 0.15
_HARDLY_ANY = 0.1
_LETTERS_A_WORD = 5.0
_UNSPACED_LETTERS_A_WORD = 2.0

_PUNCTUATION = "!\"#%&'()*+,-.:;<=>?[]_`{|}~¡¿«»„“”‚‘…–—。、，·"
# By the first word of a letter's name in Unicode.
_SCRIPTS = {
    "LATIN": "latin", "GREEK": "el", "CYRILLIC": "ru", "ARMENIAN": "hy", "HEBREW": "he",
    "ARABIC": "ar", "DEVANAGARI": "hi", "THAI": "th", "HANGUL": "ko", "HIRAGANA": "ja",
    "KATAKANA": "ja", "KATAKANA-HIRAGANA": "ja", "CJK": "zh", "BOPOMOFO": "zh",
}  # fmt: skip

_OTHER_SCRIPT = re.compile("[\u0370-\u1dff\u3040-\U0003ffff]")


class Language(NamedTuple):
    """What a text tells of its language.

    Attributes:
        code: two letters, of a script for those that it tells; `OTHER`; empty if nothing tells.
        is_clear: False for a hint.
        possible: languages of Latin letters, but for English, in which some of it may be, if the
            text is of a vault that has notes in them.
    """

    code: str
    is_clear: bool
    possible: frozenset[str]


@cache
def function_words(language: str) -> frozenset[str]:
    """The folded words of a language that carry grammar and no subject; empty if none are known."""
    more = ("en", "de", "fr", "es")
    own = table("function_words.toml").get(language, "").split()
    return word_set(f"stopwords/{language}.txt").union(own) if language in more else frozenset(own)


def _latin_languages() -> tuple[str, ...]:
    return tuple(table("function_words.toml"))


@cache
def _languages_by_word() -> dict[str, tuple[dict[str, float], bool]]:
    """By function word what it weighs for each language, and whether it is one of English too."""
    english, nouns = function_words("en"), word_set(_NOUNS_IN_ENGLISH)
    having: dict[str, list[str]] = {word: [] for word in english}
    for language in _latin_languages():
        for word in function_words(language):
            having.setdefault(word, []).append(language)
    return {
        word: (
            dict.fromkeys(those, min(1 / max(len(those), 1), _NOUN_WEIGHT if word in nouns else 1)),
            word in english,
        )
        for word, those in having.items()
    }


# One note is asked for its language by several readers in turn.
@lru_cache(maxsize=512)
def language_of(text: str) -> Language:
    """What a text without front matter tells of its language; its beginning counts."""
    sample = unicodedata.normalize("NFKC", text[:_LETTERS_READ]).replace("’", "'")
    small = _small_words(sample)
    english = 0
    shared, different = Counter[str](), Counter[str]()
    evidence: dict[str, float] = defaultdict(float)
    known = _languages_by_word()
    for word, count in small.items():
        if word not in known:
            continue
        weights, is_english = known[word]
        english += count * is_english
        for language, weight in weights.items():
            if is_english:
                shared[language] += count
            else:
                evidence[language] += count * weight
                different[language] += 1
    total, most = small.total(), max(evidence.values(), default=0.0)
    is_short = total <= _SHORT_TEXT
    least = (1, 0.0) if is_short else (2, _POSSIBLE_SHARE * total)
    possible = frozenset(
        language
        for language, found in evidence.items()
        if 2 * found >= most and different[language] >= least[0] and found >= least[1]
    )
    if _OTHER_SCRIPT.search(sample) and (script := _script_of(letters := _letters(sample))):
        return Language(script, letters.total() >= _LEAST_LETTERS, possible)
    best = next((each for each, found in evidence.items() if found == most), "")
    if most > max(english - shared[best], _LEAST_EVIDENCE, _LEAST_SHARE * total):
        code, is_clear = best, different[best] >= _CLEAR_WORDS
    elif english <= _FEW_OF_ENGLISH * total and _words_of_prose(sample) >= _PROSE_WORDS:
        code, is_clear = OTHER, True
    else:
        code, is_clear = "en" if english else "", english >= _CLEAR_WORDS
    if is_short and not english and not is_clear:
        possible = frozenset(_latin_languages())
    return Language(code, is_clear, possible)


def detect_language(text: str) -> str:
    """Two-letter code of a text's language, or of its script; `en` if it does not tell."""
    return language_of(text).code or "en"


def languages_that_count(notes: Mapping[tuple[str, bool], int]) -> tuple[str, ...]:
    """The languages of Latin letters in which a vault has a fair share of its notes; those of more
    notes first, English always among them.
    """
    clear, hinted = Counter[str](), Counter[str]()
    for (code, is_clear), count in notes.items():
        hinted[code] += count if code else 0
        clear[code] += count if is_clear else 0
    share = _FAIR_SHARE
    if clear.total() < _HARDLY_ANY * hinted.total():
        clear, share = hinted, _FAIR_SHARE_OF_HINTS
    least = max(share * clear.total(), 1)
    counting = ("en", *(code for code in _latin_languages() if clear[code] >= least))
    return tuple(sorted(counting, key=lambda code: -clear[code]))


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """The share of each language by words, 0..1, most first; empty if no text tells.

    Args:
        texts: prose without markup and code; of each, the beginning counts. Those that do not tell
            clearly, such as lists, are read as one text.
    """
    amounts: dict[str, float] = defaultdict(float)
    unclear: list[str] = []
    for text in (each[:_SURVEYED_LETTERS] for each in texts):
        told = language_of(text)
        if told.is_clear and told.code:
            amounts[told.code] += _words_in(text)
        else:
            unclear.append(text)
    together = "\n".join(unclear)
    if (told := language_of(together)).is_clear and told.code not in ("", OTHER):
        amounts[told.code] += _words_in(together)
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


def _small_words(sample: str) -> Counter[str]:
    stripped = [piece.strip(_PUNCTUATION) for piece in sample.split()]
    return Counter([word.casefold() for word in stripped if word[:1].islower()])


def _words_of_prose(sample: str) -> int:
    """Words with a small letter in lines that have more than a few of them."""
    lines = (_small_words(line).total() for line in sample.splitlines())
    return sum(count for count in lines if count >= _WORDS_OF_A_LINE)


def _letters(sample: str) -> Counter[str]:
    """How many letters a text has of each script."""
    scripts = Counter[str]()
    for character, count in Counter(sample).items():
        if character.isalpha():
            name = unicodedata.name(character, "").partition(" ")[0]
            scripts[_SCRIPTS.get(name, OTHER)] += count
    return scripts


def _script_of(letters: Counter[str]) -> str:
    """The script that tells the language; empty for Latin letters, and for none."""
    total = letters.total()
    # Few kana are enough: Japanese texts may be mostly Han characters.
    if letters["ja"] and letters["ja"] >= 0.05 * total:
        return "ja"
    script, count = next(iter(letters.most_common(1)), ("latin", 0))
    if script != "latin" and count >= 0.3 * total:
        return script
    return "zh" if letters["zh"] and letters["zh"] >= 0.2 * total else ""


def _words_in(text: str) -> float:
    """How many words a text has, about; those of an unspaced script count by their letters."""
    letters = _letters(text)
    unspaced = sum(letters[script] for script in ("zh", "ja", "ko"))
    return (letters.total() - unspaced) / _LETTERS_A_WORD + unspaced / _UNSPACED_LETTERS_A_WORD
