"""When a note was made, as far as its header, its file's name or git can tell."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from amem_cli.errors import HeaderRefused
from amem_cli.language.dates import local_moment, moment_in
from amem_cli.notes.front_matter import find_fences, read_header

# Given a path, the moment of git's first commit of that file; None if git knows none.
FirstCommit = Callable[[str], datetime | None]

# In order of trust; compared without case, blanks, - and _.
_NAMES = (
    "created",
    "createdat",
    "createdon",
    "creationdate",
    "datecreated",
    "createddate",
    "date",
    "timestamp",
)
_MAY_TELL = re.compile(rb"(?i)creat|date|time")
_SEPARATORS = re.compile(r"[\s_-]+")
_DAY_IN_NAME = re.compile(
    r"(?<![0-9])((?:1[89]|20|21)[0-9]{2})([-_.])([01][0-9])\2([0-3][0-9])(?![0-9])"
)
_STAMP_IN_NAME = re.compile(r"(?<![0-9])((?:19|20)[0-9]{6}(?:[0-9]{4}(?:[0-9]{2})?)?)(?![0-9])")


def creation_date(
    path: str, raw: bytes, saved: datetime, first_commit: FirstCommit, *, besides: str = ""
) -> datetime | None:
    """When a note was made; None if only the time of its file is known.

    That time is when the file was copied, synced or checked out as often as when it was written.

    Args:
        saved: the file's time, with its time zone.
        besides: a property that does not count.

    Returns:
        A moment by the clock of `saved`, without offset.
    """
    moment = date_in_header(raw, besides=besides) or date_in_name(path)
    if moment is None and (commit := first_commit(path)) is not None:
        # Files older than their repository were saved before they were committed.
        moment = min(commit, saved)
    return None if moment is None else local_moment(moment, saved.tzinfo)


def date_in_header(raw: bytes, *, besides: str = "") -> datetime | None:
    """When a note was made, by the property of its header that usually says so."""
    try:
        fences = find_fences(raw)
        if fences is None or not _MAY_TELL.search(raw, fences.text_start, fences.text_end):
            return None
        header = read_header(raw, fences)
    except HeaderRefused:
        return None
    entries = (entry for entry in header.entries if entry.name != besides)
    by_name = {_SEPARATORS.sub("", entry.name.casefold()): entry for entry in entries}
    for name in _NAMES:
        if name in by_name:
            moment = moment_in(header.text_of(by_name[name].value) or "")
            if moment is not None:
                return moment
    return None


def date_in_name(path: str) -> datetime | None:
    """The day or moment in a file's name, such as a journal's."""
    name = path.rsplit("/", 1)[-1]
    day = _DAY_IN_NAME.search(name)
    if day is not None:
        return moment_in(f"{day[1]}-{day[3]}-{day[4]}")
    stamp = _STAMP_IN_NAME.search(name)
    return moment_in(stamp[1]) if stamp else None
