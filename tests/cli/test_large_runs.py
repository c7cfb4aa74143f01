"""Before a large run with a model elsewhere `amem evolve` asks; one that is interrupted goes on."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.fakes.prepared_encoder import with_quick_encoder
from tests.terminal import at_terminal, plain
from tests.vaults import write_note

COUNT = 24


@pytest.fixture
def notes(amem: Program, vault: Path) -> Path:
    """A vault with notes that amem has never processed, and an encoder that takes no time."""
    amem.environment |= with_quick_encoder(vault.parent / "cache")
    for number in range(COUNT):
        note = write_note(vault, f"n{number:02}.md", f"Walrus {number} dives for clams.\n" * 4)
        os.utime(note, (1_000_000 + number, 1_000_000 + number))
    return vault


@pytest.fixture
def server(amem: Program) -> Iterator[ChatServer]:
    with ChatServer() as running:
        running.usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        amem.environment |= running.variables("m")
        yield running


def test_a_large_run_with_a_model_elsewhere_is_asked_about_on_a_terminal(
    amem: Program, notes: Path, server: ChatServer
) -> None:
    elsewhere = {**amem.environment, "AMEM_LLM_MODEL": "m:cloud"}
    command = ["evolve", "--all"]
    code, shown = at_terminal(amem.folder, command, [("[y/N]", "\r")], **elsewhere)
    assert (code, server.requests) == (1, [])
    assert "24 notes are shown to m:cloud" in plain(shown) and "nothing was done" in plain(shown)
    code, shown = at_terminal(amem.folder, [*command, "--yes", "--limit", "21"], [], **elsewhere)
    assert (code, "[y/N]" in shown) == (0, False)
    assert server.requests
    # A script is not asked.
    rest = amem("evolve", "--all", **elsewhere)
    assert rest.code == 0 and amem("list", "--pending", "--json").json == []


def test_a_run_that_is_interrupted_ends_at_once_with_what_is_done(
    amem: Program, notes: Path, server: ChatServer
) -> None:
    held = threading.Event()

    def content(body: dict[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        if not any(f": {name}\n" in text for name in ("n00", "n01")):
            held.set()
            server.stopped.wait(60)
        return "{}"

    server.content = content
    process = amem.start("evolve", "--all", "--json")
    assert held.wait(60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    document = json.loads(out)
    assert (process.returncode, document["stopped"]) == (130, "interrupted")
    done = [each["path"] for each in document["notes"]]
    assert done in (["n00.md"], ["n00.md", "n01.md"])
    assert document["left"] == COUNT - len(done)
    assert err.endswith("interrupted\n") and "Traceback" not in err
    assert amem("evolve", "--all", "--no-llm", "--json").json["left"] == 0
    assert amem("index", "--check").code == 0
