"""Reads days as people name them: `2026-03`, `7d`, `yesterday`, `last week`."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta

from amem_cli.core.identity import parse_moment

_AGO = re.compile(r"([0-9]{1,4}) ?(d|days?|w|weeks?|m|months?|y|years?)(?: ago)?")
_SPAN = re.compile(r"(this|last) (week|month|year)")
_MONTH = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")


def day_range(text: str, today: date) -> tuple[date, date]:
    """The first and last day that a text names; the same day twice for a single day.

    Args:
        text: a date or time as `parse_moment` reads it, a month `2026-03`, a year `2026`, `today`,
            `yesterday`, `7d` (also `w`, `m`, `y`, or `7 days ago`): the day so long ago, or `this`
            or `last` with `week`, `month` or `year`. Weeks begin on Monday.

    Raises:
        ValueError: it is none of these, or no day of the calendar.
    """
    words = " ".join(text.casefold().split())
    if words in ("today", "yesterday"):
        day = today - timedelta(days=words == "yesterday")
        return day, day
    match = _AGO.fullmatch(words)
    if match:
        day = _ago(today, int(match[1]), match[2][0])
        return day, day
    match = _SPAN.fullmatch(words)
    if match:
        return _span(today, match[2], before=match[1] == "last")
    match = _MONTH.fullmatch(words)
    if match:
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
