"""Shows how far a run over many notes has come, what it is at, and how long it will still take.

Shows how far a transfer of gigabytes has come: a bar on a terminal, a line now and then else.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.memory.batch import RemainingTime, span

if TYPE_CHECKING:
    from amem_cli.terminal.output import Output

SECONDS_BEFORE_A_LINE = 15.0
SECONDS_BETWEEN_LINES = 60.0


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """What a run tells of itself.

    Attributes:
        at: called with the path of the note that it begins.
        reached: called with how many are done, and how many there are.
    """

    at: Callable[[str], None]
    reached: Callable[[int, int], None]


@contextlib.contextmanager
def batch_progress(output: Output, label: str) -> Iterator[BatchProgress]:
    """A bar on a terminal, elsewhere a line a minute; all of it on stderr."""
    if output.quiet:
        yield BatchProgress(lambda path: None, lambda done, total: None)
    elif sys.stderr.isatty():
        with _bar(output, label) as told:
            yield told
    else:
        yield _lines(output.notice, label)


def _lines(notice: Callable[[str], None], label: str) -> BatchProgress:
    began = time.monotonic()
    remaining = RemainingTime(began)
    next_line = began + SECONDS_BEFORE_A_LINE

    def reached(done: int, total: int) -> None:
        nonlocal next_line
        now = time.monotonic()
        remaining.reached(done, now)
        if now >= next_line and done < total:
            next_line = now + SECONDS_BETWEEN_LINES
            left = _left(remaining.seconds(total, now))
            notice(f"{label}: {done} of {total} notes{', ' if left else ''}{left}")

    return BatchProgress(lambda path: None, reached)


@contextlib.contextmanager
def _bar(output: Output, label: str) -> Iterator[BatchProgress]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    from amem_cli.language.safe_text import on_one_line
    from amem_cli.terminal.output import rich_console

    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[note]}", markup=False, style="dim", table_column=rest),
    )
    remaining = RemainingTime(time.monotonic())
    # What is printed meanwhile is put above the bar, unless it goes to a file.
    with Bar(
        *columns,
        console=rich_console(sys.stderr, output.color),
        transient=True,
        expand=True,
        redirect_stdout=sys.stdout.isatty(),
    ) as bar:
        task = bar.add_task(label, total=None, left="", note="")

        def at(path: str) -> None:
            bar.update(task, note=on_one_line(path))

        def reached(done: int, total: int) -> None:
            now = time.monotonic()
            remaining.reached(done, now)
            left = _left(remaining.seconds(total, now))
            bar.update(task, completed=done, total=total, left=left)

        yield BatchProgress(at, reached)


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {span(seconds)} left"


Transferred = Callable[[str, int, int], None]

SECONDS_BETWEEN_TRANSFER_LINES = 15.0


@contextlib.contextmanager
def transfer_progress(output: Output) -> Iterator[Transferred]:
    """Yields what to call with (what is done, bytes so far, bytes in all); all of it on stderr."""
    if output.quiet:
        yield lambda label, done, total: None
    elif sys.stderr.isatty():
        with _transfer_bar(output) as told:
            yield told
    else:
        yield _transfer_lines(output.notice)


def _transfer_lines(notice: Callable[[str], None]) -> Transferred:
    began: dict[str, tuple[float, int]] = {}
    last = 0.0

    def told(label: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        started, before = began.setdefault(label, (now, done))
        if now - max(last, started) < SECONDS_BETWEEN_TRANSFER_LINES:
            return
        last = now
        speed = (done - before) / (now - started)
        left = f", about {duration((total - done) / speed)} left" if speed > 0 else ""
        notice(f"{label}: {100 * done // max(total, 1)} % of {size(total)}{left}")

    return told


@contextlib.contextmanager
def _transfer_bar(output: Output) -> Iterator[Transferred]:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.progress import TransferSpeedColumn as Speed

    from amem_cli.terminal.output import rich_console

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        Speed(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=rich_console(sys.stderr, output.color), transient=True) as bar:
        task = bar.add_task("asking", total=None)

        def told(label: str, done: int, total: int) -> None:
            bar.update(task, description=label, completed=done, total=total)

        yield told


def size(count: int) -> str:
    """Bytes as a person reads them."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """A length of time as a person reads it."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
