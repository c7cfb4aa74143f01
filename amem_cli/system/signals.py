"""Signals: those that end a program, holding them off, and job control."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
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
    """Inside, no signal ends the program; one that came ends it afterwards.

    Windows cannot hold them off.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def refuse_interrupts() -> None:
    """Hold off SIGINT for the rest of this process, where the system can."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def on_suspension(handler: Callable[[int, Any], None]) -> None:
    """Call a handler on Ctrl-Z, which then has to `suspend`; Windows has no job control."""
    if sys.platform != "win32":
        signal.signal(signal.SIGTSTP, handler)


def suspend() -> None:
    """Stop this process until the shell continues it."""
    if sys.platform != "win32":
        os.kill(os.getpid(), signal.SIGSTOP)


def in_foreground(terminal: int) -> bool:
    """Whether this process has the terminal, given by its descriptor, to itself."""
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        # Without job control, the terminal is this program's alone.
        return True
