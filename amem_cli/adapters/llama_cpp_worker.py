"""The child process in which native inference runs: one JSON line in, one JSON line out.

The first line holds the settings (`model_path`, `threads`, `context_tokens`, `memory_limit_mb`) and
is answered by `{"ready": true, …}`. Every further line is a request (`instructions`, `text`,
`grammar`, `max_tokens`, `seconds`). A failure is answered by `{"error": "…"}`. The process ends
with its standard input, also in the middle of an answer: whoever held the other end is gone then,
and may have been killed without a chance to say so.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from amem_cli.adapters.llama_cpp_session import LlamaSession

NICENESS = 5
NETWORK_EVENTS = frozenset(
    {
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.sendmsg",
        "socket.sendto",
    }
)


def main() -> None:
    """Serve requests until standard input ends."""
    requests, answers = _lines(sys.stdin.buffer), _private_output()
    sys.addaudithook(_refuse_network)
    session = _started(requests, answers)
    if session is None:
        return
    for line in requests:
        _write(answers, _answered(session, line))


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream; its end is the end of the process."""
    received: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        for line in source:
            received.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return iter(received.get, b"")


def _private_output() -> BinaryIO:
    """Keep the real output for answers alone; whatever else prints is thrown away."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in NETWORK_EVENTS:
        raise PermissionError("the model's process may not use the network")


def _started(requests: Iterator[bytes], answers: BinaryIO) -> LlamaSession | None:
    try:
        settings = json.loads(next(requests))
        _limit(settings["memory_limit_mb"])
        from amem_cli.adapters.llama_cpp_session import LlamaSession

        session = LlamaSession(
            Path(settings["model_path"]),
            threads=settings["threads"],
            context_tokens=settings["context_tokens"],
        )
    except Exception as error:
        _write(answers, {"error": _told(error)})
        return None
    ready = {"ready": True, "context_tokens": session.context_tokens, "format": session.chat_format}
    _write(answers, ready)
    return session


def _limit(memory_mb: int) -> None:
    """Give way to other processes and take no more address space than allowed."""
    if sys.platform == "win32":
        return
    import resource

    os.nice(NICENESS)
    size = memory_mb * 2**20
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):
        # macOS refuses such a limit; the deadline still holds.
        return


def _answered(session: LlamaSession, line: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(line)
        return asdict(
            session.answer(
                asked["instructions"],
                asked["text"],
                asked["grammar"],
                asked["max_tokens"],
                asked["seconds"],
            )
        )
    except Exception as error:
        return {"error": _told(error)}


def _told(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "the memory limit is too small"
    # A model file can put any text of its own into an error of the library.
    text = "".join(letter if letter.isprintable() else " " for letter in str(error)[:2_000])
    return " ".join(f"{type(error).__name__} {text}".split())[:300]


def _write(answers: BinaryIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message).encode("ascii") + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
