"""How text is cut into words and sentences, in any script, and the stems of words by Snowball.

A word of a script gets the stem of the language that is most often written in it. Latin letters are
those of many languages: `language/detect` says which of them a text is in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from amem_cli.data import lines, word_set
from amem_cli.language.detect import detect_language, function_words
from amem_cli.language.lexicon import ACCENTS, INVISIBLE, in_plain_letters, word_list
from amem_cli.language.lexicon import fold as fold
from amem_cli.language.lexicon import without_accents as without_accents

if TYPE_CHECKING:
    from Stemmer import Stemmer

_HAN = "々〇㐀-䶿一-鿿\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
# Vowel signs and other marks are not `\w` to Python, yet belong to the word they are on.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0957"
    "\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a81-\u0a83\u0abc-\u0acd"
    "\u0b01-\u0b03\u0b3c-\u0b57\u0bbe-\u0bcd\u0c3e-\u0c56\u0cbc-\u0cd6\u0d3e-\u0d57"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e" + INVISIBLE
)
_UNSPACED = f"[{_HAN}{_KANA}{_HANGUL}]"
_START = rf"[^\W_{_HAN}{_KANA}{_HANGUL}]"
_LETTER = rf"(?:{_START}|[{_MARKS}])"
_JOINED = rf"(?:(?:[-_'’]|(?<=\d)[.,:](?=\d)){_LETTER}+)*"
_WORD = rf"{_START}{_LETTER}*{_JOINED}(?:\+\+|#(?!\w))?"
TOKEN = re.compile(rf"{_UNSPACED}+|{_WORD}")
UNSPACED_RUN = re.compile(rf"{_UNSPACED}+")

SEPARATOR = re.compile(r"[-_'’.,:]+")
_SENTENCE_END = re.compile(r"[.!?]{1,8}[\"'”’»«)\]*_]{0,4}(?=\s|$)|[。！？…][”’」』）]{0,4}")
_BLOCK_START = re.compile(r"[ \t]{0,16}(?:[-*+•>|#]|\d{1,3}[.)]|```|~~~|→)")
_MONTHS = (
    "jan", "feb", "mär", "maer", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"
)  # fmt: skip
# A shorter line was not wrapped, so the next one does not continue it.
_SHORT_LINE = 55


def is_unspaced(word: str) -> bool:
    """True for a word of Chinese, Japanese or Korean characters."""
    return bool(word) and UNSPACED_RUN.match(word) is not None


def words(text: str) -> list[str]:
    """Folded words in order: letters and digits with inner hyphen, underscore or apostrophe.

    A possessive ending is dropped, a number's inner separators become a point, `c++` and `c#` stay
    whole, and a run of Chinese, Japanese or Korean characters is one word.
    """
    return [plain_word(match) for match in TOKEN.findall(fold(text))]


def plain_word(token: str) -> str:
    """A folded token of `TOKEN` without a possessive ending, and with points inside a number."""
    token = token.replace("’", "'")
    if token.endswith("'s"):
        return token[:-2]
    if token[0].isdigit():
        return token.replace(",", ".").replace(":", ".")
    return token


def is_stopword(word: str, language: str = "en") -> bool:
    """True for a folded word that carries no subject in a text of the language.

    The stop words of English, German, French and Spanish count in every text, but for the few that
    are nouns or verbs in English (`car`, `die`, `war`): those count in their own language only.
    """
    return word in _stopwords(language)


@cache
def _stopwords(language: str) -> frozenset[str]:
    everywhere = frozenset[str]().union(*map(function_words, ("de", "fr", "es")))
    nouns = word_set("stopwords/nouns_in_english.txt")
    return everywhere - nouns | function_words("en") | function_words(language)


def is_generic(word: str) -> bool:
    """True for a folded word worth searching for that is never what a note is about (`week`)."""
    return word in word_list("generic")


def cjk_bigrams(run: str) -> list[str]:
    """Overlapping pairs of a run of characters; the run itself if it is one character."""
    if len(run) < 2:
        return [run] if run else []
    return [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A light stem shared by the inflected forms of an English or German word.

    Only for comparing words of two texts; not a stem that a dictionary knows.
    """
    if len(word) < 5 or is_unspaced(word) or not word.isalpha():
        return word
    if word.endswith(("ss", "us", "is")):
        return word
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)] + replacement
    return word


