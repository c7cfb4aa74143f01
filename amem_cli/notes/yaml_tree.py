"""A header's YAML as values with the places they take, read from parse events alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from amem_cli.errors import HeaderRefused

if TYPE_CHECKING:
    from yaml.events import CollectionEndEvent, Event, NodeEvent, ScalarEvent

MAX_DEPTH = 16
MAX_EVENTS = 20_000

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
        return self.style != "" or _resolves_to_string(self.text)

    def meaning(self) -> object:
        """What a YAML reader makes of the value, wherever it is and however it is quoted."""
        # Quoting counts: bare `12:30` or `no` is not a text to every reader, in quotes it is.
        if self.kind == "scalar":
            return self.text, self.style == ""
        return self.kind, tuple(part.meaning() for part in self.parts)


@dataclass(frozen=True, slots=True)
class Tree:
    """A header's values.

    Attributes:
        root: the mapping of all properties; None for a header of nothing but comments.
        scalars: start and end of every scalar that is not empty, in order.
    """

    root: Value | None
    scalars: list[tuple[int, int]]


def read_tree(text: str) -> Tree:
    """Read a header's text in one pass over its events, without recursion.

    Raises:
        HeaderRefused: the text is not YAML, too much of it, or not plain data.
    """
    import yaml

    # Only events are read: composing nested nodes recurses in C and can end the process.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _TreeBuilder(text)
    try:
        for count, event in enumerate(yaml.parse(text, Loader=loader)):
            if count > MAX_EVENTS:
                raise refusal(
                    text, _start(event), "the header holds too much", "Shorten the header."
                )
            builder.take(event)
    except yaml.YAMLError as error:
        raise _yaml_refusal(text, error) from None
    return Tree(builder.root, builder.scalars)


def refusal(text: str, offset: int, message: str, hint: str) -> HeaderRefused:
    """A refusal that names the line of the note at a character offset of its header."""
    # The first line of the note is the fence.
    return HeaderRefused(message, line=text.count("\n", 0, offset) + 2, hint=hint)


def tab_refusal(text: str, offset: int) -> HeaderRefused:
    """The refusal of a tab, on whose meaning YAML readers disagree."""
    return refusal(text, offset, "the header holds a tab", "Replace the tab by spaces.")


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end is still to come."""

    start: int
    kind: Kind
    style: str
    parts: list[Value] = field(default_factory=list)


class _TreeBuilder:
    """Puts values together from events and refuses what is not plain data."""

    def __init__(self, text: str) -> None:
        self.root: Value | None = None
        self.scalars: list[tuple[int, int]] = []
        self._text = text
        self._open: list[_Open] = []

    def take(self, event: Event) -> None:
        """Take the next event."""
        from yaml import events

        if isinstance(event, events.NodeEvent):
            self._check_plain(event)
            if not self._open:
                self._check_root(event)
        if isinstance(event, events.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, events.CollectionStartEvent):
            kind: Kind = "mapping" if isinstance(event, events.MappingStartEvent) else "list"
            style = "flow" if event.flow_style else "block"
            self._open.append(_Open(_start(event), kind, style))
        elif isinstance(event, events.CollectionEndEvent):
            self._close(event)
        elif getattr(event, "explicit", False):
            raise self._refusal(
                event, "the header holds a document marker", "Close the header with --- only."
            )

    def _check_plain(self, event: NodeEvent) -> None:
        if event.anchor:
            message, hint = "the header uses an anchor (&) or alias (*)", "Write the value out."
        elif getattr(event, "tag", None):
            message, hint = "the header uses a YAML tag (!)", "Put the value in double quotes."
        elif len(self._open) >= MAX_DEPTH:
            message, hint = "the header is nested too deep", "Flatten the property."
        else:
            return
        raise self._refusal(event, message, hint)

    def _check_root(self, event: NodeEvent) -> None:
        from yaml.events import MappingStartEvent

        if not isinstance(event, MappingStartEvent):
            line = self._text.count("\n", 0, _start(event)) + 2
            raise NotProperties(
                "what the first two lines --- enclose is text, not properties",
                line=line,
                hint="Write `name: value` lines there, or *** in place of the first ---.",
            )
        if event.flow_style:
            raise self._refusal(
                event,
                "the header is written in braces",
                "Write each property as `name: value` on its own line.",
            )

    def _scalar(self, event: ScalarEvent) -> None:
        start, end = _start(event), _end(event)
        style: str = event.style or ""
        # PyYAML's end mark lies behind the blank lines below a block, which an edit must keep.
        if style in ("|", ">"):
            end = start + len(self._text[start:end].rstrip(" \t\r\n"))
        if end > start:
            self.scalars.append((start, end))
        self._open[-1].parts.append(Value(start, end, "scalar", style, event.value))

    def _close(self, event: CollectionEndEvent) -> None:
        closed = self._open.pop()
        is_flow = closed.style == "flow"
        # The end mark of a block list lies behind comments that are not the list's.
        end = _end(event) if is_flow or not closed.parts else closed.parts[-1].end
        if closed.kind == "mapping":
            self._check_names(closed.parts[::2])
        value = Value(closed.start, end, closed.kind, closed.style, parts=tuple(closed.parts))
        if self._open:
            self._open[-1].parts.append(value)
        else:
            self.root = value

    def _check_names(self, names: list[Value]) -> None:
        seen: set[str] = set()
        for name in names:
            if name.kind != "scalar":
                message, hint = "a list or mapping is used as a name", "Put it in double quotes."
            elif name.text in seen:
                message = f"the property `{name.text[:80]}` appears twice"
                hint = "Keep one of the two."
            else:
                seen.add(name.text)
                continue
            raise refusal(self._text, name.start, message, hint)

    def _refusal(self, event: Event, message: str, hint: str) -> HeaderRefused:
        return refusal(self._text, _start(event), message, hint)


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
        return tab_refusal(text, offset)
    if "mapping values" in problem:
        hint = "Put the value after the first colon in double quotes."
    elif "start any token" in problem:
        hint = f"Put the value in double quotes: it cannot begin with {character}."
    else:
        hint = "Correct the YAML near this line, or put the value in double quotes."
    return refusal(text, offset, f"the header is not valid YAML: {problem}", hint)


def _resolves_to_string(plain: str) -> bool:
    import yaml

    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    candidates = resolvers.get(plain[:1], []) + resolvers.get(None, [])
    return not any(pattern.match(plain) for _, pattern in candidates)
