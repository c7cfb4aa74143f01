"""Signals: those that end a program, and holding them off."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# SIGBREAK: Windows sends it when the window of the console is closed, and for Ctrl-Break.
_ENDING_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
# Those that ask a program to end, of this system.
ENDING: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name) for name in _ENDING_NAMES if hasattr(signal, name)
)


@contextmanager
def held() -> Iterator[None]:
    """Inside, the first signal does not end the program; it does so afterwards.

    A second one ends it at once, as what is inside may hang. Handlers run in the main thread
    alone, whichever thread the system gives a signal to, so that elsewhere none is held off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before: dict[signal.Signals, Any] = {}

    def release() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def hold(number: int, frame: object) -> None:
        received.append(number)
        if len(received) > 1:
            release()
            signal.raise_signal(number)

    try:
        for number in ENDING:
            # None: a handler that is not Python's, and could not be put back.
            if signal.getsignal(number) not in (None, signal.SIG_IGN):
                before[number] = signal.signal(number, hold)
        yield
    finally:
        release()
        if len(received) == 1:
            signal.raise_signal(received[0])


def refuse_interrupts() -> None:
    """Hold off SIGINT for the rest of this process, where the system can."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
