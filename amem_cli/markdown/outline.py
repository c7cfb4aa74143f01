"""What an editor asks of a markdown text: its headings and what it can fold, and what somebody is
typing at a place: a link, a tag, and the paragraph around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from amem_cli.markdown.links import is_tag_character
from amem_cli.markdown.plain_text import plain_text
from amem_cli.markdown.regions import blank_out, find_regions, visible_text

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\r?$", re.MULTILINE)
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*\r?$", re.MULTILINE)
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}\Z|=+\Z")
_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]|\Z)")
# What begins another block than a paragraph. An underline that is not indented as far as an item's
# text does not belong to that.
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_NO_PARAGRAPH = re.compile(
    rf"{_ITEM.pattern}|[ \t]*[>|]|(?: {{4}}| {{0,3}}\t)|[ \t]*\[[^\]]+\]:|[ \t|:-]*\|[ \t|:-]*\Z"
    r"| {0,3}</?(?:div|p|table|t[rdh]|thead|tbody|details|summary|[uod]l|li|section|article|aside"
    r"|center|figure|form|header|footer|nav|pre|script|style|iframe|h[1-6])\b",
    re.IGNORECASE,
)
_FURTHEST = 100  # lines in which the beginning of a list is looked for
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with its section.

    Attributes:
        level: 1 to 6.
        text: as a reader sees it, without markup.
        written: as it is written, without the number signs or the line below.
        start, end: its lines, as a slice of the text.
        section_end: where the next heading of this level or a higher one begins, or the text ends.
    """

    level: int
    text: str
    written: str
    start: int
    end: int
    section_end: int


def headings(text: str, start: int = 0) -> list[Heading]:
    """The headings of a text, in order; what looks like one in code or a comment is none.

    They begin with `#`, or stand above a line of `=` (level 1) or `-` (level 2).

    Args:
        start: where the body begins, behind the front matter.
    """
    body = text[start:]
    found = _underlined(body)
    if "#" in body:
        found += (
            (len(match[1]), body[match.start(2) : match.end(2)], match.start(), match.end())
            for match in _HEADING.finditer(visible_text(body))
        )
    found.sort(key=lambda each: each[2])
    ends = [len(body)] * len(found)
    open_ones: list[int] = []
    for number, (level, _, at, _) in enumerate(found):
        while open_ones and found[open_ones[-1]][0] >= level:
            ends[open_ones.pop()] = at
        open_ones.append(number)
    return [
        Heading(
            level, " ".join(plain_text(words).split()), words, start + at, start + to, start + end
        )
        for (level, words, at, to), end in zip(found, ends, strict=True)
        if words
    ]


def _underlined(body: str) -> list[tuple[int, str, int, int]]:
    """Headings above a line, as CommonMark has them: level, words, start and end."""
    if not _UNDERLINE.search(body):
        return []
    # Code within words is left, for a line of code and one with a name in it must not look alike.
    blocks = ((each.start, each.end) for each in find_regions(body) if each.kind != "code")
    visible = blank_out(body, blocks)
    found = []
    done = 0
    for match in _UNDERLINE.finditer(visible):
        start = _paragraph_start(visible, match.start(), done)
        done = match.end()
        if start is not None:
            level = 1 if match[1][0] == "=" else 2
            found.append((level, body[start : match.start()].strip(), start, match.end()))
    return found


def _paragraph_start(visible: str, end: int, earliest: int) -> int | None:
    """Where the paragraph begins that a line at `end` underlines; None if there is none."""
    start = end
    while start > earliest:
        above = visible.rfind("\n", 0, start - 1) + 1
        line = visible[above : start - 1].rstrip("\r")
        if not line.strip("\0 \t") or _ATX.match(line) or _RULE.match(line):
            break
        if _NO_PARAGRAPH.match(line):
            return None
        start = above
    paragraph = visible[start:end]
    # Above may be the opening line of properties that cannot be read.
    is_header = start <= len("---\r\n") and visible[:start].rstrip() == "---"
    if start == end or is_header or paragraph.count("$$") % 2:
        return None
    return None if paragraph[0] == " " and _is_in_item(visible, start) else start


def _is_in_item(visible: str, start: int) -> bool:
    """Whether indented text belongs to an item of a list above it."""
    for _ in range(_FURTHEST):
        if not start:
            break
        above = visible.rfind("\n", 0, start - 1) + 1
        line = visible[above : start - 1]
        if line.strip() and (_ITEM.match(line) or line[0] not in " \t"):
            return _ITEM.match(line) is not None
        start = above
    return False


