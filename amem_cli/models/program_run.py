"""Runs a program once: bounded in time and output, in its own process group, without a shell."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from amem_cli.system.processes import descendants, end, own_group

MAX_OUTPUT_BYTES = 2**20
# Of standard error only the last line counts.
MAX_ERROR_BYTES = 64 * 2**20
_LAST_BYTES = 65_536
# For a program that was asked to end to do so by itself.
_END_SECONDS = 1.0
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run.

    Attributes:
        status: the exit status; a signal that ended the program is its negative number.
        output: standard output, at most 1 MiB.
        last_error: the last line of standard error, without a line break.
        ended_for: why amem ended the program; empty if it ended by itself.
    """

    status: int
    output: bytes
    last_error: str
    ended_for: Literal["", "time", "output", "close"]


def run_program(
    words: Sequence[str],
    stdin: bytes,
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    stop: threading.Event,
) -> RunResult:
    """Run a program to its end, which also ends all that it started.

    Args:
        words: the program's path and its arguments.
        folder: to work in.
        environment: all the variables that it gets.
        stop: set from another thread, it ends the program at once.

    Raises:
        OSError: the program cannot be started.
    """
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            list(words),
            stdin=given,
            stdout=output,
            stderr=errors,
            cwd=folder,
            env=dict(environment),
            **own_group(),
        )
        until = time.monotonic() + seconds
        ended_for: Literal["", "time", "output", "close"] = ""
        try:
            while not ended_for and not _has_ended(process, _LOOK_SECONDS):
                if stop.is_set():
                    ended_for = "close"
                elif _size(output) > MAX_OUTPUT_BYTES or _size(errors) > MAX_ERROR_BYTES:
                    ended_for = "output"
                elif time.monotonic() >= until:
                    ended_for = "time"
            # Looked up first: the children of a program that has ended are nobody's.
            others = descendants(process)
            if ended_for == "time":
                end(process, others, ask=True)
                _has_ended(process, _END_SECONDS)
        except BaseException:
            end(process, descendants(process))
            raise
        end(process, others)
        if _size(output) > MAX_OUTPUT_BYTES:
            ended_for = ended_for or "output"
        output.seek(0)
        return RunResult(
            status=process.wait(),
            output=output.read(MAX_OUTPUT_BYTES),
            last_error=_last_line(errors),
            ended_for=ended_for,
        )


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.poll() is not None


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _last_line(errors: IO[bytes]) -> str:
    start = max(0, _size(errors) - _LAST_BYTES)
    errors.seek(start)
    lines = errors.read(_LAST_BYTES).decode("utf-8", "replace").splitlines()
    # The beginning of a line that was cut could be the rest of a key.
    whole = lines[1:] if start else lines
    return next((line.strip() for line in reversed(whole) if line.strip()), "")
