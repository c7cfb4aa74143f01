"""Where a note's front matter lies, byte for byte, and why it must be left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from amem_cli.errors import HeaderRefused

if TYPE_CHECKING:
    from yaml.events import CollectionEndEvent, CollectionStartEvent, Event, ScalarEvent

MAX_DEPTH = 16
MAX_EVENTS = 20_000

_TAB = "the header holds a tab", "Replace the tab by spaces."
_NULLS = ("", "~", "null", "Null", "NULL")

Kind = Literal["scalar", "list", "mapping"]


class NotProperties(HeaderRefused):
    """Two rules at the top of a note enclose text, so the note has no header."""


@dataclass(frozen=True, slots=True)
class Value:
    """A YAML value and the characters of the header that it takes.

    Attributes:
        start, end: character offsets in the header's text; a block list or mapping ends with its
            last value.
        style: of a scalar empty (plain), a quote, `|` or `>`; of the others `flow` or `block`.
        text: what a scalar says; of a plain scalar, its source.
        parts: values of a list; names and values of a mapping in turn.
    """

    start: int
    end: int
    kind: Kind
    style: str
    text: str = ""
    parts: tuple[Value, ...] = ()

    @property
    def is_null(self) -> bool:
        """True for an empty value, `~` and `null`."""
        return self.kind == "scalar" and self.style == "" and self.text in _NULLS

    @property
    def is_string(self) -> bool:
        """True if YAML 1.1 reads a string, not a number, date, boolean or null."""
        if self.kind != "scalar" or self.is_null:
            return False
        if self.style:
            return True
        import yaml

        resolvers = yaml.SafeLoader.yaml_implicit_resolvers
        candidates = resolvers.get(self.text[:1], []) + resolvers.get(None, [])
        return not any(pattern.match(self.text) for _, pattern in candidates)

    def scalars(self) -> Iterator[Value]:
        """Every scalar within that is not empty, in order."""
        if self.kind == "scalar" and self.end > self.start:
            yield self
        for part in self.parts:
            yield from part.scalars()

    def meaning(self) -> object:
        """What a YAML reader makes of the value, wherever it is and however it is quoted."""
        # Quoting counts: bare `12:30` or `no` is not a text to every reader, in quotes it is.
        if self.kind == "scalar":
            return self.text, self.style == ""
        return self.kind, tuple(part.meaning() for part in self.parts)


def read_tree(text: str) -> Value | None:
    """Read a header's text in one pass over its events, without recursion.

    Returns:
        The mapping of all properties; None for a header of nothing but comments.

    Raises:
        HeaderRefused: the text is not YAML, too much of it, or not plain data.
    """
    import yaml

    # Only events are read: composing nested nodes recurses in C and can end the process.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    root: Value | None = None
    opened: list[tuple[CollectionStartEvent, list[Value]]] = []
    try:
        for count, event in enumerate(yaml.parse(text, Loader=loader)):
            if count > MAX_EVENTS:
                raise refusal(
                    text, _start(event), "the header holds too much", "Shorten the header."
                )
            _check_event(text, event, len(opened))
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append((event, []))
                continue
            if isinstance(event, yaml.ScalarEvent):
                value = _scalar(text, event)
            elif isinstance(event, yaml.CollectionEndEvent):
                value = _collection(text, *opened.pop(), event)
            else:
                continue
            if opened:
                opened[-1][1].append(value)
            else:
                root = value
    except yaml.YAMLError as error:
        raise _yaml_refusal(text, error) from None
    return root


def refusal(text: str, offset: int, message: str, hint: str) -> HeaderRefused:
    """A refusal that names the line of the note at a character offset of its header."""
    # The first line of the note is the fence.
    return HeaderRefused(message, line=text.count("\n", 0, offset) + 2, hint=hint)


def _check_event(text: str, event: Event, depth: int) -> None:
    """Refuse what is not plain data, or not a mapping at the top."""
    from yaml.events import MappingStartEvent, NodeEvent

    if isinstance(event, NodeEvent):
        if event.anchor:
            fault = "the header uses an anchor (&) or alias (*)", "Write the value out."
        elif getattr(event, "tag", None):
            fault = "the header uses a YAML tag (!)", "Put the value in double quotes."
        elif depth >= MAX_DEPTH:
            fault = "the header is nested too deep", "Flatten the property."
        elif not depth and not isinstance(event, MappingStartEvent):
            raise NotProperties(
                "what the first two lines --- enclose is text, not properties",
                line=text.count("\n", 0, _start(event)) + 2,
                hint="Write `name: value` lines there, or *** in place of the first ---.",
            )
        elif not depth and getattr(event, "flow_style", False):
            hint = "Write each property as `name: value` on its own line."
            fault = "the header is written in braces", hint
        else:
            return
    elif getattr(event, "explicit", False):
        fault = "the header holds a document marker", "Close the header with --- only."
    else:
        return
    raise refusal(text, _start(event), *fault)


def _scalar(text: str, event: ScalarEvent) -> Value:
    start, end = _start(event), _end(event)
    style: str = event.style or ""
    # PyYAML's end mark lies behind the blank lines below a block, which an edit must keep.
    if style in ("|", ">"):
        end = start + len(text[start:end].rstrip(" \t\r\n"))
    return Value(start, end, "scalar", style, event.value)


def _collection(
    text: str, opening: CollectionStartEvent, parts: list[Value], closing: CollectionEndEvent
) -> Value:
    from yaml.events import MappingStartEvent

    kind: Kind = "mapping" if isinstance(opening, MappingStartEvent) else "list"
    if kind == "mapping":
        _check_names(text, parts[::2])
    style = "flow" if opening.flow_style else "block"
    # The end mark of a block list lies behind comments that are not the list's.
    end = parts[-1].end if parts and not opening.flow_style else _end(closing)
    return Value(_start(opening), end, kind, style, parts=tuple(parts))


def _check_names(text: str, names: list[Value]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.kind != "scalar":
            fault = "a list or mapping is used as a name", "Put it in double quotes."
        elif name.text in seen:
            fault = f"the property `{name.text[:80]}` appears twice", "Keep one of the two."
        else:
            seen.add(name.text)
            continue
        raise refusal(text, name.start, *fault)


def _start(event: Event) -> int:
    return event.start_mark.index if event.start_mark else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark else 0


def _yaml_refusal(text: str, error: Exception) -> HeaderRefused:
    mark = getattr(error, "problem_mark", None)
    offset = mark.index if mark else 0
    problem = str(getattr(error, "problem", None) or "it cannot be read")
    character = text[offset : offset + 1]
    if character == "\t":
        return refusal(text, offset, *_TAB)
    if "mapping values" in problem:
        hint = "Put the value after the first colon in double quotes."
    elif "start any token" in problem:
        hint = f"Put the value in double quotes: it cannot begin with {character}."
    else:
        hint = "Correct the YAML near this line, or put the value in double quotes."
    return refusal(text, offset, f"the header is not valid YAML: {problem}", hint)


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


def body_start(raw: bytes, fences: Fences | None) -> int:
    """Where the text begins: behind the header, or behind a byte order mark."""
    if fences:
        return fences.body_start
    return len(BOM) if raw.startswith(BOM) else 0


def header_of(raw: bytes) -> Header | None:
    """A note's header; None if it has none. Raises what `find_fences` and `read_header` do."""
    fences = find_fences(raw)
    return read_header(raw, fences) if fences else None


