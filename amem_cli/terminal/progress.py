"""Progress of long runs, on stderr: a line that a terminal redraws, elsewhere one now and then."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import plural, size
from amem_cli.workspace.documents import outcome_document

if TYPE_CHECKING:
    from amem_cli.memory.batch import EvolveBatch
    from amem_cli.memory.outcome import Outcome
    from amem_cli.terminal.output import Output

# What is over before it can be read would only flicker.
SECONDS_BEFORE_DRAWING = 0.3
SECONDS_BETWEEN_DRAWINGS = 0.1
# A short run leaves no line in a log; a long one shows now and then that it is alive.
SECONDS_BEFORE_A_LINE = 15.0
SECONDS_BETWEEN_LINES = 60.0
_CLEAR = "\r\x1b[2K"


class ProgressLine:
    """How far something is, on stderr: one line that a terminal redraws, else one now and then.

    Args:
        at_once: a terminal shows the label also before anything is counted.
        unit: how an amount is written.
        every: seconds between the lines where there is no terminal.
    """

    def __init__(
        self,
        output: Output,
        label: str,
        *,
        at_once: bool = False,
        unit: Callable[[int], str] = "{:,}".format,
        every: float = SECONDS_BETWEEN_LINES,
    ) -> None:
        self._output, self._label, self._unit = output, label, unit
        self._redraws = sys.stderr.isatty()
        self._wait = SECONDS_BETWEEN_DRAWINGS if self._redraws else every
        first = SECONDS_BEFORE_DRAWING if self._redraws else SECONDS_BEFORE_A_LINE
        self._next = time.monotonic() + first
        self._began: dict[str, tuple[float, int]] = {}
        self._is_drawn = False
        self._timer = threading.Timer(first, self._draw, [f"{label} …"])
        self._timer.daemon = True
        if at_once and self._redraws and not output.quiet:
            self._timer.start()

    def __enter__(self) -> ProgressLine:
        self._outer, self._output.line = self._output.line, self
        return self

    def __exit__(self, *failure: object) -> None:
        self._end_timer()
        self.clear()
        self._output.line = self._outer

    def report(self, done: int, total: int, *, label: str = "", note: str = "") -> None:
        """Show how much is done, and for how long it will go on."""
        self._end_timer()
        label = label or self._label
        now = time.monotonic()
        # A resumed download begins with bytes that say nothing about its speed.
        started, before = self._began.setdefault(label, (now, done))
        if self._output.quiet or now < self._next or done >= total:
            return
        self._next = now + self._wait
        speed = (done - before) / (now - started) if now > started else 0.0
        left = f", about {span((total - done) / speed)} left" if speed > 0 else ""
        text = f"{label}: {self._unit(done)} of {self._unit(total)}{left}"
        if self._redraws:
            self._draw(f"{text}  {on_one_line(note)}")
        else:
            self._output.notice(text)

    def clear(self) -> None:
        """Take the line off the terminal, for what is printed next."""
        if self._is_drawn:
            self._is_drawn = False
            self._write(_CLEAR)

    def _draw(self, text: str) -> None:
        from rich.cells import set_cell_size

        width = shutil.get_terminal_size().columns - 1
        self._is_drawn = True
        self._write(_CLEAR + set_cell_size(text, width).rstrip())

    def _write(self, text: str) -> None:
        # If the terminal is gone, the work goes on.
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()

    def _end_timer(self) -> None:
        self._timer.cancel()
        # It may be about to draw what must not stay.
        if self._timer.is_alive():
            self._timer.join()


@contextmanager
def batch_progress(output: Output, batch: EvolveBatch) -> Iterator[None]:
    """Show how far a run over notes is, its current note, and the time left."""
    with ProgressLine(output, "processing") as line:
        count = len(batch.paths)
        batch.begin = lambda path: line.report(batch.reached, count, note=path)
        yield


@contextmanager
def transfer_progress(output: Output) -> Iterator[Callable[[str, int, int], None]]:
    """Yields what to call with (label, bytes so far, total bytes)."""
    every = SECONDS_BEFORE_A_LINE
    with ProgressLine(output, "connecting", at_once=True, unit=size, every=every) as line:
        yield lambda label, done, total: line.report(done, total, label=label)


# Of a longer run only the totals are printed; `amem history` has each note.
NOTES_IN_FULL = 20
PROBLEMS_SHOWN = 10


@dataclass
class EvolveReport:
    """Prints each of `count` notes as it is done, and what it adds up to."""

    output: Output
    count: int
    dry_run: bool
    outcomes: list[Outcome] = field(default_factory=list)
    _with_problems: int = 0

    def note(self, outcome: Outcome) -> None:
        """Print one note, or of a long run only what went wrong with it."""
        self.outcomes.append(outcome)
        if self.output.as_json:
            return
        from amem_cli.terminal.notes import show_outcome, without_rejected_parts

        problems = without_rejected_parts(outcome.problems)
        if self.output.verbose or self.count <= NOTES_IN_FULL:
            # Nothing but the screen tells what a dry run would do.
            details = self.output.verbose or self.dry_run
            show_outcome(self.output.console(), outcome, details=details)
        elif problems and (outcome.pending or not outcome.written):
            self._with_problems += 1
            if self._with_problems <= PROBLEMS_SHOWN:
                problem = ". ".join(part.rstrip(".") for part in problems[:2] if part)
                self.output.notice(f"! {on_one_line(outcome.path)}: {problem}")

    def end(self, batch: EvolveBatch, *, interrupted: bool) -> None:
        """Print the totals and why the run ended, or the JSON document."""
        left = self.count - len(self.outcomes) - batch.elsewhere
        pending = sum(outcome.pending for outcome in self.outcomes)
        if self.output.as_json:
            document = {
                "dry_run": self.dry_run,
                "notes": list(map(outcome_document, self.outcomes)),
                "pending": pending + left,
                "left": left,
                "elsewhere": batch.elsewhere,
                "stopped": "interrupted" if interrupted else "".join(batch.stopped[:1]),
            }
            self.output.json_line(document, indent=2)
        elif not self.count:
            self.output.plain("nothing is pending")
        elif self.count > NOTES_IN_FULL and self.outcomes:
            self.output.plain(self._summary(pending))
        if self.dry_run and len(self.outcomes) > 1 and not self.output.as_json:
            # Keywords, tags and links of the earlier notes would change what the later get.
            self.output.notice(
                "each note was weighed by the vault as it is; a run also goes by what it wrote"
                " before, so it may come to a few more or fewer"
            )
        if batch.elsewhere:
            self.output.notice(f"another amem process did {plural(batch.elsewhere, 'note')}")
        if self._with_problems > PROBLEMS_SHOWN:
            more = self._with_problems - PROBLEMS_SHOWN
            self.output.notice(f"! … and {more} more (--verbose shows all)")
        if batch.stopped:
            self.output.notice(f"stopped: {'. '.join(batch.stopped)}".rstrip(". ") + ".")
        if left and (batch.stopped or interrupted) and not self.dry_run:
            self.output.notice(
                f"{self.count - left} of {plural(self.count, 'note')} done;"
                " run the same command to continue"
            )

    def _summary(self, pending: int) -> str:
        described = sum(bool(outcome.written) for outcome in self.outcomes)
        counts = {
            name: sum(len(getattr(outcome, name)) for outcome in self.outcomes)
            for name in ("links", "suggested", "evolved", "proposed")
        }
        parts = [f"{described} described", plural(counts["links"], "link") + " made"]
        if counts["suggested"]:
            parts.append(
                f"{counts['suggested']} suggested{'' if self.dry_run else ' (amem links)'}"
            )
        if counts["evolved"]:
            parts.append(plural(counts["evolved"], "older note") + " evolved")
        if counts["proposed"]:
            review = "" if self.dry_run else " (amem review)"
            parts.append(f"{plural(counts['proposed'], 'change')} proposed{review}")
        verb = "would be processed" if self.dry_run else "processed"
        if self.dry_run:
            parts = [f"about {part}" for part in parts]
        waiting = f"; {plural(pending, 'note')} still pending" if pending else ""
        done = plural(len(self.outcomes) - pending, "note")
        return f"{done} {verb}: {', '.join(parts)}{waiting}"


def span(seconds: float) -> str:
    """A length of time for a person to read, no finer than an estimate is."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"
