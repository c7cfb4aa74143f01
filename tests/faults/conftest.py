"""What the tests of failing models share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.fakes.prepared_encoder import with_quick_encoder

KEY = "sk-SECRET0123456789abcdef"
TEXT = "The croissant dough tore in lamination: the butter came from the fridge."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def vault(amem: Program, server: ChatServer) -> Path:
    """A vault that asks the server, as a person set it up."""
    amem.environment |= {
        **server.variables("m"),
        "AMEM_LLM_DEADLINE_SECONDS": "60",
        "AMEM_API_KEY": KEY,
        "AMEM_STATE_DIR": str(amem.folder / "state"),
        "AMEM_VAULT": str(amem.folder / "v"),
        **with_quick_encoder(amem.folder / "cache"),
    }
    assert amem("init", "v").code == 0
    return amem.folder / "v"


@pytest.fixture
def understood(amem: Program, vault: Path) -> Path:
    """The same with the encoder that comes with amem, by which the analyzer finds keywords."""
    for name in with_quick_encoder(amem.folder / "cache"):
        del amem.environment[name]
    return vault
