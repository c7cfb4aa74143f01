"""Note ids, moments, and days as people name them: `2026-03`, `7d`, `yesterday`, `last week`.

What days are called in a language is in its file (`lexicon`); `day_names` finds it in a text. Both
are loaded by the first text that is no plain ISO 8601: every command reads dates of that kind.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.errors import UsageError

if TYPE_CHECKING:
    from amem_cli.language.day_names import NearDay

_FRACTION_AND_ZONE = (
    r"(?:[.,]([0-9]{1,9}))?)?"
    r"(?: ?(?:(?P<utc>[Zz]|UTC|GMT)"
    r"|(?:UTC|GMT)?(?P<sign>[+-])(?P<hours>[0-9]{2})(?::?(?P<minutes>[0-9]{2}))?))?)?"
)
_BASIC = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})(?:[Tt]?([0-9]{2})([0-9]{2})(?:([0-9]{2})" + _FRACTION_AND_ZONE
)
_EXTENDED = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})"
    + _FRACTION_AND_ZONE
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
_WEEKDAY = re.compile(r"[^\W\d_]{2,10}\.?,? (?=\S)")
# `2024-05-03, 2:30 p.m.`, `… at 14:30`, `… um 14:30 Uhr`, `… 14:30:00 GMT+0200 (CEST)`.
_CLOCK = re.compile(
    r"(?:,? (?:[^\W\d_]{1,10}\.?,? ){0,2}|T)([0-9]{1,2})(:[0-9]{2}(?::[0-9]{2})?)"
    r"(?: ?([AaPp])\.?[Mm]\.?)?(.*?)(?: Uhr| ?[(\[][^()\[\]]*[)\]])?"
)
# Seconds or milliseconds since 1970, until 2033; a stamp of the clock has 8, 12 or 14 digits.
_SINCE_1970 = re.compile(r"(1[0-9]{9})(?:([0-9]{3})|\.[0-9]{1,9})?")


def new_id(moment: datetime, taken: Callable[[str], bool]) -> str:
    """The Zettelkasten id of a moment, `YYYYMMDDHHmmss`; if taken, with `-2`, `-3` and so on.

    Args:
        taken: whether an id is or was in use; asked O(log n) times if n ids share the second.
    """
    # Not strftime: on Linux its %Y gives years before 1000 fewer than four digits.
    stamp = re.sub("[-T:]", "", moment.isoformat(timespec="seconds"))[:14]
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


@lru_cache(maxsize=5_000)
def parse_moment(text: str) -> datetime:
    """Read a date or a date and time.

    Args:
        text: ISO 8601, with hyphens and colons or without (seconds, fraction, and `Z` or an offset
            as they like); without them the `T` may be left out too. A day may also be
            written `2024/5/3`, `2024.05.03`, `3.5.2024`, `3 May 2024` or `May 3rd, 2024`, with its
            weekday and a comma before it and a time such as `14:30` or `2:30 PM` after it.

    Returns:
        The moment; with a time zone only if the text names one, at midnight for a date alone.

    Raises:
        ValueError: the text is none of these, or names a moment that does not exist.
    """
    trimmed = " ".join(text.split())
    if since := _SINCE_1970.fullmatch(trimmed):
        moment = datetime.fromtimestamp(int(since[1]), timezone.utc)
        return moment.replace(microsecond=int(since[2] or 0) * 1000)
    match = _EXTENDED.fullmatch(trimmed) or _BASIC.fullmatch(trimmed)
    match = match or _EXTENDED.fullmatch(_in_iso(trimmed))
    if match is None:
        raise ValueError(f"not a date or time: {text[:40]!r}")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    zone, microsecond = None, int((match[7] or "").ljust(6, "0")[:6])
    if match["utc"] or match["sign"]:
        offset = timedelta(hours=int(match["hours"] or 0), minutes=int(match["minutes"] or 0))
        zone = timezone(-offset if match["sign"] == "-" else offset)
    return datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone)


def day_within(text: str) -> datetime | None:
    """The first day that is written out somewhere in a text, such as a file's name, at midnight."""
    for form in _day_forms():
        for match in form.finditer(text):
            if (day := day_of(match)) and (moment := moment_in(day)):
                return moment
    return None


def _in_iso(text: str) -> str:
    """A moment that begins with a day in another form, in ISO 8601; empty for any other text."""
    weekday = _WEEKDAY.match(text)
    starts = (0, weekday.end()) if weekday else (0,)
    tried = (form.match(text, start) for start in starts for form in _day_forms())
    match = next(filter(None, tried), None)
    day = day_of(match) if match else ""
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
    from amem_cli.language.day_names import full_dates

    # Not within longer numbers, nor in versions such as 1.3.5.2024.
    around = r"(?<![0-9])(?<![0-9][.]){}(?![0-9])"
    forms = (*_DAY_FORMS, *full_dates(_YEAR))
    return tuple(re.compile(around.format(form)) for form in forms)


def day_of(match: re.Match[str]) -> str:
    """The day that a pattern with its year, its day, and its month or its name matched,
    `2024-05-03`; empty if it names no month."""
    from amem_cli.language.day_names import in_digits

    found = match.groupdict()
    month = in_digits(found.get("month") or "") or _month_number(found.get("name") or "")
    return f"{found['year']}-{month:0>2}-{in_digits(found['day']):0>2}" if month else ""


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


def local_text(created: str) -> str:
    """A moment in ISO 8601 by this machine's clock, so that such texts compare as moments do.

    One that names no zone is local already; a text that is no moment stays as it is.
    """
    clock = created[11:]
    if created[10:11] in ("", "T") and not clock.strip("0123456789:."):
        return created
    moment = moment_in(created)
    return local_moment(moment, None).isoformat() if moment is not None else created


