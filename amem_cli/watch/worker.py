"""Gives pending notes to the memory process, one at a time, beside everything else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

from amem_cli.errors import AmemError
from amem_cli.index.records import PendingNote
from amem_cli.memory.outcome import Outcome
from amem_cli.memory.process import MemoryProcess, waiting_outcome
from amem_cli.watch.port import News, NewsKind

FIRST_RETRY_SECONDS = 60.0
LONGEST_RETRY_SECONDS = 3600.0
# Why the work has to rest is asked again after so long.
PAUSE_SECONDS = 5.0
# Another command is at work on this vault, such as `amem add`; it takes seconds.
OTHERS_SECONDS = 1.0
# A command that waits for its turn looks for it about twenty times a second.
TURN_SECONDS = 0.06


@dataclass
class _Waiting:
    """What is known of a pending note as it is now; all moments are of the worker's clock.

    Attributes:
        settled_at: when it has rested, as far as nobody touches it.
        failures: how often it failed in a row.
        retry_at: when it may be tried again after a failure.
        is_left: it was tried, and no more is to be done with this version.
    """

    version: str
    settled_at: float = -inf
    failures: int = 0
    retry_at: float = -inf
    is_left: bool = False


@dataclass
class BackgroundWork:
    """One worker's view of what is pending.

    What is pending follows from notes and journal, so nothing is lost with this process.

    Attributes:
        process: opens the memory process when there is work; its models load with their first use.
        resting: why no work is to be done now, in a few words; empty to go on.
        report: told of every note.
        finished: called after a round of work, as to commit what was changed.
        unload: called when there was nothing to do for `idle_seconds`.
        monotonic: seconds of the clock that retries and idling are measured by.
        begin: called first in the worker's own thread, as to lower its priority.
    """

    process: Callable[[], MemoryProcess]
    resting: Callable[[], str]
    report: Callable[[News], None]
    finished: Callable[[], None]
    unload: Callable[[], None]
    monotonic: Callable[[], float]
    begin: Callable[[], None] = lambda: None
    idle_seconds: float = 300.0
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _renewed: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)
    _kick: threading.Event = field(default_factory=threading.Event)
    _rest: str = ""
    _loaded: bool = False

    def kick(self) -> None:
        """Something may have become pending."""
        self._kick.set()

    def renew(self) -> None:
        """What `process` gives has changed: begin anew with it after the note at hand."""
        self._renewed = True
        self._kick.set()

    def stop(self) -> None:
        """End after the note at hand; a model that thinks is not waited for by `run`'s caller."""
        self._stop.set()
        self._kick.set()

    def run(self) -> None:
        """Work until `stop`."""
        self.begin()
        idle_since = self.monotonic()
        while not self._stop.is_set():
            did, pause = self._survived_round()
            now = self.monotonic()
            if did:
                idle_since = now
                continue
            if self._loaded:
                left = idle_since + self.idle_seconds - now
                if left <= 0:
                    self.unload()
                    self._loaded = False
                else:
                    pause = left if pause is None else min(pause, left)
            self._kick.wait(pause)
            self._kick.clear()

    def _survived_round(self) -> tuple[int, float | None]:
        """A round that no bad note, model or bug can end the worker with."""
        try:
            return self.round()
        except Exception as error:
            reason = reason_of(error)
            text = f"the memory process stopped: {reason}"
            self.report(News("trouble", text, {"reason": reason}))
            return 0, FIRST_RETRY_SECONDS

    def round(self) -> tuple[int, float | None]:
        """Process each pending note that is ready.

        Returns:
            How many were processed, and the seconds until the next one is ready (None: none waits).
        """
        renewed, self._renewed = self._renewed, False
        process = self.process()
        pending = process.ports.index.queue.pending()
        # With another model or another rest, nothing that is known of them holds.
        self._waiting = {
            each.path: _Waiting(each.version) if renewed else self._known(each) for each in pending
        }
        done = 0
        pause: float | None = None
        for each in pending:
            if self._waiting[each.path].is_left:
                continue
            wait = self._seconds_until(process, each.path)
            if wait > 0:
                pause = wait if pause is None else min(pause, wait)
                continue
            if self._stop.is_set() or self._renewed:
                break
            if self._must_rest():
                pause = PAUSE_SECONDS
                break
            with process.ports.changes.working(0.0) as free:
                if not free:
                    pause = OTHERS_SECONDS
                    break
                self._loaded = True
                self._tell(process, each)
                done += 1
            self._stop.wait(TURN_SECONDS)
        if done:
            self.finished()
        return done, pause

    def _known(self, note: PendingNote) -> _Waiting:
        """What is known of this version; whoever wrote another one, nothing of it holds."""
        known = self._waiting.get(note.path)
        if known is not None and known.version == note.version:
            return known
        if not note.attempts:
            return _Waiting(note.version)
        return _Waiting(note.version, retry_at=self.monotonic() + _back_off(note.attempts))

    def _seconds_until(self, process: MemoryProcess, path: str) -> float:
        now, waiting = self.monotonic(), self._waiting[path]
        left = max(waiting.retry_at, waiting.settled_at) - now
        if left > 0:
            return left
        try:
            # Whoever went on editing has moved it further away.
            waiting.settled_at = now + process.seconds_to_settle(path)
        except AmemError:
            # It is gone or cannot be read; the next look at the folder tells.
            return FIRST_RETRY_SECONDS
        return waiting.settled_at - now

    def _must_rest(self) -> bool:
        reason = self.resting()
        if reason and reason != self._rest:
            self.report(News("waiting", f"resting: {reason}", {"reason": reason}))
        self._rest = reason
        return bool(reason)

    def _tell(self, process: MemoryProcess, note: PendingNote) -> None:
        self.report(News("thinking", note.path, {"path": note.path}))
        outcome = self._outcome(process, note.path)
        waiting = self._waiting[note.path]
        if outcome.pending or outcome.failed:
            waiting.failures = max(waiting.failures, note.attempts) + 1
            waiting.retry_at = self.monotonic() + _back_off(waiting.failures)
        elif any(each.path == note.path for each in process.ports.index.queue.pending()):
            # As where its properties cannot be edited: only another version is worth trying.
            waiting.is_left = True
            outcome = replace(outcome, pending=True)
        kind: NewsKind = "waiting" if outcome.pending else "learned"
        self.report(News(kind, outcome.title, {"path": outcome.path}, outcome))

    def _outcome(self, process: MemoryProcess, path: str) -> Outcome:
        try:
            return process.run(path, only_pending=True)
        except AmemError as error:
            return waiting_outcome(process.ports, path, (error.message, error.hint))
        except Exception as error:
            # One note with which something unforeseen happens keeps no other from its turn.
            return waiting_outcome(process.ports, path, (reason_of(error),))


def reason_of(error: Exception) -> str:
    """Why something failed, in one line."""
    return error.message if isinstance(error, AmemError) else f"{type(error).__name__}: {error}"


def _back_off(attempts: int) -> float:
    return min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** (min(attempts, 10) - 1))
