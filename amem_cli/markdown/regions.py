"""The parts of a text that Obsidian reads as code, math, raw HTML or a comment; git's conflicts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

CODE_INDENT = 4

_HTML_OPENING = r"<(?i:pre|code|script|style|textarea)(?=[\s>])[^<>]{0,500}>"
# A line that is indented below text only goes on with it.
_TEXT = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:[^\W\d_]|\[)"
_INDENTED = rf"(?:\A|^(?!{_TEXT})[^\n]*\n)(?: {{4}}| {{0,3}}\t)|^ *>[ >]*(?: {{4}}|\t)"
_MAY_BE_CODE = re.compile(_INDENTED, re.MULTILINE)
_ANY_MARK = re.compile(rf"`|~~~|%%|<!--|\$|{_HTML_OPENING}|{_INDENTED}", re.MULTILINE)
_CONTAINER_MARKS = r"(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*"
_LINE_MARKS = re.compile(_CONTAINER_MARKS)
_QUOTE_MARKS = re.compile(r"[ \t>]*")
# No backtick may follow on the line: "```x```" is inline code.
_FENCE = r"(?:`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"
_FENCE_CLOSING = re.compile(r"([ \t>]*)(`{3,}|~{3,})[ \t]*\r?\n?")
# Blank lines, items of a list, headings of either form, rules, rows of a table, and fences.
_BLOCK_START = re.compile(
    r"[ \t>]*(?:\r?(?:\n|\Z)|(?:[-*+]|\d{1,9}[.)])[ \t]|#{1,6}(?:\s|\Z)|\|"
    rf"|(?:=+|-+|([-*_])[ \t]*(?:\1[ \t]*){{2,}})[ \t]*\r?(?:\n|\Z)|{_FENCE})"
)
_FOOTNOTE = re.compile(r"^([ \t>]*)\[\^[^\]\s]{1,100}\]:[ \t]*", re.MULTILINE)
# A dollar sign in the name of a link opens no formula.
_LINK_WITH_DOLLAR = r"\[\[[^\[\]\n$`%<]*\$[^\[\]\n`%<]*\]\]"
_MARK = re.compile(
    rf"^(?P<marks>{_CONTAINER_MARKS})(?P<fence>{_FENCE})"
    rf"|\\[!-/:-@\[-`{{-~]|`+|%%|<!--|\$\$?|{_HTML_OPENING}|{_LINK_WITH_DOLLAR}",
    re.MULTILINE,
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


class _Scanner:
    """Reads a text from mark to mark; most inline marks mean something within their block alone."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.regions: list[Region] = []
        # Where the block ends that was read last, and the runs of backticks in it.
        self._block_end = 0
        self._ticks: dict[int, list[int]] | None = None
        self._unclosed: set[tuple[str, int]] = set()

    def scan(self) -> None:
        position = 0
        for start, end in (*_indented_code(self.text), (len(self.text),) * 2):
            while position < start and (mark := _MARK.search(self.text, position, start)):
                position = self._take_mark(mark, start)
            if position <= start < end:
                self.regions.append(Region("indented", start, end, start, end))
                position = end

    def _take_mark(self, mark: re.Match[str], limit: int) -> int:
        """Record what a mark opens in a block that ends at `limit` or before; where to go on."""
        if mark["fence"]:
            return self._take_fence(mark)
        said, start, whole = mark.group(), mark.start(), len(self.text)
        end, opens_line = self._end_of_block(start, limit), self._opens_line(start)
        taken = 0
        if said[0] == "`":
            # All runs at once: a search for each closing mark would take quadratic time.
            if self._ticks is None:
                self._ticks = self._backtick_runs(start, end)
            taken = self._take_code_span(start, mark.end(), self._ticks)
        elif said in _CLOSING_OF:
            taken = self._take("comment", mark, _CLOSING_OF[said], whole, or_to_end=opens_line)
        elif said == "$$":
            taken = self._take("math", mark, "$$", whole if opens_line else end)
        elif said == "$":
            taken = self._take_formula(start, end)
        elif said[0] == "<":
            name = self._match(_TAG_NAME, start, mark.end())[1].lower()
            is_block = opens_line and name != "code"
            reach = whole if is_block else end
            taken = self._take("html", mark, f"</{name}>", reach, or_to_end=is_block)
        return taken or mark.end()

    def _end_of_block(self, place: int, limit: int) -> int:
        if place >= self._block_end:
            end, depth = self._line_end(place), self._quote_depth(self._line_start(place))
            while (
                end < limit
                and not _BLOCK_START.match(self.text, end)
                and self._quote_depth(end) == depth
            ):
                end = self._line_end(end)
            self._block_end, self._ticks = end, None
        return self._block_end

    def _quote_depth(self, line_start: int) -> int:
        return self._match(_LINE_MARKS, line_start, len(self.text))[0].count(">")

    def _take_fence(self, opening: re.Match[str]) -> int:
        """Record fenced code; returns its end."""
        start, marks = opening.start("fence"), opening["marks"]
        # A closing mark indented four further is a line of the code, as in CommonMark.
        deepest_closing = len(marks.expandtabs(CODE_INDENT)) + 3
        inner_start = end = position = self._line_end(start)
        while position < len(self.text):
            line_end = self._line_end(position)
            closing = _FENCE_CLOSING.match(self.text, position, line_end)
            if (
                closing
                and closing.end() == line_end
                and closing.group(2).startswith(opening["fence"])
                and len(closing.group(1).expandtabs(CODE_INDENT)) <= deepest_closing
            ):
                end = line_end
                break
            quotes = self._match(_QUOTE_MARKS, position, line_end)
            # A fence in a quote ends with the quote, even if it was never closed.
            if quotes.group().count(">") < marks.count(">"):
                end = position
                break
            position = end = line_end
        self.regions.append(Region("fence", start, end, inner_start, position))
        return end

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

    def _take(
        self,
        kind: Literal["comment", "math", "html"],
        opening: re.Match[str],
        closing: str,
        limit: int,
        *,
        or_to_end: bool = False,
    ) -> int:
        """Record what reaches to its closing mark; returns its end, or 0 without that mark."""
        found = self._closing(closing, opening.end(), limit)
        if found < 0 and not or_to_end:
            return 0
        start = opening.start()
        inner_end, end = (found, found + len(closing)) if found >= 0 else (limit, limit)
        inner = {"comment": (end, end), "math": (start, end), "html": (opening.end(), inner_end)}
        self.regions.append(Region(kind, start, end, *inner[kind]))
        return end

    def _take_formula(self, start: int, end: int) -> int:
        """Record `$…$` within a line; returns its end, or 0 if it is none."""
        match = _FORMULA.match(self.text, start, end)
        # One that would end in the name of a link is none.
        if match is None or match[0].count("[[") > match[0].count("]]"):
            return 0
        self.regions.append(Region("math", start, match.end(), start, match.end()))
        return match.end()

    def _opens_line(self, position: int) -> bool:
        while position and self.text[position - 1] in " \t>":
            position -= 1
        return position == 0 or self.text[position - 1] == "\n"

    def _line_start(self, position: int) -> int:
        return self.text.rfind("\n", 0, position) + 1

    def _line_end(self, position: int) -> int:
        found = self.text.find("\n", position)
        return len(self.text) if found < 0 else found + 1

    def _match(self, pattern: re.Pattern[str], start: int, end: int) -> re.Match[str]:
        """Match a pattern that also matches nothing."""
        match = pattern.match(self.text, start, end)
        assert match is not None
        return match


def _indented_code(text: str) -> Iterator[tuple[int, int]]:
    """The lines of indented code, also where they are in a comment or the like."""
    if not _MAY_BE_CODE.search(text):
        return
    lines = line_spans(text)
    for token in blocks(text):
        if token.type == "code_block" and token.map:
            yield lines[token.map[0]][0], lines[token.map[1] - 1][1]


def blocks(text: str, *, footnote: str = "-   x") -> Sequence[Token]:
    """The blocks of CommonMark; their `map` has numbers of the `line_spans` of the text.

    Args:
        footnote: what stands for the mark of a footnote: an item of a list goes on as that does.
    """
    return _parser().parse(_FOOTNOTE.sub(rf"\1{footnote} ", text))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


def line_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each line, its line break with it."""
    return [match.span() for match in _LINE.finditer(text)]


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
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
