"""One place in a text, by its words or by its heading, and the text with that place replaced."""

from __future__ import annotations

import re
from dataclasses import dataclass

from amem_cli.errors import NotFoundError, UsageError
from amem_cli.markdown.regions import blank_out, find_regions

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\r?$", re.MULTILINE)
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class TextEdit:
    """What to replace: the text `find`, or else all that is below the heading `section`.

    A section ends at the next heading of its level or above; its own heading stays.
    """

    replacement: str
    find: str = ""
    section: str = ""


def edited(text: str, edit: TextEdit) -> str:
    """The text with the one place replaced; it keeps its line ends.

    Raises:
        NotFoundError: the place is not there, or there is more than one.
        UsageError: the edit names no place, or two.
    """
    if bool(edit.find) == bool(edit.section):
        raise UsageError("give `find` or `section`, one of them")
    end = "\r\n" if "\r\n" in text else "\n"
    replacement = _with_ends(edit.replacement, end)
    if edit.section:
        start, stop = _section(text, edit.section)
        if replacement and not replacement.endswith("\n"):
            replacement += end
        # The blank lines around the section are as they were.
        old = text[start:stop]
        before = old[: len(old) - len(old.lstrip("\r\n"))] if old.strip() else ""
        after = old[len(old.rstrip("\r\n")) :].removeprefix(end) if old.strip() else old
        heading_ends = text[:start].endswith("\n")
        return (
            f"{text[:start]}{'' if heading_ends else end}{before}{replacement}{after}{text[stop:]}"
        )
    find = edit.find if edit.find in text else _with_ends(edit.find, end)
    count = text.count(find)
    if count != 1:
        times = f"is there {count} times" if count else "is not in the text"
        hint = "Give more of the words around it." if count else "Read the note again."
        raise NotFoundError(f"{_shown(find)!r} {times}", hint=hint)
    return text.replace(find, replacement)


def _with_ends(text: str, end: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", end)


def _section(text: str, heading: str) -> tuple[int, int]:
    """Where the text of a section begins and ends; code and comments hold no headings."""
    visible = blank_out(text, ((region.start, region.end) for region in find_regions(text)))
    # The words of a heading may be code.
    found = [
        (match.start(), match.end(), len(match[1]), " ".join(text[slice(*match.span(2))].split()))
        for match in _HEADING.finditer(visible)
    ]
    wanted = " ".join(heading.lstrip("#").split()).casefold()
    same = [each for each in found if each[3].casefold() == wanted]
    if len(same) != 1:
        shown = "; ".join(each[3] for each in found[:10])
        what = f"{len(same)} headings" if same else "no heading"
        hint = "Use `find`." if same else f"There are: {shown}." if found else "It has none."
        raise NotFoundError(f"{what} {_shown(heading)!r}", hint=hint)
    _, end, level, _ = same[0]
    start = min(end + 1, len(text))
    return start, next((at for at, _, depth, _ in found if at > end and depth <= level), len(text))


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
