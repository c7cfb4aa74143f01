"""The parts of a text that Obsidian reads as code, math, raw HTML or a comment; git's conflicts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

CODE_INDENT = 4

_HTML_OPENING = r"<(?i:pre|code|script|style|textarea)(?=[\s>])[^<>]{0,500}>"
_ANY_MARK = re.compile(rf"`|~~~|%%|<!--|\$|{_HTML_OPENING}|^[ >]*(?: {{4}}|\t)", re.MULTILINE)
_CONTAINER_MARKS = re.compile(r"(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*")
_CONTAINER_MARK = re.compile(r">|[-*+]|\d{1,9}[.)]")
# More of them on one line nobody writes, and each takes time of the line's length.
_MOST_MARKS = 100
_BLANKS = re.compile(r"[ \t]*")
_QUOTE_MARKS = re.compile(r"[ \t>]*")
# No backtick may follow on the line: "```x```" is inline code.
_FENCE_OPENING = re.compile(r"`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,}")
_FENCE_CLOSING = re.compile(r"([ \t>]*)(`{3,}|~{3,})[ \t]*\r?\n?")
_BLOCK_START = re.compile(r"#{1,6}[ \t]|\||(?:=+|-+)[ \t]*(?:\r?\n|\Z)")
# Headings of either form, and rules: what follows them continues no paragraph.
_HEADING_OR_RULE = re.compile(
    r"(?:#{1,6}(?=[ \t\r\n]|\Z)[^\n]*|=+[ \t\r]*|([-*_])[ \t]*(?:\1[ \t]*){2,}\r?)(?:\n|\Z)"
)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,100}\]:")
# A dollar sign in the name of a link opens no formula.
_LINK_WITH_DOLLAR = r"\[\[[^\[\]\n$`%<]*\$[^\[\]\n`%<]*\]\]"
_INLINE_MARK = re.compile(
    rf"\\[!-/:-@\[-`{{-~]|`+|%%|<!--|\$\$?|{_HTML_OPENING}|{_LINK_WITH_DOLLAR}"
)
# No blank is inside of the signs and no digit behind them: "$5 and $10" are prices.
_FORMULA = re.compile(r"\$(?!\s)(?:[^$\n\\]|\\.)+(?<![\s\\])\$(?!\d)")
_TAG_NAME = re.compile(r"<([A-Za-z]+)")
_NO_BREAK = re.compile(r"[^\n]+")
_BACKTICKS = re.compile(r"`+")
_CLOSING_OF = {"%%": "%%", "<!--": "-->"}


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of text in which markdown means nothing.

    Attributes:
        kind: `html` is an element whose content stands as it is, such as `<pre>`.
        start, end: the stretch with its marks, as a slice of the text.
        inner_start, inner_end: the same without its marks, which math keeps; for a comment an
            empty slice.
    """

    kind: Literal["fence", "indented", "code", "math", "html", "comment"]
    start: int
    end: int
    inner_start: int
    inner_end: int


# Several readers ask about one text in turn.
@lru_cache(maxsize=16)
def find_regions(text: str) -> tuple[Region, ...]:
    """Find fenced and indented code, inline code, math, raw HTML, and comments of either form.

    If two overlap, the one that starts first holds. An unclosed fence, and an unclosed comment or
    `<pre>` at the start of a line, reach to the end. Linear in the length of the text.

    Returns:
        Regions in the order of the text, without overlap.
    """
    if not _ANY_MARK.search(text):
        return ()
    scanner = _Scanner(text)
    scanner.scan()
    return tuple(scanner.regions)


def visible_text(text: str, *kinds: str) -> str:
    """The text with its regions blanked, those of the given kinds or all; see `blank_out`."""
    regions = (each for each in find_regions(text) if not kinds or each.kind in kinds)
    return blank_out(text, ((region.start, region.end) for region in regions))


