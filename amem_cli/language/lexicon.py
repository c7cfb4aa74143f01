"""What amem knows of each language: cues, dates, numbers and word lists, a file a language.

The files are `data/languages/*.toml`; docs/your-language.md explains every field. A text may mix
languages, so most readers join them: `phrases`, `word_list`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from amem_cli import data

_FOLDER = "languages"
# Tables of phrases; what else a file has is words, numbers and sentences.
_PHRASES = (
    "replaced", "refuted", "confirmed", "settled", "changed", "doubts", "references", "dates"
)  # fmt: skip
_NAMES = ("months", "weekdays")
# Joiners, soft hyphens, blanks without width, marks of direction: nobody sees or types them.
INVISIBLE = (
    "\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
_UNSEEN = re.compile(f"[{INVISIBLE}]")
ACCENTS = re.compile("[\u0300-\u036f]")
# Letters with a stroke, hook or bar, which Unicode does not take apart, and joined ones.
_PLAIN: dict[int, str | int | None] = {
    **str.maketrans("łøǿđðħŧıŋƒɓɗɖƙɠɲɛɔƴƶǥɨʉɵƚȷ", "looddhtinfbddkgneoyzgiuolj"),
    ord("þ"): "th",
    ord("æ"): "ae",
    ord("ǽ"): "ae",
    ord("ǣ"): "ae",
    ord("œ"): "oe",
}
_IN_TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
# Marks that texts are set with, and the keys on which they are typed.
_TYPED = str.maketrans("‘’ʻʼ“”„‐‑–—", 4 * "'" + '"' * 3 + "-" * 4)
_NOT_PLAIN = re.compile(f"[{''.join(map(chr, _PLAIN))}]")
# What a template of a date holds in braces.
PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Language:
    """One language file, folded.

    Attributes:
        code: two letters, the file's name.
        phrases: by table and field, such as `replaced.acts`.
        units: words for `day`, `week`, `month` and `year`.
        numbers: value by word.
        separable: particle by the beginning of the verb that it belongs to.
        words: by field of the table `words`.
        links: sentences by purpose; empty if the file has none.
    """

    code: str
    name: str
    phrases: Mapping[str, tuple[str, ...]]
    units: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, int]
    separable: Mapping[str, str]
    words: Mapping[str, frozenset[str]]
    links: Mapping[str, str]

    def field(self, name: str) -> tuple[str, ...]:
        """The phrases of a field, such as `dates.ago`; empty if the file leaves it out."""
        return self.phrases.get(name, ())


@cache
def languages() -> tuple[Language, ...]:
    """Every language that has a file, English first, the others by their codes."""
    files = [name for name in data.names(_FOLDER) if name.endswith(".toml")]
    files.sort(key=lambda name: (name != "en.toml", name))
    return tuple(
        language_of(each.removesuffix(".toml"), data.table(f"{_FOLDER}/{each}")) for each in files
    )


def language(code: str) -> Language | None:
    return next((each for each in languages() if each.code == code), None)


@cache
def phrases(field: str) -> tuple[str, ...]:
    """The phrases of a field in all languages, each once, in the order of `languages`."""
    return tuple(dict.fromkeys(phrase for each in languages() for phrase in each.field(field)))


@cache
def word_list(field: str) -> frozenset[str]:
    return frozenset().union(*(each.words.get(field, frozenset()) for each in languages()))


@cache
def number_words() -> Mapping[str, str]:
    return {word: str(value) for each in languages() for word, value in each.numbers.items()}


@cache
def month_words() -> Mapping[str, str]:
    """Digits by the names of months, in the languages whose file has the weekdays as well."""
    return {
        name: str(number)
        for each in languages()
        if each.field("dates.weekdays")
        for number, row in enumerate(each.field("dates.months"), 1)
        for name in fold(row).split()
    }


@cache
def calendar_words() -> frozenset[str]:
    """Names of weekdays, and of the months in the languages whose file has both."""
    weekdays = " ".join(phrases("dates.weekdays"))
    return frozenset((*fold(weekdays).split(), *month_words()))


def language_of(code: str, told: Mapping[str, Any]) -> Language:
    """The language that a file tells of; `tests/language/test_lexicon.py` checks the files."""
    dates = told.get("dates", {})
    phrases = {
        f"{table}.{field}": tuple(
            each
            if field in _NAMES
            else _folded(each, is_pattern=table == "dates" or is_expression(each))
            for each in texts
        )
        for table in _PHRASES
        for field, texts in told.get(table, {}).items()
        if field != "units"
    }
    named = phrases.get("references.documents", ()) + phrases.get("references.parts", ())
    parts = "|".join(each[1:-1] if is_expression(each) else re.escape(each) for each in named)
    return Language(
        code,
        told["name"],
        {
            field: tuple(each.replace("{parts}", parts) for each in texts)
            for field, texts in phrases.items()
        },
        {unit: tuple(fold(row).split()) for unit, row in dates.get("units", {}).items()},
        {
            word: int(value)
            for value, row in told.get("numbers", {}).items()
            for word in fold(row).split()
        },
        {fold(key): fold(value) for key, value in told.get("separable", {}).items()},
        {field: frozenset(fold(row).split()) for field, row in told.get("words", {}).items()},
        told.get("links", {}),
    )


def _folded(phrase: str, *, is_pattern: bool) -> str:
    # In expressions `\W` is not `\w`, so only the letter that folding makes two is changed.
    return phrase.replace("ß", "ss") if is_pattern or is_expression(phrase) else fold(phrase)


def without_unseen(text: str) -> str:
    """The text without soft hyphens, joiners and other characters that cannot be seen."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def fold(text: str) -> str:
    """The text as it is compared: compatibility forms composed (NFKC), case folded, without what
    cannot be seen."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", without_unseen(text)).casefold()


def in_plain_letters(folded: str) -> str:
    """Folded text with plain letters for those with a stroke, a hook or a bar, and for joined ones:
    `lodz` for `łodz`, `aesir` for `æsir`. Other accents stay."""
    if folded.isascii() or not _NOT_PLAIN.search(folded):
        return folded
    return folded.translate(_PLAIN)


def without_accents(folded: str) -> str:
    """Folded text as somebody types it whose keyboard has no accents."""
    if folded.isascii():
        return folded
    return in_plain_letters(ACCENTS.sub("", unicodedata.normalize("NFD", folded)))


def as_typed(folded: str) -> tuple[str, ...]:
    """Folded text as people type it whose keyboard lacks its letters: without accents, and with two
    letters for an umlaut or a ring, `groesse` for `größe`; with plain quotes and hyphens. Alike,
    once."""
    if folded.isascii():
        return (folded,)
    folded = folded.translate(_TYPED)
    forms = (folded, folded.translate(_IN_TWO_LETTERS))
    return tuple(dict.fromkeys(map(without_accents, forms)))


def is_expression(phrase: str) -> bool:
    return len(phrase) > 2 and phrase.startswith("/") and phrase.endswith("/")
