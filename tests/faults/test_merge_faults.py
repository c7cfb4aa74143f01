"""A merge that is killed, or fails at any system call, is done whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.driver import ports_of
from tests.faults.injection import FaultyRuns, check_recovered, check_recovered_from_a_kill, faulty
from tests.vaults import tree_hashes, write_note

__all__ = ["faulty"]

NOTES = {
    "Kept.md": '---\nid: "20250101000000"\ntags: [a]\n---\nFirst text.\n',
    "Other.md": '---\nid: "20260101000000"\ntags: [b]\n---\nSecond text.\n',
    "Linking.md": "See [[Other]].\r\n",
    "Property.md": '---\nid: "20260101000001"\nlinks:\n  - "[[Other]]"\n---\nText.\n',
}


def make_vault(root: Path) -> None:
    for path, text in NOTES.items():
        write_note(root, path, text)
    ports_of(root).index.close()


def notes(root: Path) -> dict[str, str]:
    return {path: sha for path, sha in tree_hashes(root).items() if path in NOTES}


@pytest.fixture
def states(tmp_path: Path, faulty: FaultyRuns) -> tuple[dict[str, str], dict[str, str]]:
    """The notes before and after a merge."""
    make_vault(tmp_path / "vault")
    before = notes(tmp_path / "vault")
    shutil.copytree(tmp_path / "vault", tmp_path / "merged")
    assert faulty.run(tmp_path / "merged", "merge", "fsync:delay_exit=1").code == 0
    after = notes(tmp_path / "merged")
    assert set(before) - set(after) == {"Other.md"}
    assert all(before[path] != after[path] for path in after)
    return before, after


@pytest.mark.parametrize("call", ["write", "fsync", "renameat2", "unlinkat"])
def test_a_merge_that_is_killed_is_whole_or_not_at_all(
    tmp_path: Path,
    faulty: FaultyRuns,
    states: tuple[dict[str, str], dict[str, str]],
    call: str,
) -> None:
    found = []
    for number in range(1, 100):
        root = tmp_path / f"v{number}"
        shutil.copytree(tmp_path / "vault", root)
        fault = faulty.run(root, "merge", f"{call}:signal=SIGKILL:when={number}")
        check_recovered_from_a_kill(root)
        assert notes(root) in states, f"{call} {number}"
        found.append(states.index(notes(root)))
        merged = [event for event in ports_of(root).index.events.read() if event.kind == "merge"]
        assert len(merged) == found[-1]
        shutil.rmtree(root)
        if not fault.happened:
            # Whatever was killed later was done more of.
            assert found == sorted(found)
            assert found[-1] == 1
            return
    raise AssertionError("the merge never ended without being killed")


@pytest.mark.parametrize(
    ("call", "error"), [("write", "ENOSPC"), ("renameat2", "EACCES"), ("fsync", "EIO")]
)
def test_a_merge_that_fails_leaves_every_note_as_it_was(
    tmp_path: Path,
    faulty: FaultyRuns,
    states: tuple[dict[str, str], dict[str, str]],
    call: str,
    error: str,
) -> None:
    for number in range(1, 100):
        root = tmp_path / f"v{number}"
        shutil.copytree(tmp_path / "vault", root)
        fault = faulty.run(root, "merge", f"{call}:error={error}:when={number}")
        assert fault.code in (0, 3), f"{call} {number}: {fault.told}"
        assert notes(root) in states
        assert (notes(root) == states[1]) or fault.code == 3
        check_recovered(root)
        assert notes(root) in states
        shutil.rmtree(root)
        if not fault.happened:
            return
    raise AssertionError("the merge never ended without the fault")
