"""A program on a terminal whose screen the test reads as a person would."""

from __future__ import annotations

import copy
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pyte

DEADLINE = 60.0
_OTHER_SCREEN = 1049


class _TwoScreens(pyte.Screen):
    """A terminal with the second screen that programs draw on, which pyte does not know."""

    def set_mode(self, *modes: int, **options: bool) -> None:
        if _OTHER_SCREEN in modes:
            self._usual = copy.deepcopy(dict(self.buffer)), self.cursor.x, self.cursor.y
            self.erase_in_display(2)
        super().set_mode(*modes, **options)

    def reset_mode(self, *modes: int, **options: bool) -> None:
        super().reset_mode(*modes, **options)
        if _OTHER_SCREEN in modes:
            lines, self.cursor.x, self.cursor.y = self._usual
            self.buffer.clear()
            self.buffer.update(lines)


class Screen:
    """Runs `amem` on a terminal of a size; use it in a `with` statement.

    Attributes:
        shown: all bytes that the program wrote.
    """

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        *,
        columns: int = 80,
        rows: int = 24,
        **variables: str,
    ) -> None:
        self._leader, self._follower = pty.openpty()
        self._screen = _TwoScreens(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._set_size(columns, rows)
        self.shown = b""
        self.settings = termios.tcgetattr(self._follower)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "amem_cli", *arguments],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[1]),
                "TERM": "xterm-256color",
                **variables,
            },
            stdin=self._follower,
            stdout=self._follower,
            stderr=self._follower,
            start_new_session=True,
            preexec_fn=self._take_terminal,
        )

    def _take_terminal(self) -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._leader)
        os.close(self._follower)

    @property
    def lines(self) -> list[str]:
        """What stands on the screen, without blank ends."""
        return [line.rstrip() for line in self._screen.display]

    def press(self, keys: str) -> None:
        """Type on the keyboard."""
        os.write(self._leader, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        self._screen.resize(rows, columns)
        self._set_size(columns, rows)

    def wait_for(self, text: str, *, gone: bool = False) -> None:
        """Read until a text stands on the screen, or is gone from it."""
        end = time.monotonic() + DEADLINE
        while (text in "\n".join(self.lines)) == gone:
            if time.monotonic() > end or (not self._read() and self.process.poll() is not None):
                raise AssertionError(f"{text!r} {'stays' if gone else 'is not'} in {self.lines}")

    def finish(self) -> int:
        """The exit code, once the program has ended and all is read."""
        end = time.monotonic() + DEADLINE
        while self.process.poll() is None and time.monotonic() < end:
            self._read()
        while self._read():
            pass
        return self.process.wait(timeout=DEADLINE)

    def settings_now(self) -> object:
        """How the terminal treats what is typed and written."""
        return termios.tcgetattr(self._follower)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._leader], [], [], 0.1)
        if not ready:
            return False
        data = os.read(self._leader, 65536)
        self.shown += data
        self._stream.feed(data)
        return True

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
