"""Git's unfinished work is seen by its files, and what git left behind stops nothing for ever."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from amem_cli.git.state import git_is_busy
from tests.repositories import TestRepository, new_repository, person
from tests.vaults import write_note


@pytest.fixture
def repo(tmp_path: Path) -> TestRepository:
    """Two branches that conflict in one note."""
    repository = new_repository(tmp_path / "vault", person(tmp_path / "home"))
    repository.write("a.md", "one\n")
    repository.save(".")
    repository.git("checkout", "-q", "-b", "other")
    for text in ("two\n", "three\n"):
        repository.write("a.md", text)
        repository.save(".", message=text)
    repository.git("checkout", "-q", "main")
    repository.write("a.md", "mine\n")
    repository.save(".")
    return repository


def test_outside_of_any_repository_nothing_is_busy(tmp_path: Path) -> None:
    assert git_is_busy(tmp_path) == ""


def test_a_repository_at_rest_is_not_busy(repo: TestRepository) -> None:
    assert git_is_busy(repo.top) == ""


@pytest.mark.parametrize(
    ("command", "end", "told"),
    [
        (("merge", "other"), ("merge", "--abort"), "git is in the middle of a merge"),
        (("rebase", "other"), ("rebase", "--abort"), "git is in the middle of a rebase"),
        (
            ("rebase", "--apply", "other"),
            ("rebase", "--abort"),
            "git is in the middle of a rebase",
        ),
        (
            ("cherry-pick", "other"),
            ("cherry-pick", "--abort"),
            "git is in the middle of a cherry-pick",
        ),
        (("revert", "other"), ("revert", "--abort"), "git is in the middle of a revert"),
    ],
)
def test_what_stops_at_a_conflict_is_told_until_it_is_ended(
    repo: TestRepository, command: tuple[str, ...], end: tuple[str, ...], told: str
) -> None:
    repo.fails(*command)
    assert git_is_busy(repo.top) == told
    repo.git(*end)
    assert git_is_busy(repo.top) == ""


def test_a_row_of_cherry_picks_is_told_between_two_of_them(repo: TestRepository) -> None:
    repo.fails("cherry-pick", "main..other")
    repo.write("a.md", "settled\n")
    repo.git("commit", "-q", "-a", "-m", "settled")

    assert git_is_busy(repo.top) == "git is in the middle of a series of cherry-picks or reverts"


def test_a_bisect_is_told(repo: TestRepository) -> None:
    repo.git("bisect", "start", "other", "main")
    assert git_is_busy(repo.top) == "git is in the middle of a bisect"
    repo.git("bisect", "reset")
    assert git_is_busy(repo.top) == ""


def test_a_vault_in_a_folder_of_a_repository_is_busy_with_it(repo: TestRepository) -> None:
    write_note(repo.top, "docs/vault/n.md", "x\n")
    repo.fails("merge", "other")

    assert git_is_busy(repo.top / "docs/vault") == "git is in the middle of a merge"


def test_each_work_tree_is_busy_for_itself(repo: TestRepository, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    second = repo.at(tmp_path / "second")
    second.fails("merge", "other")

    assert git_is_busy(second.top) == "git is in the middle of a merge"
    assert git_is_busy(repo.top) == ""


def test_a_submodule_is_busy_for_itself(repo: TestRepository, tmp_path: Path) -> None:
    outer = new_repository(tmp_path / "outer", repo.environment)
    allow = ("-c", "protocol.file.allow=always")
    outer.git(*allow, "submodule", "--quiet", "add", str(repo.top), "vault")
    inner = outer.at(outer.top / "vault")
    inner.fails("merge", "origin/other")

    assert git_is_busy(inner.top) == "git is in the middle of a merge"
    assert git_is_busy(outer.top) == ""


def test_a_git_at_work_is_told_and_one_that_was_killed_is_not(repo: TestRepository) -> None:
    lock = repo.top / ".git/index.lock"
    lock.touch()
    assert git_is_busy(repo.top) == "git is at work"

    for moment in (time.time() - 601, time.time() + 86_400):
        os.utime(lock, (moment, moment))
        assert git_is_busy(repo.top) == ""


@pytest.mark.parametrize(
    "content", [b"", b"gitdir: nowhere", b"nonsense", b"gitdir: \0", b"gitdir: \xff", b"x" * 10**6]
)
def test_a_file_that_leads_to_no_repository_is_no_repository(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / ".git").write_bytes(content)

    assert git_is_busy(tmp_path) == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_in_git_s_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")

    assert git_is_busy(tmp_path) == ""


def test_links_that_lead_in_a_circle_are_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to(tmp_path / ".git")

    assert git_is_busy(tmp_path) == ""
