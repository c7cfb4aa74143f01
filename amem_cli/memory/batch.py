"""The memory process for many notes, one by one.

The journal records how far a run came, so a stopped one can be continued.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from amem_cli.analyzer.earlier_notes import waiting_notes
from amem_cli.errors import AmemError, BudgetSpent, ModelError, NotFoundError
from amem_cli.index.records import Progress
from amem_cli.memory.outcome import ANALYZER, Outcome
from amem_cli.memory.process import MemoryProcess, waiting_outcome
from amem_cli.models.ports import UnavailableModel

BREAKER_AFTER = 3
# A command that waits for its turn, as `amem add`, looks for it about twenty times a second.
TURN_SECONDS = 0.06
SECONDS_WITHOUT_A_TURN = 2.0


@dataclass(slots=True)
class EvolveBatch:
    """One run over many notes; the next run does what it leaves.

    Attributes:
        asked: the user named these notes; else it skips those that others finished meanwhile.
        rest: paths of notes that a later run processes; until then they count as absent, as those
            do that have not had their turn yet, for notes made before them.
        settled: leave notes that a person may still be editing.
        begin, progress: called before a note's turn with its path, and after it.
        reached, elsewhere: notes that have had their turn; those that other processes finished.
        stopped: why the rest is not tried, as a line and a hint; empty if all were.
    """

    process: MemoryProcess
    paths: Sequence[str]
    asked: bool = False
    settled: bool = False
    dry_run: bool = False
    begin: Callable[[str], None] = lambda path: None
    progress: Progress = lambda done, total: None
    reached: int = 0
    elsewhere: int = 0
    stopped: tuple[str, ...] = ()
    rest: Sequence[str] = ()
    _failures: int = 0
    _was_missed: bool = False
    _last_error: str = ""
    _held_since: float = 0.0

    def outcomes(self) -> Generator[Outcome, None, None]:
        """Process the notes; one bad note stops nothing, a full disk does.

        A dead model is soon not asked any more; the analyzer stands in, and `stopped` says so.
        """
        ports = self.process.ports
        waiting = waiting_notes(ports.index, ports.clock.now(), [*self.paths, *self.rest])
        self.process = replace(self.process, waiting=waiting)
        self._held_since = time.monotonic()
        for path in self.paths:
            self.begin(path)
            try:
                outcome = self._outcome(path)
            except BudgetSpent as error:
                self.stopped = (error.message, error.hint)
                return
            self.reached += 1
            if outcome is None:
                self.elsewhere += 1
            self.progress(self.reached, len(self.paths))
            if outcome is not None:
                yield outcome
            if self.stopped:
                return
            if time.monotonic() - self._held_since > SECONDS_WITHOUT_A_TURN:
                time.sleep(TURN_SECONDS)
                self._held_since = time.monotonic()
        model = self.process.model
        if isinstance(model, UnavailableModel) and self._was_missed:
            self.stopped = (model.error.message, model.error.hint)

    def all_outcomes(self) -> list[Outcome]:
        """All outcomes at once; if something stops the run, the rest have one as well."""
        outcomes = list(self.outcomes())
        rest = self.paths[self.reached :]
        return [
            *outcomes,
            *(waiting_outcome(self.process.ports, path, self.stopped) for path in rest),
        ]

    def _outcome(self, path: str) -> Outcome | None:
        """The outcome for a note; None if another process has finished it."""
        process, asked = self.process, self.asked
        try:
            with process.ports.changes.working(process.settings.deadline):
                if not asked and process.is_finished(path):
                    return None
                outcome = process.run(
                    path,
                    asked=not self.settled,
                    dry_run=self.dry_run,
                    only_pending=not asked,
                )
        # Not a failure of the note: the run stops, and goes on another day.
        except BudgetSpent:
            raise
        except NotFoundError as error:
            return waiting_outcome(process.ports, path, (error.message,), pending=False)
        except AmemError as error:
            # The same message for one note after the other is not about the notes.
            self._count_failure(error.message == self._last_error, error.message, error.hint)
            return waiting_outcome(process.ports, path, (error.message, error.hint))
        if outcome.failed:
            self._count_model_failure(outcome)
        else:
            self._failures, self._last_error = 0, ""
        return outcome

    def _count_model_failure(self, outcome: Outcome) -> None:
        self._failures += 1
        model = self.process.model
        self._was_missed = self._was_missed or isinstance(model, UnavailableModel)
        if self._failures == BREAKER_AFTER and not isinstance(model, UnavailableModel):
            said, hint = (*outcome.problems, "", "")[:2]
            reason = said.partition(f"; {ANALYZER}")[0]
            message = f"{BREAKER_AFTER} notes in a row failed: {reason}"
            name = "" if model is None else model.name
            dead = UnavailableModel(ModelError(message, hint=hint), name, is_given_up=True)
            self.process = replace(self.process, model=dead)

    def _count_failure(self, is_another: bool, message: str, hint: str = "") -> None:
        self._failures = self._failures + 1 if is_another else 1
        self._last_error = message
        if self._failures >= BREAKER_AFTER:
            self.stopped = (f"{BREAKER_AFTER} notes in a row failed: {message}", hint)
