"""Progress of long runs, on stderr: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amem_cli.language.safe_text import on_one_line
from amem_cli.models.price import money
from amem_cli.system.signals import held
from amem_cli.terminal.output import plural, rich_bar, size
from amem_cli.workspace.documents import forecast_document, outcome_document

if TYPE_CHECKING:
    from amem_cli.memory.batch import EvolveBatch
    from amem_cli.memory.forecast import Forecast
    from amem_cli.memory.outcome import Outcome
    from amem_cli.terminal.output import Output

# A short run leaves no line in a log; a long one shows now and then that it is alive.
SECONDS_BEFORE_A_LINE = 15.0
SECONDS_BETWEEN_LINES = 60.0
# A model may take minutes for a note, and its speed is that of the last notes.
SECONDS_OF_SPEED = 600.0

Hidden = Callable[[], contextlib.AbstractContextManager[None]]
Transferred = Callable[[str, int, int], None]


@contextlib.contextmanager
def batch_progress(output: Output, batch: EvolveBatch) -> Iterator[Hidden]:
    """Show how far a run over notes is, its current note, and the time left.

    Yields what hides it, to be entered while something else is printed.
    """
    count = len(batch.paths)
    if output.quiet or not count:
        yield contextlib.nullcontext
    elif sys.stderr.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.table import Column

        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        columns = (
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            # Brackets in a path are not markup.
            TextColumn("{task.fields[note]}", markup=False, style="dim", table_column=rest),
        )
        # Of one note there is nothing to count.
        shown = columns if count > 1 else columns[-1:]
        bar = rich_bar(
            output,
            "processing",
            *shown,
            total=count,
            expand=True,
            redirect_stdout=False,
            speed_estimate_period=SECONDS_OF_SPEED,
        )
        with bar as (update, hidden):
            batch.begin = lambda path: update(note=on_one_line(path))
            batch.progress = lambda done, total: update(completed=done)
            yield hidden
    else:
        say = _lines_now_and_then(output.notice, SECONDS_BETWEEN_LINES)
        batch.progress = lambda done, total: say(
            "processing", f"{done} of {total} notes", done, total
        )
        yield contextlib.nullcontext


@contextlib.contextmanager
def transfer_progress(output: Output) -> Iterator[Transferred]:
    """Yields what to call with (label, bytes so far, total bytes)."""
    if output.quiet:
        yield lambda label, done, total: None
    elif sys.stderr.isatty():
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        columns = BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
        with rich_bar(output, "connecting", *columns) as bar:
            yield lambda label, done, total: bar.update(
                description=label, completed=done, total=total
            )
    else:
        say = _lines_now_and_then(output.notice, SECONDS_BEFORE_A_LINE)
        yield lambda label, done, total: say(
            label, f"{100 * done // max(total, 1)} % of {size(total)}", done, total
        )


def _lines_now_and_then(
    notice: Callable[[str], None], seconds: float
) -> Callable[[str, str, int, int], None]:
    """What to call with a label, how far it is in words, and in numbers; prints a few lines."""
    began: dict[str, tuple[float, int]] = {}
    next_line = time.monotonic() + SECONDS_BEFORE_A_LINE

    def report(label: str, reached: str, done: int, total: int) -> None:
        nonlocal next_line
        now = time.monotonic()
        # A resumed download begins with bytes that say nothing about its speed.
        started, before = began.setdefault(label, (now, done))
        if now < next_line or done >= total:
            return
        next_line = now + seconds
        speed = (done - before) / (now - started) if now > started else 0.0
        left = f", about {span((total - done) / speed)} left" if speed else ""
        notice(f"{label}: {reached}{left}")

    return report


# Of a longer run only the totals are printed; `amem history` has each note.
NOTES_IN_FULL = 20
PROBLEMS_SHOWN = 10


@dataclass
class EvolveReport:
    """Prints each of `count` notes as it is done, and what it adds up to."""

    output: Output
    count: int
    dry_run: bool
    forecast: Forecast | None = None
    done: int = 0
    pending: int = 0
    failed: int = 0
    _with_problems: int = 0
    _totals: Counter[str] = field(default_factory=Counter)
    _documents: list[dict[str, Any]] = field(default_factory=list)

    @property
    def reported(self) -> int:
        """How many notes `note` was called with."""
        return self.done + self.pending

    def note(self, outcome: Outcome, hidden: Hidden) -> None:
        """Print one note while the progress is `hidden`, or count it."""
        self._totals["described"] += bool(outcome.written)
        for name in ("links", "suggested", "evolved", "proposed"):
            self._totals[name] += len(getattr(outcome, name))
        # An interruption in the middle would miscount.
        with held():
            self._documents += [outcome_document(outcome)] if self.output.as_json else []
            self.done += not outcome.pending
            self.pending += outcome.pending
            self.failed += outcome.failed
        if self.output.as_json:
            return
        from amem_cli.terminal.notes import show_outcome, without_rejected_parts

        problems = without_rejected_parts(outcome.problems)
        if self.output.verbose or self.count <= NOTES_IN_FULL:
            verbose = self.output.verbose
            with hidden():
                # Nothing but the screen tells what a dry run would do.
                brief = not (verbose or self.dry_run)
                show_outcome(
                    self.output.console(), outcome, brief=brief, cut=brief, verbose=verbose
                )
        elif problems and (outcome.pending or not outcome.written):
            self._with_problems += 1
            if self._with_problems <= PROBLEMS_SHOWN:
                problem = ". ".join(part.rstrip(".") for part in problems[:2] if part)
                self.output.notice(f"! {on_one_line(outcome.path)}: {problem}")

    def end(self, batch: EvolveBatch, *, interrupted: bool) -> None:
        """Print the totals and why the run ended, or the JSON document."""
        left = self.count - self.reported - batch.elsewhere
        reason = "interrupted" if interrupted else "".join(batch.stopped[:1])
        if self.output.as_json:
            document = {
                "dry_run": self.dry_run,
                "forecast": forecast_document(self.forecast),
                "notes": self._documents,
                "pending": self.pending + left,
                "left": left,
                "elsewhere": batch.elsewhere,
                "stopped": reason,
            }
            self.output.json_line(document, indent=2)
        elif not self.count:
            self.output.plain("nothing is pending")
        elif self.count > NOTES_IN_FULL and self.reported:
            self.output.plain(self._summary())
        if batch.elsewhere:
            self.output.notice(f"another amem process did {plural(batch.elsewhere, 'note')}")
        if self._with_problems > PROBLEMS_SHOWN:
            more = self._with_problems - PROBLEMS_SHOWN
            self.output.notice(f"! … and {more} more (--verbose shows all)")
        if batch.stopped:
            hint = f" {batch.stopped[1]}" if batch.stopped[1:] and batch.stopped[1] else ""
            self.output.notice(f"stopped: {batch.stopped[0]}.{hint}")
        if left and (batch.stopped or interrupted) and not self.dry_run:
            self.output.notice(
                f"{self.count - left} of {plural(self.count, 'note')} done;"
                " run the same command to continue"
            )

    def _summary(self) -> str:
        verb, totals = "would be processed" if self.dry_run else "processed", self._totals
        parts = [f"{totals['described']} described", plural(totals["links"], "link") + " made"]
        if totals["suggested"]:
            parts.append(f"{totals['suggested']} suggested (amem links)")
        if totals["evolved"]:
            parts.append(plural(totals["evolved"], "older note") + " evolved")
        if totals["proposed"]:
            parts.append(plural(totals["proposed"], "change") + " proposed")
        pending = f"; {plural(self.pending, 'note')} still pending" if self.pending else ""
        return f"{plural(self.done, 'note')} {verb}: {', '.join(parts)}{pending}"


def forecast_line(forecast: Forecast, currency: str, *, dry_run: bool) -> str:
    """What a run will take, in one line."""
    parts = [
        plural(forecast.notes, "note"),
        f"about {_tokens(forecast.tokens)} tokens",
        *([f"about {money(forecast.cost, currency)}"] if forecast.cost else []),
        *([f"about {span(forecast.seconds)}"] if forecast.seconds else []),
    ]
    line = f"{', '.join(parts)} with {forecast.model}"
    if forecast.exceeds_today:
        line += f"; {forecast.left_today:,} tokens are left today (llm.daily_tokens)"
    return f"{line}; {'nothing is written' if dry_run else 'Ctrl-C keeps what is done'}"


def _tokens(count: int) -> str:
    """A number of tokens, no finer than an estimate is."""
    if count >= 1_000_000:
        return f"{count / 1e6:.1f} M"
    return f"{round(count, 2 - len(str(count))):,}"


def span(seconds: float) -> str:
    """A length of time for a person to read, no finer than an estimate is."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"
