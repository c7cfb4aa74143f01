"""Where results, notices and errors go, as text or as one JSON document."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from amem_cli.core.errors import AmemError, Problem
    from amem_cli.core.index_port import Progress
    from amem_cli.rendering.console import Console

# What turns the direction of writing, and the line breaks that are no control characters.
_STEERING = frozenset(
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    "\u206a\u206b\u206c\u206d\u206e\u206f"
)


def printable(text: str) -> str:
    """Text that cannot steer a terminal: control and direction characters are made visible."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char in "\n\t" or not (unicodedata.category(char) in ("Cc", "Cs") or char in _STEERING)
        else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def on_one_line(text: str) -> str:
    """Printable text in which a line break is made visible too, as in a file's name."""
    return printable(text).replace("\n", "\N{REPLACEMENT CHARACTER}")


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
        from amem_cli.rendering.console import console_on

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


def json_text(document: Any, *, indent: int | None = None) -> str:
    """A JSON document for stdout, with what a terminal or encoding cannot hold escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    try:
        printed = text if _plain(text) else "".join(_escaped(char) for char in text)
        printed.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(document, indent=indent)
    return printed


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

    from amem_cli.rendering.console import rich_console

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


def _plain(text: str) -> bool:
    return not any(char in _STEERING or "\x7f" <= char <= "\x9f" for char in text)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if char in _STEERING or "\x7f" <= char <= "\x9f" else char


def _encodable(text: str, encoding: str | None) -> str:
    return text.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")