def created_text(moment: datetime) -> str:
    """ISO 8601 to the second, with the offset if the moment has a time zone."""
    return moment.isoformat(timespec="seconds")


_AGO = re.compile(r"([0-9]{1,4}) ?(d|days?|w|weeks?|m|months?|y|years?)(?: ago)?")
_MONTH = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")


_YESTERDAY, _FORTNIGHT = timedelta(days=1), timedelta(days=13)
# "Two weeks ago" is seldom said to the day: as many days before and after it count.
_SLACK = {"day": 0, "week": 3, "month": 15, "year": 182}


class DaysNamed(NamedTuple):
    """The first and last day that a part of a text names, and where, as a slice of it."""

    first: date
    last: date
    start: int
    end: int


def days_named(folded: str, today: date) -> list[DaysNamed]:
    """The days until today that a folded text names, in the order of the text: with a year or the
    latest of that name, as months, weekdays, `yesterday`, `last week`, `vor zwei Wochen`, 上周."""
    from amem_cli.language.day_names import near_days

    found = [
        DaysNamed(moment.date(), moment.date(), *match.span())
        for form in _day_forms()
        for match in form.finditer(folded)
        if (day := day_of(match)) and (moment := moment_in(day))
    ]
    for near in near_days(folded):
        if not any(each.start < near.end and near.start < each.end for each in found):
            with suppress(ValueError, OverflowError):
                first, last = _roughly(near, today)
                found.append(DaysNamed(first, last, near.start, near.end))
    return sorted((each for each in found if each.first <= today), key=lambda each: each.start)


def _roughly(near: NearDay, today: date) -> tuple[date, date]:
    """The days that somebody means who remembers: `last week` may be any of the last thirteen."""
    if near.kind == "last_week":
        return today - _FORTNIGHT, today - _YESTERDAY
    first, last = _exactly(near, today)
    slack = timedelta(days=_SLACK[near.unit] if near.kind == "ago" else 0)
    return first - slack, min(last + slack, max(last, today - _YESTERDAY))


def _exactly(near: NearDay, today: date) -> tuple[date, date]:
    """The first and last day of a name: the latest of it until today, weeks from Monday on."""
    day = today
    if near.kind == "days":
        day = date(today.year, near.month, near.day)
        day = day if day <= today else date(today.year - 1, near.month, near.day)
    elif near.kind == "months_named":
        return _month(today.year - (near.month > today.month), near.month)
    elif near.kind == "weekdays_named":
        day = today - timedelta(days=(today.weekday() - near.day) % 7 or 7)
    elif near.kind == "weekdays_of_last_week":
        day = _span(today, "week", before=True)[0] + timedelta(days=near.day)
    elif near.kind == "ago":
        day = _ago(today, near.number, near.unit[0])
    elif near.kind in ("yesterday", "day_before_yesterday"):
        day = today - _YESTERDAY * (1 + (near.kind == "day_before_yesterday"))
    elif near.kind != "today":
        which, unit = near.kind.split("_")
        return _span(today, unit, before=which == "last")
    return day, day


def day_range(text: str, today: date) -> tuple[date, date]:
    """The first and last day that a text names; the same day twice for a single day.

    Args:
        text: a date or time as `parse_moment` reads it, a month `2026-03`, a year `2026`, `today`,
            `yesterday`, `7d` (also `w`, `m`, `y`, or `7 days ago`): the day so long ago, or `this`
            or `last` with `week`, `month` or `year`; a day, month or weekday by its name, which is
            the latest until today. Weeks begin on Monday. All names in any language that has a
            file: `gestern`, `letzte Woche`, `4. März`, 上周.
    """
    words = " ".join(text.casefold().split())
    if match := _AGO.fullmatch(words):
        day = _ago(today, int(match[1]), match[2][0])
        return day, day
    if match := _MONTH.fullmatch(words):
        return _month(int(match[1]), int(match[2])) if match[2] else _year(int(match[1]))
    from amem_cli.language.day_names import near_days
    from amem_cli.language.words import fold

    whole = [each for each in near_days(fold(words), every=True) if each.is_all]
    if whole:
        return _exactly(whole[0], today)
    day = local_moment(parse_moment(text), None).date()
    return day, day


def given_day(text: str | None, name: str, today: date, *, last: bool) -> datetime | None:
    """The first or last day, at midnight, of the period that an option or argument names.

    Raises:
        UsageError: it is no date.
    """
    if text is None:
        return None
    try:
        return datetime.combine(day_range(text, today)[last], time())
    except ValueError:
        raise UsageError(
            f"{name} {text!r} is not a date",
            hint="Write it as 2026-03-02, 2026-03, 7d, yesterday or 'last week'.",
        ) from None


def given_moment(text: str | None, name: str, today: date) -> datetime | None:
    """A date with or without a time, or the first day of a period; errors as for `given_day`."""
    try:
        return None if text is None else parse_moment(text)
    except ValueError:
        return given_day(text, name, today, last=False)


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


@cache
def _month_names() -> list[str]:
    """The names of each month in the languages that part words by blanks, each name once."""
    from amem_cli.language.day_names import is_spaced
    from amem_cli.language.lexicon import languages
    from amem_cli.language.words import fold

    rows = [each.field("dates.months") for each in languages() if is_spaced(each)]
    months: list[dict[str, str]] = [{} for _ in range(12)]
    for row in filter(None, rows):
        for month, names in zip(months, row, strict=True):
            month.setdefault(fold(names.split()[0]), names.split()[0])
    return [" ".join(month.values()) for month in months]
