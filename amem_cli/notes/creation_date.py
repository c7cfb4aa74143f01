"""When a note was made, as far as its header, its file's name or git can tell."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from amem_cli.errors import HeaderRefused
from amem_cli.language.dates import day_of, day_within, local_moment, moment_in
from amem_cli.markdown.links import parse_link
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
# In the form of a daily note's path, as Obsidian has it: a text in brackets, a part of the day,
# what else letters stand for, such as the weekday, and any other sign.
_IN_FORM = re.compile(r"(?s)\[([^\]]*)\]|(YYYY|M{1,4}|Do|DD?)|[A-Za-z]+|(.)")
_DIGITS = "[0-9]{1,2}"
# The form comes with the vault, maybe from somebody else: more would take long to compare.
_MOST_OTHER_PARTS = 3
_OF_DAY = {
    "YYYY": ("year", "[0-9]{4}"),
    "MMMM": ("name", r"[^\W\d_]+"),
    "MMM": ("name", r"[^\W\d_]+"),
    "MM": ("month", _DIGITS),
    "M": ("month", _DIGITS),
    "DD": ("day", _DIGITS),
    "D": ("day", _DIGITS),
    "Do": ("day", _DIGITS),
}
_SEPARATORS = re.compile(r"[\s_-]+")
_DAY_BY_FOLDERS = re.compile(r"(?s)(?:.*/)?([0-9]{4}/[0-9]{1,2}/[0-9]{1,2})(?:\.[A-Za-z]+)?")
_STAMP_IN_NAME = re.compile(r"(?<![0-9])((?:19|20)[0-9]{6}(?:[0-9]{4}(?:[0-9]{2})?)?)(?![0-9])")


def creation_date(
    path: str,
    raw: bytes,
    saved: datetime,
    first_commit: FirstCommit,
    *,
    given: str = "",
    daily: str = "",
) -> datetime | None:
    """When a note was made; None if only the time of its file is known.

    That time is when the file was copied, synced or checked out as often as when it was written.

    Args:
        saved: the file's time, with its time zone.
        given: what the property for it says, under whatever name the vault has it.
        daily: what the paths of daily notes look like.

    Returns:
        A moment by the clock of `saved`, without offset.
    """
    moment = date_in_note(path, raw, given, daily)
    if moment is None and (commit := first_commit(path)) is not None:
        # Files older than their repository were saved before they were committed.
        moment = min(commit, saved)
    return None if moment is None else local_moment(moment, saved.tzinfo)


def date_in_note(path: str, raw: bytes, given: str, daily: str = "") -> datetime | None:
    """When a note was made, as far as it says so itself; see `creation_date`."""
    own = date_in_text(given) or date_in_header(raw)
    return own or _day_in_path(path, daily) or date_in_name(path)


def date_in_header(raw: bytes) -> datetime | None:
    """When a note was made, by the property of its header that usually says so."""
    try:
        fences = find_fences(raw)
        if fences is None or not _MAY_TELL.search(raw, fences.text_start, fences.text_end):
            return None
        header = read_header(raw, fences)
    except HeaderRefused:
        return None
    by_name = {_SEPARATORS.sub("", entry.name.casefold()): entry for entry in header.entries}
    for name in _NAMES:
        if name in by_name:
            moment = date_in_text(header.text_of(by_name[name].value) or "")
            if moment is not None:
                return moment
    return None


def date_in_text(text: str) -> datetime | None:
    """The moment that a property's value names, itself or by a link to the note of a day."""
    link = parse_link(text)
    return moment_in(text) if link is None else date_in_name(link.target)


def date_in_name(path: str) -> datetime | None:
    """The day or moment in a file's name, such as a journal's, or in folders: `2024/05/03.md`."""
    by_folders = _DAY_BY_FOLDERS.fullmatch(path)
    if by_folders and (day := moment_in(by_folders[1])):
        return day
    name = path.rsplit("/", 1)[-1]
    stamp = _STAMP_IN_NAME.search(name)
    return day_within(name) or (moment_in(stamp[1]) if stamp else None)


def _day_in_path(path: str, daily: str) -> datetime | None:
    match = _path_form(daily).fullmatch(path.removesuffix(".md")) if daily else None
    return moment_in(day_of(match)) if match else None


@lru_cache(maxsize=8)
def _path_form(daily: str) -> re.Pattern[str]:
    """The pattern of paths in a form such as `DD-MM-YYYY`; it fits none without a whole day."""
    named: set[str] = set()
    others = [part for part in _IN_FORM.finditer(daily) if part.groups() == (None, None, None)]

    def pattern(part: re.Match[str]) -> str:
        literal, of_day, sign = part.groups()
        if not of_day:
            return re.escape(literal or sign) if literal or sign else "[^/]*"
        name, form = _OF_DAY[of_day]
        if name in named:
            return f"(?P={name})"
        named.add(name)
        return f"(?P<{name}>{form})" + ("[a-z.]{0,3}" if of_day == "Do" else "")

    written = _IN_FORM.sub(pattern, daily)
    is_whole = {"year", "day"} <= named and named & {"month", "name"}
    fits = is_whole and len(others) <= _MOST_OTHER_PARTS
    return re.compile(written if fits else "(?!)")
