"""Markdown as the prose that a reader sees, and the marks that carry no words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from amem_cli.markdown.links import WikiLink, is_attachment, is_embed, scan_links
from amem_cli.markdown.regions import Cut, find_regions, spliced

_OWN_LINE = re.compile(r"[ \t]{0,32}(?:[-*+•→|#>]|\d{1,3}[.)][ \t])")
# Of a list item, beside the marks of markdown that `plain_text` takes away.
_NUMBER = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[•→])[ \t]+")
_QUOTE = re.compile(r"[ \t]{0,3}>[ \t]*(\[!)?")
_ADDRESS = re.compile(r"<?\b(?:https?|ftp|mailto|obsidian|file):[^\s<>)\]]{1,2000}>?")
_TEMPLATE = re.compile(r"\{\{[^{}\n]{0,300}\}\}|\{%[^%\n]{0,300}%\}")


@lru_cache(maxsize=64)
def prose(markdown: str, *, with_code: bool = False) -> str:
    """The whole text without markup; list items, headings and quotes are between blank lines.

    Args:
        markdown: a note's body.
        with_code: keep the lines inside code fences, as they are.
    """
    fences = [each for each in find_regions(markdown) if each.kind == "fence"]
    pieces, position = [], 0
    for fence in fences:
        pieces += [_parted(markdown[position : fence.start]), "\n\n"]
        pieces += [markdown[fence.inner_start : fence.inner_end]] * with_code
        position = fence.end
    pieces.append(_parted(markdown[position:]))
    return "".join(pieces)


def _parted(markdown: str) -> str:
    """Prose of a text without code fences."""
    text = _TEMPLATE.sub("", _ADDRESS.sub("", markdown))
    lines = (
        f"\n{_NUMBER.sub('', line)}\n" if _OWN_LINE.match(line) else line
        for line in text.splitlines()
    )
    return plain_text("\n".join(lines))


def without_quotes(markdown: str) -> str:
    """The text with its quotes blank, which say what others say; callouts stay."""
    lines: list[str] = []
    quoted = callout = False
    for line in markdown.splitlines():
        mark = _QUOTE.match(line)
        if mark:
            callout = callout if quoted else bool(mark[1])
            quoted = True
        elif not line.strip() or _OWN_LINE.match(line):
            quoted = False
        lines.append("" if quoted and not callout else line)
    return "\n".join(lines)


_EMPTY_LINE_MARKS = re.compile(r"^[ \t>]*[-*_=|:+][-*_=|: \t\r+]*$", re.MULTILINE)
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n^][^\]\n]{0,200}\]:[ \t]+\S.*$", re.MULTILINE)
_LINE_START = re.compile(
    r"^[ \t>]*(?:[-*+][ \t]+)?(?:\[[^\]\n]\][ \t]+)?(?:#{1,6}[ \t]+)?(?:\[![\w-]{1,30}\][-+]?)?",
    re.MULTILINE,
)
_TASK = re.compile(r"^([ \t>]*[-*+][ \t]+)\[([^\]\n])\](?=[ \t])", re.MULTILINE)
_CLOSING_HASHES = re.compile(r"(?<=[ \t])#+[ \t\r]*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t>]*\|.*$", re.MULTILINE)
_CUT_BLOCK_ID = re.compile(r"[ \t]\^[A-Za-z0-9-]{1,60}[ \t\r]*$", re.MULTILINE)
_INLINE = re.compile(
    r"(?P<address>https?://[^\s<>()\[\]]+)"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|<(?P<autolink>[a-z]{2,20}:[^\s<>]{1,2000})>"
    r"|</?(?P<tag>[A-Za-z][A-Za-z0-9]{0,20})(?:[\s/][^<>]{0,1000})?>"
    r"|(?P<footnote>\[\^[^\]\s]{1,50}\]:?)"
    r"|(?P<emphasis>[*_]+|~~|==)"
)
_TAG_WITHIN_WORDS = re.compile(
    r"a|b|i|u|s|em|strong|span|font|mark|small|sub|sup|del|ins|code", re.IGNORECASE
)


def markup_cuts(visible: str) -> Iterator[Cut]:
    """Cuts for the marks of lines and of words; linear in the length of the text."""
    for pattern in (_EMPTY_LINE_MARKS, _REFERENCE, _LINE_START, _CLOSING_HASHES, _CUT_BLOCK_ID):
        for match in pattern.finditer(visible):
            if match.end() > match.start():
                yield Cut(*match.span())
    for row in _TABLE_ROW.finditer(visible):
        for bar in re.finditer(r"\|", row.group()):
            yield Cut(row.start() + bar.start(), row.start() + bar.end(), " ")
    for match in _INLINE.finditer(visible):
        replacement = _inline_replacement(visible, match)
        if replacement is not None:
            yield Cut(*match.span(), replacement)


def _inline_replacement(visible: str, match: re.Match[str]) -> str | None:
    """What stays of an inline mark, or None if it is a part of the words."""
    # `H<sub>2</sub>O` is one word, `a<br>b` is two.
    if match.lastgroup == "tag":
        return "" if _TAG_WITHIN_WORDS.fullmatch(match["tag"]) else " "
    if match.lastgroup == "emphasis":
        return "" if _is_emphasis(visible, *match.span()) else None
    if match.lastgroup == "footnote":
        return ""
    return match[match.lastgroup or 0]


def _is_emphasis(visible: str, start: int, end: int) -> bool:
    """Whether marks touch a word on one side only, or are between scripts without blanks."""
    before = visible[start - 1] if start else " "
    after = visible[end] if end < len(visible) else " "
    if before.isspace() and after.isspace():
        return False
    # `snake_case` keeps its marks; Chinese has no blanks around emphasis, as in `重点**内容**在`.
    if visible[start] == "_":
        return not (before.isalnum() and after.isalnum())
    return not (before.isascii() and before.isalnum() and after.isascii() and after.isalnum())


# Several readers ask about one text in turn.
@lru_cache(maxsize=64)
def plain_text(markdown: str) -> str:
    """The words of a text as a reader sees them, for prompts and embeddings.

    Links become the text they show, code keeps its content; comments, embedded files, link targets,
    emphasis, heading and list marks, HTML tags, table lines and reference definitions go. Lines
    stay lines; blanks are collapsed. Linear in the length of the text.
    """
    links = scan_links(markdown)
    cuts = [Cut(each.start, each.inner_start) for each in links.regions]
    cuts += [Cut(each.inner_end, each.end) for each in links.regions]
    cuts += [cut for link in links.wikilinks for cut in _wikilink_cuts(markdown, link)]
    for span in (*links.markdown, *links.references):
        opening = span.start - 1 if is_embed(markdown, span.start) else span.start
        cuts.append(Cut(opening, span.start + 1))
        cuts.append(Cut(span.shown_end, span.end))
    cuts += markup_cuts(links.visible)
    lines = (" ".join(line.split()) for line in spliced(markdown, cuts).split("\n"))
    paragraphs = "\n".join(lines).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", paragraphs)


def with_boxes(markdown: str) -> str:
    """The text with the boxes of its tasks escaped, so that they stay: a reader wants to know what
    is done."""
    if _TASK.search(markdown) is None:
        return markdown
    # In code and comments nothing is a task.
    apart = scan_links(markdown).regions

    def escaped(task: re.Match[str]) -> str:
        is_apart = any(each.start <= task.start(2) < each.end for each in apart)
        return task[0] if is_apart else f"{task[1]}\\[{task[2]}\\]"

    return _TASK.sub(escaped, markdown)


def _wikilink_cuts(text: str, link: WikiLink) -> Iterator[Cut]:
    """Leave the display text, else the base name and the heading."""
    if link.embed and is_attachment(link.target):
        yield Cut(link.start, link.end)
        return
    name = link.target.rpartition("/")[2].removesuffix(".md")
    heading = "" if link.fragment.startswith("^") else link.fragment.replace("#", " ")
    yield Cut(link.start, link.end, link.display or f"{name} {heading}".strip())
