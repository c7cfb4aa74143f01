"""Note ids, moments, and days as people name them: `2026-03`, `7d`, `yesterday`, `last week`."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import NamedTuple

from amem_cli.data import lines

_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:([0-9]{2})([0-9]{2})([0-9]{2})?)?")
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"(?: ?(?P<utc>[Zz])|(?P<sign>[+-])(?P<hours>[0-9]{2})(?::?(?P<minutes>[0-9]{2}))?)?)?"
)

# 03/05/2024 is a day in March or in May, so no date that begins so is read; 3.5.2024 is one in May
# wherever dots are used. Other centuries are seldom meant: 2.5.3000 is a version.
_YEAR, _DAY = r"(?P<year>(?:1[89]|20|21)[0-9]{2})", r"(?P<day>[0-3]?[0-9])"
_TH, _MONTH_NAME = r"(?:\.|st|nd|rd|th|er)?", r"(?<![^\W\d_])(?P<name>[^\W\d_]{3,10})\.?"
_DAY_FORMS = (
    rf"{_YEAR}(?P<dash>[-/])(?P<month>[01]?[0-9])(?P=dash){_DAY}",
    rf"{_YEAR}(?P<dot>[._])(?P<month>[01][0-9])(?P=dot)(?P<day>[0-3][0-9])",
    rf"{_DAY}\. ?(?P<month>[01]?[0-9])\. ?{_YEAR}",
    rf"{_DAY}{_TH}[ -](?:de )?{_MONTH_NAME}(?:[ -]|, | de ){_YEAR}",
    rf"{_MONTH_NAME} {_DAY}{_TH},? {_YEAR}",
)
_WEEKDAY = re.compile(r"[^\W\d_]{2,10}, (?=\S)")
_CLOCK = re.compile(r"(?:,? |T)([0-9]{1,2})(:[0-9]{2}(?::[0-9]{2})?)(?: ?([AaPp])[Mm])?(.*)")


def new_id(moment: datetime, taken: Callable[[str], bool]) -> str:
    """The Zettelkasten id of a moment, `YYYYMMDDHHmmss`; if taken, with `-2`, `-3` and so on.

    Args:
        taken: whether an id is or was in use; asked O(log n) times if n ids share the second.
    """
    # Not strftime: on Linux its %Y gives years before 1000 fewer than four digits.
    stamp = (
        f"{moment.year:04}{moment.month:02}{moment.day:02}"
        f"{moment.hour:02}{moment.minute:02}{moment.second:02}"
    )
    if not taken(stamp):
        return stamp
    used, free = 1, 2
    while taken(f"{stamp}-{free}"):
        used, free = free, free * 2
    while free - used > 1:
        middle = (used + free) // 2
        if taken(f"{stamp}-{middle}"):
            used = middle
        else:
            free = middle
    return f"{stamp}-{free}"


def parse_moment(text: str) -> datetime:
    """Read a date or a date and time.

    Args:
        text: ISO 8601 with hyphens and colons (seconds, fraction, and `Z` or an offset as they
            like), or digits only: `YYYYMMDD`, `YYYYMMDDHHmm`, `YYYYMMDDHHmmss`. A day may also be
            written `2024/5/3`, `2024.05.03`, `3.5.2024`, `3 May 2024` or `May 3rd, 2024`, with its
            weekday and a comma before it and a time such as `14:30` or `2:30 PM` after it.

    Returns:
        The moment; with a time zone only if the text names one, at midnight for a date alone.

    Raises:
        ValueError: the text is none of these, or names a moment that does not exist.
    """
    trimmed = text.strip()
    match = _COMPACT.fullmatch(trimmed) or _ISO.fullmatch(trimmed)
    match = match or _ISO.fullmatch(_in_iso(trimmed))
    if match is None:
        raise ValueError(f"not a date or time: {text[:40]!r}")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    zone, microsecond = None, 0
    if match.re is _ISO:
        microsecond = int((match[7] or "").ljust(6, "0")[:6])
        if match["utc"] or match["sign"]:
            offset = timedelta(hours=int(match["hours"] or 0), minutes=int(match["minutes"] or 0))
            zone = timezone(-offset if match["sign"] == "-" else offset)
    return datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone)


def day_within(text: str) -> datetime | None:
    """The first day that is written out somewhere in a text, such as a file's name, at midnight."""
    for form in _day_forms():
        for match in form.finditer(text):
            if (day := _day_of(match)) and (moment := moment_in(day)):
                return moment
    return None


