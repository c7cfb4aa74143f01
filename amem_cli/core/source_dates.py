"""Finds when a note of another program was made, in its properties and its file's name."""

from __future__ import annotations

import re
from datetime import datetime

from amem_cli.core.errors import HeaderRefused
from amem_cli.core.header import find_fences, read_header
from amem_cli.core.identity import parse_moment

# In the order in which they are believed; compared without case, blanks, - and _.
_PROPERTIES = (
    "created",
    "createdat",
    "createdon",
    "creationdate",
    "datecreated",
    "createddate",
    "date",
    "timestamp",
)
_BETWEEN = re.compile(r"[\s_-]+")
_DAY_IN_NAME = re.compile(
    r"(?<![0-9])((?:1[89]|20|21)[0-9]{2})([-_.])([01][0-9])\2([0-3][0-9])(?![0-9])"
)
_STAMP_IN_NAME = re.compile(r"(?<![0-9])((?:19|20)[0-9]{6}(?:[0-9]{4}(?:[0-9]{2})?)?)(?![0-9])")
_OLDEST = datetime(1800, 1, 1)


def created_in_header(raw: bytes) -> datetime | None:
    """What a property that usually holds it says; None where there is none, or no header."""
    try:
        fences = find_fences(raw)
        header = read_header(raw, fences) if fences else None
    except HeaderRefused:
        return None
    if header is None:
        return None
    by_name = {_BETWEEN.sub("", entry.name.casefold()): entry for entry in header.entries}
    for name in _PROPERTIES:
        entry = by_name.get(name)
        text = header.text_of(entry.value) if entry is not None else None
        moment = moment_in(text or "")
        if moment is not None:
            return moment
    return None


def created_in_name(path: str) -> datetime | None:
    """The day or the moment with which a file's name begins or ends, as a journal's does."""
    name = path.rsplit("/", 1)[-1]
    day = _DAY_IN_NAME.search(name)
    if day is not None:
        return moment_in(f"{day[1]}-{day[3]}-{day[4]}")
    stamp = _STAMP_IN_NAME.search(name)
    return moment_in(stamp[1]) if stamp else None


def moment_in(text: str) -> datetime | None:
    """A date or a date and time; None for anything else, and for what no calendar has."""
    try:
        moment = parse_moment(text) if text else None
    except (ValueError, OverflowError):
        return None
    return moment if moment is not None and moment.replace(tzinfo=None) > _OLDEST else None
