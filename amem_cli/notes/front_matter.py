"""Where a note's front matter lies, byte for byte, and why it must be left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from amem_cli.errors import HeaderRefused
from amem_cli.notes.yaml_tree import Tree, Value, read_tree, refusal, tab_refusal

BOM = b"\xef\xbb\xbf"
MAX_HEADER_BYTES = 64 * 1024

_FENCE = re.compile(rb"---[ \t]*(\r\n|\n|\Z)")
_OLD_MAC_FENCE = re.compile(rb"---[ \t]*\r")
_BLANK_LINES = re.compile(rb"[ \t\r\n]*\n")
_PROPERTY_LINE = re.compile(rb"[^\s:#][^:\r\n]{0,80}:(?:[ \t\r\n]|\Z)")
# All but what YAML's specification calls printable.
_NO_YAML = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# With the `|||||||` that git adds in its diff3 style.
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})[ \r\n]", re.MULTILINE)
_TEMPLATE = re.compile(r"(?:^|[:,\[-]) {0,9}[\"']?(?:\{\{|<%)", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{|<%")
_COLON = re.compile(r" *:")
_COMMENT_OR_TAB = re.compile(r"#[^\n]*|\t[ \t]*")
_WIKILINK = re.compile(r"!?\[\[[^\[\]\r\n]{1,1000}\]\]\Z")

_TEMPLATE_ADVICE = (
    "the header is a template's",
    "Fill in the placeholder, or leave the template out of the vault.",
)
_OTHER_BEGINNINGS = (
    (b"{", "a JSON block or a template"),
    (b"<%", "a template"),
    (b"+++\n", "a TOML header"),
    (b"+++\r\n", "a TOML header"),
    (b"<<<<<<< ", "a merge conflict"),
)


@dataclass(frozen=True, slots=True)
class Fences:
    """Byte offsets of a header in its file.

    Attributes:
        text_start, text_end: the YAML between the two `---` lines.
        body_start: the first byte after the closing line.
        line_ending: that of the opening line.
    """

    text_start: int
    text_end: int
    body_start: int
    line_ending: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A top-level property, in character offsets of the header's text.

    Attributes:
        start: where the name begins.
        value_start: just after the colon.
    """

    name: str
    start: int
    value_start: int
    value: Value


@dataclass(frozen=True, slots=True)
class Header:
    """A header that can be edited safely.

    Attributes:
        indent: blanks before each property's name, nearly always none.
    """

    text: str
    line_ending: str
    entries: tuple[Entry, ...]
    indent: str

    def entry(self, name: str) -> Entry | None:
        """Find a property by its exact name."""
        return next((entry for entry in self.entries if entry.name == name), None)

    def line(self, offset: int) -> int:
        """1-based line of the note at a character offset of the header's text."""
        return self.text.count("\n", 0, offset) + 2

    def text_of(self, value: Value) -> str | None:
        """Text of a scalar, or of a bare `[[A]]`, which YAML takes for a list in a list.

        Returns:
            None if the value is null or not a text.
        """
        if value.kind == "scalar":
            return None if value.is_null else value.text
        source = self.text[value.start : value.end]
        return source if value.kind == "list" and _WIKILINK.match(source) else None

    def texts_of(self, value: Value) -> tuple[str, ...] | None:
        """Texts of a list without its nulls, or None if the list holds more than texts."""
        whole = self.text_of(value)
        if whole is not None:
            return (whole,)
        texts = [self.text_of(part) for part in value.parts if not part.is_null]
        known = tuple(text for text in texts if text is not None)
        return known if value.kind == "list" and len(known) == len(texts) else None


def find_fences(raw: bytes) -> Fences | None:
    """Find the `---` lines of a note's header.

    Returns:
        None if the note has no header and may be given one.

    Raises:
        HeaderRefused: the note begins with something that neither is a header nor may have one
            put before it.
    """
    start = len(BOM) if raw.startswith(BOM) else 0
    opening = _FENCE.match(raw, start)
    if opening is None:
        _check_beginning(raw, start)
        _check_encoding(raw, first_line=1)
        return None
    closing = _closing_fence(raw, opening.end())
    if closing is None:
        raise HeaderRefused(
            "the header that opens with --- has no closing ---",
            line=1,
            hint="Write a line --- after the last property, or *** if the first line is a rule.",
        )
    return Fences(opening.end(), closing.start(), closing.end(), opening[1].decode())


