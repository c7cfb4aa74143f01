"""Places in a text as editors count them: lines, and UTF-8, UTF-16 or UTF-32 units in a line."""

from __future__ import annotations

import re
from bisect import bisect_right

from lsprotocol import types as lsp

# The protocol's line ends, and no others: Python knows more.
_LINE_END = re.compile(r"\r\n|\n|\r")
# By what is agreed with the editor: Python's name, and the bytes of a unit.
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Positions:
    """Translates between offsets in a text, in characters, and an editor's positions.

    Args:
        encoding: `utf-8`, `utf-16` or `utf-32`, as agreed with the editor.
    """

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self._text = text
        ends = list(_LINE_END.finditer(text))
        self._starts = [0, *(end.end() for end in ends)]
        self._ends = [*(end.start() for end in ends), len(text)]
        self._codec, self._width = _CODECS[encoding]

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; behind a line's end it is that end, behind the last line the
        text's. Within a character it is the character's beginning."""
        if position.line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[position.line], self._ends[position.line]
        line = self._text[start:end].encode(self._codec, "replace")
        before = line[: position.character * self._width]
        return start + len(before.decode(self._codec, "ignore"))

    def position(self, offset: int) -> lsp.Position:
        """The position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : min(offset, self._ends[line])]
        return lsp.Position(line, len(before.encode(self._codec, "replace")) // self._width)

    def range(self, start: int, end: int) -> lsp.Range:
        """The range of a slice."""
        return lsp.Range(self.position(start), self.position(end))

    def line_end(self, line: int) -> int:
        """The offset of the end of a line, before its line end."""
        return self._ends[min(line, len(self._ends) - 1)]

    def line_start(self, line: int) -> int:
        """The offset of the beginning of a line."""
        return self._starts[min(line, len(self._starts) - 1)]
