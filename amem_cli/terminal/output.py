"""Where results, notices and errors go, as text or as one JSON document."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from amem_cli.language.safe_text import isolated, json_text, on_one_line, printable

if TYPE_CHECKING:
    from amem_cli.errors import AmemError, Problem
    from amem_cli.index.records import Progress
    from amem_cli.terminal.progress import ProgressLine

# Text, or text and its style: words of `_CODES`.
Part: TypeAlias = "str | tuple[str, str]"
Row: TypeAlias = "tuple[Part, ...]"
_CODES = {"bold": 1, "dim": 2, "italic": 3, "underline": 4}
_CODES |= {"red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}


class Console:
    """Prints result text, safe for a terminal, and styled if that shows styles."""

    def __init__(self, stream: TextIO, color: bool | None = None, root: Path | None = None) -> None:
        self._stream = stream
        self._root = root if root and has_hyperlinks(stream, os.environ) else None
        # With this variable a user asks for a terminal's output in a pipe.
        forced = stream is sys.stdout and bool(os.environ.get("FORCE_COLOR"))
        self.is_terminal = stream.isatty() or forced
        dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
        self._styles = self.is_terminal and color is not False and not dumb

    def print(self, *parts: Part) -> None:
        """Print a line; on a terminal, each part stays in its place also from right to left."""
        pairs = ((part, "") if isinstance(part, str) else part for part in parts)
        line = [(printable(text), style) for text, style in pairs]
        if self._stream.isatty():
            line = wrapped(line, shutil.get_terminal_size().columns)
        self._stream.write("".join(self._shown(*part) for part in line) + "\n")
        # A pipe is buffered in blocks: its reader would see nothing of a long run until late.
        self._stream.flush()

    def _shown(self, text: str, style: str) -> str:
        text = isolated(text) if self.is_terminal else text
        style, _, path = style.partition(_LINK)
        if path and self._root:
            # `file://…`, of characters that no terminal takes for an end.
            address = (self._root / path).absolute().as_uri()
            text = f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"
        if not (style and text and self._styles):
            return text
        return f"\x1b[{';'.join(str(_CODES[word]) for word in style.split())}m{text}\x1b[0m"


# A label is a part of its own in the first columns of a line, set off by two blanks.
_WIDEST_LABEL = 20
# A number and its unit are one word.
_WORDS = re.compile(r"\n|[^\S\n]+|\(?\d[\d.,]* (?:[kMG]?B|s|min|h|%)(?!\w)\S*|\S+")


def wrapped(parts: Sequence[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Parts of a line broken between words, never inside one that two parts make.

    What follows begins below the line's first word, or below the text beside a label or `*`.
    """
    text = "".join(text for text, _ in parts)
    if 2 * len(text) < width:
        return list(parts)
    from rich.cells import cell_len

    breaks: list[tuple[int, int, str]] = []
    column, indent, gap = 0, -1, 0
    # Where a part begins behind another one, such as a value behind its label.
    values = {sum(len(text) for text, _ in parts[:number]) for number in (1, 2)}
    for found in _WORDS.finditer(text):
        columns = cell_len(found[0])
        if found[0] == "\n":
            column, indent, columns = 0, -1, 0
        elif found[0].isspace():
            gap = len(found[0])
            if text[found.end() : found.end() + 1] in ("", "\n"):
                # At the edge of a terminal they would make an empty line.
                breaks.append((*found.span(), ""))
        else:
            fits = column + columns <= width
            if indent < 0:
                indent = column + 2 * (found[0] == "*")
            elif column > indent and not fits:
                breaks.append((found.start() - gap, found.start(), "\n" + " " * indent))
                column = indent
            elif fits and gap > 1 and column <= _WIDEST_LABEL and found.start() in values:
                indent = column
        column += columns
    chars = [(char, number) for number, (part, _) in enumerate(parts) for char in part]
    for start, end, new in reversed(breaks):
        chars[start:end] = [(char, chars[start][1]) for char in new]
    return [
        ("".join(char for char, _ in group), parts[number][1])
        for number, group in groupby(chars, key=lambda pair: pair[1])
    ]


