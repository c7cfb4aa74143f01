"""When git first saw each file of a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

from amem_cli.git.repository import Git, GitError, open_git
from amem_cli.git.state import common_folder, git_folder, read_name, work_tree

SECONDS = 30.0
# None of the user's settings may change what is listed, or run a program.
_LOG = "log -z --reverse --date-order --no-show-signature --no-follow --format=%x01%H%x20%at"
_CHANGES = "--name-status --diff-filter=ADR -M --relative --full-history -- ."


class FirstCommits:
    """Gives the moment of the first commit of a file; one that git has renamed keeps its first.

    The whole history is read at once, when a file is first asked for, and again only for a file
    that came since.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._moments: dict[str, datetime] = {}
        self._read_at = -1

    def __call__(self, path: str) -> datetime | None:
        """The moment for a path in the folder; None if git knows none."""
        top = work_tree(self._folder)
        own = git_folder(top / ".git") if top else None
        if own is None:
            return None
        try:
            # Git writes its index whenever a commit brings files.
            now = (own / "index").stat().st_mtime_ns
        except OSError:
            now = 0
        if path not in self._moments and now != self._read_at:
            self._read_at = now
            # The first commits of a shallow clone bring files that are older than they are.
            cut = frozenset(read_name(common_folder(own) / "shallow").split())
            with contextlib.suppress(GitError):
                git = open_git(self._folder, self._environment, seconds=SECONDS)
                self._moments = _first_commits(git, cut)
        return self._moments.get(path)


def _first_commits(git: Git, cut: frozenset[str]) -> dict[str, datetime]:
    first: dict[str, datetime | None] = {}
    moment: datetime | None = None
    fields = iter(git(*_LOG.split(), *_CHANGES.split()).split("\0"))
    for field in fields:
        status = field.lstrip("\n")
        if status.startswith("\x01"):
            commit, _, seconds = status[1:].partition(" ")
            moment = None if commit in cut else _moment(seconds)
        elif status:
            _take(first, status[0], fields, moment)
    return {path: when for path, when in first.items() if when is not None}


def _take(
    first: dict[str, datetime | None], status: str, paths: Iterator[str], moment: datetime | None
) -> None:
    path = next(paths)
    if status == "A":
        first.setdefault(path, moment)
    else:
        # A name that was given up may be another note's later, as `Untitled.md` is.
        former = first.pop(path, moment)
        if status == "R":
            first.setdefault(next(paths), former)


def _moment(seconds: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds), tz=timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
