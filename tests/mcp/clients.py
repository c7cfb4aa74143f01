"""Agents at work: the SDK's own client, and one that writes lines of its own."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from amem_cli.mcp.stdio import open_streams
from amem_cli.mcp.tools import TOOLS
from amem_cli.system.wire import Wire
from tests.conftest import Program
from tests.fakes import prepared_encoder
from tests.fork_server import AVAILABLE, fork_server

jsonschema = pytest.importorskip("jsonschema")

# Only a test that fails waits so long.
PATIENCE = 60.0
SERVER = [sys.executable, "-m", "amem_cli"]


def with_quick_encoder(amem: Program) -> None:
    """An encoder that takes no time, for the program that a test runs."""
    amem.environment |= prepared_encoder.with_quick_encoder(amem.folder / "cache")


@dataclass
class Agent:
    """A client of a running server, called from a test without `async`.

    Attributes:
        told: progress of the last call.
    """

    portal: BlockingPortal
    client: Client
    told: list[str] = field(default_factory=list)

    def ask(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the SDK's client."""
        return self.portal.call(partial(getattr(self.client, method), *arguments, **named))

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; gives the SDK's result."""
        self.told = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            self.told.append(message or "")

        return self.ask("call_tool", tool, arguments, progress_callback=hear)

    def ok(self, tool: str, **arguments: Any) -> Any:
        """The structured result of a call that succeeds."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content[0].text
        found = result.structured_content
        assert json.loads(result.content[0].text) == found
        assert list(found) == ["notice", *TOOLS[tool].gives]
        return found

    def refused(self, tool: str, **arguments: Any) -> str:
        """What a call that fails says."""
        result = self.call(tool, **arguments)
        assert result.is_error
        assert result.structured_content is None
        return str(result.content[0].text)


@contextmanager
def agent(
    amem: Program,
    *options: str,
    mode: str = "auto",
    **variables: str,
) -> Iterator[Agent]:
    """The SDK's client on a server in a process of its own."""
    environment = {**os.environ, **amem.environment, **variables}
    with (
        start_blocking_portal() as portal,
        _transport(amem, ["mcp", *options], environment) as transport,
    ):
        client = Client(transport, mode=mode, read_timeout_seconds=PATIENCE)
        failure = None
        with portal.wrap_async_context_manager(client) as entered:
            try:
                yield Agent(portal, entered)
            except BaseException as error:
                # Inside of the client it would come out wrapped.
                failure = error
        if failure is not None:
            raise failure


@contextmanager
def _transport(amem: Program, line: list[str], environment: dict[str, str]) -> Iterator[Any]:
    """The way to a server that is started anew, or is a fork of what has loaded the program."""
    with (amem.folder / "server.log").open("a", encoding="utf-8") as log:
        if not (amem.forked and AVAILABLE and fork_server().runs(environment)):
            server = StdioServerParameters(
                command=SERVER[0], args=[*SERVER[1:], *line], env=environment, cwd=amem.folder
            )
            yield stdio_client(server, errlog=log)
            return
        (its_source, sink), (source, its_sink) = os.pipe(), os.pipe()
        streams = (its_source, its_sink, log.fileno())
        with fork_server().start(line, amem.folder, environment, streams) as status:
            os.close(its_source)
            os.close(its_sink)
            try:
                yield open_streams(Wire(source, sink))
            finally:
                os.close(sink)
                # Its number, and its exit code once it has ended.
                status.read()
                os.close(source)


class RawServer:
    """A server that is sent lines as they are, with all that it says.

    Attributes:
        lines: all that came out of it, unread.
    """

    def __init__(self, amem: Program, *options: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [*SERVER, "mcp", *options],
            cwd=amem.folder,
            env={**os.environ, **amem.environment, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.complaints = b""
        self._readers = [threading.Thread(target=read) for read in (self._listen, self._hear)]
        for reader in self._readers:
            reader.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def _hear(self) -> None:
        assert self.process.stderr is not None
        self.complaints = self.process.stderr.read()

    def send(self, line: bytes | str | dict[str, Any]) -> None:
        """Send a line as it is, or a message."""
        if isinstance(line, dict):
            line = json.dumps({"jsonrpc": "2.0", **line})
        raw = line if isinstance(line, bytes) else line.encode()
        assert self.process.stdin is not None
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def said(self) -> Any:
        """The next line, which is a JSON-RPC message whatever happens."""
        message = json.loads(self.lines.get(timeout=PATIENCE))
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self, number: int | str | None) -> Any:
        """The answer with this id; what else was said before it is left out."""
        while (message := self.said()).get("id") != number or "method" in message:
            pass
        return message

    def greet(self) -> Any:
        """The handshake of the protocol's earlier versions."""
        client = {"name": "raw client", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.send({"id": 0, "method": "initialize", "params": params})
        answer = self.answer(0)
        self.send({"method": "notifications/initialized"})
        return answer

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        """Send a call of a tool."""
        params = {
            "name": tool,
            "arguments": arguments,
            "_meta": {"progressToken": f"p{number}"},
        }
        self.send({"id": number, "method": "tools/call", "params": params})

    def end(self, *, close: bool = True) -> int:
        """Close its input; gives the exit code."""
        assert self.process.stdin is not None
        if close:
            self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code


@contextmanager
def raw_server(amem: Program, *options: str, **variables: str) -> Iterator[RawServer]:
    """A server that is gone when the test is over."""
    server = RawServer(amem, *options, **variables)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            if stream is not None:
                stream.close()
