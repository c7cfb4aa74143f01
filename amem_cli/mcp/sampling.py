"""The client's own model as the memory process' language model, by MCP sampling.

The client may show each request to its user, who may refuse it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as Expired
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from amem_cli.errors import ModelClosed, ModelError
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.models.reply_schema import to_json_schema
from amem_cli.models.server_dialects import answer_text, prompt_parts

_MESSAGE_CHARACTERS = 200
_HINT = "`amem config set mcp.sampling off --user` keeps agents from being asked."


def sampling_model(ctx: Any, client: str) -> SamplingModel | None:
    """The model of the client whose call this is; None if it offers none to servers."""
    session = ctx.session
    capabilities = session.client_capabilities
    # From 2026-07-28 on the protocol lets no server ask of its own accord.
    is_open = session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS and session.can_send_request
    if not is_open or capabilities is None or capabilities.sampling is None:
        return None
    return SamplingModel(session, ctx.request_id, asyncio.get_running_loop(), client)


class SamplingModel:
    """Asks the client's model, from another thread than that of the event loop.

    Args:
        session: of the call that the questions belong to.
        loop: the one that the session runs in.
    """

    # Nobody knows where the client's model runs.
    is_remote = True

    def __init__(
        self, session: Any, call: Any, loop: asyncio.AbstractEventLoop, client: str
    ) -> None:
        self.name = f"{client} by MCP sampling"
        self._client = client
        self._session = session
        self._call = call
        self._loop = loop
        self._lock = threading.Lock()
        self._is_closed = False
        self._asking: Future[types.CreateMessageResult] | None = None

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask once; what the client refuses, or answers too late, is a `ModelError`."""
        began = time.monotonic()
        with self._lock:
            if self._is_closed:
                raise ModelClosed("the call was cancelled")
            asking = asyncio.run_coroutine_threadsafe(self._ask(request), self._loop)
            self._asking = asking
        try:
            result = asking.result(request.deadline)
        except Expired:
            # The client hears that nobody waits any more.
            asking.cancel()
            raise ModelError(
                f"{self._client} gave no answer within {request.deadline:g} s", hint=_HINT
            ) from None
        except (CancelledError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise ModelClosed("the call was cancelled, or the client is gone") from None
        except MCPError as error:
            why = " ".join(error.message[:_MESSAGE_CHARACTERS].split())
            raise ModelError(f"{self._client} gave no answer: {why}", hint=_HINT) from None
        except ValueError:
            raise ModelError(f"{self._client} sent no usable answer", hint=_HINT) from None
        return self._read(result, request, time.monotonic() - began)

    def close(self) -> None:
        """Ask no more, also in the middle of an answer."""
        with self._lock:
            self._is_closed = True
            if self._asking is not None:
                self._asking.cancel()

    async def _ask(self, request: ModelRequest) -> types.CreateMessageResult:
        instructions, text = prompt_parts(request, to_json_schema(request.schema))
        message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
        asked = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[message],
                system_prompt=instructions,
                include_context="none",
                temperature=0,
                max_tokens=request.max_tokens,
            )
        )
        # Over HTTP it travels with the answer to the call that it belongs to.
        result: types.CreateMessageResult = await self._session.send_request(
            asked,
            types.CreateMessageResult,
            metadata=ServerMessageMetadata(related_request_id=self._call),
        )
        return result

    def _read(
        self, result: types.CreateMessageResult, request: ModelRequest, seconds: float
    ) -> ModelAnswer:
        text = getattr(result.content, "text", None)
        if not isinstance(text, str):
            raise ModelError(f"{self._client} answered with no text", hint=_HINT)
        complete = result.stop_reason != "maxTokens"
        text = answer_text(text, request) if complete else text
        return ModelAnswer(text, complete, prompt_tokens=0, answer_tokens=0, seconds=seconds)
