"""What git knows of the files to be committed, and which of them may be."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from amem_cli.adapters.git_process import Git, GitError

FILE_MODES = ("100644", "100755")

STAGED = "you have staged something of it"
MARKED = "it is marked assume-unchanged or skip-worktree"
IGNORED = "git ignores it"
NESTED = "it lies in a repository of its own"
LINKED = "it is reached through a link"
ODD_FILE = "it is not a regular file"
TAKEN = "a file or folder of this name is in the way"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a vault lies in a repository.

    Attributes:
        git_dir: this work tree's own folder of git's.
        top: the work tree.
        prefix: the vault in it, with `/` at the end, or empty.
    """

    git_dir: Path
    top: Path
    prefix: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a tree or an index.

    Attributes:
        flag: git's letter for the entry; `H` is one without marks.
    """

    mode: str
    oid: str
    flag: str = "H"

    def is_same_file(self, other: Entry | None) -> bool:
        """True for the same content and mode."""
        return other is not None and (self.mode, self.oid) == (other.mode, other.oid)


def read_index(git: Git, prefix: str) -> dict[str, Entry]:
    """The entries of the index in one folder, by path from the top.

    Raises:
        GitError: the index cannot be read, or a file anywhere in it is unmerged.
    """
    if git("ls-files", "-u", "-z"):
        raise GitError("there are unmerged files")
    entries = {}
    for head, path in _records(git("ls-files", "-v", "-s", "-z", "--", *_folder(prefix))):
        flag, mode, oid, _ = head.split(" ")
        entries[path] = Entry(mode, oid, flag)
    return entries


def read_tree(git: Git, tree: str, prefix: str) -> dict[str, Entry]:
    """The files of a tree in one folder, by path from the top."""
    entries = {}
    for head, path in _records(git("ls-tree", "-r", "-z", "--", tree, *_folder(prefix))):
        mode, _, oid = head.split(" ")
        entries[path] = Entry(mode, oid)
    return entries


def read_difference(git: Git, before: str, after: str) -> dict[str, Entry | None]:
    """What changed between two trees, by path; None for a file that is gone.

    Args:
        before: empty for no tree at all.
    """
    if not before:
        return {**read_tree(git, after, "")}
    fields = _fields(git("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after))
    changes: dict[str, Entry | None] = {}
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, oid, status = head.split(" ")
        changes[path] = None if status == "D" else Entry(mode, oid)
    return changes


class Selection:
    """Sorts the named files into those that may be committed and those that may not.

    Args:
        git: works on a copy of the user's index.
        head: the commit that the new one builds on; empty on an unborn branch.
    """

    def __init__(self, git: Git, place: Place, head: str) -> None:
        self._git = git
        self._place = place
        self._index = read_index(git, place.prefix)
        self._head = read_tree(git, head, place.prefix) if head else {}
        self._folders = _folders_of({*self._index, *self._head})
        self.left_out: dict[str, str] = {}
        self.chosen: list[str] = []

    def choose(self, paths: Iterable[str]) -> None:
        """Sort files, given by their paths from the top; a folder's ends with `/`."""
        new: list[str] = []
        present: list[str] = []
        gone: list[str] = []
        for name in dict.fromkeys(one for path in paths for one in self._files_of(path)):
            on_disk = self._on_disk(name)
            reason = self._reason(name, on_disk)
            if reason:
                self.left_out[name] = reason
            elif not on_disk:
                gone += [name] if name in self._head else []
            else:
                (present if name in self._head else new).append(name)
        self.left_out |= self._ignored(new) | self._filtered([*new, *present])
        self.chosen = [name for name in (*new, *present, *gone) if name not in self.left_out]

    def _files_of(self, name: str) -> list[str]:
        if not name.endswith("/"):
            return [name]
        known = [each for each in {**self._index, **self._head} if each.startswith(name)]
        folder = self._place.top / name
        present = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
        return [*known, *(name + each for each in present if not each.startswith("."))]

    def _on_disk(self, name: str) -> bool:
        return os.path.lexists(self._place.top / name)

    def _reason(self, name: str, on_disk: bool) -> str:
        """Why a file is left out, by what is at its place and what the user did with it."""
        path = self._place.top / name
        for folder in _folders_between(self._place, name):
            if folder.is_symlink():
                return LINKED
            if os.path.lexists(folder / ".git"):
                return NESTED
        ancestors = [known for above in _above(name) if (known := self._known(above))]
        if ancestors:
            return NESTED if "160000" in ancestors else TAKEN
        if on_disk and not stat.S_ISREG(path.lstat().st_mode):
            return ODD_FILE
        if on_disk and name in self._folders:
            return TAKEN
        entry, committed = self._index.get(name), self._head.get(name)
        if entry is None and committed is None:
            return ""
        if entry is None or not entry.is_same_file(committed):
            return STAGED
        if entry.flag != "H":
            return MARKED
        return "" if entry.mode in FILE_MODES else ODD_FILE

    def _known(self, name: str) -> str:
        entry = self._index.get(name) or self._head.get(name)
        return entry.mode if entry else ""

    def _ignored(self, names: Sequence[str]) -> dict[str, str]:
        if not names:
            return {}
        # This command knows no literal paths; `./` keeps a leading colon from meaning anything.
        plain = self._git.with_variables(GIT_LITERAL_PATHSPECS="0")
        lines = joined(f"./{name}" for name in names)
        answer = plain.ask("check-ignore", "-z", "--stdin", stdin=lines)
        if answer.code not in (0, 1):
            raise GitError(answer.message)
        return {path.removeprefix("./"): IGNORED for path in _fields(answer.out)}

    def _filtered(self, names: Sequence[str]) -> dict[str, str]:
        """Files that a filter driver is named for, configured here or not.

        What such a filter hides or stores elsewhere must not enter the history as it is, and the
        filter itself is a program of the repository's.
        """
        if not names:
            return {}
        fields = _fields(self._git("check-attr", "-z", "--stdin", "filter", stdin=joined(names)))
        return {
            name: f"it has the filter “{value}”, which amem does not run"
            for name, value in zip(fields[::3], fields[2::3], strict=True)
            if value not in ("unspecified", "unset")
        }


def joined(names: Iterable[str]) -> bytes:
    """Paths as git reads them from its standard input."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _fields(out: bytes) -> list[str]:
    return [os.fsdecode(field) for field in out.split(b"\0")[:-1]]


def _records(out: bytes) -> Iterator[tuple[str, str]]:
    for record in _fields(out):
        head, _, path = record.partition("\t")
        yield head, path


def _folder(prefix: str) -> tuple[str, ...]:
    return (prefix,) if prefix else ()


def _above(name: str) -> Iterator[str]:
    """The folders that a file lies in, the nearest first."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _folders_of(names: Iterable[str]) -> set[str]:
    folders: set[str] = set()
    for name in names:
        for folder in _above(name):
            if folder in folders:
                break
            folders.add(folder)
    return folders


def _folders_between(place: Place, name: str) -> Iterator[Path]:
    """The folders below the vault's own in which a file lies."""
    folder = place.top / place.prefix
    for part in name[len(place.prefix) :].split("/")[:-1]:
        folder /= part
        yield folder
