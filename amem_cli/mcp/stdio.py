"""JSON-RPC lines over standard input and output, which nothing else in the process sees."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from amem_cli.system.wire import Wire

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage
    from mcp_types.jsonrpc import JSONRPCError, JSONRPCMessage

# A message of that many bytes is still read, so that the refusal names the call.
MESSAGE_BYTES = 32 * 1024 * 1024
_BLOCK = 64 * 1024
_EXCERPT = 200
_LAST_WORDS_SECONDS = 2.0


def lines_of(descriptor: int, most: int = MESSAGE_BYTES) -> Iterator[bytes | None]:
    """Lines without their ends; None for one that is longer than `most` bytes."""
    # An error says that the client's end is gone.
    with open(descriptor, "rb", closefd=False) as stream, suppress(OSError):
        while line := stream.readline(most + 1):
            if len(line) <= most or line.endswith(b"\n"):
                yield line.removesuffix(b"\n")
                continue
            # A line without end must not fill the memory: it is dropped as it comes.
            while (more := stream.readline(_BLOCK)) and not more.endswith(b"\n"):
                pass
            yield None


class Refused(ValueError):
    """A line that is not a message; `answer` is the error that the client gets."""

    def __init__(self, number: int | str | None, code: int, message: str) -> None:
        from mcp_types.jsonrpc import ErrorData, JSONRPCError

        super().__init__(message)
        error = ErrorData(code=code, message=message)
        self.answer: JSONRPCError = JSONRPCError(jsonrpc="2.0", id=number, error=error)


def message_of(line: bytes | None) -> JSONRPCMessage:
    """The message of a line (None: of one that was too long).

    Raises:
        Refused: it is not a message.
    """
    from mcp_types.jsonrpc import (
        INVALID_REQUEST,
        PARSE_ERROR,
        JSONRPCNotification,
        jsonrpc_message_adapter,
    )

    if line is None:
        raise Refused(None, INVALID_REQUEST, f"a message may have {MESSAGE_BYTES:,} bytes")
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        # A request with an invalid id would pass for a notification, which gets no answer.
        if not isinstance(message, JSONRPCNotification) or "id" not in json.loads(line):
            return message
    except (ValueError, RecursionError):
        # RecursionError: a line of brackets, nested deeper than the parser goes.
        pass
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        shown = line[:_EXCERPT].decode("utf-8", "replace")
        raise Refused(None, PARSE_ERROR, f"this line is no JSON: {shown}") from None
    number = value.get("id") if isinstance(value, dict) else None
    known = number if isinstance(number, (int, str)) and not isinstance(number, bool) else None
    raise Refused(known, INVALID_REQUEST, "this line is no JSON-RPC 2.0 message")


@asynccontextmanager
async def open_streams(
    wire: Wire,
) -> AsyncIterator[
    tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception],
        MemoryObjectSendStream[SessionMessage],
    ]
]:
    """The two streams on which the SDK serves, from and to the client's descriptors."""
    import anyio
    from mcp.shared.message import SessionMessage

    inward, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outward, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    refusals = outward.clone()

    async def deliver(line: bytes | None) -> None:
        try:
            message = message_of(line)
        except Refused as refused:
            await refusals.send(SessionMessage(refused.answer))
        else:
            await inward.send(SessionMessage(message))

    async def write() -> None:
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            data = text.encode() + b"\n"
            # A write waits as long as the client reads nothing; the end must not wait for it.
            if not await anyio.to_thread.run_sync(
                _written, wire.sink, data, abandon_on_cancel=True
            ):
                # Nobody reads any more: the server ends as when the input does.
                await inward.aclose()
                await outgoing.aclose()
                return

    async with anyio.create_task_group() as group:
        _listen(wire.source, deliver, inward.aclose)
        group.start_soon(write)
        yield incoming, outward
        # What the server has said by now goes out; a client that reads nothing is not waited for.
        await refusals.aclose()
        await outward.aclose()
        group.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_SECONDS


def _listen(source: int, deliver: Any, end: Any) -> None:
    import asyncio

    import anyio

    loop = asyncio.get_running_loop()

    def listen() -> None:
        try:
            for line in lines_of(source):
                if line is None or line.strip():
                    # Reads on once the server took the line: a flood of messages stays in the pipe.
                    asyncio.run_coroutine_threadsafe(deliver(line), loop).result()
            asyncio.run_coroutine_threadsafe(end(), loop).result()
        except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            # The server ends; nobody listens to what comes now.
            pass

    # A daemon: a read cannot be interrupted, and must not hold up the process's end.
    threading.Thread(target=listen, name="amem-mcp-input", daemon=True).start()


def _written(sink: int, data: bytes) -> bool:
    """Write it whole; False if the client's end is gone."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(sink, view) :]
    except OSError:
        return False
    return True
