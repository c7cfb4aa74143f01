"""For whom a call is made: what may be seen of the vault, how progress is shown, how it stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeAlias

from amem_cli.index.records import Progress

# Given a label, and whether to show it before there is anything to count.
ShowProgress: TypeAlias = "Callable[[str, bool], AbstractContextManager[Progress | None]]"


class Stopped(Exception):
    """The caller cancelled the call, or the program ends."""


class Caller:
    """Who calls the verbs of a workspace.

    Args:
        progress: shows what takes time; called in the thread that does the work.

    Attributes:
        sees_private: notes with `private: true` are found, read and named.
        client: the program that the journal names with each change; empty for the user's own.
    """

    def __init__(
        self,
        *,
        progress: ShowProgress = lambda label, at_once: nullcontext(),
        sees_private: bool = True,
        client: str = "",
    ) -> None:
        self.sees_private = sees_private
        self.client = client
        self._progress = progress
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._interrupt: Callable[[], None] | None = None
        self._interrupting: threading.Thread | None = None

    @contextmanager
    def progress(self, label: str, *, at_once: bool = False) -> Iterator[Progress]:
        """Show what is done inside; yields a function to call with (done, total).

        Args:
            at_once: show it although nothing will be counted.

        Raises:
            Stopped: nobody waits for the result any more.
        """
        self._refuse_if_stopped()
        with self._progress(label, at_once) as show:

            def report(done: int, total: int) -> None:
                self._refuse_if_stopped()
                if show is not None:
                    show(done, total)

            yield report

    def step(self, label: str) -> None:
        """Show what comes next.

        Raises:
            Stopped: nobody waits for the result any more.
        """
        with self.progress(label):
            pass

    @contextmanager
    def interruptible(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Work inside is cut short by `interrupt`, from another thread, when the call stops.

        Raises:
            Stopped: nobody waits for the result any more.
        """
        with self._lock:
            # Under the lock: a stop that comes in between would find nothing to interrupt.
            self._refuse_if_stopped()
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
        """Nobody waits for the result any more; does not wait for the work to end."""
        with self._lock:
            self._stopped.set()
            if self._interrupt is not None and self._interrupting is None:
                # In another thread: closing a model takes a while, for which nobody waits here.
                self._interrupting = threading.Thread(target=self._interrupt, daemon=True)
                self._interrupting.start()

    def _refuse_if_stopped(self) -> None:
        if self._stopped.is_set():
            raise Stopped
