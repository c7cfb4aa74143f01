"""Runs a program once: bounded in time and output, in its own process group, without a shell."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from amem_cli.system.processes import descendants, end, own_group

MAX_OUTPUT_BYTES = 2**20
# Enough for the last line of standard error.
MAX_ERROR_BYTES = 65_536
CHUNK_BYTES = 65_536
# For a program that was asked to end to do so by itself.
END_SECONDS = 1.0
# For the rest of the output of a program that has ended.
REST_OF_OUTPUT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run.

    Attributes:
        status: the exit status; a signal that ended the program is its negative number.
        output: standard output, at most 1 MiB and a little more.
        last_error: the last line of standard error, without a line break.
        is_overdue: the time was up, so the program was ended.
        is_flood: it wrote more than 1 MiB, so it was ended.
    """

    status: int
    output: bytes
    last_error: str
    is_overdue: bool
    is_flood: bool


class ProgramRun:
    """A running program, which reads a text and writes another."""

    def __init__(
        self, words: Sequence[str], stdin: bytes, folder: Path, environment: Mapping[str, str]
    ) -> None:
        """Start the program; raises `OSError` if that fails.

        Args:
            words: the program's path and its arguments.
            folder: to work in.
            environment: all the variables that it gets.
        """
        self._process = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env=dict(environment),
            **own_group(),
        )
        self._output, self._errors = bytearray(), bytearray()
        self._is_flood = False
        # Daemons: who left the group may hold a pipe open for ever, and nobody waits for that.
        self._readers = [_thread(self._read_output), _thread(self._read_errors)]
        _thread(lambda: self._write(stdin))

    def finish(self, seconds: float) -> RunResult:
        """Wait for the end, at most so long, then end the program and what it started."""
        is_overdue = False
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            is_overdue = True
            self._end()
        except BaseException:
            self.kill()
            raise
        self._await_output()
        self.kill()
        # Killed, the last holders of the pipes have closed them.
        self._await_output()
        errors = bytes(self._errors)
        return RunResult(
            status=self._process.poll() or 0,
            output=bytes(self._output),
            last_error=_last_line(errors),
            is_overdue=is_overdue,
            is_flood=self._is_flood,
        )

    def kill(self) -> None:
        """End the program and its group at once; also from another thread."""
        end(self._process, descendants(self._process))

    def _end(self) -> None:
        """Ask the program to end, and make sure of it."""
        # Looked up first: the children of a program that has ended are nobody's.
        others = descendants(self._process)
        end(self._process, others, ask=True)
        self._wait_briefly()
        end(self._process, others)
        self._wait_briefly()

    def _wait_briefly(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)

    def _await_output(self) -> None:
        for reader in self._readers:
            reader.join(REST_OF_OUTPUT_SECONDS)

    def _read_output(self) -> None:
        for part in _parts(self._process.stdout):
            self._output += part
            if len(self._output) > MAX_OUTPUT_BYTES:
                self._is_flood = True
                self.kill()
                return

    def _read_errors(self) -> None:
        for part in _parts(self._process.stderr):
            self._errors += part
            del self._errors[:-MAX_ERROR_BYTES]

    def _write(self, stdin: bytes) -> None:
        stream = self._process.stdin
        assert stream is not None
        # A program need not read what it is given.
        with contextlib.suppress(OSError), stream:
            left = memoryview(stdin)
            while left:
                left = left[stream.write(left[:CHUNK_BYTES]) :]


def _thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="amem-program", daemon=True)
    thread.start()
    return thread


def _parts(stream: IO[bytes] | None) -> Iterator[bytes]:
    assert stream is not None
    with contextlib.suppress(OSError), stream:
        while part := stream.read(CHUNK_BYTES):
            yield part


def _last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").splitlines()
    # The beginning of a line that was cut could be the rest of a key.
    whole = lines[1:] if len(errors) >= MAX_ERROR_BYTES else lines
    return next((line.strip() for line in reversed(whole) if line.strip()), "")
