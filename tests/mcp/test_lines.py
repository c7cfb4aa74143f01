"""Lines as they come from a client, and what the journal calls it."""

from __future__ import annotations

import pytest

from amem_cli.mcp.server import client_name


@pytest.mark.parametrize(
    ("name", "version", "shown"),
    [
        ("claude-code", "2.1.0", "claude-code 2.1.0"),
        ("", "", "unnamed"),
        ("a\x1b[31m\nb", "", "a--31m-b"),
        ("x" * 500, "1", "x" * 60),
    ],
)
def test_a_client_is_called_by_a_few_plain_characters(name: str, version: str, shown: str) -> None:
    assert client_name(name, version) == shown
