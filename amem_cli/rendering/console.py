"""Styled text on a terminal; elsewhere the text alone, for which nothing of rich is loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from amem_cli.rendering.output import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console as RichConsole
    from rich.console import ConsoleOptions
    from rich.text import Text

# Variables by which a user wants a terminal's output where there is none.
_AS_ON_A_TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE")
# In narrower columns an indentation would cost more than it helps.
_LEAST_WIDTH = 20


class Console(Protocol):
    """What results are shown on."""

    def print(self, *objects: Any, style: str | None = None, soft_wrap: bool | None = None) -> None:
        """Print objects as one paragraph: texts, `Styled`, or anything that rich draws."""


class Styled:
    """Text of plain and (text, style) parts, made safe for a terminal."""

    def __init__(self, *parts: str | tuple[str, str]) -> None:
        self._parts = [(part, "") if isinstance(part, str) else part for part in parts]

    def __str__(self) -> str:
        return "".join(printable(text) for text, _ in self._parts)

    def as_text(self) -> Text:
        """It as rich knows it."""
        from rich.text import Text

        text = Text()
        for part, style in self._parts:
            text.append(printable(part), style=style or None)
        return text

    def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> Iterator[Text]:
        """Draw it; what does not fit into a line goes on below its beginning, not at the margin."""
        from rich.text import Text

        text = self.as_text()
        hang = self._indentation()
        room = options.max_width - hang
        if options.no_wrap or not hang or room < _LEAST_WIDTH:
            yield text
            return
        lead, rest = text.divide([hang])
        for line in rest.wrap(console, room):
            yield lead + line
            lead = Text(" " * hang)

    def _indentation(self) -> int:
        """Where an indented text begins, behind its label if the first part is one."""
        first = printable(self._parts[0][0]) if self._parts else ""
        is_label = first.startswith(" ") and first.endswith(" ")
        return len(first) if is_label else len(first) - len(first.lstrip(" "))


class PlainConsole:
    """Prints to what is no terminal, without styles or line breaks of its own."""

    def __init__(self, stream: TextIO, color: bool | None) -> None:
        self._stream = stream
        self._color = color

    def print(self, *objects: Any, style: str | None = None, soft_wrap: bool | None = None) -> None:
        """Print objects as one paragraph."""
        if all(isinstance(each, (str, Styled)) for each in objects):
            self._stream.write(" ".join(map(str, objects)) + "\n")
            self._stream.flush()
        else:
            drawing = rich_console(self._stream, self._color)
            drawing.print(*objects, style=style, soft_wrap=soft_wrap)


def console_on(stream: TextIO, color: bool | None) -> Console:
    """A console that adds no markup of its own to what notes say.

    Args:
        color: False for none; None leaves it to the terminal.
    """
    if stream.isatty() or any(os.environ.get(name) for name in _AS_ON_A_TERMINAL):
        return rich_console(stream, color)
    return PlainConsole(stream, color)


def rich_console(stream: TextIO, color: bool | None) -> RichConsole:
    """The same with all that rich can do."""
    from rich.console import Console as RichConsole

    return RichConsole(
        file=stream,
        markup=False,
        highlight=False,
        emoji=False,
        no_color=True if color is False else None,
        soft_wrap=not stream.isatty(),
    )
