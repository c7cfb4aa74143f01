"""`amem watch` on a terminal: it is resized, is dumb, is interrupted twice, or goes away."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from amem_cli.workspace.watch_lock import is_watched
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.terminal import plain
from tests.vaults import write_note

pytestmark = pytest.mark.slow

PATIENCE = 120.0
ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"
CURSOR_HIDDEN, CURSOR_SHOWN = "\x1b[?25l", "\x1b[?25h"


class Terminal:
    """A watcher on a pseudo-terminal, and all that it shows."""

    def __init__(self, amem: Program, vault: Path, **variables: str) -> None:
        self._leader, follower = os.openpty()
        self.shown = ""
        self.resize(100, 24)
        command = ["--vault", str(vault), "watch", "--settle", "0"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "amem_cli", *command],
            cwd=amem.folder,
            env={**os.environ, "TERM": "xterm-256color", **amem.environment, **variables},
            stdin=follower,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._leader, 65536)
            except OSError:
                return
            if not data:
                return
            self.shown += data.decode("utf-8", "replace")

    def resize(self, width: int, height: int) -> None:
        """Make the window another size."""
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, plain(self.shown)[-3000:]
            time.sleep(0.02)

    def until_shown(self, text: str, since: int = 0) -> None:
        """Wait for a text."""
        self.until(lambda: text in plain(self.shown[since:]))

    def ended(self) -> int:
        """Wait for the process's end; its exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def close(self) -> None:
        """Kill what still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.ended()
        os.close(self._leader)


@contextmanager
def terminal(amem: Program, vault: Path, **variables: str) -> Iterator[Terminal]:
    opened = Terminal(amem, vault, **variables)
    try:
        yield opened
    finally:
        opened.close()


def rules(shown: str) -> list[int]:
    """Lengths of the lines that were drawn across the window."""
    return [len(line) for line in re.findall("(?m)^─+(?=\r?$)", plain(shown))]


def test_it_follows_the_size_of_its_window_and_leaves_the_terminal_as_it_was(
    amem: Program, vault: Path
) -> None:
    with terminal(amem, vault) as at:
        at.until_shown("watching 0 notes")
        at.until(lambda: rules(at.shown)[-1:] == [100])
        at.resize(60, 20)
        # What was drawn before the window was another one may still be on its way.
        at.until(lambda: rules(at.shown)[-1:] == [60])
        before = len(at.shown)
        write_note(vault, "walrus.md", "The walrus sleeps.\n")
        at.until_shown("learned 1", since=before)
        assert set(rules(at.shown[before:])) <= {60}
        at.process.send_signal(signal.SIGINT)
        assert at.ended() == 0
        assert at.shown.count(ENTERED) == at.shown.count(LEFT) == 1
        after = at.shown.rpartition(LEFT)[2]
        assert "learned 1 (0 links, 0 evolved) · 0 pending" in plain(after)
        assert at.shown.rfind(CURSOR_SHOWN) > at.shown.rfind(CURSOR_HIDDEN)


def test_a_dumb_terminal_gets_plain_lines(amem: Program, vault: Path) -> None:
    with terminal(amem, vault, TERM="dumb") as at:
        at.until_shown("watching 0 notes")
        write_note(vault, "walrus.md", "The walrus sleeps.\n")
        at.until_shown("walrus.md")
        at.process.send_signal(signal.SIGTERM)
        assert at.ended() == 0
        assert "\x1b" not in at.shown


def test_without_colours_there_are_none(amem: Program, vault: Path) -> None:
    with terminal(amem, vault, NO_COLOR="1") as at:
        at.until_shown("watching 0 notes")
        at.process.send_signal(signal.SIGTERM)
        assert at.ended() == 0
        styles = re.findall(r"\x1b\[([0-9;]*)m", at.shown)
        assert not {part for style in styles for part in style.split(";") if part >= "3"} - {"39"}


def test_a_second_interruption_ends_it_at_once_and_leaves_the_terminal_as_it_was(
    amem: Program, vault: Path
) -> None:
    write_note(vault, "walrus.md", "The walrus sleeps.\n")
    thinks = threading.Event()

    def think(body: dict[str, object]) -> str:
        thinks.wait(PATIENCE)
        return "{}"

    with ChatServer() as server:
        server.content = think
        with terminal(amem, vault, **server.variables()) as at:
            at.until_shown("processing walrus.md")
            at.process.send_signal(signal.SIGINT)
            at.until_shown("stopping after this note")
            at.process.send_signal(signal.SIGINT)
            assert at.ended() == -signal.SIGINT
            assert at.shown.rfind(LEFT) > at.shown.rfind(ENTERED)
            assert at.shown.rfind(CURSOR_SHOWN) > at.shown.rfind(CURSOR_HIDDEN)
        thinks.set()
    assert not is_watched(vault)


def test_suspended_it_gives_the_terminal_to_the_shell_and_takes_it_again(
    amem: Program, vault: Path
) -> None:
    with terminal(amem, vault) as at:
        at.until_shown("watching 0 notes")
        at.process.send_signal(signal.SIGTSTP)
        at.until(lambda: psutil.Process(at.process.pid).status() == psutil.STATUS_STOPPED)
        at.until(lambda: at.shown.rfind(CURSOR_SHOWN) > at.shown.rfind(LEFT) > 0)
        before = len(at.shown)
        at.process.send_signal(signal.SIGCONT)
        at.until(lambda: ENTERED in at.shown[before:])
        at.until_shown("watching 0 notes", since=before)
        at.process.send_signal(signal.SIGTERM)
        assert at.ended() == 0


def test_an_error_is_told_on_the_terminal_and_not_on_the_screen_that_goes(
    amem: Program, vault: Path
) -> None:
    with terminal(amem, vault) as at:
        at.until_shown("watching 0 notes")
        (vault / ".amem").rename(vault / "away")
        assert at.ended() == 3
        assert ".amem is gone" in plain(at.shown.rpartition(LEFT)[2])


def test_notices_do_not_disturb_the_picture(amem: Program, vault: Path) -> None:
    (vault / ".amem/devices").mkdir()
    record = '{"machine": "desk", "since": "2020-01-01T00:00:00Z"}'
    (vault / ".amem/devices/desk.json").write_text(record)
    with terminal(amem, vault) as at:
        at.until_shown("the memory process runs on another machine (desk)")
        at.until_shown("evolution.device any")
        at.until_shown("watching 0 notes")
        at.process.send_signal(signal.SIGTERM)
        assert at.ended() == 0
