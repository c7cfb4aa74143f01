"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program


@pytest.fixture
def vault(amem: Program) -> Path:
    """An empty vault, named by the environment."""
    assert amem("init", "v").code == 0
    vault = amem.folder / "v"
    for note in vault.rglob("*.md"):
        note.unlink()
    amem.environment["AMEM_VAULT"] = str(vault)
    return vault
