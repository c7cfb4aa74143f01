"""The signals that end a process, and how much of a command they leave to run."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from amem_cli.core.errors import EXIT_INTERRUPTED

_ENDING = (signal.SIG_DFL, signal.default_int_handler)
_SHOW_CURSOR = b"\x1b[?25h"
_received: list[int] = []


def end_on_signals() -> None:
    """Let the signals that end a process end it as Ctrl-C does: files closed, locks released."""
    if threading.current_thread() is not threading.main_thread():
        return
    atexit.register(_keep_exit_code)
    for number in _numbers():
        # Under nohup the last is ignored, and that stays so.
        if signal.getsignal(number) in _ENDING:
            signal.signal(number, _interrupt)


def was_interrupted() -> bool:
    """True where such a signal came."""
    return bool(_received)


@contextlib.contextmanager
def ending_at_once(notify: Callable[[str], None]) -> Iterator[None]:
    """Inside, the signals end the process where it stands; for while another thread imports.

    What is raised in the middle of an import leaves locks of importing taken, for which the other
    thread would wait without end. What amem writes is whole at every moment.
    """

    def end(number: int, frame: object) -> None:
        try:
            notify("interrupted")
        finally:
            end_at_once(number, frame)

    mine = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _numbers() if mine and signal.getsignal(number) is _interrupt]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, _interrupt)


def end_at_once(number: int, frame: object) -> None:
    """A handler that ends the process where it stands."""
    # A progress bar hides the cursor.
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
    os._exit(EXIT_INTERRUPTED)


def _keep_exit_code() -> None:
    """Python ends itself by a signal, whatever the exit code, after an interrupted `exec`.

    The libraries that write classes run one each; blocked, the signal leaves the code as it is.
    """
    if _received and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _interrupt(number: int, frame: object) -> None:
    _received.append(number)
    signal.signal(number, end_at_once)
    raise KeyboardInterrupt


def _numbers() -> list[Any]:
    found = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    return [number for number in found if number is not None]
