"""A vault that cannot be written is read all the same, and what would write says why it cannot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.vaults import write_note

pytestmark = pytest.mark.slow

# Permissions do not hold for root, so a child becomes somebody who may read everything (the
# interpreter may lie in root's home) and write nothing.
CAPABILITY = "+dac_read_search"
WITHOUT_RIGHTS = (
    *("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"),
    *("--inh-caps", CAPABILITY, "--ambient-caps", CAPABILITY),
)
TOP = Path(__file__).parents[2]


@dataclass
class Reader:
    """Somebody who may read the vault and write nothing in it."""

    vault: Path
    own: Path
    scratch: Path
    is_root: bool = os.geteuid() == 0

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "amem_cli", "--vault", str(self.vault)]
        return subprocess.run(
            [*(WITHOUT_RIGHTS if self.is_root else ()), *program, *arguments],
            cwd=self.own,
            env={
                **os.environ,
                "PYTHONPATH": str(TOP),
                "PYTHONDONTWRITEBYTECODE": "1",
                "AMEM_CONFIG_DIR": str(self.own / "config"),
                "AMEM_STATE_DIR": str(self.own / "state"),
                "AMEM_LLM_BACKEND": "none",
                "HOME": str(self.own),
                "TMPDIR": str(self.scratch),
            },
            input="",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def by_permissions(reader: Reader) -> Callable[[], None]:
    """Every file and folder of the vault belongs to somebody else."""
    vault = reader.vault
    kept = [(path, path.stat().st_mode) for path in (vault, *vault.rglob("*"))]
    for path, mode in kept:
        path.chmod(0o555 if path.is_dir() else mode & 0o444 | 0o444)

    def undo() -> None:
        for path, mode in kept:
            path.chmod(mode)

    return undo


def state_by_permissions(reader: Reader) -> Callable[[], None]:
    """Only the program's own folder does."""
    undo = by_permissions(reader)
    for path in (reader.vault, *reader.vault.rglob("*")):
        if ".amem" not in path.parts:
            path.chmod(0o777 if path.is_dir() else 0o666)
    return undo


