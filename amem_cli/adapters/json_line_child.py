"""A child process that is asked in JSON lines and killed when it does not answer in time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import amem_cli

MAX_LINE_BYTES = 4 * 2**20
END_SECONDS = 1.0

# What a program needs to start and find its libraries. No keys, tokens or proxies.
PASSED_ON = (
    "DYLD_LIBRARY_PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONHOME",
    "PYTHONPATH",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USERPROFILE",
    "VIRTUAL_ENV",
)
ADDED = {
    # A failing ggml starts a debugger for a backtrace, which outlives the child.
    "GGML_NO_BACKTRACE": "1",
    # Threads that wait spinning make each other fifty times slower on a busy machine.
    "KMP_BLOCKTIME": "0",
    "OMP_WAIT_POLICY": "passive",
    "PYTHONUTF8": "1",
}


class ChildFailed(Exception):
    """The child crashed, did not answer in time, or sent something that is no answer."""


class JsonLineChild:
    """A running child in its own process group, with a cleaned environment."""

    def __init__(self, module: str) -> None:
        """Start `python -m module`."""
        # The module is looked for in the working directory first, which must not be a vault.
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(amem_cli.__file__).resolve().parent.parent,
            env=_clean_environment(),
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
        )

    @property
    def process_id(self) -> int:
        """The child's process id, which is its group's too."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """False once the child has ended."""
        return self._process.poll() is None

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send one line and wait for one line.

        Raises:
            ChildFailed: there is no answer; the child has been killed.
        """
        with self._killed_after(seconds) as overdue:
            line = self._sent_and_received(json.dumps(message).encode("ascii") + b"\n")
        if overdue.is_set():
            raise ChildFailed(f"did not answer within {seconds:.0f} s and was ended")
        if not line:
            raise ChildFailed(self._ending())
        try:
            reply = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            self.kill()
            raise ChildFailed("sent something that is no answer and was ended")
        return reply

    def kill(self) -> None:
        """End the child and all of its group at once."""
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                self._process.kill()
            elif self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let the child end, or kill it where it does not."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._stdout.close()

    @contextlib.contextmanager
    def _killed_after(self, seconds: float) -> Iterator[threading.Event]:
        overdue = threading.Event()

        def end() -> None:
            overdue.set()
            self.kill()

        # Killing the child wakes a writer with a full pipe as well as a waiting reader.
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield overdue
        finally:
            timer.cancel()

    def _sent_and_received(self, line: bytes) -> bytes:
        try:
            self._stdin.write(line)
            self._stdin.flush()
            reply: bytes = self._stdout.readline(MAX_LINE_BYTES)
        except OSError:
            return b""
        return reply

    def _ending(self) -> str:
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its output and was ended"
        if status >= 0:
            return f"ended with status {status}"
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"

    @property
    def _stdin(self) -> Any:
        return self._process.stdin

    @property
    def _stdout(self) -> Any:
        return self._process.stdout


def _clean_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return kept | ADDED
