"""How a Logseq graph writes its days: the names of its journals' files and pages."""

from __future__ import annotations

import re
from datetime import date
from functools import cached_property

_EDN = re.compile(r";[^\n]*|\"(?:[^\"\\]|\\.)*\"|#_|[^\s,\"(){}\[\];]+")
_ESCAPED = re.compile(r"\\(.)")
_PARTS = re.compile(
    r"(?s)'(?P<quoted>[^']*)'|yyyy|yy|y|MMMM|MMM|MM|M|do|dd|d|EEEE|EEE|EE|E|(?P<text>.)"
)
_USUAL_FILE = re.compile(r"([0-9]{4})[_-]([0-9]{2})[_-]([0-9]{2})")
# Logseq understands these in every graph.
_EVERYWHERE = ("MMM do, yyyy", "yyyy-MM-dd", "yyyy_MM_dd")
# What a graph may use that names no form; none in which a day could be taken for a month.
_GUESSED = (
    "MMMM do, yyyy",
    "do MMM yyyy",
    "do MMMM yyyy",
    "yyyy/MM/dd",
    "yyyyMMdd",
    "yyyy-MM-dd EEEE",
    *(f"{day}, yyyy{sign}MM{sign}dd" for day in ("E", "EEEE") for sign in "-/"),
    "yyyy年MM月dd日",
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST, _LAST = date(1970, 1, 1).toordinal(), date(2099, 12, 31).toordinal()


class JournalDays:
    """The days of one graph.

    Args:
        config: its `logseq/config.edn`; empty without one.
    """

    def __init__(self, config: str) -> None:
        title = _setting(config, ":journal/page-title-format")
        self._forms = (title, *_EVERYWHERE) if title else (*_EVERYWHERE, *_GUESSED)
        self._file_form = _setting(config, ":journal/file-name-format")

    @cached_property
    def _by_file(self) -> dict[str, date]:
        days = map(date.fromordinal, range(_FIRST, _LAST + 1))
        return {_written(self._file_form, day): day for day in days} if self._file_form else {}

    def day(self, stem: str) -> date | None:
        """The day of the journal whose file has this name, without its ending."""
        usual = _USUAL_FILE.fullmatch(stem)
        if usual is None:
            return self._by_file.get(stem)
        try:
            return date(*map(int, usual.groups()))
        except ValueError:
            return None

    def names(self, day: date) -> tuple[str, ...]:
        """The names by which pages link to a day."""
        return tuple(dict.fromkeys(_written(form, day) for form in self._forms))


def _setting(config: str, key: str) -> str:
    """The text that a map of EDN holds under a key; empty if there is none."""
    tokens = [token for token in _EDN.findall(config) if not token.startswith(";")]
    for place, token in enumerate(tokens):
        if token == key and tokens[place - 1 : place] != ["#_"]:
            rest = tokens[place + 1 : place + 4]
            # `#_` leaves out what follows it.
            value = rest[2:3] if rest[:1] == ["#_"] else rest[:1]
            if value and value[0].startswith('"'):
                return _ESCAPED.sub(r"\1", value[0][1:-1])
    return ""


def _written(form: str, day: date) -> str:
    return "".join(_part(match, day) for match in _PARTS.finditer(form))


def _part(match: re.Match[str], day: date) -> str:
    part, number = match[0], day.day
    if match["quoted"] is not None or match["text"]:
        return match["quoted"] or match["text"] or "'"
    if part[0] == "y":
        return f"{day.year % 100:02}" if part == "yy" else f"{day.year:04}"
    if part[0] == "E":
        weekday = _WEEKDAYS[day.weekday()]
        return weekday if part == "EEEE" else weekday[:3]
    if part == "do":
        ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 != 1 else 0, "th")
        return f"{number}{ending}"
    if part[0] == "d":
        return f"{number:0{len(part)}}"
    if part in ("MMMM", "MMM"):
        return _MONTHS[day.month - 1][: None if part == "MMMM" else 3]
    return f"{day.month:0{len(part)}}"
