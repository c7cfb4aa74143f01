"""Folders of the program's own, where the vault was moved away in the middle of a call."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.index.connection import Database
from amem_cli.vault.dir_handle import make_own_folder


def test_a_vault_that_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    state = tmp_path / "gone/.amem"
    with pytest.raises(FileNotFoundError):
        make_own_folder(state / "journal")
    index = Database(state / "index.db")
    assert index.temporary
    index.close()
    assert not (tmp_path / "gone").exists()