def heading_named(outline: Sequence[Heading], fragment: str) -> Heading | None:
    """The heading that a link's fragment means (`Heading` or `Heading#Sub`), in any case."""
    wanted = [_key(part) for part in fragment.split("#") if part.strip()]
    place = 0
    found = None
    for part in wanted:
        found = next((each for each in outline[place:] if _key(each.text) == part), None)
        if found is None:
            return None
        place = outline.index(found) + 1
    return found


def block_place(text: str, name: str) -> int | None:
    """Where the block with this name (`^name` at the end of a line) begins its line, or None."""
    match = re.search(rf"(?m)(?:^|[ \t])\^{re.escape(name)}[ \t]*\r?$", text)
    return None if match is None else text.rfind("\n", 0, match.start() + 1) + 1


def _key(text: str) -> str:
    # Obsidian leaves out what would end a link.
    return _BLANKS.sub(" ", re.sub(r"[#|^:%\[\]]", " ", text)).strip().casefold()


_TAG_LIST = re.compile(r"^tags?[ \t]*:", re.IGNORECASE)
_NEW_PROPERTY = re.compile(r"^[^\s#-][^:\n]*:", re.MULTILINE)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\r?\n")
PARAGRAPH_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class TypedLink:
    """A wikilink whose target is being typed.

    Attributes:
        start: behind the opening brackets.
        end: behind what is replaced: the cursor, or what was typed of the target before.
        target: what was typed of the note's name.
        fragment: what was typed behind `#`; None without one.
        closed: the closing brackets are there.
    """

    start: int
    end: int
    target: str
    fragment: str | None
    closed: bool


@dataclass(frozen=True, slots=True)
class TypedTag:
    """A tag that is being typed; `start` is behind the `#`, if it has one."""

    start: int
    end: int
    text: str


def typed_link(text: str, place: int, body: int = 0) -> TypedLink | None:
    """The wikilink whose target the cursor at `place` is in, or None.

    Args:
        body: where the text begins behind the front matter; links in properties count too.
    """
    line_start = text.rfind("\n", 0, place) + 1
    opening = text.rfind("[[", line_start, place)
    if opening < 0 or _is_in_code(text, opening, body):
        return None
    typed = text[opening + 2 : place]
    if "]]" in typed or "|" in typed:
        return None
    line_end = text.find("\n", place)
    rest = text[place : line_end if line_end >= 0 else len(text)]
    closing, opens = rest.find("]]"), rest.find("[[")
    closed = closing >= 0 and not 0 <= opens < closing
    bar = rest.find("|", 0, closing) if closed else -1
    end = place + (bar if bar >= 0 else closing) if closed else place
    target, sign, fragment = typed.partition("#")
    return TypedLink(opening + 2, end, target, fragment if sign else None, closed)


def typed_tag(text: str, place: int, body: int = 0) -> TypedTag | None:
    """The tag that the cursor at `place` is in, behind a `#` or in the property `tags`, or None."""
    start = place
    while start > 0 and is_tag_character(text[start - 1]):
        start -= 1
    if place < body:
        return TypedTag(start, place, text[start:place]) if _in_tags(text, start) else None
    is_tag = start > body and text[start - 1] == "#"
    before = text[start - 2] if is_tag and start - 1 > body else " "
    if not is_tag or not before.isspace() or _is_in_code(text, start, body):
        return None
    return TypedTag(start, place, text[start:place])


def _in_tags(text: str, place: int) -> bool:
    """Whether the property that the place is in, behind its name, holds tags."""
    line_start = text.rfind("\n", 0, place) + 1
    properties = list(_NEW_PROPERTY.finditer(text, 0, place))
    if not properties or not _TAG_LIST.match(properties[-1].group()):
        return False
    own = text[line_start:place]
    return properties[-1].end() <= place and own.strip(" \t-[,\"'").find(" ") < 0


def _is_in_code(text: str, place: int, body: int) -> bool:
    if place < body or not any(mark in text for mark in ("`", "~~~", "%%", "<!--", "    ", "\t")):
        return False
    at = place - body
    return any(region.start <= at < region.end for region in find_regions(text[body:]))


def paragraph_at(text: str, start: int, end: int, body: int = 0) -> str:
    """The paragraph around a stretch, without what is in the stretch."""
    place = max(start, body)
    breaks = [match.end() for match in _PARAGRAPH_END.finditer(text, body, place)]
    begin = max(breaks[-1] if breaks else body, place - PARAGRAPH_CHARACTERS // 2)
    following = _PARAGRAPH_END.search(text, max(end, body))
    stop = min(following.start() if following else len(text), end + PARAGRAPH_CHARACTERS // 2)
    around = (
        f"{text[begin:place].removesuffix('[[')} {text[max(end, body) : stop].removeprefix(']]')}"
    )
    return " ".join(around.split())