# In a style, before the path of the note to which a text leads.
_LINK = "@"
# Those without links that print their addresses, or hand them to one that may.
_WITHOUT_LINKS = ("dumb", "linux", "unknown", "eterm", "screen", "tmux")


def titled(note: Any, style: str = "bold") -> tuple[str, str]:
    """The `title` of a note, which leads to its `path` on a terminal with links."""
    return on_one_line(note.title), f"{style}{_LINK}{note.path}"


def has_hyperlinks(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a stream is a terminal that shows links, or nothing for them.

    `FORCE_HYPERLINK=1` says so of any, `FORCE_HYPERLINK=0` denies it.
    """
    forced = environment.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    term = environment.get("TERM") or ("xterm" if "WT_SESSION" in environment else "dumb")
    return stream.isatty() and not term.startswith(_WITHOUT_LINKS)


_PROBLEMS_SHOWN = 10


@dataclass
class Output:
    """Prints what a command returns and reports.

    Attributes:
        as_json: stdout gets one JSON document and nothing else.
        quiet: no notices; errors and results remain.
        verbose: tracebacks and more notices.
        color: None lets the terminal decide.
        root: the vault that is shown.
        line: what shows on stderr how far something is, where a notice would disturb it.
    """

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: bool | None = None
    root: Path | None = None
    line: ProgressLine | None = None

    def console(self) -> Console:
        """The console for results; what showed the progress is gone from the terminal."""
        self._clear_line()
        return Console(sys.stdout, self.color, self.root)

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

    def notice(self, text: str) -> None:
        """Print something worth knowing on stderr."""
        if not self.quiet:
            self._clear_line()
            _print_error(text)

    def problems(self, problems: Sequence[Problem]) -> None:
        """Print what is wrong in notes, at most ten lines unless verbose."""
        shown = problems if self.verbose else problems[:_PROBLEMS_SHOWN]
        for problem in shown:
            self.notice(f"! {problem_line(problem)}")
        if len(shown) < len(problems):
            self.notice(f"! … and {len(problems) - len(shown)} more (--verbose shows all)")

    def error(self, error: AmemError) -> None:
        """Print what failed and why in one line, then a hint."""
        if self.as_json:
            document = {"error": error.message, "hint": error.hint, "exit_code": error.exit_code}
            # On one line, to fit in with a watcher's lines.
            self.json_line(document)
        text = f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else "")
        _print_error(text)

    def _clear_line(self) -> None:
        if self.line is not None:
            self.line.clear()

    @contextmanager
    def progress(self, label: str, at_once: bool = True) -> Iterator[Progress]:
        """Show how far something is; yields what to call with (done, total)."""
        from amem_cli.terminal.progress import ProgressLine

        with ProgressLine(self, label, at_once=at_once) as line:
            yield line.report


def _print_error(text: str) -> None:
    """Write to stderr; if that terminal or pipe is gone, the command goes on."""
    text = printable(text)
    try:
        if sys.stderr.isatty():
            ((text, _),) = wrapped([(text, "")], shutil.get_terminal_size().columns)
        sys.stderr.write(text + "\n")
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


def obsidian_address(path: Path) -> str:
    """`obsidian://…` by which Obsidian opens a file of a vault that it knows."""
    from urllib.parse import quote

    return f"obsidian://open?path={quote(str(path.absolute()), safe='')}"


def problem_line(problem: Problem) -> str:
    place = on_one_line(f"{problem.path}:{problem.line}" if problem.line else problem.path)
    return f"{place}: {problem.message}." + (f" {problem.hint}" if problem.hint else "")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(count: int, digits: int = 2) -> str:
    return f"{count / 1e9:.{digits}f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def named(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


def first_lines(lines: Sequence[str], most: int, longest: int = 120) -> Iterator[str]:
    """The first lines, cut, and how many more there are."""
    for line in lines[:most]:
        yield line if len(line) <= longest else f"{line[:longest]}…"
    if len(lines) > most:
        yield f"… and {len(lines) - most} more lines"
