"""Commits named files of a vault without touching the user's own work in the repository.

The commit is built with git's plumbing commands on indexes in a temporary folder. Only at the end,
under git's own lock of the index, the branch moves if it has not moved meanwhile, and the user's
index is replaced if it has not changed meanwhile. So no step is ever visible half done, and no
hook, filter, signature or program of the repository is run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from amem_cli.git.process import Git, GitError, open_git
from amem_cli.git.state import unfinished_work
from amem_cli.system.files import move_over
from amem_cli.system.signals import held

SECONDS = 30.0
ATTEMPTS = 3
PAUSE_SECONDS = 0.15
_OWN_NAME, _OWN_ADDRESS = "amem", "amem@localhost"
# Some kinds of repository keep these where no file shows them.
_REFS_IN_PROGRESS = {"CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert"}

FILE_MODES = ("100644", "100755")
GONE = "000000"
_SUBMODULE_MODE = "160000"
NESTED = "it lies in a repository of its own"
ODD_FILE = "it is not a regular file"
TAKEN = "a file or folder of this name is in the way"

Describe = Callable[[frozenset[str]], str]


@dataclass(frozen=True, slots=True)
class CommitReport:
    """The result of a commit.

    Attributes:
        commit: id of the new commit; empty if there is none.
        skipped: why there is none though something was to be committed, one line, or empty.
        left_out: why a path was left out, by vault-relative path.
    """

    commit: str = ""
    skipped: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)


class _Vault(NamedTuple):
    """Where a vault is in its repository.

    The `prefix` is its path in the work tree `top`, with `/` at the end, or empty.
    """

    git_dir: Path
    top: Path
    prefix: str


class _Disturbed(GitError):
    """Another process was working in the repository; another attempt may succeed."""


def commit_files(
    root: Path,
    environment: Mapping[str, str],
    paths: Sequence[str],
    describe: Describe,
    *,
    seconds: float = SECONDS,
) -> CommitReport:
    """Commit exactly these files as they are on disk, and nothing else of the user's.

    Args:
        root: the vault; outside of any repository nothing is done.
        environment: the variables that the program was started with.
        paths: vault-relative, with `/`; a file that is gone is removed by the commit. One with
            `/` at its end names the files that a folder holds, or held at the last commit.
        describe: given the paths that differ from the last commit and can be committed, the
            message; an empty one calls the commit off.
        seconds: the longest that all calls of git together may take.

    Nothing is raised: the report says why there is no commit.
    """
    if not any(os.path.lexists(folder / ".git") for folder in (root, *root.parents)):
        return CommitReport()
    try:
        git = open_git(root, environment, seconds=seconds)
        vault = _locate(git)
        if vault is None:
            return CommitReport()
        _refuse_inside_git(vault.git_dir, environment)
        git = replace(git, folder=vault.top)
        for attempt in range(1, ATTEMPTS):
            with contextlib.suppress(_Disturbed):
                return _attempt(git, vault, paths, describe)
            time.sleep(PAUSE_SECONDS * attempt)
        return _attempt(git, vault, paths, describe)
    except GitError as error:
        return CommitReport(skipped=str(error))
    except OSError as error:
        return CommitReport(skipped=f"{error.strerror or error}")


def _locate(git: Git) -> _Vault | None:
    """Where the vault is in its repository; None if git finds none."""
    wanted = ("--is-inside-work-tree", "--absolute-git-dir", "--show-toplevel", "--show-prefix")
    try:
        lines = git("rev-parse", *wanted).split("\n")
    except GitError as error:
        if str(error).startswith("not a git repository (or any"):
            return None
        raise
    if len(lines) != 5 or lines[0] != "true":
        raise GitError("the vault is not in the work tree of its repository")
    return _Vault(Path(lines[1]), Path(lines[2]), lines[3])


def _refuse_inside_git(git_dir: Path, environment: Mapping[str, str]) -> None:
    """Refuse to move a branch while a git command of the user's is committing to it.

    Git holds no lock while it runs a hook or an editor, but names its folder in their variables.
    """
    index = environment.get("GIT_INDEX_FILE")
    named = (environment.get("GIT_DIR"), Path(index).parent if index else None)
    if any(folder and Path(folder).resolve() == git_dir.resolve() for folder in named):
        raise GitError("amem was started by a git command in this repository, as by a hook")


def _attempt(git: Git, vault: _Vault, paths: Sequence[str], describe: Describe) -> CommitReport:
    index = _UserIndex(vault.git_dir / "index")
    _refuse_unready(git, vault.git_dir)
    index.refuse_locked()
    head = git("rev-parse", "-q", "--verify", "HEAD^{commit}", success=(0, 1)).strip()
    # The first commit of all is compared with the empty tree.
    base = head or git("hash-object", "-t", "tree", "--stdin").strip()
    with tempfile.TemporaryDirectory(prefix="amem-git-") as folder:
        copy = Path(folder) / "index"
        index.copy_to(copy)
        git = git.without_filters(_filter_drivers(git))
        theirs = git.with_variables(GIT_INDEX_FILE=str(copy))
        ours = git.with_variables(GIT_INDEX_FILE=str(Path(folder) / "commit"))
        selection = _Selection(theirs, vault, base, (vault.prefix + path for path in paths))
        cut = len(vault.prefix)
        left_out = {name[cut:]: reason for name, reason in selection.left_out.items()}
        changes = _stage(ours, base, selection.chosen)
        message = describe(frozenset(name[cut:] for name in changes)) if changes else ""
        if not message:
            return CommitReport(left_out=left_out)
        _update_entries(theirs, changes)
        git, commit = _write_commit(ours, head, message)
        with index.locked(copy) as replace_index:
            _refuse_unready(git, vault.git_dir)
            reason = f"commit (amem): {message.splitlines()[0]}"
            # The old value makes git refuse if the branch has moved meanwhile.
            try:
                git("update-ref", "-m", reason, "HEAD", commit, head or "0" * len(commit))
            except GitError as error:
                raise _Disturbed(str(error)) from None
            try:
                replace_index()
            except OSError:
                git("update-ref", *(("HEAD", head, commit) if head else ("-d", "HEAD", commit)))
                raise
    return CommitReport(commit, left_out=left_out)


def _refuse_unready(git: Git, git_dir: Path) -> None:
    """Refuse to commit while an operation is in progress or no branch is checked out."""
    unfinished = unfinished_work(git_dir)
    for name, what in _REFS_IN_PROGRESS.items():
        if not unfinished and git("rev-parse", "-q", "--verify", name, success=(0, 1)):
            unfinished = what
    if unfinished:
        raise GitError(f"{unfinished} is in progress")
    if not git("symbolic-ref", "-q", "HEAD", success=(0, 1)).startswith("refs/heads/"):
        raise GitError("no branch is checked out (detached HEAD)")


def _filter_drivers(git: Git) -> list[str]:
    """Names of all filter drivers that are configured, so that they can be switched off."""
    driver = r"^filter\..*\.(clean|process|smudge)$"
    keys = _split(git("config", "-z", "--name-only", "--get-regexp", driver, success=(0, 1)))
    return list(dict.fromkeys(key.removeprefix("filter.").rpartition(".")[0] for key in keys))


def _stage(git: Git, base: str, chosen: Sequence[str]) -> dict[str, _IndexChange]:
    """Fill an index with a tree and the files as they are on disk; returns the differences.

    Git reads the files itself, so that line endings, encodings and modes are as with `git add`.
    """
    if not chosen:
        return {}
    git("read-tree", base)
    git("update-index", "-z", "--add", "--remove", "--stdin", stdin=_joined(chosen))
    changes = _read_changes(git, base)
    regular = all(change.mode in (*FILE_MODES, GONE) for change in changes.values())
    if not (changes.keys() <= set(chosen) and regular):
        raise _Disturbed("files changed their kind meanwhile")
    return changes


def _update_entries(git: Git, changes: Mapping[str, _IndexChange]) -> None:
    """Update the copy of the user's index to the commit, in these entries alone."""
    lines = [f"{each.mode} {each.oid}\t{name}" for name, each in changes.items()]
    git("update-index", "-z", "--index-info", stdin=_joined(lines))
    present = _joined(name for name, each in changes.items() if each.mode != GONE)
    if present:
        # This only spares the user's next `git status` reading these files.
        words = ("add", "--refresh", "--pathspec-from-file=-", "--pathspec-file-nul")
        with contextlib.suppress(GitError):
            git(*words, stdin=present)


