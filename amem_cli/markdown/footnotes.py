"""Finds the footnotes of a text, and gives those of one text labels that another does not use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from amem_cli.markdown.regions import Cut, blank_out, blocks, line_spans, spliced, visible_text

# As in Obsidian a label holds no blanks. `[[^1]]` is a link to a block.
_LABEL = re.compile(r"(?<!\\)(?:\\\\)*\[\^([^\[\]\s\0]{1,100})\]")
# Destinations of links, in which `[^1]` is not a footnote.
_DESTINATION = re.compile(r"(?<=\])\((?!\[\^)[^()\s]{1,2000}\)")
_DEFINITION = re.compile(r"[ ]{0,3}(?:>[ ]{0,3})*\[\^([^\[\]\s\0]{1,100})\]:")


@dataclass(frozen=True, slots=True)
class Footnote:
    """The text of a footnote where it is defined.

    Attributes:
        label: as it is compared, without regard to case.
        start, end: whole lines of the text, paragraphs that are indented below it with them.
        content: what it says; the same for texts of which a reader sees no difference.
    """

    label: str
    start: int
    end: int
    content: str


def find_footnotes(text: str) -> list[Footnote]:
    """The definitions `[^label]: …` of a text with LF line endings, in its order, outside code."""
    if "[^" not in text:
        return []
    return list(_footnotes(text, visible_text(text)))


def with_own_footnotes(text: str, beside: str) -> str:
    """A text whose footnotes still lead to their own if `beside` is in the same note.

    A label that `beside` uses as well becomes one that neither has; a footnote that says what one
    of `beside` says, and names no other, gets the label it has there. Code and comments stay.
    """
    if "[^" not in text or "[^" not in beside or text == beside:
        return text
    shown, shown_beside = _without_else(text), _without_else(beside)
    found = _references(shown)
    theirs, ours = _contents(text, shown), _contents(beside, shown_beside)
    used = {match[1].casefold(): match[1] for match in _references(shown_beside)}
    by_content = {
        content: used[label]
        for label, content in reversed([*ours.items()])
        if content and "[^" not in content
    }
    taken = {*used, *(match[1].casefold() for match in found)}
    numbers = count(1 + max((int(label) for label in taken if label.isdecimal()), default=0))
    labels: dict[str, str] = {}
    for label in dict.fromkeys(match[1] for match in found):
        key = label.casefold()
        if (content := theirs.get(key, "")) in by_content:
            labels[key] = by_content[content]
        elif key not in labels and key in used and (key in theirs or key in ours):
            labels[key] = str(next(numbers)) if label.isdecimal() else _free_label(label, taken)
            taken.add(labels[key].casefold())
    return spliced(
        text, (Cut(*each.span(1), labels.get(each[1].casefold(), each[1])) for each in found)
    )


def _free_label(label: str, taken: set[str]) -> str:
    return next(
        free for number in count(2) if (free := f"{label}-{number}").casefold() not in taken
    )


def _contents(text: str, visible: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in _footnotes(text, visible):
        found.setdefault(each.label, each.content)
    return found


def _without_else(text: str) -> str:
    visible = visible_text(text)
    return blank_out(visible, (match.span() for match in _DESTINATION.finditer(visible)))


def _references(shown: str) -> list[re.Match[str]]:
    """Each place that has a label, definitions among them; `[[^1]]` has none."""
    return [
        match
        for match in _LABEL.finditer(shown)
        if shown[match.start() - 1 : match.start()] != "["
        or shown[match.end() : match.end() + 1] != "]"
    ]


def _footnotes(text: str, visible: str) -> Iterator[Footnote]:
    lines = line_spans(text)
    for token in blocks(visible, footnote="- x"):
        first, last = token.map or (0, 0)
        opening = _DEFINITION.match(visible, lines[first][0])
        if token.type == "list_item_open" and opening:
            while not text[slice(*lines[last - 1])].strip():
                last -= 1
            yield _footnote(text, opening, lines[last - 1][1])


def _footnote(text: str, opening: re.Match[str], end: int) -> Footnote:
    told = unicodedata.normalize("NFC", text[opening.end() : end]).strip()
    content = "\n".join(line.rstrip() for line in told.split("\n"))
    return Footnote(opening[1].casefold(), opening.start(), end, content)