def _in_iso(text: str) -> str:
    """A moment that begins with a day in another form, in ISO 8601; empty for any other text."""
    weekday = _WEEKDAY.match(text)
    start = weekday.end() if weekday else 0
    match = next((found for form in _day_forms() if (found := form.match(text, start))), None)
    day = _day_of(match) if match else ""
    rest = text[match.end() :] if match and day else ""
    clock = _CLOCK.fullmatch(rest)
    if clock is None:
        return day + rest
    hour, half = int(clock[1]), (clock[3] or "").lower()
    if half and 1 <= hour <= 12:
        hour = hour % 12 + 12 * (half == "p")
    return f"{day}T{hour:02}{clock[2]}{clock[4].strip()}"


@cache
def _day_forms() -> tuple[re.Pattern[str], ...]:
    # Not within longer numbers, nor in versions such as 1.3.5.2024.
    around = r"(?<![0-9])(?<![0-9][.]){}(?![0-9])"
    return tuple(re.compile(around.format(form)) for form in _DAY_FORMS)


def _day_of(match: re.Match[str]) -> str:
    """The day that one of `_DAY_FORMS` matched, `2024-05-03`; empty if it names no month."""
    found = match.groupdict()
    month = found.get("month") or _month_number(found["name"])
    return f"{found['year']}-{month:0>2}-{found['day']:0>2}" if month else ""


def _month_number(name: str) -> str:
    """The number of a month by its name, or its beginning; empty if it is not one month's."""
    begun = name.casefold()
    same = [
        number
        for number, names in enumerate(_month_names(), 1)
        if any(each.startswith(begun) for each in names.casefold().split())
    ]
    return str(same[0]) if len(same) == 1 else ""


# Earlier dates are placeholders, such as 0001-01-01.
_OLDEST = datetime(1800, 1, 1)


def moment_in(text: str) -> datetime | None:
    """A date or a date and time; None for anything else, or if no calendar has it."""
    try:
        moment = parse_moment(text) if text else None
    except (ValueError, OverflowError):
        return None
    return moment if moment is not None and moment.replace(tzinfo=None) > _OLDEST else None


def local_moment(moment: datetime, zone: tzinfo | None) -> datetime:
    """The moment by the clock of a time zone and without offset, as Obsidian has dates."""
    if moment.tzinfo is not None:
        # On the first and the last day there is, its own clock will do.
        with suppress(OverflowError):
            moment = moment.astimezone(zone)
    return moment.replace(tzinfo=None)


def created_text(moment: datetime) -> str:
    """ISO 8601 to the second, with the offset if the moment has a time zone."""
    return moment.isoformat(timespec="seconds")


_AGO = re.compile(r"([0-9]{1,4}) ?(d|days?|w|weeks?|m|months?|y|years?)(?: ago)?")
_SPAN = re.compile(r"(this|last) (week|month|year)")
_MONTH = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")


_YESTERDAY, _FORTNIGHT = timedelta(days=1), timedelta(days=13)


class DaysNamed(NamedTuple):
    """The first and last day that a part of a text names, and where, as a slice of it."""

    first: date
    last: date
    start: int
    end: int


def days_named(folded: str, today: date) -> list[DaysNamed]:
    """The days until today that a folded text names, in English or German and the order of the
    text: with a year or the latest of that name, as months, weekdays, `yesterday`, `last week`."""
    found = [
        DaysNamed(moment.date(), moment.date(), *match.span())
        for form in _day_forms()
        for match in form.finditer(folded)
        if (day := _day_of(match)) and (moment := moment_in(day))
    ]
    for match in _near_days().finditer(folded):
        if not any(each.start < match.end() and match.start() < each.end for each in found):
            with suppress(ValueError, OverflowError):
                first, last = _near_span(match, today)
                found.append(DaysNamed(first, last, *match.span()))
    return sorted((each for each in found if each.first <= today), key=lambda each: each.start)