# An ending comes before those that it ends with itself, such as `ies` before `es` and `s`.
_ENDINGS = (
    ("ings", ""), ("ing", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ed", ""),
    ("ern", ""), ("es", ""), ("en", ""), ("er", ""), ("em", ""), ("e", ""), ("n", ""), ("s", ""),
)  # fmt: skip


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped, in order; a list item, heading or table row is its own.

    A full stop after an abbreviation, number or initial, or before a small letter, ends nothing.
    Linear in the length of the text.
    """
    return [
        sentence
        for paragraph in _paragraphs(text)
        for sentence in _split_paragraph(paragraph)
        if sentence
    ]


def _paragraphs(text: str) -> list[str]:
    paragraphs: list[list[str]] = []
    joins = False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and joins and not _BLOCK_START.match(line):
            paragraphs[-1].append(stripped)
        elif stripped:
            paragraphs.append([stripped])
        joins = len(stripped) >= _SHORT_LINE and stripped[0] not in "#|"
    return [" ".join(lines) for lines in paragraphs]


def _split_paragraph(paragraph: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(paragraph):
        if _ends_sentence(paragraph, match):
            pieces.append(paragraph[start : match.end()].strip())
            start = match.end()
    pieces.append(paragraph[start:].strip())
    return pieces


def _ends_sentence(paragraph: str, match: re.Match[str]) -> bool:
    following = paragraph[match.end() : match.end() + 5].strip()
    if paragraph[match.end() : match.end() + 2].strip()[:1].islower():
        return False
    if not match.group().startswith(".") or match.group().startswith(".."):
        return True
    before = paragraph[max(0, match.start() - 12) : match.start()]
    word = re.split(r"[\s(.„“\"]", before)[-1]
    is_initial = len(word) == 1 and word.isalpha() and word != "I"
    is_ordinal = (
        word.isdigit()
        and len(word) <= 2
        and (match.start() == len(word) or following.casefold().startswith(_MONTHS))
    )
    return not (word.casefold() in word_set("abbreviations.txt") or is_initial or is_ordinal)


@lru_cache(maxsize=512)
def subject_stems(text: str) -> frozenset[str]:
    """Stems of the words that carry a subject; pairs of characters for unspaced scripts."""
    language = detect_language(text)
    stems: set[str] = set()
    for token in TOKEN.findall(fold(text)):
        if is_unspaced(token):
            stems.update(cjk_bigrams(token))
            continue
        for word in words(token):
            parts = [part for part in re.split(r"[-_'.]", word) if part]
            stems.update(stem(one) for one in (word, *parts) if not is_stopword(one, language))
    return frozenset(stems)


_SHORTEST = 4
_SHORTEST_NUMBERED = 3
_TWO_MISTAKES = 8


def mistakes_allowed(word: str) -> int:
    """How many letters of a word may be wrong; none in a short one, in a number, or in Chinese."""
    if len(word) < _SHORTEST or not word.isalpha() or is_unspaced(word):
        return 0
    return 2 if len(word) >= _TWO_MISTAKES else 1


def may_be_cut(word: str) -> bool:
    has_digit = any(map(str.isdigit, word))
    return mistakes_allowed(word) > 0 or (has_digit and len(word) >= _SHORTEST_NUMBERED)


def nearest_spelling(word: str, known: Iterable[tuple[str, int]]) -> str | None:
    """The known word with the fewest mistakes between, the most frequent of several."""
    allowed = mistakes_allowed(word)
    forms = index_stems(without_accents(word))
    best: tuple[int, int, str] | None = None
    for term, count in known:
        between = min(distance(form, term, allowed) for form in forms)
        if between <= allowed and (best is None or (between, -count, term) < best):
            best = (between, -count, term)
    return best[2] if best else None


def index_stems(word: str) -> set[str]:
    """What the index may have made of a word: it cuts endings as Porter's stemmer does."""
    forms = {word, stem(word)}
    if word.endswith(("s", "e")):
        forms.add(word[:-1])
    elif word.endswith("y"):
        forms.add(word[:-1] + "i")
    return forms


def distance(left: str, right: str, limit: int) -> int:
    """Letters to insert, drop, replace, or swap with the next; `limit + 1` if there are more."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        current = [i]
        for j, other in enumerate(right, 1):
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + (letter != other))
            swapped = i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other
            current.append(min(cost, before[j - 2] + 1) if swapped else cost)
        if min(current) > limit:
            return limit + 1
        before, row = row, current
    return min(row[-1], limit + 1)


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
    greek = {code: without_accents(fold(chr(code))) for code in range(0x1F00, 0x2000)}
    others = {ord(one): other for one, other in (pairs | alike).items()}
    return {**dict.fromkeys(marks), **greek, **others}


def fold_scripts(folded: str) -> str:
    """Folded text with one spelling of what some write otherwise: simplified for traditional
    characters, Arabic and Hebrew without vowel signs, Arabic letters without their variants,
    ancient Greek without accents."""
    return folded if folded.isascii() else folded.translate(_folding())


def stems(word: str, languages: Iterable[str] = ()) -> Iterator[str]:
    """The stems of a folded word, each behind the code of its language."""
    if len(word) < _SHORTEST_STEMMED:
        return
    if _OTHER_SCRIPTS.search(word):
        for language, letters in _OF_SCRIPTS:
            if letters.match(word):
                yield language + stem_of(word, language)
        return
    bare = word if word.isascii() else ACCENTS.sub("", unicodedata.normalize("NFD", word))
    # A stemmer may know the letter, a query may be without it.
    spellings = dict.fromkeys((bare, in_plain_letters(bare)))
    for language in languages:
        if language == "de":
            yield language + german_stem(word)
        elif language != "en":
            yield from (language + stem_of(spelling, language) for spelling in spellings)


@lru_cache(maxsize=50_000)
def stem_of(word: str, language: str) -> str:
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
