"""Which parts of a markdown text are sentences, and may be quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amem_cli.language.lexicon import word_list
from amem_cli.language.words import sentences, words
from amem_cli.markdown.links import scan_links
from amem_cli.markdown.regions import blank_out

_IN_PLACE_OF_A_LINK = "\1"
_AROUND = " \t\r\0>"
_MARKED = re.compile(r"[ \t]*(?:[-*+•>]|\d{1,3}[.)][ \t])")
_HEADING = re.compile(r"#{1,6}[ \t]")
_UNDERLINE = re.compile(r"=+|-{2,}")
_RULER = re.compile(r"[ \t>|:-]+")
_TAG = re.compile(r"(?<!\S)#\S+")
_ADDRESS = re.compile(r"<?\b(?:https?|ftp|mailto|obsidian|file):[^\s>)]+")
_LIST_OF_WORDS = re.compile(r"(?:[-*+] )?(?:tags?|keywords?|alias(?:es)?)\s?::?(?:\s|$)", re.I)
_LABEL = re.compile(
    r"(?:[ \t>*+•-]|\d{1,3}[.)](?=[ \t]))*(?:[^:\n]{1,40}::|(?:related|links?|up|parent):)?", re.I
)
_PROPERTY = re.compile(r"[ \t]*(?:[\w.-]+:(?:[ \t].*)?|-[ \t].*|#.*)?\r?")


def only_sentences(markdown: str) -> str:
    """The same text, character for character, but blank where it is no sentence.

    That is code, comments, headings, tables, properties, and sentences and list items that hold
    nothing but links, tags, addresses and words that point to them (`See [[Walrus]].`). Linear in
    the length of the text.
    """
    links = scan_links(markdown)
    gone = [(each.start, each.end) for each in links.regions if each.kind != "code"]
    gone.append((0, _end_of_header(markdown)))
    mute = [(each.start, each.end) for each in links.regions if each.kind == "code"]
    mute += links.spans
    bare = blank_out(blank_out(markdown, mute).replace("\0", _IN_PLACE_OF_A_LINK), gone)
    for start, end, is_text in _blocks(bare):
        if is_text:
            gone += ((start + at, start + to) for at, to in _empty_sentences(bare[start:end]))
        else:
            gone.append((start, end))
    return blank_out(markdown, gone).replace("\0", " ")


def _end_of_header(text: str) -> int:
    """Where properties end that are the text's and not the note's, such as a template's; or 0."""
    lines = text.splitlines(keepends=True)
    end = 0
    for number, line in enumerate(lines):
        end += len(line)
        if number and line.rstrip() == "---":
            return end
        if not (_PROPERTY.fullmatch(line.rstrip("\n")) if number else line.rstrip() == "---"):
            return 0
    return 0


def _blocks(bare: str) -> Iterator[tuple[int, int, bool]]:
    """Paragraphs and list items, and with False the lines that are neither: (start, end, is text).

    A line goes on with the paragraph before it unless that told nothing yet.
    """
    lines = bare.split("\n")
    begin = position = 0
    silent = table = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        end = position + len(line)
        content = line.strip(_AROUND)
        table = "|" in content and (table or content[0] == "|" or _is_ruler(following))
        is_text = not (
            table
            or _HEADING.match(content)
            or _UNDERLINE.fullmatch(following.strip())
            or _LIST_OF_WORDS.match(content)
            or not _TAG.sub("", content).strip(" \t,-*")
        )
        begins = _MARKED.match(line) or (silent and not content[:1].islower())
        if position > begin and (begins or not is_text):
            yield begin, position - 1, True
            begin = position
        if not is_text:
            yield position, end, False
            begin = end + 1
        silent = (silent or begin == position) and is_text and not _says_something(line)
        position = end + 1
    if position > begin:
        yield begin, position - 1, True


def _is_ruler(line: str) -> bool:
    return "|" in line and "-" in line and _RULER.fullmatch(line.rstrip("\r")) is not None


def _empty_sentences(block: str) -> Iterator[tuple[int, int]]:
    """The sentences of a block that tell nothing, as slices of it."""
    flat = block.replace("\n", " ")
    end = 0
    for sentence in sentences(flat):
        start = flat.index(sentence, end)
        end = start + len(sentence)
        if not _says_something(sentence):
            yield start, end


def _says_something(text: str) -> bool:
    """Whether anything is said beside links, tags, addresses, marks and a label."""
    rest = _ADDRESS.sub(" ", _TAG.sub(" ", _LABEL.sub("", text, count=1)))
    return not word_list("pointing").issuperset(words(rest))
