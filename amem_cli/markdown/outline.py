"""The outline of a markdown text: its headings, and what an editor can fold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amem_cli.markdown.plain_text import plain_text
from amem_cli.markdown.regions import find_regions, visible_text

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\r?$", re.MULTILINE)
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with its section.

    Attributes:
        level: 1 to 6.
        text: as a reader sees it, without markup.
        written: as it is written, without the number signs.
        start, end: its line, as a slice of the text.
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

    Args:
        start: where the body begins, behind the front matter.
    """
    body = text[start:]
    if "#" not in body:
        return []
    found = [
        (len(match[1]), body[match.start(2) : match.end(2)], match.start(), match.end())
        for match in _HEADING.finditer(visible_text(body))
    ]
    ends = [len(body)] * len(found)
    open_ones: list[int] = []
    for number, (level, _, at, _) in enumerate(found):
        while open_ones and found[open_ones[-1]][0] >= level:
            ends[open_ones.pop()] = at
        open_ones.append(number)
    return [
        Heading(level, plain_text(words), words, start + at, start + to, start + end)
        for (level, words, at, to), end in zip(found, ends, strict=True)
        if words
    ]


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


def folds(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Stretches that an editor can fold: front matter, sections, blocks of code."""
    if start:
        yield 0, start
    for heading in headings(text, start):
        yield heading.start, heading.section_end
    body = text[start:]
    for region in find_regions(body):
        if region.kind == "fence":
            yield start + region.start, start + region.end


def _key(text: str) -> str:
    # Obsidian leaves out what would end a link.
    return _BLANKS.sub(" ", re.sub(r"[#|^:%\[\]]", " ", text)).strip().casefold()
