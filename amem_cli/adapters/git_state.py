"""Finds the git repository that a vault is in and what git is in the middle of; runs no git."""

from __future__ import annotations

import time
from pathlib import Path

from amem_cli.adapters.own_folder import read_own_file

# What is there while a command of git's waits for the person to go on.
UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a row of cherry-picks or reverts",
    # Each step checks out an old version of the notes, which is not to be worked on.
    "BISECT_LOG": "a bisect",
}
# A lock that is older was left by a git that was killed.
STALE_LOCK_SECONDS = 600.0
_LARGEST_NAME = 64 * 1024


def git_is_busy(root: Path) -> str:
    """What git is in the middle of in the vault's work tree, as part of a sentence.

    Returns:
        Such as `git is in the middle of a rebase`; empty where it is not, or there is no
        repository.
    """
    folder = repository_folder(root)
    if folder is None:
        return ""
    unfinished = unfinished_work(folder)
    if unfinished:
        return f"git is in the middle of {unfinished}"
    try:
        age = time.time() - (folder / "index.lock").lstat().st_mtime
    except OSError:
        return ""
    return "git is at work" if abs(age) < STALE_LOCK_SECONDS else ""


def unfinished_work(folder: Path) -> str:
    """What waits to be finished or aborted in a repository, such as `a merge`, or nothing."""
    return next((what for name, what in UNFINISHED.items() if (folder / name).exists()), "")


def work_tree(root: Path) -> Path | None:
    """The folder with `.git` that the vault is or lies in."""
    return next((each for each in (root, *root.parents) if (each / ".git").exists()), None)


def repository_folder(root: Path) -> Path | None:
    """Where git keeps what is of this work tree alone; None where the vault is in none."""
    top = work_tree(root)
    return None if top is None else git_folder(top / ".git")


def git_folder(place: Path) -> Path | None:
    """The repository's own folder; a file `.git` names it, as in worktrees and submodules."""
    if place.is_dir():
        return place
    named = read_name(place)
    if not named.startswith("gitdir:"):
        return None
    folder = (place.parent / named.removeprefix("gitdir:").strip()).resolve()
    return folder if folder.is_dir() else None


def common_folder(folder: Path) -> Path:
    """Where settings and hooks are, which worktrees share."""
    named = read_name(folder / "commondir")
    return folder / named if named else folder


def checked_out(folder: Path) -> str:
    """What the repository says is checked out; empty where it says nothing that can be read."""
    head = folder / "HEAD"
    try:
        return str(head.readlink()) if head.is_symlink() else read_name(head)
    except OSError:
        return ""


def read_name(path: Path) -> str:
    """What one of git's small files holds; empty where it cannot be read or is no such file."""
    try:
        raw = read_own_file(path.resolve(), _LARGEST_NAME)
    except (OSError, ValueError, RuntimeError):
        return ""
    return "" if b"\0" in raw else raw.decode("utf-8", "surrogateescape").strip()
