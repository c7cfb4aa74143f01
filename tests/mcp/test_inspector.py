"""The MCP inspector's command line, from npm, reads what the server offers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program
from tests.mcp.clients import SERVER
from tests.outside_tools import node_package, program

pytestmark = pytest.mark.slow


@pytest.fixture
def inspect(amem: Program, vault: Path) -> Any:
    """Runs the inspector on a server over a vault of one note."""
    start = node_package("@modelcontextprotocol/inspector") / "clients/launcher/build/index.js"
    names = ("PYTHONPATH", "AMEM_CACHE_DIR", "AMEM_ENCODER_MODEL", "AMEM_LLM_BACKEND")
    variables = {name: amem.environment[name] for name in names}
    variables |= {name: os.environ[name] for name in ("AMEM_CONFIG_DIR", "AMEM_STATE_DIR")}
    # As docs/agents.md tells the user to write it.
    server = {
        "type": "stdio",
        "command": SERVER[0],
        "args": [*SERVER[1:], "--vault", str(vault), "mcp"],
        "env": variables,
    }
    config = amem.folder / "clients.json"
    config.write_text(json.dumps({"mcpServers": {"amem": server}}), encoding="utf-8")

    def run(*options: str) -> Any:
        target = ["--config", str(config), "--server", "amem"]
        line = (program("node"), str(start), "--cli", *target, *options)
        done = amem.beside(*line, HOME=str(amem.folder))
        assert done.code == 0, done.err[-2000:]
        return done.json

    return run


def test_the_inspector_lists_the_tools_and_finds_their_schemas_portable(inspect: Any) -> None:
    tools = inspect("--method", "tools/list", "--strict")["tools"]
    assert {"search", "add", "read"} < {tool["name"] for tool in tools}
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)
    assert not any("outputSchema" in tool for tool in tools)


def test_the_inspector_calls_a_tool(inspect: Any) -> None:
    call = ("--method", "tools/call", "--tool-name", "search")
    found = inspect(*call, "--tool-arg", "query=walrus", "--tool-arg", "mode=keyword")
    assert found["structuredContent"]["hits"][0]["path"] == "walrus.md"
