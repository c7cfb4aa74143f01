"""A vault to look over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.index.memory_index import VaultPorts
from tests.vaults import open_vault


@pytest.fixture
def ports(tmp_path: Path) -> Iterator[VaultPorts]:
    """A vault with one note, Dough, in `v`."""
    opened = open_vault(tmp_path / "v")
    add(opened, NewNote("Croissant dough tears in lamination.", title="Dough"))
    yield opened
    opened.index.close()


@pytest.fixture
def root(tmp_path: Path, ports: VaultPorts) -> Path:
    """Its folder."""
    return tmp_path / "v"
