"""Stems of words in many languages, by Snowball, and folding by which scripts find one another.

A word of a script gets the stem of the language that is most often written in it. Latin letters are
those of many languages: `language/detect` says which of them a text is in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from amem_cli.data import lines

if TYPE_CHECKING:
    from Stemmer import Stemmer

_ALGORITHMS = {
    "ar": "arabic", "cs": "czech", "da": "danish", "el": "greek", "es": "spanish", "fi": "finnish",
    "fr": "french", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
_SCRIPTS = {
    "ar": "\u0600-\u06ff", "el": "\u0370-\u03ff", "he": "\u0590-\u05ff", "hi": "\u0900-\u097f",
    "hy": "\u0530-\u058f", "ru": "\u0400-\u04ff", "ta": "\u0b80-\u0bff",
}  # fmt: skip
LATIN_LANGUAGES = ("de", *(code for code in _ALGORITHMS if code not in _SCRIPTS))
_OF_SCRIPTS = [(language, re.compile(f"[{letters}]")) for language, letters in _SCRIPTS.items()]
_OTHER_SCRIPTS = re.compile(f"[{''.join(_SCRIPTS.values())}]")
# Scripts without blanks between words, but for those of Chinese, Japanese and Korean.
RUN_OF_LETTERS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
_UMLAUTS = str.maketrans("äöü", "aou")
_WITHOUT_UMLAUT = (("ae", "a"), ("oe", "o"), ("ue", "u"))
_SOUNDS = (("sch", "$"), ("ei", "%"), ("ie", "&"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_SHORTEST_STEMMED = 3
# "And", "the", "in", "to", "from", "that" and "as" are written as one letter before a Hebrew word.
_HEBREW_PREFIXES, _SHORTEST_PREFIXED = "והבלמשכ", 4


@cache
def _folding() -> dict[int, str | None]:
    """What is one to those who read a script: by character, the one that stands for it."""
    pairs = {pair[0]: pair[1] for line in lines("traditional_chinese.txt") for pair in line.split()}
    # Vowel signs of Arabic and Hebrew, which are seldom written, and the dot under Hindi letters.
    marks = [*range(0x0591, 0x05C8), *range(0x064B, 0x0660), 0x0670, 0x0640, 0x093C]
    alike = {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ک": "ك", "ی": "ي"}
    return {**dict.fromkeys(marks), **{ord(one): other for one, other in (pairs | alike).items()}}


def fold_scripts(folded: str) -> str:
    """Folded text with one spelling of what some write otherwise: simplified for traditional
    characters, Arabic and Hebrew without vowel signs, Arabic letters without their variants."""
    return folded if folded.isascii() else folded.translate(_folding())


def stems(word: str, languages: Iterable[str] = ()) -> Iterator[str]:
    """The stems of a folded word, each behind the code of its language.

    Args:
        languages: those to take of a word in Latin letters; English has none here.
    """
    if len(word) < _SHORTEST_STEMMED:
        return
    if _OTHER_SCRIPTS.search(word):
        for language, letters in _OF_SCRIPTS:
            if letters.match(word):
                yield language + stem_of(word, language)
        return
    bare = word if word.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    for language in languages:
        if language == "en":
            continue
        yield language + (german_stem(word) if language == "de" else stem_of(bare, language))


@lru_cache(maxsize=50_000)
def stem_of(word: str, language: str) -> str:
    """The stem of a folded word in a language."""
    if language == "he":
        has_prefix = len(word) >= _SHORTEST_PREFIXED and word[0] in _HEBREW_PREFIXES
        return word[1:] if has_prefix else word
    if language == "ar" and len(word) > _SHORTEST_PREFIXED and word.startswith(("وال", "بال")):
        word = word[1:]
    stemmed: str = _stemmer(language).stemWord(word)
    return stemmed


@lru_cache(maxsize=20_000)
def german_stem(word: str) -> str:
    """The stem of a folded German word, the same with umlaut, with `ae`, and with a bare vowel.

    The endings are those of CISTEM (Weissweiler and Fraser 2017), without its prefix `ge`.
    """
    stem = word.translate(_UMLAUTS)
    for sound, sign in _SOUNDS:
        stem = stem.replace(sound, sign)
    while len(stem) > 3:
        if len(stem) > 5 and stem.endswith(("em", "er", "nd")):
            stem = stem[:-2]
        elif stem.endswith(("t", "e", "s", "n")):
            stem = stem[:-1]
        else:
            break
    for written, vowel in _WITHOUT_UMLAUT:
        stem = stem.replace(written, vowel)
    for sound, sign in _SOUNDS:
        stem = stem.replace(sign, sound)
    return stem


@cache
def _stemmer(language: str) -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer(_ALGORITHMS[language], 0)
