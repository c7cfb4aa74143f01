"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program


@pytest.fixture
def vault(amem: Program) -> Path:
    """An empty vault, named by the environment."""
    return amem.empty_vault()
