"""Places in a text as editors count them: lines, and UTF-8, UTF-16 or UTF-32 units in a line."""

from __future__ import annotations

import re
from bisect import bisect_right

from lsprotocol import types as lsp

# The protocol's line ends, and no others: Python knows more.
_LINE_END = re.compile(r"\r\n|\n|\r")
_UTF8 = lsp.PositionEncodingKind.Utf8.value
_UTF16 = lsp.PositionEncodingKind.Utf16.value


class Positions:
    """Translates between offsets in a text, in characters, and an editor's positions.

    Args:
        encoding: `utf-8`, `utf-16` or `utf-32`, as agreed with the editor.
    """

    def __init__(self, text: str, encoding: str = _UTF16) -> None:
        self._text = text
        ends = list(_LINE_END.finditer(text))
        self._starts = [0, *(end.end() for end in ends)]
        self._ends = [*(end.start() for end in ends), len(text)]
        self._is_plain = encoding not in (_UTF8, _UTF16) or text.isascii()
        self._is_utf8 = encoding == _UTF8

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; behind a line's end it is that end, behind the last line the
        text's. Within a character it is the character's beginning."""
        if position.line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[position.line], self._ends[position.line]
        if self._is_plain:
            return min(start + position.character, end)
        units = 0
        for place in range(start, end):
            units += self._units(self._text[place])
            if units > position.character:
                return place
        return end

    def position(self, offset: int) -> lsp.Position:
        """The position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        before = min(offset, self._ends[line])
        if self._is_plain:
            return lsp.Position(line, before - start)
        return lsp.Position(line, sum(map(self._units, self._text[start:before])))

    def range(self, start: int, end: int) -> lsp.Range:
        """The range of a slice."""
        return lsp.Range(self.position(start), self.position(end))

    def line_end(self, line: int) -> int:
        """The offset of the end of a line, before its line end."""
        return self._ends[min(line, len(self._ends) - 1)]

    def line_start(self, line: int) -> int:
        """The offset of the beginning of a line."""
        return self._starts[min(line, len(self._starts) - 1)]

    def _units(self, char: str) -> int:
        code = ord(char)
        if not self._is_utf8:
            return 2 if code > 0xFFFF else 1
        return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
