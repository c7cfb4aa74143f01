"""Draws a watcher's board on a terminal's second screen, and leaves the first as it was."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from amem_cli.rendering.console import rich_console
from amem_cli.rendering.watch_board import WatchBoard

if TYPE_CHECKING:
    from rich.live import Live

# Nothing is drawn more often; a terminal's size is looked at so often too.
DRAW_SECONDS = 0.1
LOOK_SECONDS = 0.5
_SECOND_SCREEN_LEFT = b"\x1b[?1049l\x1b[?25h"
_SECOND_SCREEN_ENTERED = b"\x1b[?1049h\x1b[?25l"


class WatchScreen:
    """A board that is drawn when it changed or when the terminal's size did."""

    def __init__(self, board: WatchBoard, color: bool | None) -> None:
        self.board = board
        self._color = color
        self._changed = threading.Event()
        self._closed = False
        self._away = False

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Take the terminal, and give it back at the end."""
        from rich.live import Live

        console = rich_console(sys.stdout, self._color)
        live = Live(
            self.board, console=console, auto_refresh=False, screen=True, redirect_stderr=False
        )
        drawing = threading.Thread(target=self._draw, args=(live,), daemon=True)
        if hasattr(signal, "SIGTSTP"):
            signal.signal(signal.SIGTSTP, self._suspend)
        with redirect_stderr(_Overheard(self)), suppress(OSError), live:
            drawing.start()
            try:
                yield
            finally:
                self._closed = True
                self.changed()
                drawing.join()

    def changed(self) -> None:
        """Have the board drawn soon."""
        self._changed.set()

    def leave(self) -> None:
        """Give the terminal back at once; safe in a signal handler that ends the process."""
        _send(_SECOND_SCREEN_LEFT)

    def _suspend(self, number: int, frame: object) -> None:
        """Ctrl-Z: the shell gets its screen, until the watcher is in the foreground again."""
        self._away = True
        self.leave()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _is_back(self) -> bool:
        if self._away and _in_foreground():
            self._away = False
            _send(_SECOND_SCREEN_ENTERED)
            return True
        return False

    def _draw(self, live: Live) -> None:
        drawn: object = None
        while not self._closed:
            told = self._changed.wait(LOOK_SECONDS)
            self._changed.clear()
            told = self._is_back() or told
            if self._away:
                continue
            seen = (live.console.size, self.board.stopping)
            if told or seen != drawn:
                drawn = seen
                # A terminal that is gone: the signal that says so ends the watcher.
                with suppress(OSError):
                    live.refresh()
                time.sleep(DRAW_SECONDS)


def _send(codes: bytes) -> None:
    with suppress(OSError):
        os.write(sys.stdout.fileno(), codes)


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stdout.fileno()) == os.getpgrp()
    except OSError:
        # It is nobody's terminal but this program's.
        return True


class _Overheard(io.TextIOBase):
    """What is written to stderr meanwhile becomes news on the board."""

    def __init__(self, screen: WatchScreen) -> None:
        self._screen = screen
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in filter(str.strip, lines):
            self._screen.board.hear(line, datetime.now())
            self._screen.changed()
        return len(text)
