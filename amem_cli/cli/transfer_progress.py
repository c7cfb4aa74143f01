"""Shows how far a transfer of gigabytes has come: a bar on a terminal, a line now and then else."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.rendering.output import Output

Transferred = Callable[[str, int, int], None]

SECONDS_BETWEEN_LINES = 15.0


@contextlib.contextmanager
def transfer_progress(output: Output) -> Iterator[Transferred]:
    """Yields what to call with (what is done, bytes so far, bytes in all); all of it on stderr."""
    if output.quiet:
        yield lambda label, done, total: None
    elif sys.stderr.isatty():
        with _bar(output) as told:
            yield told
    else:
        yield _lines(output.notice)


def _lines(notice: Callable[[str], None]) -> Transferred:
    began: dict[str, tuple[float, int]] = {}
    last = 0.0

    def told(label: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        started, before = began.setdefault(label, (now, done))
        if now - max(last, started) < SECONDS_BETWEEN_LINES:
            return
        last = now
        speed = (done - before) / (now - started)
        left = f", about {span((total - done) / speed)} left" if speed > 0 else ""
        notice(f"{label}: {100 * done // max(total, 1)} % of {size(total)}{left}")

    return told


@contextlib.contextmanager
def _bar(output: Output) -> Iterator[Transferred]:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.progress import TransferSpeedColumn as Speed

    from amem_cli.rendering.console import rich_console

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


def span(seconds: float) -> str:
    """A length of time as a person reads it."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
