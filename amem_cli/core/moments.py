"""What the moment at which a note was written means to a search."""

from __future__ import annotations

import math
from functools import cache

from amem_cli.core.identity import parse_moment
from amem_cli.data import lines


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
    """Seconds from one moment to another; infinite where one is no moment, or only one has a zone.

    Args:
        created, other: ISO 8601 texts.
    """
    try:
        return abs((parse_moment(created) - parse_moment(other)).total_seconds())
    except (ValueError, TypeError):
        return math.inf


@cache
def _month_names() -> tuple[str, ...]:
    return tuple(lines("month_names.txt"))
