"""Records docs/images/neovim.svg: Neovim on a real terminal, with `amem lsp` and a fresh vault."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte

from tests.documents import TOP, editor_configuration
from tests.outside_tools import program
from tests.recorded_session import WIDTH, drawing

HEIGHT = 17
PATIENCE = 120.0
NOTE = "Going through notes.md"
# A note of one's own, for the sample notes are linked to no other unasked.
OTHER = "Too many notes.md"
OTHER_TEXT = "Most scraps on the desk I will never need; a week of them fills the box.\n"
BEGINNING = (
    "On Sunday evening I read my sticky notes of the week and decide what stays.\n"
    "To do: [[Pruning]].\n"
)
SETTINGS = """
vim.o.laststatus = 0
vim.o.showmode = false
vim.o.ruler = false
vim.o.completeopt = "menuone,noinsert"
vim.o.shortmess = vim.o.shortmess .. "cFI"
vim.o.swapfile = false
vim.cmd("syntax off")
"""
ACTIONS = ":lua vim.lsp.buf.code_action()\r"
# What is done, the keys that do it, what the screen shows then, and keys that ask for it again.
STEPS = (
    ("A link that leads to no note is marked", "", "leads to no note", ""),
    ("`[[` offers the notes nearest to the paragraph", "GkoSee [[\x18\x0f", "Sunday", ""),
    ("What a link leads to", "\x19\x1b:lua vim.lsp.buf.hover()\r", "weekly routine", ""),
    ("What amem can do here", f"\x1b:w\rgg{ACTIONS}", "Organise", ""),
    ("The note once amem has organised it", "1\r", "keywords:", ":checktime\r"),
    ("What amem suggests, with its reasons", ACTIONS, "Link to", ""),
)
_COLOURS = {"black": 30, "red": 31, "green": 32, "brown": 33, "blue": 34, "magenta": 35, "cyan": 36}


_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Screen:
    """A program on a terminal of its own, and what the terminal shows."""

    def __init__(self, line: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.ByteStream(self._screen)
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("4H", HEIGHT, WIDTH, 0, 0))
        environment = {**environment, "TERM": "xterm"}
        self.process = subprocess.Popen(
            line, cwd=folder, env=environment, stdin=follower, stdout=follower, stderr=follower
        )
        os.close(follower)

    def press(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def await_text(self, text: str, again: str = "") -> None:
        """Wait until the terminal shows a text, and then until nothing changes any more.

        Args:
            again: keys to press if it is not shown yet.
        """
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._read(1.0):
                continue
            if text in "\n".join(self._screen.display):
                return
            self.press(again)
        shown = "\n".join(self._screen.display)
        raise SystemExit(f"{text!r} was not shown:\n{shown}")

    def _read(self, seconds: float) -> bool:
        if not select.select([self._leader], [], [], seconds)[0]:
            return False
        with contextlib.suppress(OSError):
            self._stream.feed(os.read(self._leader, 65536))
        return True

    def lines(self) -> list[str]:
        """What is shown, with the escape sequences of its colours; without empty rows."""
        rows = [self._row(number) for number in range(HEIGHT)]
        return [row for row in rows if "".join(_STYLE.split(row)).strip() not in ("", "~")]

    def _row(self, number: int) -> str:
        row = self._screen.buffer[number]
        parts = []
        last = ""
        for column in range(WIDTH):
            char = row[column]
            codes = ["1"] if char.bold else []
            codes += [str(_COLOURS[char.fg])] if char.fg in _COLOURS else []
            style = f"\x1b[0;{';'.join(codes)}m" if codes else "\x1b[0m"
            parts.append((style if style != last else "") + char.data)
            last = style
        return f"{''.join(parts)}\x1b[0m".replace("\x1b[0m\x1b[0m", "\x1b[0m")


def record() -> list[str]:
    """The screens one below the other, each under what was done."""
    with tempfile.TemporaryDirectory(prefix="amem-neovim-") as name:
        home = Path(name).resolve()
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("AMEM_")},
            **{f"AMEM_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "STATE", "DATA")},
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "XDG_DATA_HOME": str(home),
            "PYTHONPATH": str(TOP),
            "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
        (home / "bin").mkdir()
        called = home / "bin/amem"
        called.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m amem_cli "$@"\n')
        called.chmod(0o755)
        note = home / "notes/notes" / NOTE
        for line in (("init", "notes"), ("--vault", "notes", "index")):
            subprocess.run(
                [str(called), *line], cwd=home, env=environment, check=True, capture_output=True
            )
            note.with_name(OTHER).write_text(OTHER_TEXT, encoding="utf-8")
        note.write_text(f"# {note.stem}\n\n{BEGINNING}", encoding="utf-8")
        configured = editor_configuration("Neovim 0.7 to 0.10")
        (home / "init.lua").write_text(configured + SETTINGS, encoding="utf-8")
        neovim = program("nvim")
        screen = Screen(
            [neovim, "-n", "-i", "NONE", "-u", str(home / "init.lua"), f"notes/{NOTE}", "+3"],
            home / "notes",
            environment,
        )
        try:
            return _screens(screen)
        finally:
            screen.process.kill()
            screen.process.wait()


def _screens(screen: Screen) -> list[str]:
    shown: list[str] = []
    for what, keys, expected, again in STEPS:
        screen.press(keys)
        screen.await_text(expected, again)
        shown += [f"\x1b[1;32m{what}\x1b[0m", "", *screen.lines(), ""]
    return shown[:-1]


if __name__ == "__main__":
    sys.stdout.write(drawing(record()))
