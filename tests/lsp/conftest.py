"""A vault for editors, with an encoder that takes no time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program
from tests.mcp.clients import with_quick_encoder


@pytest.fixture
def vault(amem: Program) -> Path:
    """An empty vault."""
    with_quick_encoder(amem)
    return amem.empty_vault()