@cache
def _near_days() -> re.Pattern[str]:
    months, weekdays = "|".join(sorted(_months(), reverse=True)), "|".join(_weekdays())
    return re.compile(
        rf"\b(?:(?P<day>[0-3]?[0-9])(?:st|nd|rd|th|\.)? (?:of )?(?P<of>{months})"
        rf"|(?P<in>{months})\.? (?P<at>[0-3]?[0-9])(?:st|nd|rd|th)?(?![.,]?[0-9]|:)"
        rf"|(?P<month>(?!may\b)(?:{months})|(?:(?<=in )|(?<=of )|(?<=from )|(?<=last ))may)"
        rf"|(?P<weekday>{weekdays})"
        r"|(?P<yesterday>yesterday|gestern)"
        r"|(?P<week>last week|letzte woche)|(?P<before>last month|letzten monat))\b"
    )


def _near_span(match: re.Match[str], today: date) -> tuple[date, date]:
    if name := match["of"] or match["in"]:
        month, day = _months()[name], int(match["day"] or match["at"])
        found = date(today.year, month, day)
        found = found if found <= today else date(today.year - 1, month, day)
        return found, found
    if name := match["month"]:
        return _month(today.year - (_months()[name] > today.month), _months()[name])
    if match["weekday"]:
        ago = (today.weekday() - _weekdays().index(match["weekday"]) % 7) % 7 or 7
        return today - timedelta(days=ago), today - timedelta(days=ago)
    if match["week"]:
        return today - _FORTNIGHT, today - _YESTERDAY
    if match["before"]:
        return _span(today, "month", before=True)
    return today - _YESTERDAY, today - _YESTERDAY


@cache
def _months() -> dict[str, int]:
    rows = [row.split() for row in lines("months.txt")]
    return {name: int(number) for number, *names in rows for name in names}


@cache
def _weekdays() -> list[str]:
    return [name for row in lines("weekdays.txt") for name in row.split()]


def day_range(text: str, today: date) -> tuple[date, date]:
    """The first and last day that a text names; the same day twice for a single day.

    Args:
        text: a date or time as `parse_moment` reads it, a month `2026-03`, a year `2026`, `today`,
            `yesterday`, `7d` (also `w`, `m`, `y`, or `7 days ago`): the day so long ago, or `this`
            or `last` with `week`, `month` or `year`. Weeks begin on Monday.

    Raises:
        ValueError: it is none of these, or not a day of the calendar.
    """
    words = " ".join(text.casefold().split())
    if words in ("today", "yesterday"):
        day = today - timedelta(days=words == "yesterday")
        return day, day
    if match := _AGO.fullmatch(words):
        day = _ago(today, int(match[1]), match[2][0])
        return day, day
    if match := _SPAN.fullmatch(words):
        return _span(today, match[2], before=match[1] == "last")
    if match := _MONTH.fullmatch(words):
        return _month(int(match[1]), int(match[2])) if match[2] else _year(int(match[1]))
    day = parse_moment(text).date()
    return day, day


def _ago(today: date, count: int, unit: str) -> date:
    try:
        if unit in "dw":
            return today - timedelta(days=count * (7 if unit == "w" else 1))
        months = today.year * 12 + today.month - 1 - count * (12 if unit == "y" else 1)
        # The 31st of a month that has only 30 days is its last day.
        last = _month(months // 12, months % 12 + 1)[1]
        return last.replace(day=min(today.day, last.day))
    except OverflowError:
        raise ValueError(f"too long ago: {count}{unit}") from None


def _span(today: date, unit: str, *, before: bool) -> tuple[date, date]:
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * before)
        return monday, monday + timedelta(days=6)
    if unit == "year":
        return _year(today.year - before)
    day = today.replace(day=1) - timedelta(days=before)
    return _month(day.year, day.month)


def _month(year: int, month: int) -> tuple[date, date]:
    if not 1 <= month <= 12:
        raise ValueError(f"no month: {month}")
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _year(year: int) -> tuple[date, date]:
    return date(year, 1, 1), date(year, 12, 31)


def date_words(created: str) -> str:
    """A day for a full-text table: in digits, and with its month's names; empty for no date.

    Args:
        created: ISO 8601 text.
    """
    try:
        day = parse_moment(created)
    except ValueError:
        return ""
    return f"{day:%Y-%m-%d} {day.day} {_month_names()[day.month - 1]}"


def seconds_between(created: str, other: str) -> float:
    """Seconds from one moment to another; infinite if one is not a moment, or only one has a zone.

    Args:
        created, other: ISO 8601 texts.
    """
    try:
        return abs((parse_moment(created) - parse_moment(other)).total_seconds())
    except (ValueError, TypeError):
        # Python does not subtract a moment without a zone from one with a zone.
        return math.inf


_month_names = cache(lambda: lines("month_names.txt"))
