"""What somebody is typing at a place of a text: a link, a tag, and the paragraph around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from amem_cli.markdown.links import WikiLink, find_links, is_tag_character
from amem_cli.markdown.regions import find_regions

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
    in_properties: bool


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
        return TypedTag(start, place, text[start:place], True) if _in_tags(text, start) else None
    is_tag = start > body and text[start - 1] == "#"
    before = text[start - 2] if is_tag and start - 1 > body else " "
    if not is_tag or not before.isspace() or _is_in_code(text, start, body):
        return None
    return TypedTag(start, place, text[start:place], False)


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


def link_at(text: str, place: int, body: int = 0) -> WikiLink | None:
    """The link that a place lies in or at the end of, with offsets in the whole text, or None."""
    return next(
        (link for link in all_links(text, body) if link.start <= place <= link.end),
        None,
    )


def all_links(text: str, body: int = 0) -> list[WikiLink]:
    """The links of a note's text, those in its front matter too, with offsets in the whole text."""
    links = find_links(text[:body]) if body else []
    moved = (
        replace(link, start=link.start + body, end=link.end + body)
        for link in find_links(text[body:])
    )
    return [*links, *moved]


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
