"""Every machine has a name of its own, whatever became of the file that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.settings import machine_name


def test_a_name_is_made_once(tmp_path: Path) -> None:
    here, there = ({"AMEM_STATE_DIR": str(tmp_path / name)} for name in ("a", "b"))
    assert machine_name(here) == machine_name(here) != machine_name(there)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", None])
def test_a_file_that_holds_no_name_is_no_obstacle(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "machine"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    assert machine_name({"AMEM_STATE_DIR": str(tmp_path)}) == "local"