# One change of a note asks for its header many times.
@lru_cache(maxsize=8)
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
    root = read_tree(text)
    scalars = list(root.scalars()) if root else []
    _check_placeholders(text, scalars)
    _check_tabs(text, scalars)
    entries = tuple(_entries(text, root.parts)) if root else ()
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
    message, hint = "", "Save the note as UTF-8."
    other = next((what for mark, what in _OTHER_BEGINNINGS if raw.startswith(mark, start)), None)
    if other:
        message = f"the note begins with {other}"
        hint = "Begin the note with a YAML header between two lines ---, or with text."
    elif start and raw.startswith(BOM, start):
        # What follows may be a header to one reader and none to another.
        message = "the note begins with two byte order marks"
    elif b"\0" in raw[:1024]:
        # Text in UTF-16 without a mark is valid UTF-8 full of NUL.
        message = "the note is not text"
    elif _OLD_MAC_FENCE.match(raw, start):
        message = "the header's lines end in a lone carriage return"
        hint = "Save the note with LF or CRLF line endings."
    if message:
        raise HeaderRefused(message, line=1, hint=hint)
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
        hint = "Save the note as UTF-8."
        raise HeaderRefused("the note is not UTF-8 text", line=line, hint=hint) from None


def _check_marks(text: str) -> None:
    for mark, message, hint in (
        (_NO_YAML, "the header contains a control character", "Remove the character."),
        (_CONFLICT, "the header holds a merge conflict", "Resolve the conflict and save the note."),
        (_TEMPLATE, *_TEMPLATE_ADVICE),
    ):
        found = mark.search(text)
        if found:
            raise refusal(text, found.start(), message, hint)


def _check_placeholders(text: str, scalars: list[Value]) -> None:
    for each in scalars:
        # In quotes or a block of text a person may write about templates.
        if not each.style and (found := _PLACEHOLDER.search(text, each.start, each.end)):
            raise refusal(text, found.start(), *_TEMPLATE_ADVICE)


def _check_tabs(text: str, scalars: list[Value]) -> None:
    starts = [*(each.start for each in scalars), len(text)]
    ends = [0, *(each.end for each in scalars)]
    for gap in zip(ends, starts, strict=True):
        for found in _COMMENT_OR_TAB.finditer(text, *gap):
            # Before a comment or a line's end a tab means nothing; elsewhere YAML readers disagree.
            is_tab = text[found.start()] == "\t"
            if is_tab and text[found.end() : found.end() + 1] not in ("", "\r", "\n", "#"):
                raise refusal(text, found.start(), *_TAB)


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
