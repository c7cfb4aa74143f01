"""What an editor asks of a markdown text: its headings, and what somebody is typing at a place: a
link, a tag, and the paragraph around it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amem_cli.markdown.links import heading_anchor, is_tag_character
from amem_cli.markdown.plain_text import plain_text
from amem_cli.markdown.regions import blocks, find_regions, line_spans, visible_text

_MARK = re.compile(r"[ \t]*#{1,6}(?:[ \t]+|(?=\r|\Z))")
_CLOSING_MARK = re.compile(r"(?:(?<=[ \t])#+|\A#+)[ \t]*\Z")
_MAY_BE = re.compile(r"^ {0,3}(?:#{1,6}(?:[ \t\r]|$)|(?:=+|-+)[ \t]*\r?$)", re.MULTILINE)


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
    """
    body = text[start:]
    found = list(_headings(body))
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


def _headings(body: str) -> Iterator[tuple[int, str, int, int]]:
    """Level, words as written, start and end of each heading."""
    if not _MAY_BE.search(body):
        return
    # Obsidian's comments and formulas are none of CommonMark's.
    visible = visible_text(body, "comment", "math")
    places = line_spans(visible)
    for token in blocks(visible):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        first, last = token.map[0], token.map[1] - 1
        start, end = places[first][0], places[last][1]
        is_underlined = token.markup[0] in "=-"
        words = body[start : places[last][0] if is_underlined else end].strip()
        if not is_underlined:
            words = _CLOSING_MARK.sub("", _MARK.sub("", words, count=1)).strip()
        # Above may be the opening line of properties that cannot be read.
        is_header = visible.startswith("---") and visible.find("\n---") + 1 == places[last][0]
        if visible[start:end].strip("\0=- \t\r\n") and not is_header:
            yield int(token.tag[1]), words, start, start + len(body[start:end].rstrip("\n"))


def heading_named(outline: Sequence[Heading], fragment: str) -> Heading | None:
    """The heading that a link's fragment means (`Heading` or `Heading#Sub`), in any case.

    It may be named as a reader sees it or as it is written, without its marks as Obsidian names
    it, or by its anchor: `a-heading`.
    """
    place = 0
    found = None
    for part in filter(str.strip, fragment.split("#")):
        found = next(
            (
                each
                for key in (_key, _bare_key, heading_anchor)
                if (wanted := key(part))
                for each in outline[place:]
                if wanted in (key(each.text), key(each.written))
            ),
            None,
        )
        if found is None:
            return None
        place = outline.index(found) + 1
    return found


def block_place(text: str, name: str) -> int | None:
    """Where the block with this name (`^name` at the end of a line) begins its line, or None."""
    match = re.search(rf"(?m)(?:^|[ \t])\^{re.escape(name)}[ \t]*\r?$", text)
    return None if match is None else text.rfind("\n", 0, match.start() + 1) + 1


def _key(text: str, left_out: str = r"[#|^:%\[\]]") -> str:
    # Obsidian leaves out what would end a link.
    kept = re.sub(left_out, " ", unicodedata.normalize("NFC", text))
    return " ".join(kept.split()).casefold()


def _bare_key(text: str) -> str:
    # What Obsidian leaves out of both where it compares them.
    return _key(text, r"[!-&(-,./:-@\[-^`{-~]")


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
    """The wikilink whose target the cursor at `place` is in, or None."""
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
