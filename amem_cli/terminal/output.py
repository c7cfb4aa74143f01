"""Where results, notices and errors go, as text or as one JSON document.

Styled text on a terminal; elsewhere the text alone, for which nothing of rich is loaded.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO, TypeAlias

from amem_cli.language.safe_text import isolated, json_text, on_one_line, printable

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import ConsoleOptions
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn
    from rich.text import Text

    from amem_cli.errors import AmemError, Problem
    from amem_cli.index.records import Progress


# What is over before it can be read would only flicker.
SECONDS_BEFORE_PROGRESS = 0.3


@dataclass
class Output:
    """Prints what a command returns and reports.

    Attributes:
        as_json: stdout gets one JSON document and nothing else.
        quiet: no notices; errors and results remain.
        verbose: tracebacks and more notices.
        color: None lets the terminal decide.
        in_lines: a watcher prints many JSON documents, one a line; its errors must fit in.
    """

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: bool | None = None
    in_lines: bool = False

    def console(self) -> Console:
        """The console for results."""
        if _is_terminal(sys.stdout):
            return rich_console(sys.stdout, self.color)
        return PlainConsole(sys.stdout)

    def result(self, document: Any, show: Callable[[Console], None] | str) -> None:
        """Print a result: the document as JSON, or else the text, or what `show` draws.

        Args:
            document: or what makes it, called with `--json` alone.
        """
        if self.as_json:
            self.json_line(document() if callable(document) else document, indent=2)
        elif isinstance(show, str):
            self.plain(show)
        else:
            show(self.console())

    def json_line(self, document: Any, *, indent: int | None = None) -> None:
        """Print one JSON document; characters that the encoding lacks are escaped."""
        sys.stdout.write(json_text(document, indent=indent) + "\n")

    def plain(self, text: str) -> None:
        """Print result text without styling."""
        sys.stdout.write(printable(text) + "\n")

    def row(self, *parts: Part) -> None:
        """Print parts of result text on one line, each in its place also from right to left.

        Of their styles, a link alone is shown.
        """
        pairs = [(part, "") if isinstance(part, str) else part for part in parts]
        texts = [printable(text).replace("\n", " ") for text, _ in pairs]
        if _is_terminal(sys.stdout):
            styles = (style for _, style in pairs)
            texts = list(map(_linked, map(isolated, texts), styles))
        sys.stdout.write("".join(texts) + "\n")

    def notice(self, text: str) -> None:
        """Print something worth knowing on stderr."""
        if not self.quiet:
            _print_error(text)

    def problems(self, problems: list[Problem] | tuple[Problem, ...], limit: int = 10) -> None:
        """Print what is wrong in notes, at most `limit` unless verbose."""
        shown = problems if self.verbose else problems[:limit]
        for problem in shown:
            path = on_one_line(problem.path)
            place = f"{path}:{problem.line}" if problem.line else path
            hint = f" {problem.hint}" if problem.hint else ""
            self.notice(f"! {place}: {problem.message}.{hint}")
        if len(shown) < len(problems):
            self.notice(f"! … and {len(problems) - len(shown)} more (--verbose shows all)")

    def error(self, error: AmemError) -> None:
        """Print what failed and why in one line, then a hint."""
        if self.as_json:
            document = {"error": error.message, "hint": error.hint, "exit_code": error.exit_code}
            self.json_line(document, indent=None if self.in_lines else 2)
        text = f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else "")
        _print_error(text)

    @contextlib.contextmanager
    def progress(self, label: str, at_once: bool = True) -> Iterator[Progress | None]:
        """What is done, on stderr if that is a terminal; yields what to call with (done, total).

        Before the first call, nothing is counted and there is no bar. What is done in a moment is
        not shown at all.

        Args:
            at_once: False shows nothing before the first call, and loads no rich for it.
        """
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            update: Callable[..., None] | None = None

            def report(done: int, total: int) -> None:
                nonlocal update
                if update is not None:
                    update(completed=done, total=total)
                # What is done when it is first heard of needs no bar.
                elif done < total and time.monotonic() - began >= SECONDS_BEFORE_PROGRESS:
                    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

                    stack.close()
                    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
                    bar = rich_bar(self, label, *columns, completed=done, total=total)
                    update = stack.enter_context(bar).update

            if at_once:
                stack.enter_context(self._doing(label))
            yield report

    @contextlib.contextmanager
    def _doing(self, label: str) -> Iterator[None]:
        """Show on the terminal of stderr what is done, once it has taken a moment."""
        from rich.text import Text

        console = rich_console(sys.stderr, self.color)
        status = console.status(Text(label, no_wrap=True, overflow="ellipsis"))
        timer = threading.Timer(SECONDS_BEFORE_PROGRESS, status.start)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            # It may be about to show what must not stay.
            timer.join()
            status.stop()


def _linked(text: str, style: str) -> str:
    """A text as the terminal's link that its style names; for a link, rich is too slow to load."""
    address = style.partition("link ")[2]
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\" if address else text


