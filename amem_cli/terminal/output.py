"""Where results, notices and errors go, as text or as one JSON document.

Styled text on a terminal; elsewhere the text alone, for which nothing of rich is loaded.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from amem_cli.language.safe_text import json_text, on_one_line, printable

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import ConsoleOptions
    from rich.text import Text

    from amem_cli.errors import AmemError, Problem
    from amem_cli.index.records import Progress


class Output:
    """The command's voice.

    Args:
        as_json: one JSON document on stdout and nothing else there.
        quiet: no notices; errors and results remain.
        verbose: tracebacks and more notices.
        color: None decides by the terminal.
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        color: bool | None = None,
    ) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.verbose = verbose
        self.color = color
        # Of one JSON document a line there may be many.
        self.in_lines = False

    def console(self) -> Console:
        """What results are shown on."""

        return console_on(sys.stdout, self.color)

    def result(self, document: Any, show: Callable[[Console], None]) -> None:
        """Print a result: the document as JSON, or what `show` draws."""
        if self.as_json:
            self.json_line(document, indent=2)
        else:
            show(self.console())

    def json_line(self, document: Any, *, indent: int | None = None) -> None:
        """One JSON document; characters that a terminal or encoding cannot hold are escaped."""
        sys.stdout.write(json_text(document, indent=indent) + "\n")

    def plain(self, text: str) -> None:
        """A line of result text without any styling."""
        sys.stdout.write(_encodable(printable(text), sys.stdout.encoding) + "\n")

    def notice(self, text: str) -> None:
        """Something that the user may want to know, on stderr."""
        if not self.quiet:
            _say(text)

    def problems(self, problems: list[Problem] | tuple[Problem, ...], limit: int = 10) -> None:
        """Notices of what is wrong in notes, at most a few unless verbose."""
        shown = problems if self.verbose else problems[:limit]
        for problem in shown:
            path = on_one_line(problem.path)
            place = f"{path}:{problem.line}" if problem.line else path
            hint = f" {problem.hint}" if problem.hint else ""
            self.notice(f"! {place}: {problem.message}.{hint}")
        if len(shown) < len(problems):
            self.notice(f"! … and {len(problems) - len(shown)} more (--verbose shows all)")

    def error(self, error: AmemError) -> None:
        """One line of what and why, then a hint."""
        if self.as_json:
            document = {"error": error.message, "hint": error.hint, "exit_code": error.exit_code}
            self.json_line(document, indent=None if self.in_lines else 2)
        text = f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else "")
        _say(text)

    @contextlib.contextmanager
    def progress(self, label: str, *, once_told: bool = False) -> Iterator[Progress | None]:
        """A progress bar on stderr, only on a terminal; yields what to call with (done, total).

        Args:
            once_told: show nothing before the first call.
        """
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        bars = contextlib.ExitStack()
        update: Progress | None = None

        def told(done: int, total: int) -> None:
            nonlocal update
            if update is None:
                update = bars.enter_context(_bar(label, self.color))
            update(done, total)

        with bars:
            if not once_told:
                update = bars.enter_context(_bar(label, self.color))
            yield told


@contextlib.contextmanager
def _bar(label: str, color: bool | None) -> Iterator[Progress]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=rich_console(sys.stderr, color), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _say(text: str) -> None:
    """Write to stderr; a terminal or pipe that is gone changes nothing of what was done."""
    try:
        sys.stderr.write(_encodable(printable(text), sys.stderr.encoding) + "\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Let what is still written to a stream that failed go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _encodable(text: str, encoding: str | None) -> str:
    return text.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")


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
