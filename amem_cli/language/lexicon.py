"""What amem knows of each language: cues, dates, numbers and word lists, a file a language.

The files are `data/languages/*.toml`; docs/your-language.md explains every field. A text may mix
languages, so most readers join them: `phrases`, `word_list`.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from amem_cli import data

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FOLDER = "languages"
_CUES = ("acts", "states", "alone", "joined")
_PHRASES = {
    "replaced": _CUES,
    "refuted": _CUES,
    "confirmed": _CUES,
    "settled": _CUES,
    "doubts": ("denials", "denials_behind", "suppositions", "question_ends"),
    "references": (
        "determiners", "fillers", "narrowing", "documents", "parts", "part_numbers", "quoting",
        "what", "says", "within", "articles", "parts_behind", "of_notes", "relatives", "pronouns",
        "between", "prepositions", "joined_by", "agents", "itself", "written", "written_behind",
    ),
    "dates": (
        "months", "weekdays", "full", "days", "months_named", "weekdays_named",
        "weekdays_of_last_week", "today", "yesterday", "day_before_yesterday", "this_week",
        "last_week", "this_month", "last_month", "this_year", "last_year", "ago",
    ),
}  # fmt: skip
_WORDS = (
    "pointing", "time", "units", "generic", "everyday", "unfit", "unfit_verbs", "particles",
    "particle_characters", "after_verbs",
)  # fmt: skip
_LINKS = (
    "both_speak", "mentions", "tagged", "close", "supersedes", "contradicts", "supports", "settles",
    "comma", "conjunction", "superseded_since", "now_supersedes", "now_contradicts", "now_supports",
    "now_related",
)  # fmt: skip
_UNITS = ("day", "week", "month", "year")
# What a template of a date may hold in braces.
_PLACES = {"year", "month", "month_number", "day", "weekday", "number", "unit"}
PLACE = re.compile(r"\{([a-z_]+)\}")
_ROWS = {"months": 12, "weekdays": 7}


class LanguageFileError(ValueError):
    """A language file that cannot be used; the message names the file, the field and the fault."""


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
    return tuple(read_language(each, data.text(f"{_FOLDER}/{each}")) for each in files)


def language(code: str) -> Language | None:
    """The language of a two-letter code, if it has a file."""
    return next((each for each in languages() if each.code == code), None)


@cache
def phrases(field: str) -> tuple[str, ...]:
    """The phrases of a field in all languages, each once, in the order of `languages`."""
    return tuple(dict.fromkeys(phrase for each in languages() for phrase in each.field(field)))


@cache
def word_list(field: str) -> frozenset[str]:
    """The words of a field of the table `words` in all languages."""
    return frozenset().union(*(each.words.get(field, frozenset()) for each in languages()))


@cache
def number_words() -> Mapping[str, str]:
    """Digits by the words for them, in all languages."""
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


def read_language(name: str, text: str) -> Language:
    """A language file.

    Args:
        name: of the file, such as `de.toml`.

    Raises:
        LanguageFileError: it is no TOML, or a field is unknown, of the wrong kind, or unusable.
    """
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LanguageFileError(f"{name}: not TOML: {error}") from None
    reader = _Reader(name, told)
    return reader.language()


class _Reader:
    def __init__(self, name: str, told: Mapping[str, Any]) -> None:
        self._name, self._told = name, told

    def language(self) -> Language:
        code = self._name.removesuffix(".toml")
        if not re.fullmatch(r"[a-z]{2,3}", code):
            self._refuse("", "the file's name must be a language code, such as `nl.toml`")
        tables = {*_PHRASES, "words", "links", "numbers", "separable"}
        for key in self._told:
            if key != "name" and key not in tables:
                self._refuse(key, f"unknown; a table is one of {', '.join(sorted(tables))}")
        if not isinstance(self._told.get("name"), str):
            self._refuse("name", "missing: the language's name in English")
        phrases = {
            f"{table}.{field}": self._phrases(table, field)
            for table, fields in _PHRASES.items()
            for field in self._fields(table, (*fields, *(["units"] * (table == "dates"))))
            if field != "units"
        }
        return Language(
            code,
            self._told["name"],
            _with_parts(phrases),
            self._units(),
            self._numbers(),
            {fold(key): fold(value) for key, value in self._texts("separable").items()},
            {
                field: frozenset(fold(value).split())
                for field, value in self._texts("words", _WORDS).items()
            },
            self._links(),
        )

    def _refuse(self, field: str, fault: str) -> None:
        raise LanguageFileError(f"{self._name}: {f'`{field}`: ' if field else ''}{fault}")

    def _fields(self, table: str, known: tuple[str, ...] = ()) -> Mapping[str, Any]:
        fields: Any = self._told.get(table, {})
        if not isinstance(fields, dict):
            self._refuse(table, "must be a table")
        for field in fields:
            if known and field not in known:
                self._refuse(f"{table}.{field}", f"unknown; a field is one of {', '.join(known)}")
        return dict(fields)

    def _texts(self, table: str, known: tuple[str, ...] = ()) -> Mapping[str, str]:
        fields = self._fields(table, known)
        for field, value in fields.items():
            if not isinstance(value, str):
                self._refuse(f"{table}.{field}", "must be a text")
        return fields

    def _phrases(self, table: str, field: str) -> tuple[str, ...]:
        name, value = f"{table}.{field}", self._told[table][field]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self._refuse(name, "must be a list of texts")
        if field in _ROWS:
            if len(value) != _ROWS[field]:
                self._refuse(name, f"must have {_ROWS[field]} rows, has {len(value)}")
            return tuple(value)
        if not all(each.strip("/ ") for each in value):
            self._refuse(name, "holds an empty phrase")
        # In expressions `\W` is not `\w`, so only the letter that folding makes two is changed.
        return tuple(
            each.replace("ß", "ss") if table == "dates" or is_expression(each) else fold(each)
            for each in value
        )

    def _units(self) -> Mapping[str, tuple[str, ...]]:
        units = self._fields("dates").get("units", {})
        if not isinstance(units, dict) or not all(isinstance(each, str) for each in units.values()):
            self._refuse("dates.units", "must be a table of texts")
        for unit in units:
            if unit not in _UNITS:
                self._refuse("dates.units", f"{unit!r} is none of {', '.join(_UNITS)}")
        return {unit: tuple(fold(value).split()) for unit, value in units.items()}

    def _numbers(self) -> Mapping[str, int]:
        texts = self._texts("numbers")
        for value in texts:
            if not value.isdecimal():
                self._refuse(f"numbers.{value}", "the key must be a number in digits")
        return {word: int(value) for value, row in texts.items() for word in fold(row).split()}

    def _links(self) -> Mapping[str, str]:
        links = self._texts("links", _LINKS)
        missing = [each for each in _LINKS if each not in links] if links else []
        if missing:
            self._refuse("links", f"lacks {', '.join(missing)}")
        return links


def _with_parts(phrases: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """The phrases, with `{parts}` replaced by what names a document or a part of one."""
    named = [
        each[1:-1] if is_expression(each) else re.escape(each)
        for field in ("references.documents", "references.parts")
        for each in phrases.get(field, ())
    ]
    parts = "|".join(named)
    return {
        field: tuple(
            each.replace("{parts}", parts) if field.startswith("references.") else each
            for each in texts
        )
        for field, texts in phrases.items()
    }


def check_expressions(each: Language) -> None:
    """Compile every regular expression of a language; `languages` leaves that to their first use.

    Raises:
        LanguageFileError: one does not compile, or a template of a date names an unknown place.
    """
    for field, texts in each.phrases.items():
        is_date = field.startswith("dates.") and field.split(".")[1] not in _ROWS
        for text in texts:
            if not (is_date or is_expression(text)):
                continue
            fault = ""
            unknown = [place for place in PLACE.findall(text) if place not in _PLACES]
            try:
                re.compile(PLACE.sub("x", text if is_date else text[1:-1]))
            except re.error as error:
                fault = f"{text!r} is no regular expression: {error}"
            if unknown:
                fault = f"{text!r} has an unknown place: {{{unknown[0]}}}"
            if fault:
                raise LanguageFileError(f"{each.code}.toml: `{field}`: {fault}")


def fold(text: str) -> str:
    """The text as it is compared: compatibility forms composed (NFKC), case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def is_expression(phrase: str) -> bool:
    """Whether a phrase is a regular expression, written between slashes."""
    return len(phrase) > 2 and phrase.startswith("/") and phrase.endswith("/")
