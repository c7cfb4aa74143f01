"""Finds what people call days in a text, by the templates of the language files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from amem_cli.language.lexicon import PLACE, Language, languages, number_words
from amem_cli.language.words import fold, is_unspaced

# What says when an older note was written. Of two that begin at one place the first counts.
_OF_THE_PAST = (
    "days", "months_named", "weekdays_of_last_week", "weekdays_named", "day_before_yesterday",
    "yesterday", "last_week", "last_month", "last_year", "ago",
)  # fmt: skip
_OF_THE_PRESENT = ("today", "this_week", "this_month", "this_year")
_MOST_DAYS, _MOST_MONTHS = 31, 12


class NearDay(NamedTuple):
    """What a part of a text calls a day, a week, a month or a year, without the year it is in.

    Attributes:
        kind: the field of the language file whose template it fits, such as `last_week`.
        day: of the month, or of the week from 0, Monday; 0 where the template has none.
        number, unit: "two weeks ago".
        is_all: it is the whole text.
    """

    kind: str
    start: int
    end: int
    month: int
    day: int
    number: int
    unit: str
    is_all: bool


def near_days(folded: str, *, every: bool = False) -> Iterator[NearDay]:
    """What a folded text calls days, in its order and in any language; none overlaps another."""
    for match in _expression(every).finditer(folded):
        kind, _, _ = (match.lastgroup or "").rsplit("_", 2)
        told = {
            name.split("__")[0]: text
            for name, text in match.groupdict().items()
            if text is not None and "__" in name
        }
        month = told.get("month_number") or told.get("month") or "0"
        day = told.get("day") or told.get("weekday") or "0"
        yield NearDay(
            kind,
            *match.span(),
            _months().get(month) or _number(month),
            _weekdays().get(day, -1) if "weekday" in told else _number(day),
            _number(told.get("number") or "0"),
            _units().get(told.get("unit") or "", ""),
            match.span() == (0, len(folded)),
        )


def full_dates(year: str) -> Iterator[str]:
    """Expressions for a day with its year, with groups `year`, `month` and `day`, such as
    `2026年3月4日`. `year` is the expression for a year."""
    for each in languages():
        for template in each.field("dates.full"):
            places = {"year": year, **_places(each)}
            yield PLACE.sub(
                lambda place, known=places: (  # type: ignore[misc]
                    known["year"]
                    if place[1] == "year"
                    else f"(?P<{place[1].removesuffix('_number')}>{known[place[1]]})"
                ),
                template,
            )


def in_digits(number: str) -> str:
    """A number as digits that may be written as a word; empty if it is neither."""
    return number if number.isascii() and number.isdecimal() else number_words().get(number, "")


def is_spaced(language: Language) -> bool:
    """Whether a language parts words by blanks, to judge by the names of its months."""
    return not any(map(is_unspaced, language.field("dates.months")))


def _number(text: str) -> int:
    return int(in_digits(text) or 0)


@cache
def _expression(every: bool) -> re.Pattern[str]:
    """All templates; the last group that ends is named by kind, language and number."""
    kinds = _OF_THE_PAST + _OF_THE_PRESENT * every
    rows: list[str] = []
    for kind in kinds:
        for each in languages():
            for template in each.field(f"dates.{kind}"):
                rows.append(_named(template, f"{kind}_{each.code}_{len(rows)}", each))
    return re.compile("|".join(rows))


def _named(template: str, name: str, language: Language) -> str:
    places = _places(language)
    inner = PLACE.sub(
        lambda place: f"(?P<{place[1]}__{name}>{places.get(place[1], '(?!)')})", template
    )
    # Only digits and letters beside it would make it part of another word.
    bounds = ("(?<!\\w)", "(?!\\w)") if is_spaced(language) else ("", "")
    return f"{bounds[0]}(?P<{name}>{inner}){bounds[1]}"


def _places(language: Language) -> dict[str, str]:
    """Expressions for what templates hold in braces."""
    months, weekdays = (
        [name for row in language.field(f"dates.{field}") for name in fold(row).split()]
        for field in ("months", "weekdays")
    )
    numerals = {word: value for word, value in language.numbers.items() if is_unspaced(word)}
    units = [word for words in language.units.values() for word in words]
    days = [word for word, value in numerals.items() if 0 < value <= _MOST_DAYS]
    month_numbers = [word for word, value in numerals.items() if 0 < value <= _MOST_MONTHS]
    return {
        "month": _longest_first(months),
        "weekday": _longest_first(weekdays),
        "day": _longest_first(days, "[0-3]?[0-9]"),
        "month_number": _longest_first(month_numbers, "[01]?[0-9]"),
        "number": _longest_first(language.numbers, "[0-9]{1,3}"),
        "unit": _longest_first(units),
    }


def _longest_first(words: Iterable[str], *others: str) -> str:
    escaped = map(re.escape, sorted(words, key=lambda word: (-len(word), word)))
    return f"(?:{'|'.join((*others, *escaped))})"


@cache
def _months() -> dict[str, int]:
    return _rows("dates.months", 1)


@cache
def _weekdays() -> dict[str, int]:
    return _rows("dates.weekdays", 0)


def _rows(field: str, first: int) -> dict[str, int]:
    return {
        name: number
        for each in reversed(languages())
        for number, row in enumerate(each.field(field), first)
        for name in fold(row).split()
    }


@cache
def _units() -> dict[str, str]:
    return {
        word: unit for each in languages() for unit, words in each.units.items() for word in words
    }