def read_header(raw: bytes, fences: Fences) -> Header:
    """Read the properties between two fences.

    Raises:
        HeaderRefused: the header cannot be edited without risk.
        NotProperties: the fences are rules around a text.
    """
    source = raw[fences.text_start : fences.text_end]
    if len(source) > MAX_HEADER_BYTES:
        raise HeaderRefused(
            f"the header is too large: {len(source)} bytes, at most {MAX_HEADER_BYTES} are read",
            line=1,
            hint="Move the text into the note's body.",
        )
    _check_encoding(source, first_line=2)
    text = source.decode("utf-8")
    _check_marks(text)
    tree = read_tree(text)
    _check_placeholders(text, tree)
    _check_tabs(text, tree)
    entries = tuple(_entries(text, tree.root.parts)) if tree.root else ()
    indent = _before_on_line(text, entries[0].start) if entries else ""
    return Header(text, fences.line_ending, entries, indent)


def _closing_fence(raw: bytes, start: int) -> re.Match[bytes] | None:
    position = start
    while True:
        fence = _FENCE.match(raw, position)
        if fence:
            return fence
        position = raw.find(b"\n---", position) + 1
        if not position:
            return None


def _check_beginning(raw: bytes, start: int) -> None:
    for beginning, what in _OTHER_BEGINNINGS:
        if raw.startswith(beginning, start):
            raise HeaderRefused(
                f"the note begins with {what}",
                line=1,
                hint="Begin the note with a YAML header between two lines ---, or with text.",
            )
    if start and raw.startswith(BOM, start):
        # What follows may be a header to one reader and none to another.
        raise HeaderRefused(
            "the note begins with two byte order marks", line=1, hint="Save the note as UTF-8."
        )
    if b"\0" in raw[:1024]:
        # Text in UTF-16 without a mark is valid UTF-8 full of NUL.
        raise HeaderRefused("the note is not text", line=1, hint="Save the note as UTF-8.")
    if _OLD_MAC_FENCE.match(raw, start):
        raise HeaderRefused(
            "the header's lines end in a lone carriage return",
            line=1,
            hint="Save the note with LF or CRLF line endings.",
        )
    blank = _BLANK_LINES.match(raw, start)
    fence = _FENCE.match(raw, blank.end()) if blank else None
    if fence and _PROPERTY_LINE.match(raw, fence.end()) and _closing_fence(raw, fence.end()):
        raise HeaderRefused(
            "blank lines come before the header, so nothing reads it as one",
            line=raw.count(b"\n", 0, fence.start()) + 1,
            hint="Remove the blank lines before the first ---.",
        )


def _check_encoding(raw: bytes, *, first_line: int) -> None:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + first_line
    else:
        return
    raise HeaderRefused("the note is not UTF-8 text", line=line, hint="Save the note as UTF-8.")


def _check_marks(text: str) -> None:
    for mark, message, hint in (
        (_NO_YAML, "the header contains a control character", "Remove the character."),
        (_CONFLICT, "the header holds a merge conflict", "Resolve the conflict and save the note."),
        (_TEMPLATE, *_TEMPLATE_ADVICE),
    ):
        found = mark.search(text)
        if found:
            raise refusal(text, found.start(), message, hint)


def _check_placeholders(text: str, tree: Tree) -> None:
    for start, end in tree.scalars:
        # In quotes or a block of text a person may write about templates.
        if text[start] not in "\"'|>":
            found = _PLACEHOLDER.search(text, start, end)
            if found:
                raise refusal(text, found.start(), *_TEMPLATE_ADVICE)


def _check_tabs(text: str, tree: Tree) -> None:
    gap_start = 0
    for start, end in [*tree.scalars, (len(text), len(text))]:
        for found in _COMMENT_OR_TAB.finditer(text, gap_start, start):
            # Before a comment or a line's end a tab means nothing; elsewhere YAML readers disagree.
            is_tab = text[found.start()] == "\t"
            if is_tab and text[found.end() : found.end() + 1] not in ("", "\r", "\n", "#"):
                raise tab_refusal(text, found.start())
        gap_start = end


def _entries(text: str, parts: tuple[Value, ...]) -> Iterator[Entry]:
    for name, value in zip(parts[::2], parts[1::2], strict=True):
        # U+2028 and a lone CR end a line for YAML, but an edit goes by the line feeds.
        colon = _COLON.match(text, name.end)
        if colon is None or _before_on_line(text, name.start).strip(" "):
            raise refusal(
                text,
                name.start,
                "a property's name does not begin its line, or its colon is apart from it",
                "Write `name: value`, each on its own line.",
            )
        if name.text == "<<":
            raise refusal(text, name.start, "the header merges (<<)", "Write the properties out.")
        yield Entry(name.text, name.start, colon.end(), value)


def _before_on_line(text: str, offset: int) -> str:
    return text[text.rfind("\n", 0, offset) + 1 : offset]