def _print_error(text: str) -> None:
    """Write to stderr; if that terminal or pipe is gone, the command goes on."""
    try:
        sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Discard what is still written to a stream that failed."""
    # Else Python's own flush at exit would fail again and replace the exit code.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


# What stands for amem's own signs where the encoding lacks them, as in pipes on Windows.
_PLAIN_SIGNS = dict(zip("“”‘’–—·├│└─●×‖↻↳", "\"\"''---||`-*x=o>", strict=True))
_PLAIN_SIGNS |= {"→": "->", "←": "<-", "↔": "<->", "⇢": "~>", "⇠": "<~", "↛": "-x"}
_PLAIN_SIGNS |= {"✓": "ok", "…": "..."}
# How a stream writes what its encoding lacks: an escape, for a note's characters, is better than an
# error.
PLAINLY = "amem-plainly"


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    escaped = (
        _PLAIN_SIGNS.get(sign) or sign.encode("ascii", "backslashreplace").decode()
        for sign in lacking
    )
    return "".join(escaped), error.end


codecs.register_error(PLAINLY, _plainly)


# With one of these variables a user asks for a terminal's output in a pipe.
_FORCING_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE")
# In narrower columns, indentation would cost more than it helps.
_MIN_INDENTED_WIDTH = 20


class Console(Protocol):
    """Prints results; a rich console, or `PlainConsole` without loading rich."""

    def print(self, *objects: Any, soft_wrap: bool | None = None) -> None:
        """Print objects as one paragraph: texts, `Styled`, or, for rich, anything it draws."""


Part: TypeAlias = "str | tuple[str, str]"


class Styled:
    """Text from plain and (text, style) parts, made safe for a terminal.

    Args:
        one_line: cut what does not fit on a line of the terminal.
    """

    def __init__(self, *parts: Part, one_line: bool = False) -> None:
        self._one_line = one_line
        self._parts = [(part, "") if isinstance(part, str) else part for part in parts]

    def __str__(self) -> str:
        return "".join(printable(text) for text, _ in self._parts)

    def as_text(self) -> Text:
        """The parts as a text of rich."""
        from rich.text import Text

        text = Text()
        for part, style in self._parts:
            text.append(isolated(printable(part)), style=style or None)
        return text

    def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> Iterator[Text]:
        """Draw it; further lines are indented like the first."""
        from rich.text import Text

        text = self.as_text()
        if self._one_line:
            text.no_wrap, text.overflow = True, "ellipsis"
            yield text
            return
        hang = self._indentation()
        room = options.max_width - hang
        if options.no_wrap or not hang or room < _MIN_INDENTED_WIDTH:
            yield text
            return
        lead, rest = text.divide([hang])
        for line in rest.wrap(console, room):
            yield lead + line
            lead = Text(" " * hang)

    def _indentation(self) -> int:
        """The column where the text begins: after its label, if the first part is one."""
        first = printable(self._parts[0][0]) if self._parts else ""
        is_label = first.startswith(" ") and first.endswith(" ")
        return len(first) if is_label else len(first) - len(first.lstrip(" "))


class PlainConsole:
    """Prints to a file or pipe, without styles and without breaking lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def print(self, *objects: Any, soft_wrap: bool | None = None) -> None:
        """Print objects as one paragraph."""
        self._stream.write(" ".join(map(str, objects)) + "\n")
        # A pipe is buffered in blocks: its reader would see nothing of a long run until late.
        self._stream.flush()


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() or any(os.environ.get(name) for name in _FORCING_VARIABLES)


def rich_console(stream: TextIO, color: bool | None) -> RichConsole:
    """A rich console that takes no word of a note for markup."""
    from rich.console import Console as RichConsole

    return RichConsole(
        file=stream,
        markup=False,
        highlight=False,
        emoji=False,
        no_color=True if color is False else None,
        # A pipe has no width; rich would break its lines at 80 columns.
        soft_wrap=not stream.isatty(),
    )


@contextlib.contextmanager
def rich_bar(
    output: Output,
    label: str,
    *columns: ProgressColumn,
    completed: int = 0,
    total: int | None = None,
    **options: Any,
) -> Iterator[RichBar]:
    """A progress bar on stderr that leaves nothing behind."""
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn

    console = rich_console(sys.stderr, output.color)
    text = TextColumn("{task.description}")
    with Bar(text, *columns, console=console, transient=True, **options) as bar:
        # The field is what a column of `batch_progress` shows.
        task = bar.add_task(label, total=total, completed=completed, note="")
        yield RichBar(functools.partial(bar.update, task), functools.partial(_hidden, bar))


class RichBar(NamedTuple):
    """A progress bar: what to call with new values, and what hides it while others print."""

    update: Callable[..., None]
    hidden: Callable[[], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def _hidden(bar: Bar) -> Iterator[None]:
    bar.stop()
    try:
        yield
    finally:
        bar.start()


# Those without links that print their addresses, or hand them to one that may.
_WITHOUT = ("dumb", "linux", "unknown", "eterm", "screen", "tmux")


def has_hyperlinks(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a stream is a terminal that shows links, or nothing for them.

    `FORCE_HYPERLINK=1` says so of any, `FORCE_HYPERLINK=0` denies it.
    """
    forced = environment.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    term = environment.get("TERM") or ("xterm" if "WT_SESSION" in environment else "dumb")
    return stream.isatty() and not term.startswith(_WITHOUT)


class Hyperlinks:
    """Makes links of the names of a vault's notes.

    Args:
        root: the vault's folder; None makes no links.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root

    def to(self, path: str, style: str = "") -> str:
        """A style of `Styled` by which a text links to the note at this path."""
        if self._root is None:
            return style
        # `file://…`, of characters that no terminal takes for an end.
        return f"{style} link {(self._root / path).absolute().as_uri()}".lstrip()


def obsidian_address(path: Path) -> str:
    """`obsidian://…` by which Obsidian opens a file of a vault that it knows."""
    from urllib.parse import quote

    return f"obsidian://open?path={quote(str(path.absolute()), safe='')}"


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(count: int, digits: int = 2) -> str:
    """Bytes in GB or MB."""
    return f"{count / 1e9:.{digits}f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def first_lines(lines: Sequence[str], most: int, longest: int = 120) -> Iterator[str]:
    """The first lines, cut, and how many more there are."""
    for line in lines[:most]:
        yield line if len(line) <= longest else f"{line[:longest]}…"
    if len(lines) > most:
        yield f"… and {len(lines) - most} more lines"
