"""What one note has beyond another, and how it is added to the other's text and properties."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from amem_cli.errors import HeaderRefused, SettingsError
from amem_cli.markdown.footnotes import find_footnotes, with_own_footnotes
from amem_cli.markdown.links import with_own_labels
from amem_cli.markdown.outline import headings
from amem_cli.markdown.regions import find_regions
from amem_cli.notes.front_matter import BOM, Entry, Header, find_fences, header_of, read_header
from amem_cli.notes.note import PropertyNames, body_bytes

_LINE = re.compile(r"[^\n]*\n?")
_TICKS = re.compile(r"`{3,}")
_ALIASES = ("aliases", "alias")


class _Block(NamedTuple):
    """Lines of a text that belong together; `level` is that of a heading, or 0."""

    text: str
    key: str
    level: int


def text_beyond(kept: str, other: str) -> str:
    """The paragraphs of a text that another lacks, each under its own headings, with LF; or empty.

    Blanks at the ends of lines, line endings and the form of accents make no difference. Footnotes
    with the same label but another text get new labels, as do link definitions.
    """
    kept, other = _with_line_feeds(kept), _with_line_feeds(other)
    known = {block.key for block in _blocks(kept)}
    blocks = list(_blocks(with_own_labels(with_own_footnotes(other, kept), kept)))
    wanted = [block.key not in known for block in blocks]
    # Going backwards, `open_above[level]` says that a wanted block follows for which a heading of
    # that level is needed.
    open_above = [False] * 8
    for at in range(len(blocks) - 1, -1, -1):
        level = blocks[at].level
        if level:
            wanted[at] = wanted[at] or open_above[level]
            open_above[level:] = [False] * (8 - level)
        if wanted[at]:
            open_above[: level or 8] = [True] * (level or 8)
    texts = [block.text for block, want in zip(blocks, wanted, strict=True) if want]
    return "\n\n".join(texts)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _blocks(text: str) -> Iterator[_Block]:
    footnotes = [(each.start, each.end) for each in find_footnotes(text)]
    regions = [each for each in find_regions(text) if each.kind in ("fence", "comment")]
    undivided = deque(sorted([*footnotes, *((each.start, each.end) for each in regions)]))
    edges = {edge for span in footnotes for edge in span}
    outline = {each.start: each for each in headings(text)}
    lines: list[str] = []
    closing = heading_end = 0
    for match in _LINE.finditer(text):
        line = match.group()
        while undivided and undivided[0][0] < match.start():
            closing = max(closing, undivided.popleft()[1])
        inside = match.start() < closing
        heading = None if inside else outline.get(match.start())
        if heading or (not inside and (not line.strip() or match.start() in edges)):
            yield from _block(lines)
            lines = []
        if heading:
            heading_end = heading.end
            yield from _block([text[heading.start : heading.end]], heading.level)
        elif match.start() >= heading_end and (inside or line.strip()):
            lines.append(line)
    yield from _block(lines)


def _block(lines: Sequence[str], level: int = 0) -> Iterator[_Block]:
    text = "".join(lines).strip("\n")
    if text.strip():
        bare = "\n".join(line.rstrip() for line in text.split("\n"))
        yield _Block(text, unicodedata.normalize("NFC", bare), level)


def appended(kept: str, title: str, day: str, properties: str, beyond: str) -> str:
    """A text, unchanged, with that of another note below it, under a rule and a heading.

    The `properties` are YAML of those that found no place in the header. Raises `SettingsError` if
    `kept` ends within a code block or a comment, which would swallow the rest.
    """
    ending = "\r\n" if kept.count("\r\n") * 2 > kept.count("\n") else "\n"
    heading = f"## {' '.join(title.split())}" + (f" ({day})" if day else "")
    parts = [heading, beyond]
    if properties:
        # The fence must be longer than any run of backticks in it.
        fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(properties))])
        parts.insert(1, f"{fence}yaml\n{properties.strip()}\n{fence}")
    below = "\n\n".join(filter(str.strip, parts)).replace("\r\n", "\n").rstrip("\n") + "\n"
    if not kept.strip():
        return kept + below.replace("\n", ending)
    gap = "\n" if kept.endswith("\n") else "\n\n"
    whole = kept + f"{gap}---\n\n{below}".replace("\n", ending)
    if any(each.start < len(kept) < each.end for each in find_regions(whole)):
        raise SettingsError(
            "the text of the note that is kept ends within a code block or a comment",
            hint="Close it in an editor, then merge again.",
        )
    return whole


def alias_property(raw: bytes) -> str:
    """The name of the property that holds, or would hold, a note's aliases."""
    header = header_of(raw)
    names = (entry.name for entry in header.entries) if header else ()
    return next((name for name in names if name.casefold() == _ALIASES[0]), _ALIASES[0])