def _write_commit(git: Git, head: str, message: str) -> tuple[Git, str]:
    """Write the commit as the user, or as amem if git does not know who that is.

    Returns git with that name, and the commit's id.
    """
    # A partial clone lacks objects, and must not fetch them for this.
    tree = git("write-tree", "--missing-ok").strip()
    words = ("commit-tree", "--no-gpg-sign", *(("-p", head) if head else ()), "-F", "-", tree)
    text = message.encode("utf-8", "replace").replace(b"\0", b"")
    # Without this setting git would invent an address from the host's name.
    try:
        return git, git("-c", "user.useConfigOnly=true", *words, stdin=text).strip()
    except GitError:
        names = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), _OWN_NAME)
        addresses = dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), _OWN_ADDRESS)
        git = git.with_variables(**names, **addresses)
        return git, git(*words, stdin=text).strip()


class _UserIndex:
    """The user's index: read once, replaced only if it is still the one that was read."""

    def __init__(self, path: Path) -> None:
        self._path = Path(os.path.realpath(path))
        self._lock = self._path.with_name(self._path.name + ".lock")
        self._content: bytes | None = None

    def refuse_locked(self) -> None:
        """Raise `_Disturbed` if another git command has the index."""
        if os.path.lexists(self._lock):
            raise _Disturbed(f"another git command is at work, or one was killed ({self._lock})")

    def copy_to(self, target: Path) -> None:
        """Copy the index, if there is one yet.

        Its times are copied too: git needs them to know which entries it cannot trust.
        """
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(self._path, target)
            self._content = target.read_bytes()

    @contextlib.contextmanager
    def locked(self, new: Path) -> Iterator[Callable[[], None]]:
        """Hold git's lock of the index; what is yielded puts `new` in its place.

        It has to be called last: an exception in between leaves the index as it was.
        """

        def replace_index() -> None:
            move_over(self._lock, self._path)

        # A lock that the program leaves behind is removed by nobody else.
        with held():
            try:
                os.close(os.open(self._lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            except FileExistsError:
                self.refuse_locked()
                raise _Disturbed("another git command is at work") from None
            try:
                shutil.copy2(new, self._lock)
                now = self._path.read_bytes() if self._path.exists() else None
                if now != self._content:
                    raise _Disturbed("the index changed meanwhile")
                if now is not None:
                    shutil.copymode(self._path, self._lock)
                yield replace_index
            except BaseException:
                self._lock.unlink(missing_ok=True)
                raise


class _IndexChange(NamedTuple):
    """How an index differs from a tree in one file; a mode is `GONE` where the file is not."""

    old_mode: str
    mode: str
    oid: str


def _read_changes(git: Git, tree: str, folder: str = ".") -> dict[str, _IndexChange]:
    """The differences of an index from a tree in one folder, by path from the top."""
    words = ("diff-index", "--cached", "--raw", "-z", "--no-renames", tree, "--", folder)
    fields = _split(git(*words))
    changes = {}
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, mode, _, oid, _ = head.removeprefix(":").split(" ")
        changes[path] = _IndexChange(old_mode, mode, oid)
    return changes


class _Selection:
    """Sorts files, by path from the top, into those to commit and those left out, and why.

    Args:
        git: works on a copy of the user's index.
        tree: the parent of the new commit.
        paths: a folder's ends with `/`.
    """

    def __init__(self, git: Git, vault: _Vault, tree: str, paths: Iterable[str]) -> None:
        if git("ls-files", "-u", "-z"):
            raise GitError("there are unmerged files")
        self._git = git
        self._vault = vault
        self._staged = _read_changes(git, tree, vault.prefix or ".")
        self._modes = {path: change.old_mode for path, change in self._staged.items()}
        self._marked = set()
        for record in _split(git("ls-files", "-v", "-s", "-z", "--", vault.prefix or ".")):
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
                    return "it is reached through a link"
                if os.path.lexists(folder / ".git"):
                    return NESTED
            if parent in self._modes:
                return NESTED if self._modes[parent] == _SUBMODULE_MODE else TAKEN
        if on_disk and not stat.S_ISREG((self._vault.top / name).lstat().st_mode):
            return ODD_FILE
        if on_disk and name in self._folders:
            return TAKEN
        if name in self._staged:
            return "you have staged something of it"
        if name in self._marked:
            return "it is marked assume-unchanged or skip-worktree"
        return "" if self._modes.get(name, FILE_MODES[0]) in FILE_MODES else ODD_FILE

    def _ignored(self, names: Sequence[str]) -> dict[str, str]:
        # This command has no literal paths; `./` keeps a leading colon from meaning anything.
        git = self._git.with_variables(GIT_LITERAL_PATHSPECS="0")
        lines = _joined(f"./{name}" for name in names)
        out = git("check-ignore", "-z", "--stdin", stdin=lines, success=(0, 1))
        return {path.removeprefix("./"): "git ignores it" for path in _split(out)}

    def _filtered(self, names: Sequence[str]) -> dict[str, str]:
        """Files to which a filter driver is assigned, whether it is configured here or not.

        What such a filter hides or stores elsewhere must not enter the history as it is, and the
        filter itself is a program of the repository's.
        """
        fields = _split(self._git("check-attr", "-z", "--stdin", "filter", stdin=_joined(names)))
        return {
            name: f"it has the filter “{value}”, which amem does not run"
            for name, value in zip(fields[::3], fields[2::3], strict=True)
            if value not in ("unspecified", "unset")
        }


def _joined(names: Iterable[str]) -> bytes:
    """Paths as git reads them from its standard input."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _split(out: str) -> list[str]:
    """The parts of what git prints with `-z`."""
    return out.split("\0")[:-1]


def _parents(name: str) -> Iterator[str]:
    """The folders that contain a file, the innermost first."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
