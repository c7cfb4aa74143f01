"""Shows how far a run over many notes has come, what it is at, and how long it will still take."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.core.remaining_time import RemainingTime, span

if TYPE_CHECKING:
    from amem_cli.rendering.output import Output

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

    from amem_cli.rendering.console import rich_console
    from amem_cli.rendering.output import on_one_line

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
