"""Single keys of the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def keys_at_once() -> Iterator[None]:
    """Inside, `read_keys` gets keys as they are pressed, those pressed before are dropped.

    Ask inside: a key that is pressed as soon as the question shows counts.
    """
    if sys.platform == "win32":
        yield
        return
    import termios

    terminal = sys.stdin.fileno()
    former = termios.tcgetattr(terminal)
    mode = [*former]
    # Ctrl-C is a key here, as it is on Windows.
    mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
    mode[6] = [*former[6]]
    mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSAFLUSH, mode)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, former)


def read_keys() -> str:
    """What is pressed next, of a paste all that arrived; empty if the terminal is gone."""
    if sys.platform == "win32":
        import typer

        return typer.getchar()
    try:
        return os.read(sys.stdin.fileno(), 1024).decode("utf-8", "replace")
    except OSError:
        return ""
