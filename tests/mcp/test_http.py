"""Streamable HTTP: the SDK's own client, real processes."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import Program
from tests.mcp.clients import PATIENCE, Agent

pytestmark = pytest.mark.slow

TOKEN = "a token of the test's own"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@contextmanager
def http_server(
    amem: Program, *options: str, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server with its address, once it answers; it is gone when the test is over."""
    process = amem.start("mcp", "--http", "--port", "0", *options, **variables)
    try:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", process.stderr.readline())
        assert found is not None
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


@contextmanager
def http_agent(url: str, token: str, mode: str = "auto") -> Iterator[Agent]:
    """The SDK's client of such a server."""
    headers = {"Authorization": f"Bearer {token}"}
    with start_blocking_portal() as portal:
        web = httpx2.AsyncClient(headers=headers, timeout=PATIENCE)
        transport = streamable_http_client(url, http_client=web)
        client = Client(transport, mode=mode)
        with portal.wrap_async_context_manager(client) as entered:
            yield Agent(portal, entered)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_is_served_over_http(amem: Program, vault: Path, mode: str) -> None:
    with (
        http_server(amem, AMEM_MCP_TOKEN=TOKEN) as (process, url),
        http_agent(url, TOKEN, mode) as me,
    ):
        hits = me.ok("search", query="walrus", mode="keyword")["hits"]
        assert [hit["path"] for hit in hits] == ["walrus.md"]
        made = me.ok("add", content="Clams live in mud.", title="Clams")
        assert (vault / made["path"]).exists()
        event = me.ok("history", note=made["id"])["events"][0]
        assert event["client"].startswith("mcp")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "")
    assert TOKEN not in err and "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(amem: Program, vault: Path, number: signal.Signals) -> None:
    with http_server(amem) as (process, url):
        assert process.stderr is not None
        token = process.stderr.readline().removeprefix("token: ").strip()
        assert len(token) > 30
        assert ask(url, token).status_code == 200
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


def ask(url: str, token: str = TOKEN, **headers: str) -> httpx2.Response:
    """A request as a client sends it; headers replace its own."""
    own = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2025-06-18",
    }
    greeting = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw client", "version": "1"},
    }
    body = {**CALL, "method": "initialize", "params": greeting}
    return httpx2.post(url, json=body, headers={**own, **headers}, timeout=PATIENCE)


def test_nobody_else_gets_in(amem: Program, vault: Path) -> None:
    with http_server(amem, AMEM_MCP_TOKEN=TOKEN) as (_, url):
        for token in ("x", "wrong", TOKEN + "x", TOKEN.upper()):
            answer = ask(url, token)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert ask(url, Authorization=f"Basic {TOKEN}").status_code == 401
        assert httpx2.get(url.replace("/mcp", "/")).status_code == 401
        # What a web page can send that reaches this machine by a name of its own.
        assert ask(url, Host="evil.example").status_code == 421
        assert ask(url, Host="127.0.0.1:1").status_code == 421
        assert ask(url, Origin="http://evil.example").status_code == 403
        assert ask(url).status_code == 200
        port = int(url.split(":")[2].split("/")[0])
        with socket.socket() as other, pytest.raises(OSError, match="refused"):
            other.connect(("127.0.0.2", port))
        refused = amem("mcp", "--http", "--port", str(port))
        assert (refused.code, refused.out) == (3, "")
        assert f"port {port}" in refused.err and "--port" in refused.err
    amem.environment["AMEM_MCP_TOKEN"] = "short"
    refused = amem("mcp", "--http", "--port", "0")
    assert (refused.code, "AMEM_MCP_TOKEN" in refused.err, "short" in refused.err) == (
        3,
        True,
        False,
    )
