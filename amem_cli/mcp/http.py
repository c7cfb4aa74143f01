"""Streamable HTTP for clients on this machine: who has no token, and no web page, gets in."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amem_cli.errors import SettingsError
from amem_cli.mcp.stdio import MESSAGE_BYTES

if TYPE_CHECKING:
    import uvicorn
    from mcp.server.lowlevel import Server

HOST = "127.0.0.1"
PATH = "/mcp"
TOKEN = "AMEM_MCP_TOKEN"  # noqa: S105 - the variable's name
_SHORTEST_TOKEN = 16
_LAST_ANSWERS_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Door:
    """Where clients come in."""

    listener: socket.socket
    token: str = field(repr=False)
    is_new: bool

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}{PATH}"


def open_door(port: int, environment: Mapping[str, str]) -> Door:
    """Listen on this machine alone.

    Args:
        port: 0 for any that is free.

    Raises:
        SettingsError: the port is taken, or the token in the environment is too short.
    """
    given = environment.get(TOKEN, "").strip()
    if given and (len(given) < _SHORTEST_TOKEN or not given.isascii()):
        raise SettingsError(
            f"{TOKEN} has fewer than {_SHORTEST_TOKEN} plain characters",
            hint="Without it amem makes a token of its own.",
        )
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        # A client may come before the server has started.
        listener.listen()
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"cannot listen on port {port}: {error.strerror}", hint="Name another: --port N."
        ) from None
    return Door(listener, given or secrets.token_urlsafe(32), not given)


def web_server(protocol: Server[Any], door: Door) -> tuple[uvicorn.Server, Callable[[], None]]:
    """The server of a protocol behind a door, and what ends it; signals are its caller's."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = [f"{name}:{door.port}" for name in (HOST, "localhost")]
    # A web page can reach this port by a name of its own, but cannot fake these headers.
    security = TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
    )
    app = protocol.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=MESSAGE_BYTES,
    )
    config = uvicorn.Config(
        _guarded(app, door.token.encode()),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[assignment]

    def end() -> None:
        # Also ends the answers to which clients listen for as long as there are any.
        server.handle_exit(signal.SIGTERM, None)

    return server, end


def _guarded(app: Any, token: bytes) -> Any:
    from starlette.responses import PlainTextResponse

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            scheme, _, shown = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not secrets.compare_digest(shown.strip(), token):
                headers = {"WWW-Authenticate": "Bearer"}
                refusal = PlainTextResponse("The token is missing or wrong.", 401, headers)
                await refusal(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded
