"""Cuts a long note into passages for an encoder of 256 tokens, with the note's metadata.

Text and metadata together are the enhanced embedding of A-MEM (arXiv 2502.12110, eq. 3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from amem_cli.language.words import UNSPACED_RUN
from amem_cli.markdown.plain_text import plain_text

USUAL_TARGET = 700
USUAL_MAXIMUM = 1000

# A Chinese, Japanese or Korean character is about one token, a token of Latin text four characters.
_UNSPACED_LENGTH = 4
_FENCE = re.compile(r"[ \t]{0,3}(`{3,16}|~{3,16})")
_HEADING = re.compile(r"#{1,6}[ \t]")
_BREAKS = (
    re.compile(r"\n"),
    re.compile(r"[.!?][\"'”’»)\]]{0,3}[ \t]|[。！？；]"),
    re.compile(r"[ \t,，、]"),
)


def split_passages(
    text: str, *, target_chars: int = USUAL_TARGET, max_chars: int = USUAL_MAXIMUM
) -> list[str]:
    """The passages of a text in order, without overlap, that hold its every non-blank character.

    Cuts before headings and between paragraphs if it can, then between lines, sentences and
    words. A code block stays whole if it fits. Linear in the length of the text.

    Args:
        target_chars: length at which a passage is full, in Latin characters; one of Chinese,
            Japanese or Korean counts as four.
        max_chars: length that no passage exceeds, counted in the same way; a text of at most this
            length is one passage.
    """
    maximum = max(_UNSPACED_LENGTH, max_chars)
    target = min(target_chars, maximum)
    if _length(text, 0, len(text)) <= maximum:
        return _filled([text])
    passages: list[str] = []
    start = end = size = 0
    for block_start, block_end in _blocks(text, maximum):
        block = _length(text, block_start, block_end)
        is_full = size + block > (maximum if size < target // 2 else target)
        starts_chapter = size > target // 3 and _HEADING.match(text, block_start) is not None
        if size and (is_full or starts_chapter):
            passages.append(text[start:end])
            start, size = block_start, 0
        end, size = block_end, size + block
    return _filled([*passages, text[start:end]])


def _filled(pieces: Sequence[str]) -> list[str]:
    return [kept for piece in pieces if (kept := piece.strip())]


def _length(text: str, start: int, end: int) -> int:
    unspaced = sum(match.end() - match.start() for match in UNSPACED_RUN.finditer(text, start, end))
    return end - start + unspaced * (_UNSPACED_LENGTH - 1)


def _blocks(text: str, maximum: int) -> Iterator[tuple[int, int]]:
    """Paragraphs, headings and code blocks with the blanks after them; long ones already cut."""
    for start, end in _paragraphs(text):
        while end - start > maximum or _length(text, start, end) > maximum:
            cut = _cut(text, start, end, maximum)
            yield start, cut
            start = cut
        if start < end:
            yield start, end


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = position = 0
    fence = ""
    after_blank = after_heading = False
    for line in text.splitlines(keepends=True):
        blank = not line.strip()
        mark = _FENCE.match(line)
        opens_fence = mark is not None and not fence
        heading = not fence and _HEADING.match(line) is not None
        begins = heading or opens_fence or (after_blank and not fence and not after_heading)
        if begins and not blank and position > start and not (after_heading and not heading):
            yield start, position
            start = position
        closes_fence = bool(fence) and mark is not None and line.strip().startswith(fence)
        if mark is not None and opens_fence:
            fence = mark.group(1)
        elif closes_fence:
            fence = ""
        position += len(line)
        after_heading = heading or (after_heading and blank)
        after_blank = blank or closes_fence
    if position > start:
        yield start, position


def _cut(text: str, start: int, end: int, maximum: int) -> int:
    """The last good place to cut at most `maximum` after the start."""
    furthest = _furthest(text, start, end, maximum)
    for pattern in _BREAKS:
        earliest = start + (furthest - start) // 3
        place = 0
        for match in pattern.finditer(text, earliest, furthest):
            place = match.end()
        if place > start:
            return place
    return furthest


def _furthest(text: str, start: int, end: int, maximum: int) -> int:
    window_end = min(end, start + maximum)
    surplus = _length(text, start, window_end) - maximum
    position = window_end
    while surplus > 0 and position > start + 1:
        position -= 1
        surplus -= _UNSPACED_LENGTH if UNSPACED_RUN.match(text, position, position + 1) else 1
    return position


def embedded_text(note: Any, passage: str) -> str:
    """The enhanced text of one passage of a `Note` or `NoteSummary`: title, text and metadata."""
    parts = [note.title, plain_text(passage), note.context]
    if note.keywords:
        parts.append(", ".join(note.keywords))
    if note.tags:
        parts.append(" ".join(tag.replace("/", " ").replace("-", " ") for tag in note.tags))
    return "\n".join(part for part in parts if part)
