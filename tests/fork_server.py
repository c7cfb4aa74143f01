"""Runs `amem` in forks of one process that has loaded it already.

A command line takes a few hundredths of a second so, and is still a process like any other: it has
its own streams, folder, variables, signals and exit code, and leaves nothing behind.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import IO, NoReturn

TOP = Path(__file__).parents[1]
# macOS forbids much in a fork of a process that has loaded numerical libraries.
AVAILABLE = sys.platform == "linux"
# What only a start of the interpreter or the first import of a library heeds.
_HEEDED_AT_START = (
    "PYTHON",
    "LC_",
    "LANG",
    "LD_",
    "MALLOC_",
    "OPENBLAS_",
    "OMP_",
    "TERMINAL_WIDTH",
)
# These take long to load and only few commands need them, or they read variables while they load.
_LEFT_OUT = ("agents", "library", "__main__", "llama_cpp", "judge_session", "export")
_LIBRARIES = (
    *("filelock", "frontmatter", "httpx", "networkx", "onnxruntime", "psutil", "rich.console"),
    *("rich.progress", "rich.table", "rich.text", "rich.tree", "sqlite_vec", "tokenizers"),
    *("tomlkit", "yaml"),
)
_LENGTH = struct.Struct("!Q")


class ForkServer:
    """The process that is forked; one serves all tests of a pytest process."""

    def __init__(self) -> None:
        mine, its = socket.socketpair()
        self.environment = {name: os.environ[name] for name in os.environ if _plain(name)}
        self.environment |= {"PYTHONPATH": str(TOP)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", str(its.fileno())],
            cwd=TOP,
            # Threads do not survive a fork: numpy has one, and onnxruntime none of its own.
            env={**self.environment, "OPENBLAS_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"},
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        its.close()
        self._socket = mine
        self._one_at_a_time = threading.Lock()
        atexit.register(self.close)

    def close(self) -> None:
        """End the server; commands that still run are left to themselves."""
        self._socket.close()
        self._process.wait()

    def runs(self, environment: Mapping[str, str]) -> bool:
        """False for variables that have to be there when a process starts."""
        names = {*environment, *self.environment}
        return all(
            environment.get(name) == self.environment.get(name)
            for name in names
            if name.startswith(_HEEDED_AT_START)
        )

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        stdin: str,
        timeout: float,
    ) -> tuple[int, str, str]:
        """The exit code, standard output and standard error of one command line.

        Raises:
            subprocess.TimeoutExpired: it took longer than `timeout` seconds, and was killed.
        """
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin.encode())
            given.seek(0)
            streams = (given.fileno(), out.fileno(), err.fileno())
            with self.start(arguments, folder, environment, streams) as status:
                pid = int(status.readline())
                overdue = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
                overdue.start()
                started = time.monotonic()
                code = int(status.readline())
                overdue.cancel()
            if code == -signal.SIGKILL and time.monotonic() - started >= timeout:
                raise subprocess.TimeoutExpired(["amem", *arguments], timeout)
            return code, _text(out), _text(err)

    def start(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
    ) -> IO[bytes]:
        """Begin a command line on its three streams; gives a file of two lines, of which the first
        is the number of its process, and the second, once it has ended, its exit code."""
        request = json.dumps([list(arguments), str(folder), dict(environment)]).encode()
        reading, writing = os.pipe()
        with self._one_at_a_time:
            socket.send_fds(self._socket, [_LENGTH.pack(len(request))], [*streams, writing])
            self._socket.sendall(request)
        os.close(writing)
        return os.fdopen(reading, "rb")


@cache
def fork_server() -> ForkServer:
    """The server of this process, started when it is first asked for."""
    return ForkServer()


def _plain(name: str) -> bool:
    return not name.startswith(("AMEM_", "COV_", "PYTEST_"))


def _text(file: io.BufferedRandom | tempfile._TemporaryFileWrapper[bytes]) -> str:
    file.seek(0)
    return io.TextIOWrapper(io.BytesIO(file.read()), encoding="utf-8").read()


def _load() -> None:
    import amem_cli

    for module in walk_packages(amem_cli.__path__, "amem_cli."):
        if not any(part in module.name for part in _LEFT_OUT):
            import_module(module.name)
    for name in _LIBRARIES:
        import_module(name)


def _serve(requests: socket.socket) -> Sequence[str]:
    """Fork for each request; comes back, with its arguments, in the fork alone."""
    _load()
    gc.freeze()
    # Nobody asks for the exit codes of those who wait for a command.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        head, streams, _, _ = socket.recv_fds(requests, _LENGTH.size, 4)
        if not head:
            sys.exit()
        (length,) = _LENGTH.unpack(head)
        request = b""
        # The next request may follow at once: not a byte too much is read.
        while len(request) < length:
            request += requests.recv(length - len(request))
        arguments, folder, environment = json.loads(request)
        if os.fork() == 0:
            requests.close()
            *three, status = streams
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pid = os.fork()
            if pid:
                _wait_for(pid, status)
            os.close(status)
            _become(three, folder, environment)
            return list(arguments)
        for number in streams:
            os.close(number)


def _wait_for(pid: int, status: int) -> NoReturn:
    os.write(status, f"{pid}\n".encode())
    _, ended = os.waitpid(pid, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
    os._exit(0)


def _become(streams: Sequence[int], folder: str, environment: dict[str, str]) -> None:
    """Take over streams, folder and variables of a command."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        former = getattr(sys, name)
        renewed = io.TextIOWrapper(
            open(number, f"{mode}b", closefd=False),  # noqa: SIM115
            encoding=former.encoding,
            errors=former.errors,
            line_buffering=name == "stderr",
        )
        setattr(sys, name, renewed)
        setattr(sys, f"__{name}__", renewed)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    sys.path[0] = folder


def _end(code: int) -> NoReturn:
    """End as an interpreter does, but for freeing all that is loaded, which takes the longest."""
    # What threading does for an interpreter that ends: other threads are waited for.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _arguments = _serve(socket.socket(fileno=int(sys.argv[1])))
    from amem_cli.__main__ import main

    sys.argv = [str(TOP / "amem_cli/__main__.py"), *_arguments]
    try:
        main()
    except SystemExit as ended:
        # Everything else ends with a traceback.
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
