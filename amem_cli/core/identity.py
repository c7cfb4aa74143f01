"""Makes note ids and reads and writes moments."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

_ID = re.compile(r"([0-9]{14})(?:-(?:[2-9]|[1-9][0-9]{1,8}))?")
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:([0-9]{2})([0-9]{2})([0-9]{2})?)?")
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"(?: ?(?P<utc>[Zz])|(?P<sign>[+-])(?P<hours>[0-9]{2})(?::?(?P<minutes>[0-9]{2}))?)?)?"
)


def new_id(moment: datetime, taken: Callable[[str], bool]) -> str:
    """The Zettelkasten id of a moment, `YYYYMMDDHHmmss`; where taken, with `-2`, `-3` and so on.

    Args:
        taken: whether an id is or was in use; asked O(log n) times where n ids share the second.
    """
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


def is_id(text: str) -> bool:
    """Whether the text is an id as `new_id` makes them, of a moment that exists."""
    match = _ID.fullmatch(text)
    if match is None:
        return False
    try:
        parse_moment(match[1])
    except ValueError:
        return False
    return True


def parse_moment(text: str) -> datetime:
    """Read a date or a date and time.

    Args:
        text: ISO 8601 with hyphens and colons (seconds, fraction, and `Z` or an offset as they
            like), or digits only: `YYYYMMDD`, `YYYYMMDDHHmm`, `YYYYMMDDHHmmss`.

    Returns:
        The moment; with a time zone only where the text names one, at midnight for a date alone.

    Raises:
        ValueError: the text is none of these, or names a moment that does not exist.
    """
    trimmed = text.strip()
    match = _COMPACT.fullmatch(trimmed) or _ISO.fullmatch(trimmed)
    if match is None:
        raise ValueError(f"not a date or time: {text[:40]!r}")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    zone = None
    microsecond = 0
    if match.re is _ISO:
        microsecond = int((match[7] or "").ljust(6, "0")[:6])
        zone = _zone(match)
    return datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone)


def created_text(moment: datetime) -> str:
    """ISO 8601 to the second, with the offset where the moment has a time zone."""
    return moment.isoformat(timespec="seconds")


def _zone(match: re.Match[str]) -> timezone | None:
    if match["utc"]:
        return timezone.utc
    if not match["sign"]:
        return None
    offset = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
    return timezone(-offset if match["sign"] == "-" else offset)
