"""Before a large run `amem evolve` says what it will take, and asks before a costly one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.vaults import write_note

COUNT = 24
ENDS = "; Ctrl-C keeps what is done\n"


@pytest.fixture
def notes(vault: Path) -> Path:
    """A vault with notes that amem has never processed."""
    for number in range(COUNT):
        note = write_note(vault, f"n{number:02}.md", f"Walrus {number} dives for clams.\n" * 4)
        os.utime(note, (1_000_000 + number, 1_000_000 + number))
    return vault


@pytest.fixture
def server(amem: Program) -> ChatServer:
    with ChatServer() as running:
        running.usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        amem.environment |= {
            "AMEM_LLM_BACKEND": "openai",
            "AMEM_LLM_MODEL": "m",
            "AMEM_LLM_BASE_URL": running.url,
        }
        yield running