def united_properties(kept: bytes, other: bytes, names: PropertyNames) -> tuple[bytes, str]:
    """A note with the properties of another that it lacks, in their original spelling.

    Leaves amem's own fields, titles, aliases and `private` to the caller. Also returns as YAML what
    has another value in `kept`, after the comments on their own lines that `kept` lacks.
    """
    theirs, ours = header_of(other), header_of(kept)
    if theirs is None:
        return kept, ""
    existing = {entry.name.casefold(): entry for entry in ours.entries} if ours else {}
    handled = {getattr(names, field).casefold() for field in names.__slots__}
    handled |= {*_ALIASES, "title", "private", *(("tag",) if names.tags == "tags" else ())}
    missing: list[str] = []
    differing: list[str] = []
    for entry in theirs.entries:
        name = entry.name.casefold()
        if name in handled:
            continue
        if name not in existing:
            missing.append(_source(theirs, entry))
        elif entry.value.meaning() != existing[name].value.meaning():
            differing.append(_source(theirs, entry))
    if missing:
        try:
            kept = _with_entries(kept, missing)
        except HeaderRefused:
            differing = [*missing, *differing]
    return kept, "".join([*_lost_comments(theirs, ours, [*missing, *differing]), *differing])


def _lost_comments(theirs: Header, ours: Header | None, sources: Sequence[str]) -> Iterator[str]:
    """Comment lines of a header that neither the other header nor the sources have."""
    texts = [*sources, ours.text if ours else ""]
    known = {line.strip() for text in texts for line in text.splitlines()}
    for line in theirs.text.splitlines():
        comment = line.strip()
        # A line of a block text may begin like a comment; it is kept once too often then.
        if comment.startswith("#") and comment not in known:
            yield f"{comment}\n"


def _source(header: Header, entry: Entry) -> str:
    """The lines of a property with LF."""
    starts = [header.text.rfind("\n", 0, each.start) + 1 for each in header.entries]
    at = header.entries.index(entry)
    end = starts[at + 1] if at + 1 < len(starts) else len(header.text)
    text = header.text[starts[at] : end].replace("\r\n", "\n")
    return text if text.endswith("\n") else f"{text}\n"


def _with_entries(raw: bytes, sources: Sequence[str]) -> bytes:
    fences = find_fences(raw)
    if fences is None:
        mark = BOM if raw.startswith(BOM) else b""
        raw = mark + b"---\n---\n" + raw[len(mark) :]
        fences = find_fences(raw)
        assert fences is not None
    before = read_header(raw, fences)
    added = "".join(sources).replace("\n", before.line_ending)
    end = fences.text_end
    gap = "" if raw[:end].endswith(b"\n") else before.line_ending
    after = raw[:end] + (gap + added).encode("utf-8") + raw[end:]
    # Read back: what was there must mean the same, and the body must be untouched.
    fresh = find_fences(after)
    same_body = fresh is not None and after[fresh.body_start :] == raw[fences.body_start :]
    headers = [before, *(header_of(f"---\n{each}---\n".encode()) for each in sources)]
    wanted = [meaning for header in headers for meaning in _meanings(header)]
    # Lines added to an indented mapping would end it.
    if before.indent or not same_body or _meanings(header_of(after)) != wanted:
        raise HeaderRefused("the properties would read otherwise", line=1, hint="")
    return after


def _meanings(header: Header | None) -> list[tuple[str, object]]:
    return [(entry.name, entry.value.meaning()) for entry in header.entries] if header else []


def text_of_body(raw: bytes) -> str | None:
    """The text below a note's header; None if it is not UTF-8."""
    try:
        return body_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        return None
