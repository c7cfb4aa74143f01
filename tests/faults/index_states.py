"""What the index of a vault holds, to be compared with one that is made from nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.models.ports import Encoder
from amem_cli.workspace.workspace import Workspace
from tests.index_dump import canonical_dump


def index_dump(root: Path) -> object:
    """The live index as it is, without looking at the vault."""
    index = MemoryIndex(root / ".amem" / "index.db")
    try:
        return canonical_dump(index)
    finally:
        index.close()


def rebuilt_dump(root: Path, encoder: Encoder | None = None) -> object:
    """An index made from the vault's files alone."""
    with tempfile.TemporaryDirectory() as folder:
        index = MemoryIndex(Path(folder) / "rebuilt.db")
        try:
            workspace = Workspace(root)
            workspace._connection.index = index
            ports = workspace.ports
            synchronise(ports)
            if encoder is not None:
                embed_missing(ports, encoder)
            return canonical_dump(index)
        finally:
            index.close()


def set_aside_files(root: Path) -> list[Path]:
    """Indexes that could not be used, without their side files."""
    found = (root / ".amem").glob("index.db.unusable-*")
    return [path for path in found if not path.name.endswith(("-wal", "-shm"))]
