"""Threads in which blocking work is done one piece after the other, and how a call stops it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from amem_cli.core.index_port import Progress

Result = TypeVar("Result")


class Stopped(Exception):
    """The client cancelled the call, or the server ends."""


class Call:
    """One call of a client, as the work that is done for it sees it.

    Args:
        report: told in one line what is being done; called from any thread.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._interrupt: Callable[[], None] | None = None
        self._interrupting: threading.Thread | None = None

    def step(self, message: str) -> None:
        """Tell what comes next.

        Raises:
            Stopped: nobody waits for it any more.
        """
        if self._stopped.is_set():
            raise Stopped
        self._report(message)

    def portions(self, message: str) -> Progress:
        """What to call with (done, total) while something large is done in portions."""
        return lambda done, total: self.step(f"{message} ({done} of {total})")

    @contextmanager
    def interruptible(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Work inside is cut short by `interrupt`, from another thread, when the call stops."""
        with self._lock:
            if self._stopped.is_set():
                raise Stopped
            self._interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None
                interrupting = self._interrupting
            if interrupting is not None:
                # What it cuts short must not be the work of the next call.
                interrupting.join()

    def stop(self) -> None:
        """Nobody waits for the call any more; does not wait for its work to end."""
        with self._lock:
            self._stopped.set()
            if self._interrupt is not None and self._interrupting is None:
                self._interrupting = threading.Thread(target=self._interrupt, daemon=True)
                self._interrupting.start()


class Lane:
    """A thread that does one piece of work after the other."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # The process must be able to end while native code in it hangs.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Have a piece of work done after those that wait already."""
        future: Future[Result] = Future()
        self._queue.put((future, work))
        return future

    def end(self, seconds: float) -> bool:
        """Do what waits and then nothing more; False where that takes longer than `seconds`."""
        self._queue.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            future, work = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
