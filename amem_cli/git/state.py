"""Finds a vault's git repository and the operation in progress by its files; runs no git."""

from __future__ import annotations

import time
from pathlib import Path

from amem_cli.vault.dir_handle import read_own_file

# Files of the repository while an operation waits for the user to continue.
_UNFINISHED = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a series of cherry-picks or reverts",
    # Each step checks out an old version of the notes, which must not be processed.
    "BISECT_LOG": "a bisect",
}
# An older lock was left by a git process that was killed.
_STALE_LOCK_SECONDS = 600.0
_LARGEST_NAME = 64 * 1024


def git_is_busy(root: Path) -> str:
    """The git operation in progress in the vault's work tree, or empty.

    Part of a sentence, such as `git is in the middle of a rebase`.
    """
    top = work_tree(root)
    folder = git_folder(top / ".git") if top else None
    if folder is None:
        return ""
    unfinished = unfinished_work(folder)
    if unfinished:
        return f"git is in the middle of {unfinished}"
    try:
        age = time.time() - (folder / "index.lock").lstat().st_mtime
    except OSError:
        return ""
    return "git is at work" if abs(age) < _STALE_LOCK_SECONDS else ""


def unfinished_work(folder: Path) -> str:
    """The unfinished operation in a repository, such as `a merge`; empty if there is none."""
    return next((what for name, what in _UNFINISHED.items() if (folder / name).exists()), "")


def work_tree(root: Path) -> Path | None:
    """The folder with `.git` that the vault is or lies in."""
    return next((each for each in (root, *root.parents) if (each / ".git").exists()), None)


def git_folder(place: Path) -> Path | None:
    """The folder of git's own files for one work tree; None if its `.git` leads to no repository.

    In worktrees and submodules, `.git` is a file that names the folder.
    """
    folder = place
    if not place.is_dir():
        named = read_name(place)
        if not named.startswith("gitdir:"):
            return None
        folder = (place.parent / named.removeprefix("gitdir:").strip()).resolve()
    head = folder / "HEAD"
    return folder if head.is_symlink() or read_name(head) else None


def common_folder(folder: Path) -> Path:
    """The folder of settings and hooks, which worktrees share."""
    named = read_name(folder / "commondir")
    return folder / named if named else folder


def read_name(path: Path) -> str:
    """The content of one of git's small files; empty if it cannot be read."""
    try:
        raw = read_own_file(path.resolve(), _LARGEST_NAME)
    except (OSError, ValueError, RuntimeError):
        return ""
    return "" if b"\0" in raw else raw.decode("utf-8", "surrogateescape").strip()
