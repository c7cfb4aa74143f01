"""Decides which files may be committed, by their state in git."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from amem_cli.git.process import Git, GitError

FILE_MODES = ("100644", "100755")
GONE = "000000"
_SUBMODULE_MODE = "160000"

STAGED = "you have staged something of it"
MARKED = "it is marked assume-unchanged or skip-worktree"
IGNORED = "git ignores it"
NESTED = "it lies in a repository of its own"
LINKED = "it is reached through a link"
ODD_FILE = "it is not a regular file"
TAKEN = "a file or folder of this name is in the way"


@dataclass(frozen=True, slots=True)
class VaultInGit:
    """Where a vault is in its repository.

    Attributes:
        git_dir: git's own folder of this work tree.
        top: the work tree.
        prefix: the vault's path in it, with `/` at the end, or empty.
    """

    git_dir: Path
    top: Path
    prefix: str


class IndexChange(NamedTuple):
    """How an index differs from a tree in one file.

    Attributes:
        old_mode: the file's mode in the tree, `GONE` if it is not there.
        mode: its mode in the index, `GONE` if it is not there.
        oid: id of its content in the index.
    """

    old_mode: str
    mode: str
    oid: str


def read_changes(git: Git, tree: str, prefix: str = "") -> dict[str, IndexChange]:
    """The differences of an index from a tree in one folder, by path from the top."""
    words = ("diff-index", "--cached", "--raw", "-z", "--no-renames", tree, "--", *_folder(prefix))
    fields = split(git(*words))
    changes = {}
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, mode, _, oid, _ = head.removeprefix(":").split(" ")
        changes[path] = IndexChange(old_mode, mode, oid)
    return changes


class Selection:
    """Sorts files into those that may be committed and those that may not.

    Attributes:
        chosen: paths from the top of the files to commit.
        left_out: why another file is left out, by its path from the top.

    Args:
        git: works on a copy of the user's index.
        tree: the parent of the new commit.
        paths: from the top of the work tree; a folder's ends with `/`.

    Raises:
        GitError: the index cannot be read, or a file anywhere in it is unmerged.
    """

    def __init__(self, git: Git, vault: VaultInGit, tree: str, paths: Iterable[str]) -> None:
        if git("ls-files", "-u", "-z"):
            raise GitError("there are unmerged files")
        self._git = git
        self._vault = vault
        self._staged = read_changes(git, tree, vault.prefix)
        self._modes = {path: change.old_mode for path, change in self._staged.items()}
        self._marked = set()
        for record in split(git("ls-files", "-v", "-s", "-z", "--", *_folder(vault.prefix))):
            head, _, path = record.partition("\t")
            flag, self._modes[path], _, _ = head.split(" ")
            if flag != "H":
                self._marked.add(path)
        self._folders = {folder for path in self._modes for folder in _parents(path)}
        self.left_out: dict[str, str] = {}
        present: list[str] = []
        gone: list[str] = []
        for name in dict.fromkeys(file for path in paths for file in self._files_of(path)):
            on_disk = os.path.lexists(vault.top / name)
            if reason := self._reason(name, on_disk=on_disk):
                self.left_out[name] = reason
            elif on_disk:
                present.append(name)
            elif name in self._modes:
                gone.append(name)
        if present:
            self.left_out |= self._ignored(present) | self._filtered(present)
        self.chosen = [name for name in (*present, *gone) if name not in self.left_out]

    def _files_of(self, name: str) -> list[str]:
        if not name.endswith("/"):
            return [name]
        tracked = [path for path in self._modes if path.startswith(name)]
        folder = self._vault.top / name
        present = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        return [*tracked, *(name + each for each in present if not each.startswith("."))]

    def _reason(self, name: str, *, on_disk: bool) -> str:
        """Why a file is left out, by its kind and what the user did with it; empty if it is not."""
        for parent in reversed([*_parents(name)]):
            folder = self._vault.top / parent
            if len(parent) >= len(self._vault.prefix):
                if folder.is_symlink():
                    return LINKED
                if os.path.lexists(folder / ".git"):
                    return NESTED
            if parent in self._modes:
                return NESTED if self._modes[parent] == _SUBMODULE_MODE else TAKEN
        if on_disk and not stat.S_ISREG((self._vault.top / name).lstat().st_mode):
            return ODD_FILE
        if on_disk and name in self._folders:
            return TAKEN
        if name in self._staged:
            return STAGED
        if name in self._marked:
            return MARKED
        return "" if self._modes.get(name, FILE_MODES[0]) in FILE_MODES else ODD_FILE

    def _ignored(self, names: Sequence[str]) -> dict[str, str]:
        # This command has no literal paths; `./` keeps a leading colon from meaning anything.
        git = self._git.with_variables(GIT_LITERAL_PATHSPECS="0")
        lines = joined(f"./{name}" for name in names)
        out = git("check-ignore", "-z", "--stdin", stdin=lines, success=(0, 1))
        return {path.removeprefix("./"): IGNORED for path in split(out)}

    def _filtered(self, names: Sequence[str]) -> dict[str, str]:
        """Files to which a filter driver is assigned, whether it is configured here or not.

        What such a filter hides or stores elsewhere must not enter the history as it is, and the
        filter itself is a program of the repository's.
        """
        fields = split(self._git("check-attr", "-z", "--stdin", "filter", stdin=joined(names)))
        return {
            name: f"it has the filter “{value}”, which amem does not run"
            for name, value in zip(fields[::3], fields[2::3], strict=True)
            if value not in ("unspecified", "unset")
        }


def joined(names: Iterable[str]) -> bytes:
    """Paths as git reads them from its standard input."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def split(out: str) -> list[str]:
    """The parts of what git prints with `-z`."""
    return out.split("\0")[:-1]


def _folder(prefix: str) -> tuple[str, ...]:
    return (prefix,) if prefix else ()


def _parents(name: str) -> Iterator[str]:
    """The folders that contain a file, the innermost first."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