def blank_out(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace the spans by NUL characters, keeping line breaks and every offset."""

    def nuls(start: int, end: int) -> str:
        return _NO_BREAK.sub(lambda found: "\0" * len(found[0]), text[start:end])

    return spliced(text, (Cut(start, end, nuls(start, end)) for start, end in spans))


class Cut(NamedTuple):
    """A slice of the text to leave out, or to replace."""

    start: int
    end: int
    replacement: str = ""


def spliced(text: str, cuts: Iterable[Cut]) -> str:
    """The text with the cuts made; one that begins inside another is not made."""
    pieces: list[str] = []
    position = 0
    # What is put in between comes first, then the longest cut, which covers the others.
    for cut in sorted(cuts, key=lambda cut: (cut.start, cut.end > cut.start, -cut.end)):
        if cut.start >= position:
            pieces += (text[position : cut.start], cut.replacement)
            position = cut.end
    return "".join([*pieces, text[position:]])


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line means for the blocks around it; offsets are those of the text.

    `indent`: columns before its first sign, counted from the quote marks that open the line, of
    which there are `opening_quotes`. `continues`: it may belong to the paragraph before it.
    `is_apart`: it is a heading or a rule.
    """

    marks: int
    content: int
    end: int
    indent: int
    opening_quotes: int
    quote_depth: int
    is_blank: bool
    is_code: bool
    continues: bool
    is_apart: bool
    starts_item: bool
    starts_block: bool
    fence: str


class _Scanner:
    """Reads lines into blocks, and each block's inline marks when the block is complete."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.regions: list[Region] = []
        self._block_start = 0
        # A line of a paragraph may be indented and is no code.
        self._in_paragraph = False
        # By the depth of quotes, the columns at which the text of the open list items begins.
        self._items: list[list[int]] = [[]]
        self._quote_depth = 0
        self._unclosed: set[tuple[str, int]] = set()

    def scan(self) -> None:
        position = 0
        while position < len(self.text):
            position = self._take_line(position)
            if position >= len(self.text):
                position = self._finish_block(len(self.text))

    def _take_line(self, start: int) -> int:
        """Read the line at `start`; returns where to go on."""
        line = self._read_line(start)
        if line.starts_block or line.quote_depth != self._quote_depth:
            resume = self._finish_block(start)
            if resume > start:
                return resume
        self._quote_depth = line.quote_depth
        if line.is_code:
            return self._take_indented_code(start, line)
        self._follow_containers(start, line)
        self._in_paragraph = not (line.is_blank or line.is_apart or line.fence)
        if line.fence:
            return self._take_fence(start, line)
        return line.end

    def _read_line(self, start: int) -> _Line:
        end = self._line_end(start)
        marks = self._match(_CONTAINER_MARKS, start, end)
        quoted = self._match(_QUOTE_MARKS, start, end).end()
        is_apart = bool(_HEADING_OR_RULE.match(self.text, quoted, end))
        # The first sign of the rule `* * *` is no mark of a list.
        content = quoted if is_apart else marks.end()
        starts_item = not is_apart and bool(marks.group().strip(" \t>"))
        is_blank = not starts_item and not self.text[content:end].strip()
        opening_quotes = indent = 0
        if quoted > start:
            opening_quotes = self.text.count(">", start, quoted)
            indent = self._column(start, quoted)
        if opening_quotes:
            indent -= self._inside(start, self.text.rindex(">", start, quoted) + 1)
        # A line with which a quote begins continues no paragraph.
        after_text = self._in_paragraph and opening_quotes <= self._quote_depth
        is_code = (
            indent >= CODE_INDENT
            and not (is_blank or after_text)
            and indent - self._item_around(opening_quotes, indent) >= CODE_INDENT
        )
        fence = _FENCE_OPENING.match(self.text, content, end)
        heading_or_row = _BLOCK_START.match(self.text, content, end)
        return _Line(
            marks=quoted,
            content=content,
            end=end,
            indent=indent,
            opening_quotes=opening_quotes,
            quote_depth=marks.group().count(">"),
            is_blank=is_blank,
            is_code=is_code,
            continues=after_text and not (is_blank or starts_item or is_apart or fence),
            is_apart=is_apart,
            starts_item=starts_item,
            starts_block=bool(
                is_blank or is_apart or starts_item or is_code or fence or heading_or_row
            ),
            fence=fence.group() if fence else "",
        )

    def _column(self, start: int, end: int) -> int:
        return len(self.text[start:end].expandtabs(CODE_INDENT))

    def _inside(self, start: int, mark_end: int) -> int:
        """The column at which a quote's text begins: a blank behind its mark belongs to that."""
        is_parted = self.text[mark_end : mark_end + 1] in (" ", "\t")
        return self._column(start, mark_end) + is_parted

    def _item_around(self, depth: int, indent: int) -> int:
        """The column of the innermost open list item that holds a line; 0 outside of lists."""
        columns = self._items[depth] if depth < len(self._items) else []
        return next((column for column in reversed(columns) if column <= indent), 0)

    def _follow_containers(self, start: int, line: _Line) -> None:
        """Close the list items and quotes that end before the line, and open those it begins."""
        depth = line.opening_quotes
        if depth + 1 != len(self._items):
            del self._items[depth + 1 :]
            self._items += [[] for _ in range(depth + 1 - len(self._items))]
        if line.is_blank or line.continues:
            return
        begins_footnote = _FOOTNOTE.match(self.text, line.marks)
        if not (line.starts_item or begins_footnote or depth or self._items[0]):
            return
        first = self._match(_BLANKS, start, line.end).end()
        for columns, indent in (
            (self._items[0], self._column(start, first)),
            (self._items[depth], line.indent),
        ):
            while columns and columns[-1] > indent:
                columns.pop()
        left = self._column(start, line.marks) - line.indent
        if begins_footnote:
            columns.append(line.indent + CODE_INDENT)
        marks = _CONTAINER_MARK.finditer(self.text, line.marks, line.content)
        for mark in islice(marks, _MOST_MARKS):
            if mark[0] == ">":
                left = self._inside(start, mark.end())
                self._items.append([])
                continue
            text = self._match(_BLANKS, mark.end(), line.end).end()
            width = self._column(start, text) - self._column(start, mark.end())
            # With more blanks the item begins with code, or has no text on this line.
            is_text = width <= CODE_INDENT and not self.text[text : line.end].isspace()
            width = width if is_text else 1
            self._items[-1].append(self._column(start, mark.end()) + width - left)

    def _take_indented_code(self, start: int, line: _Line) -> int:
        end = position = start
        while line.is_code or line.is_blank:
            end = end if line.is_blank else line.end
            position = line.end
            if position == len(self.text):
                break
            depth, line = line.opening_quotes, self._read_line(position)
            if line.opening_quotes != depth:
                break
        self.regions.append(Region("indented", start, end, start, end))
        self._block_start = end
        return end

    def _take_fence(self, line_start: int, line: _Line) -> int:
        """Record the fenced code that opens in the line; returns its end."""
        start = line.content
        # A closing mark indented four further is a line of the code, as in CommonMark.
        deepest_closing = len(self.text[line_start:start].expandtabs(CODE_INDENT)) + 3
        inner_start = position = line.end
        while position < len(self.text):
            line_end = self._line_end(position)
            closing = _FENCE_CLOSING.match(self.text, position, line_end)
            if (
                closing
                and closing.end() == line_end
                and closing.group(2).startswith(line.fence)
                and len(closing.group(1).expandtabs(CODE_INDENT)) <= deepest_closing
            ):
                return self._add_fence(start, line_end, inner_start, position)
            quotes = self._match(_QUOTE_MARKS, position, line_end)
            # A fence in a quote ends with the quote, even if it was never closed.
            if quotes.group().count(">") < line.quote_depth:
                return self._add_fence(start, position, inner_start, position)
            position = line_end
        return self._add_fence(start, position, inner_start, position)

    def _add_fence(self, start: int, end: int, inner_start: int, inner_end: int) -> int:
        self.regions.append(Region("fence", start, end, inner_start, inner_end))
        self._block_start = end
        return end

    def _finish_block(self, end: int) -> int:
        """Read the inline marks of the block that ends at `end`.

        Returns:
            `end`, or the end of a comment, formula or element that reaches beyond it.
        """
        position, self._block_start = self._block_start, end
        ticks: dict[int, list[int]] | None = None
        while position < end:
            mark = _INLINE_MARK.search(self.text, position, end)
            if mark is None:
                break
            position = mark.end()
            said = mark.group()
            if said[0] == "`":
                # All runs at once: a search for each closing mark would take quadratic time.
                if ticks is None:
                    ticks = self._backtick_runs(mark.start(), end)
                position = self._take_code_span(mark.start(), position, ticks)
            elif said in _CLOSING_OF:
                position = self._take_comment(mark.start(), said)
            elif said == "$$":
                limit = len(self.text) if self._opens_line(mark.start()) else end
                position = self._take_element("math", mark, "$$", limit) or position
            elif said == "$":
                position = self._take_formula(mark.start(), end) or position
            elif said[0] == "<":
                position = self._take_html(mark, end) or position
        self._block_start = max(position, end)
        return self._block_start

    def _backtick_runs(self, start: int, end: int) -> dict[int, list[int]]:
        runs: dict[int, list[int]] = defaultdict(list)
        for run in _BACKTICKS.finditer(self.text, start, end):
            runs[len(run.group())].append(run.start())
        return runs

    def _take_code_span(self, start: int, inner_start: int, ticks: dict[int, list[int]]) -> int:
        width = inner_start - start
        closings = ticks.get(width, [])
        following = bisect_left(closings, inner_start)
        if following == len(closings):
            return inner_start
        inner_end = closings[following]
        self.regions.append(Region("code", start, inner_end + width, inner_start, inner_end))
        return inner_end + width

    def _take_comment(self, start: int, mark: str) -> int:
        closing = _CLOSING_OF[mark]
        inner_start = start + len(mark)
        found = self._closing(closing, inner_start, len(self.text))
        if found < 0 and not self._opens_line(start):
            return inner_start
        end = found + len(closing) if found >= 0 else len(self.text)
        self.regions.append(Region("comment", start, end, end, end))
        return end

    def _closing(self, closing: str, start: int, limit: int) -> int:
        """Where a closing mark is before `limit`, in any case; -1 if there is none."""
        if (closing, limit) in self._unclosed:
            return -1
        if closing[:2] == "</":
            match = re.compile(re.escape(closing), re.IGNORECASE).search(self.text, start, limit)
            found = match.start() if match else -1
        else:
            found = self.text.find(closing, start, limit)
        if found < 0:
            # Remembered, or each of many opening marks would mean a search to the limit.
            self._unclosed.add((closing, limit))
        return found

    def _take_element(
        self, kind: Literal["math", "html"], opening: re.Match[str], closing: str, limit: int
    ) -> int:
        """Record what reaches to its closing mark; returns its end, or 0 without that mark."""
        found = self._closing(closing, opening.end(), limit)
        if found < 0:
            return 0
        start, end = opening.start(), found + len(closing)
        inner = (opening.end(), found) if kind == "html" else (start, end)
        self.regions.append(Region(kind, start, end, *inner))
        return end

    def _take_formula(self, start: int, end: int) -> int:
        """Record `$…$` within a line; returns its end, or 0 if it is none."""
        match = _FORMULA.match(self.text, start, end)
        # One that would end in the name of a link is none.
        if match is None or match[0].count("[[") > match[0].count("]]"):
            return 0
        self.regions.append(Region("math", start, match.end(), start, match.end()))
        return match.end()

    def _take_html(self, opening: re.Match[str], end: int) -> int:
        """Record an element of raw HTML; returns its end, or 0 if it is never closed."""
        name = self._match(_TAG_NAME, opening.start(), opening.end())[1].lower()
        is_block = name != "code" and self._opens_line(opening.start())
        limit = len(self.text) if is_block else end
        taken = self._take_element("html", opening, f"</{name}>", limit)
        if taken or not is_block:
            return taken
        self.regions.append(Region("html", opening.start(), limit, opening.end(), limit))
        return limit

    def _opens_line(self, position: int) -> bool:
        while position and self.text[position - 1] in " \t>":
            position -= 1
        return position == 0 or self.text[position - 1] == "\n"

    def _line_end(self, position: int) -> int:
        found = self.text.find("\n", position)
        return len(self.text) if found < 0 else found + 1

    def _match(self, pattern: re.Pattern[str], start: int, end: int) -> re.Match[str]:
        """Match a pattern that also matches nothing."""
        match = pattern.match(self.text, start, end)
        assert match is not None
        return match


_MARKERS = re.compile(r"^<{7}(?: |\r?$)|^={7}\r?$|^>{7}(?: |\r?$)", re.MULTILINE)


def conflict_line(text: str) -> int:
    """The 1-based line where the first whole conflict begins; 0 if there is none.

    One that is shown in code does not count.
    """
    if "<<<<<<<" not in text or ">>>>>>>" not in text:
        return 0
    visible = visible_text(text, "fence", "code")
    marks = list(_MARKERS.finditer(visible))
    whole = re.search("<=+>", "".join(mark[0][0] for mark in marks))
    return visible.count("\n", 0, marks[whole.start()].start()) + 1 if whole else 0
