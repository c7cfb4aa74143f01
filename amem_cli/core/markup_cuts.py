"""Finds the marks of a markdown text that carry no words: emphasis, headings, lists, HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_EMPTY_LINE_MARKS = re.compile(r"^[ \t>]*[-*_=|:+][-*_=|: \t\r+]*$", re.MULTILINE)
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n^][^\]\n]{0,200}\]:[ \t]+\S.*$", re.MULTILINE)
_LINE_START = re.compile(
    r"^[ \t>]*(?:[-*+][ \t]+)?(?:\[[^\]\n]\][ \t]+)?(?:#{1,6}[ \t]+)?(?:\[![\w-]{1,30}\][-+]?)?",
    re.MULTILINE,
)
_CLOSING_HASHES = re.compile(r"(?<=[ \t])#+[ \t\r]*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t>]*\|.*$", re.MULTILINE)
_BLOCK_ID = re.compile(r"[ \t]\^[A-Za-z0-9-]{1,60}[ \t\r]*$", re.MULTILINE)
_INLINE = re.compile(
    r"(?P<address>https?://[^\s<>()\[\]]+)"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|<(?P<autolink>[a-z]{2,20}:[^\s<>]{1,2000})>"
    r"|</?(?P<tag>[A-Za-z][A-Za-z0-9]{0,20})(?:[\s/][^<>]{0,1000})?>"
    r"|(?P<footnote>\[\^[^\]\s]{1,50}\]:?)"
    r"|(?P<emphasis>[*_]+|~~|==)"
)
_TAG_WITHIN_WORDS = re.compile(
    r"a|b|i|u|s|em|strong|span|font|mark|small|sub|sup|del|ins|code", re.IGNORECASE
)


class Cut(NamedTuple):
    """A slice of the text to leave out, or to replace."""

    start: int
    end: int
    replacement: str = ""


def apply_cuts(text: str, cuts: Iterable[Cut]) -> str:
    """Make the cuts; one that begins inside another is not made."""
    pieces: list[str] = []
    position = 0
    for cut in sorted(cuts, key=lambda cut: (cut.start, -cut.end)):
        if cut.start >= position:
            pieces += (text[position : cut.start], cut.replacement)
            position = cut.end
    pieces.append(text[position:])
    return "".join(pieces)


def markup_cuts(visible: str) -> Iterator[Cut]:
    """Cuts for the marks of lines and of words; linear in the length of the text.

    Args:
        visible: a text in which code and comments are blanked with NUL.
    """
    for pattern in (_EMPTY_LINE_MARKS, _REFERENCE, _LINE_START, _CLOSING_HASHES, _BLOCK_ID):
        for match in pattern.finditer(visible):
            if match.end() > match.start():
                yield Cut(*match.span())
    for row in _TABLE_ROW.finditer(visible):
        for bar in re.finditer(r"\|", row.group()):
            yield Cut(row.start() + bar.start(), row.start() + bar.end(), " ")
    for match in _INLINE.finditer(visible):
        replacement = _inline_replacement(visible, match)
        if replacement is not None:
            yield Cut(*match.span(), replacement)


def _inline_replacement(visible: str, match: re.Match[str]) -> str | None:
    """What stays of an inline mark, or None where it is a part of the words."""
    if match.lastgroup == "tag":
        return "" if _TAG_WITHIN_WORDS.fullmatch(match["tag"]) else " "
    if match.lastgroup == "emphasis":
        return "" if _is_emphasis(visible, *match.span()) else None
    if match.lastgroup == "footnote":
        return ""
    return match[match.lastgroup or 0]


def _is_emphasis(visible: str, start: int, end: int) -> bool:
    """Whether marks touch a word on one side only, or stand between scripts without blanks."""
    before = visible[start - 1] if start else " "
    after = visible[end] if end < len(visible) else " "
    if before.isspace() and after.isspace():
        return False
    if visible[start] == "_":
        return not (before.isalnum() and after.isalnum())
    return not (before.isascii() and before.isalnum() and after.isascii() and after.isalnum())