def index_by_permissions(reader: Reader) -> Callable[[], None]:
    """Only the file of the index does; the folder is free."""
    for path in (reader.vault, *reader.vault.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (reader.vault / ".amem/index.db").chmod(0o444)
    return lambda: None


def by_mount(reader: Reader) -> Callable[[], None]:
    """A file system that is mounted read-only; not even root writes there."""
    vault, reader.is_root = reader.vault, False
    for command in (
        ["mount", "--bind", str(vault), str(vault)],
        ["mount", "-o", "remount,ro,bind", str(vault)],
    ):
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("file systems can be mounted by root only")

    def undo() -> None:
        subprocess.run(["umount", "-l", str(vault)], check=True)

    return undo


WAYS = {"permissions": by_permissions, "mount": by_mount}


@pytest.fixture
def reader() -> Iterator[Reader]:
    """A vault with an index, which everybody may read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        one = Reader(folder / "v", folder / "own", folder / "scratch")
        for own in (one.own, one.scratch, one.vault):
            own.mkdir()
            own.chmod(0o777)
        shutil.rmtree(one.vault)
        environment = {**os.environ, "AMEM_LLM_BACKEND": "none", "PYTHONPATH": str(TOP)}
        for line in (
            ["init", str(one.vault)],
            ["--vault", str(one.vault), "add", "A walrus.", "--title", "Walrus"],
        ):
            command = [sys.executable, "-m", "amem_cli", *line, *["--no-wait"][: "add" in line]]
            subprocess.run(command, env=environment, capture_output=True, check=True)
        if not os.geteuid() and (not shutil.which("setpriv") or one("--version").returncode):
            pytest.skip("root cannot give its rights up here")
        yield one


READING = (
    ["search", "walrus", "--mode", "keyword", "--json"],
    ["list", "--json"],
    ["show", "Walrus", "--json"],
    ["history", "--json"],
    ["graph", "--json"],
    ["stats", "--json"],
    ["export"],
    ["index", "--check", "--json"],
)
WRITING = (
    ["watch"],
    ["watch", "--once"],
    ["add", "Another.", "--no-wait"],
    ["update", "Walrus", "--add-tag", "x", "--no-wait"],
    ["rm", "Walrus"],
    ["link", "Walrus", "Home"],
    ["index"],
    ["index", "--rebuild"],
)


@pytest.mark.parametrize("way", WAYS)
def test_a_vault_that_cannot_be_written_is_read(reader: Reader, way: str) -> None:
    undo = WAYS[way](reader)
    try:
        for line in READING:
            answer = reader(*line)
            assert answer.returncode == 0, (line, answer.stderr)
            assert len(answer.stderr.splitlines()) == 1, answer.stderr
            assert "cannot write" in answer.stderr and "temporary copy" in answer.stderr
            assert "Walrus" in answer.stdout or line[0] in ("stats", "index")
        assert reader("list", "--quiet").stderr == ""
        hits = json.loads(reader(*READING[0]).stdout)["hits"]
        assert hits[0]["path"] == "notes/Walrus.md"
    finally:
        undo()
    assert list(reader.scratch.iterdir()) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_vault_without_an_index_is_read(reader: Reader, way: str) -> None:
    (reader.vault / ".amem/index.db").unlink()
    undo = WAYS[way](reader)
    try:
        for line in READING[:4]:
            answer = reader(*line)
            assert answer.returncode == 0, (line, answer.stderr)
            assert "cannot write" in answer.stderr
            assert "Walrus" in answer.stdout
    finally:
        undo()


def test_what_changed_since_the_last_writing_is_read_too(reader: Reader) -> None:
    write_note(reader.vault, "notes/late.md", "penguin\n")
    undo = by_permissions(reader)
    try:
        answer = reader("search", "penguin", "--mode", "keyword", "--json")
        hits = json.loads(answer.stdout)["hits"]
        assert [hit["path"] for hit in hits if hit["via"] is None] == ["notes/late.md"]
    finally:
        undo()


@pytest.mark.parametrize("way", WAYS)
def test_what_would_write_says_why_it_cannot(reader: Reader, way: str) -> None:
    before = {path: path.read_bytes() for path in reader.vault.rglob("*") if path.is_file()}
    undo = WAYS[way](reader)
    try:
        for line in WRITING:
            answer = reader(*line)
            told = answer.stderr.splitlines()
            assert answer.returncode == 3, (line, answer.stderr)
            assert any(each.startswith("error: ") for each in told), (line, answer.stderr)
            assert "Traceback" not in answer.stderr and "bug" not in answer.stderr
    finally:
        undo()
    after = {path: path.read_bytes() for path in reader.vault.rglob("*") if path.is_file()}
    assert after == before


def test_a_state_folder_that_cannot_be_written_keeps_notes_readable(reader: Reader) -> None:
    undo = state_by_permissions(reader)
    try:
        for line in READING[:4]:
            answer = reader(*line)
            assert answer.returncode == 0, (line, answer.stderr)
        before = sorted((reader.vault / "notes").iterdir())
        assert reader("add", "Another.", "--no-wait").returncode == 3
        assert sorted((reader.vault / "notes").iterdir()) == before
    finally:
        undo()


def test_an_index_of_another_user_does_not_stop_anything(reader: Reader) -> None:
    undo = index_by_permissions(reader)
    try:
        for line in (READING[0], ["add", "Another.", "--title", "Another", "--no-wait"]):
            answer = reader(*line)
            assert answer.returncode == 0, (line, answer.stderr)
            assert "cannot write" in answer.stderr
        assert (reader.vault / "notes/Another.md").exists()
    finally:
        undo()


def test_a_half_made_change_does_not_stop_reading(reader: Reader) -> None:
    intents = reader.vault / ".amem/intents"
    intents.mkdir(exist_ok=True)
    (intents / "0.json").write_text('{"writes": [], "events": []}')
    undo = by_permissions(reader)
    try:
        answer = reader("list")
        assert answer.returncode == 0, answer.stderr
        assert "Walrus" in answer.stdout
    finally:
        undo()
    assert (intents / "0.json").exists()


def test_the_copy_of_an_index_that_cannot_be_written_is_not_kept(reader: Reader) -> None:
    undo = by_permissions(reader)
    try:
        reader("list")
        assert list(reader.scratch.iterdir()) == []
        assert list(reader.own.rglob("*index*")) == []
    finally:
        undo()
