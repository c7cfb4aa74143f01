"""What `amem evolve` says while it goes through notes, and at the end."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.language.safe_text import json_text, on_one_line
from amem_cli.workspace.documents import outcome_document

if TYPE_CHECKING:
    from amem_cli.memory.batch import EvolveBatch
    from amem_cli.memory.outcome import Outcome
    from amem_cli.terminal.output import Output

# Of more notes than this a person reads the sum; `amem history` has each.
NOTES_IN_FULL = 20
PROBLEMS_SHOWN = 10


@dataclass
class EvolveReport:
    """Tells of each note as it is done, so that nothing is kept of it.

    Args:
        count: how many notes there are.
    """

    output: Output
    count: int
    dry_run: bool
    done: int = 0
    pending: int = 0
    _described: int = 0
    _links: int = 0
    _evolved: int = 0
    _proposed: int = 0
    _with_problems: int = 0

    def begin(self) -> None:
        """Open the JSON document."""
        if self.output.as_json:
            dry_run = json_text(self.dry_run)
            sys.stdout.write(f'{{\n  "dry_run": {dry_run},\n  "notes": [')

    def note(self, outcome: Outcome) -> None:
        """Tell of one note."""
        self.done += not outcome.pending
        self.pending += outcome.pending
        self._described += bool(outcome.written)
        self._links += len(outcome.links)
        self._evolved += len(outcome.evolved)
        self._proposed += len(outcome.proposed)
        if self.output.as_json:
            comma = "," if self.done + self.pending > 1 else ""
            text = json_text(outcome_document(outcome), indent=2).replace("\n", "\n    ")
            sys.stdout.write(f"{comma}\n    {text}")
        elif self.output.verbose or self.count <= NOTES_IN_FULL:
            from amem_cli.terminal.notes import show_outcome

            show_outcome(self.output.console(), outcome, verbose=self.output.verbose)
        elif outcome.problems and (outcome.pending or not outcome.written):
            self._with_problems += 1
            if self._with_problems <= PROBLEMS_SHOWN:
                problem = " ".join(part for part in outcome.problems[:2] if part)
                self.output.notice(f"! {on_one_line(outcome.path)}: {problem}")

    def end(self, batch: EvolveBatch, *, interrupted: bool) -> None:
        """Tell the sum, why it ended, and close the JSON document."""
        reason = "interrupted" if interrupted else "".join(batch.stopped[:1])
        if self.output.as_json:
            rest = {
                "pending": self.pending + batch.left,
                "left": batch.left,
                "elsewhere": batch.elsewhere,
                "stopped": reason,
            }
            gap = "\n  " if self.done + self.pending else ""
            sys.stdout.write(f"{gap}],\n{json_text(rest, indent=2)[2:]}\n")
        elif not self.count:
            self.output.plain("nothing is pending")
        elif self.count > NOTES_IN_FULL and self.done + self.pending:
            self.output.plain(self._sum())
        if batch.elsewhere:
            self.output.notice(f"{_notes(batch.elsewhere)} another amem process had done")
        if self._with_problems > PROBLEMS_SHOWN:
            more = self._with_problems - PROBLEMS_SHOWN
            self.output.notice(f"! … and {more} more (--verbose shows all)")
        if batch.stopped:
            hint = f" {batch.stopped[1]}" if batch.stopped[1:] and batch.stopped[1] else ""
            self.output.notice(f"stopped: {batch.stopped[0]}.{hint}")
        if (batch.stopped or interrupted) and not self.dry_run:
            said = f"{batch.reached} of {_notes(self.count)} {_are(batch.reached)} done"
            self.output.notice(f"{said}; the same command goes on with the rest")

    def _sum(self) -> str:
        done = "would be remembered" if self.dry_run else "remembered"
        parts = [f"{self._described} described", _many(self._links, "link") + " made"]
        if self._evolved:
            parts.append(_many(self._evolved, "older note") + " evolved")
        if self._proposed:
            parts.append(_many(self._proposed, "change") + " proposed")
        waiting = f"; {_notes(self.pending)} still {'waits' if self.pending == 1 else 'wait'}"
        return f"{_notes(self.done)} {done}: {', '.join(parts)}{waiting if self.pending else ''}"


def _notes(count: int) -> str:
    return _many(count, "note")


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
