"""Folders that amem and git need are there, can be written, and lie where they can be used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.index.sync import synchronise
from amem_cli.vault.template import adopt_vault
from tests.checkups import look
from tests.vaults import open_vault, write_note


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An adopted vault with one note, its index in step."""
    folder = tmp_path / "v"
    write_note(folder, "a.md", "A note.\n")
    adopt_vault(folder)
    in_step(folder)
    return folder


def in_step(root: Path) -> None:
    ports = open_vault(root)
    synchronise(ports)
    ports.index.close()


@pytest.mark.parametrize("place", [".amem/journal", ".amem/intents", ".amem/review", ".trash"])
def test_a_file_where_amem_needs_a_folder_is_told(root: Path, place: str) -> None:
    shutil.rmtree(root / place, ignore_errors=True)
    (root / place).write_text("x")
    in_step(root)
    (found,) = look(root)
    assert (found.check, found.path, found.severity) == ("files", place, "problem")
    assert "is no folder" in found.message


def test_a_file_where_new_notes_go_is_told(root: Path) -> None:
    (root / ".amem/config.toml").write_text('notes_dir = "inbox"\n')
    (root / "inbox").write_text("x")
    (found,) = look(root)
    assert (found.check, found.path) == ("files", "inbox")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_vault_that_cannot_be_written_is_told(root: Path) -> None:
    (root / ".amem").chmod(0o500)
    try:
        (found,) = look(root)
    finally:
        (root / ".amem").chmod(0o700)
    assert (found.check, found.path) == ("permissions", ".amem")


@pytest.mark.parametrize("broken", ["empty folder", "no head"])
def test_a_folder_of_gits_that_is_no_repository_is_told(root: Path, broken: str) -> None:
    if broken == "empty folder":
        (root / ".git").mkdir()
    else:
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        (root / ".git/HEAD").write_text("")
    (found,) = look(root)
    assert (found.check, found.path) == ("git", str(root / ".git"))


def test_a_journal_that_git_ignores_is_told_and_leaves_the_vault_healthy(root: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    with (root / ".gitignore").open("a") as stream:
        stream.write(".amem/\n")
    (found,) = look(root)
    assert (found.check, found.path, found.severity) == ("git", ".gitignore", "notice")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that takes any bytes")
def test_a_vault_whose_path_is_not_utf8_is_read(root: Path) -> None:
    odd = root.rename(root.with_name(os.fsdecode(b"v\xff")))
    ports = open_vault(odd)
    synchronise(ports)
    assert ports.index.notes.count() == 1
    ports.index.close()
    assert look(odd) == []
