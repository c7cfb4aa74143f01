"""Gives pending notes to the memory process, one at a time, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

from amem_cli.errors import AmemError, reason_of
from amem_cli.index.events import PendingNote
from amem_cli.memory.batch import TURN_SECONDS
from amem_cli.memory.process import MemoryProcess, waiting_outcome

FIRST_RETRY_SECONDS = 60.0
LONGEST_RETRY_SECONDS = 3600.0
# How often the reason for a pause is checked.
PAUSE_SECONDS = 5.0
# Another command, such as `amem add`, works on this vault; it takes seconds.
OTHERS_SECONDS = 1.0

WatchEventKind = Literal[
    "watching", "noticed", "embedding", "searchable", "thinking", "learned", "waiting", "followed",
    "committed", "settings", "trouble", "well", "asking", "stopped",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Something that happened while watching: a line for a person, and the same ready for JSON.

    `result` is the `SyncReport` or `Outcome` behind it, if there is one.
    """

    kind: WatchEventKind
    text: str
    detail: dict[str, Any]
    result: Any = None


def on_battery() -> bool:
    """True if the machine draws on its battery, as psutil says; False if that is not known."""
    import psutil

    try:
        # psutil lacks it on some systems, and drivers of batteries answer in unforeseen ways.
        battery = psutil.sensors_battery()
    except Exception:
        return False
    return battery is not None and battery.power_plugged is False


@dataclass
class _Attempts:
    """What was tried with one version of a pending note, and failed so often in a row.

    `ready_at` is when it may be tried, by the worker's clock, if nobody touches it until then;
    infinite if only another version is worth trying.
    """

    version: str
    ready_at: float = -inf
    failures: int = 0


@dataclass
class BackgroundWork:
    """The worker of one vault.

    What is pending follows from notes and journal, so nothing is lost with this process.

    Attributes:
        process: opens the memory process when there is work; its models load with their first use.
        resting: why no work is to be done now, in a few words; empty to go on.
        finished: called after a round of work, as to commit what was changed.
        unload: called when there was nothing to do for `idle_seconds`.
        begin: called first in the worker's own thread, as to lower its priority.
    """

    process: Callable[[], MemoryProcess]
    resting: Callable[[], str]
    report: Callable[[WatchEvent], None]
    finished: Callable[[], None]
    unload: Callable[[], None]
    monotonic: Callable[[], float]
    begin: Callable[[], None] = lambda: None
    idle_seconds: float = 300.0
    _attempts: dict[str, _Attempts] = field(default_factory=dict)
    _renewed: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)
    _kick: threading.Event = field(default_factory=threading.Event)
    _reason: str = ""
    _loaded: bool = False

    def kick(self) -> None:
        """Something may have become pending."""
        self._kick.set()

    def renew(self) -> None:
        """`process` gives another one from now on: begin anew with it after the note at hand."""
        self._renewed = True
        self._kick.set()

    def stop(self) -> None:
        """End after the note at hand, without waiting for it."""
        self._stop.set()
        self._kick.set()

    def run(self) -> None:
        self.begin()
        idle_since = self.monotonic()
        while not self._stop.is_set():
            try:
                done, pause = self.round()
            except Exception as error:
                # No bad note, model or bug ends the worker.
                reason = reason_of(error)
                text = f"the memory process stopped: {reason}"
                self.report(WatchEvent("trouble", text, {"reason": reason}))
                done, pause = 0, FIRST_RETRY_SECONDS
            now = self.monotonic()
            if done:
                idle_since = now
                continue
            idle_left = idle_since + self.idle_seconds - now
            if self._loaded and idle_left <= 0:
                self.unload()
                self._loaded = False
            elif self._loaded:
                pause = idle_left if pause is None else min(pause, idle_left)
            self._kick.wait(pause)
            self._kick.clear()

    def round(self) -> tuple[int, float | None]:
        """Process each pending note that is ready.

        Returns how many these were, and the seconds until the next is ready (None: none waits).
        """
        renewed, self._renewed = self._renewed, False
        process = self.process()
        pending = process.ports.index.queue.pending()
        # What another model could not do, or what was to rest longer, may be done now.
        self._attempts = {
            note.path: _Attempts(note.version) if renewed else self._attempts_of(note)
            for note in pending
        }
        done, pauses = 0, list[float]()
        for note in pending:
            seconds = self._seconds_until(process, note.path)
            if seconds > 0:
                pauses.append(seconds)
                continue
            if self._stop.is_set() or self._renewed:
                break
            if self._must_rest():
                pauses = [PAUSE_SECONDS]
                break
            with process.ports.changes.working(0.0) as free:
                if not free:
                    pauses = [OTHERS_SECONDS]
                    break
                self._loaded = True
                self._process(process, note)
                done += 1
            self._stop.wait(TURN_SECONDS)
        if done:
            self.finished()
        return done, min((pause for pause in pauses if pause < inf), default=None)

    def _attempts_of(self, note: PendingNote) -> _Attempts:
        attempts = self._attempts.get(note.path)
        if attempts is not None and attempts.version == note.version:
            return attempts
        # An earlier watcher or a command may have failed with it.
        ready_at = self.monotonic() + _back_off(note.attempts) if note.attempts else -inf
        return _Attempts(note.version, ready_at)

    def _seconds_until(self, process: MemoryProcess, path: str) -> float:
        now, attempts = self.monotonic(), self._attempts[path]
        if attempts.ready_at <= now:
            try:
                # Whoever edits on moves it further away.
                attempts.ready_at = now + process.seconds_to_settle(path)
            except AmemError:
                # It is gone or cannot be read; the next scan of the folder will tell.
                return FIRST_RETRY_SECONDS
        return attempts.ready_at - now

    def _must_rest(self) -> bool:
        reason = self.resting()
        if reason and reason != self._reason:
            self.report(WatchEvent("waiting", f"resting: {reason}", {"reason": reason}))
        self._reason = reason
        return bool(reason)

    def _process(self, process: MemoryProcess, note: PendingNote) -> None:
        self.report(WatchEvent("thinking", note.path, {"path": note.path}))
        try:
            outcome = process.run(note.path, only_pending=True)
        except AmemError as error:
            outcome = waiting_outcome(process.ports, note.path, (error.message, error.hint))
        except Exception as error:
            # A bug that one note brings to light keeps no other from its turn.
            outcome = waiting_outcome(process.ports, note.path, (reason_of(error),))
        attempts = self._attempts[note.path]
        if outcome.pending or outcome.failed:
            attempts.failures = max(attempts.failures, note.attempts) + 1
            attempts.ready_at = self.monotonic() + _back_off(attempts.failures)
            written = process.ports.index.notes.summary(note.path)
            # What the analyzer wrote in place of the model makes no other text.
            attempts.version = written.sha if written and outcome.failed else note.version
        elif any(each.path == note.path for each in process.ports.index.queue.pending()):
            # As if its properties cannot be edited.
            attempts.ready_at = inf
            outcome = replace(outcome, pending=True)
        kind: WatchEventKind = "waiting" if outcome.pending else "learned"
        self.report(WatchEvent(kind, outcome.title, {"path": outcome.path}, outcome))


def _back_off(failures: int) -> float:
    return min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** (min(failures, 10) - 1))
