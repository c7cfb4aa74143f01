"""A person at a terminal: runs the program under a pseudo-terminal and presses keys."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
DEADLINE = 60.0


def at_terminal(
    folder: Path, arguments: Sequence[str], keys: Sequence[tuple[str, str]], **variables: str
) -> tuple[int, str]:
    """Run `amem` on a terminal.

    Args:
        keys: pairs of a text to wait for and the keys to press then.

    Returns:
        The exit code and all that was shown, with its escape sequences.
    """
    import pty

    leader, follower = pty.openpty()
    top = str(Path(__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "amem_cli", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": top,
            "TERM": "xterm-256color",
            **variables,
        },
        stdin=follower,
        stdout=follower,
        stderr=follower,
        close_fds=True,
    )
    os.close(follower)
    shown, seen = "", 0
    waiting = list(keys)
    end = time.monotonic() + DEADLINE
    try:
        while time.monotonic() < end:
            # Asked before the output is read: a prompt stands before its key is awaited, so a
            # prompt that is read after this belongs to the key that is awaited now. Two keys at
            # one prompt would be read as one, and what is typed earlier would be thrown away.
            listens = _listens_for_keys(leader)
            ended = process.poll() is not None
            data = _read(leader)
            if data is None:
                break
            shown += data
            if waiting and listens and waiting[0][0] in plain(shown[seen:]):
                seen = len(shown)
                os.write(leader, waiting.pop(0)[1].encode())
            elif ended and not data:
                break
            elif not data:
                time.sleep(0.02)
        return process.wait(timeout=DEADLINE), shown
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(leader)


def _read(terminal: int) -> str | None:
    """All that was printed and not read yet; None if the program has closed its terminal."""
    data = b""
    while select.select([terminal], [], [], 0)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            part = b""
        if not part:
            return data.decode("utf-8", "replace") if data else None
        data += part
    return data.decode("utf-8", "replace")


def _listens_for_keys(terminal: int) -> bool:
    import termios

    return not termios.tcgetattr(terminal)[3] & termios.ICANON


def plain(text: str) -> str:
    """What is shown, without colours."""
    return _ESCAPES.sub("", text)
