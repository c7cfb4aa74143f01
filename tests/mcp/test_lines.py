"""Lines as they come from a client, and what the journal calls it."""

from __future__ import annotations

import os
import threading

import pytest

from amem_cli.mcp.server import client_name
from amem_cli.mcp.stdio import lines_of


def test_lines_are_told_apart_whatever_their_length() -> None:
    source, sink = os.pipe()

    def write() -> None:
        os.write(sink, b"one\n\n" + b"x" * 300_000 + b"\ntwo\n" + b"y" * 100_000 + b"\nrest")
        os.close(sink)

    writer = threading.Thread(target=write)
    writer.start()
    found = list(lines_of(source, 100_000))
    writer.join()
    os.close(source)
    assert found == [b"one", b"", None, b"two", b"y" * 100_000, b"rest"]


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
