"""Commits named files of a vault beside whatever the user is doing in the repository.

The commit is made of git's plumbing on indexes in a temporary folder. Only at the end, under git's
own lock of the index, the branch moves, if it is still where it was, and the user's index is
replaced, if it is still the one that was read. So no step can be seen half done or has to be taken
back, and no hook, filter, signature or program of the repository is run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from amem_cli.adapters.git_entries import (
    FILE_MODES,
    Entry,
    Place,
    Selection,
    joined,
    read_difference,
)
from amem_cli.adapters.git_process import Answer, Git, GitError, open_git
from amem_cli.core.commit_port import CommitReport

SECONDS = 30.0
ATTEMPTS = 3
PAUSE_SECONDS = 0.15
OWN_IDENTITY = ("amem", "amem@localhost")

_IN_PROGRESS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a sequence of picks",
    "BISECT_LOG": "a bisect",
}
# These may be kept where no file shows them.
_REFS_IN_PROGRESS = ("CHERRY_PICK_HEAD", "REVERT_HEAD")

Describe = Callable[[frozenset[str]], str]


class _Disturbed(GitError):
    """Somebody else was at work in the repository; another attempt may go through."""


class GitRepository:
    """The repository that a vault lies in, if it lies in one.

    Args:
        root: the vault.
        environment: the variables that the program was started with.
        seconds: the longest that all calls of git for one commit may take.
    """

    def __init__(
        self, root: Path, environment: Mapping[str, str], *, seconds: float = SECONDS
    ) -> None:
        self._root = root
        self._environment = environment
        self._seconds = seconds

    def commit(self, paths: Sequence[str], describe: Describe) -> CommitReport:
        """Commit exactly these files as they are on disk; see `Repository`."""
        holders = (self._root, *self._root.parents)
        if not any(os.path.lexists(folder / ".git") for folder in holders):
            return CommitReport()
        try:
            git = open_git(self._root, self._environment, seconds=self._seconds)
            place = _locate(git)
            if place is None:
                return CommitReport()
            self._refuse_inside_git(place)
            return _repeated(git.within(place.top), place, paths, describe)
        except GitError as error:
            return CommitReport(skipped=str(error))
        except OSError as error:
            return CommitReport(skipped=f"{error.strerror or error}")

    def _refuse_inside_git(self, place: Place) -> None:
        """Refuse to move a branch on which a git command of the user's builds at this moment.

        Git holds no lock while it runs a hook or an editor, but tells them where it works.
        """
        folder = os.path.realpath(place.git_dir)
        git_dir = self._environment.get("GIT_DIR")
        index = self._environment.get("GIT_INDEX_FILE")
        if (git_dir and os.path.realpath(git_dir) == folder) or (
            index and os.path.realpath(Path(index).parent) == folder
        ):
            raise GitError("amem was started by a git command in this repository, as by a hook")


def _locate(git: Git) -> Place | None:
    """Where the vault lies in its repository; None where git knows of none."""
    answer = git.ask(
        "rev-parse",
        "--is-inside-work-tree",
        "--absolute-git-dir",
        "--show-toplevel",
        "--show-prefix",
    )
    if answer.code != 0:
        if answer.message.startswith("not a git repository (or any"):
            return None
        raise GitError(answer.message)
    lines = os.fsdecode(answer.out).split("\n")
    if len(lines) != 5 or lines[0] != "true":
        raise GitError("the vault does not lie in the work tree of its repository")
    return Place(Path(lines[1]), Path(lines[2]), lines[3])


def _repeated(git: Git, place: Place, paths: Sequence[str], describe: Describe) -> CommitReport:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _attempt(git, place, paths, describe)
        except _Disturbed:
            if attempt == ATTEMPTS:
                raise
            time.sleep(PAUSE_SECONDS * attempt)
    raise AssertionError("the last attempt returns or raises")


def _attempt(git: Git, place: Place, paths: Sequence[str], describe: Describe) -> CommitReport:
    index = _UserIndex(place.git_dir / "index")
    _refuse_unready(git, place.git_dir)
    index.refuse_locked()
    head = _commit_of(git.ask("rev-parse", "-q", "--verify", "HEAD^{commit}"))
    with tempfile.TemporaryDirectory(prefix="amem-git-") as folder:
        copy = Path(folder) / "index"
        index.copy_to(copy)
        theirs = git.without_filters(_filter_drivers(git)).with_index(copy)
        selection = Selection(theirs, place, head)
        selection.choose(place.prefix + path for path in paths)
        cut = len(place.prefix)
        left_out = {name[cut:]: reason for name, reason in selection.left_out.items()}
        ours = theirs.with_index(Path(folder) / "commit")
        tree, changes = _made_tree(ours, head, selection.chosen)
        message = describe(frozenset(name[cut:] for name in changes)) if changes else ""
        if not message:
            return CommitReport(left_out=left_out)
        _enter(theirs, changes, "0" * len(tree))
        author, commit = _made_commit(git, tree, head, message)
        _publish(author, place, index, copy, (head, commit, message))
    return CommitReport(commit, left_out=left_out)


def _refuse_unready(git: Git, git_dir: Path) -> None:
    """Refuse to commit where the next commit is one that the user is preparing.

    Raises:
        GitError: an operation is in progress, or no branch is checked out.
    """
    for name, what in _IN_PROGRESS.items():
        known_to_git = (
            name in _REFS_IN_PROGRESS and not git.ask("rev-parse", "-q", "--verify", name).code
        )
        if known_to_git or os.path.lexists(git_dir / name):
            raise GitError(f"{what} is in progress")
    branch = git.ask("symbolic-ref", "-q", "HEAD")
    if branch.code != 0 or not branch.out.startswith(b"refs/heads/"):
        raise GitError("no branch is checked out (detached HEAD)")


def _commit_of(answer: Answer) -> str:
    return answer.out.decode().strip() if answer.code == 0 else ""


def _filter_drivers(git: Git) -> list[str]:
    """Names of all filter drivers that are configured, so that they can be switched off."""
    answer = git.ask(
        "config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|smudge)$"
    )
    keys = os.fsdecode(answer.out).split("\0")[:-1]
    return list(dict.fromkeys(key[len("filter.") :].rpartition(".")[0] for key in keys))


def _made_tree(git: Git, head: str, chosen: Sequence[str]) -> tuple[str, dict[str, Entry | None]]:
    """The tree of the commit to be, and in what it differs from the last one.

    Git reads the files itself, so that line endings, encodings and modes are as `git add` would
    have them.
    """
    if not chosen:
        return "", {}
    if head:
        git("read-tree", head)
    git("update-index", "-z", "--add", "--remove", "--stdin", stdin=joined(chosen))
    tree = git("write-tree", "--missing-ok").decode().strip()
    changes = read_difference(git, head, tree)
    regular = all(entry is None or entry.mode in FILE_MODES for entry in changes.values())
    if not (changes.keys() <= set(chosen) and regular):
        raise _Disturbed("files changed their kind meanwhile")
    return tree, changes


def _enter(git: Git, changes: Mapping[str, Entry | None], nothing: str) -> None:
    """Bring the copy of the user's index up to the commit, in these entries alone.

    Args:
        nothing: the id of no object, as long as the repository's ids are.
    """
    lines = b""
    for name, entry in changes.items():
        state = f"{entry.mode} {entry.oid}" if entry else f"0 {nothing}"
        lines += f"{state}\t".encode() + os.fsencode(name) + b"\0"
    git("update-index", "-z", "--index-info", stdin=lines)
    kept = joined(name for name, entry in changes.items() if entry)
    if kept:
        # Only spares the user's next `git status` the reading of these files.
        words = ("add", "--refresh", "--pathspec-from-file=-", "--pathspec-file-nul")
        git.ask(*words, stdin=kept)


def _made_commit(git: Git, tree: str, head: str, message: str) -> tuple[Git, str]:
    """Write the commit as the user, or as amem where git does not know who that is."""
    parent = ("-p", head) if head else ()
    words = ("commit-tree", "--no-gpg-sign", *parent, "-F", "-", tree)
    text = message.encode("utf-8", "replace").replace(b"\0", b"")
    answer = git.ask("-c", "user.useConfigOnly=true", *words, stdin=text)
    if answer.code != 0:
        name, address = OWN_IDENTITY
        git = git.with_variables(
            GIT_AUTHOR_NAME=name,
            GIT_AUTHOR_EMAIL=address,
            GIT_COMMITTER_NAME=name,
            GIT_COMMITTER_EMAIL=address,
        )
        return git, git(*words, stdin=text).decode().strip()
    return git, _commit_of(answer)


def _publish(
    git: Git, place: Place, index: _UserIndex, new: Path, step: tuple[str, str, str]
) -> None:
    """Move the branch and put the new index in place, or neither."""
    head, commit, message = step
    moved = False
    try:
        with index.replaced_by(new):
            _refuse_unready(git, place.git_dir)
            reason = f"commit (amem): {message.splitlines()[0]}"
            before = head or "0" * len(commit)
            answer = git.ask("update-ref", "-m", reason, "HEAD", commit, before)
            if answer.code != 0:
                raise _Disturbed(answer.message)
            moved = True
    except OSError:
        if moved:
            back = ("HEAD", head, commit) if head else ("-d", "HEAD", commit)
            git.ask("update-ref", *back)
        raise


class _UserIndex:
    """The user's index: read once, replaced only if it is still the one that was read."""

    def __init__(self, path: Path) -> None:
        self._path = Path(os.path.realpath(path))
        self._lock = self._path.with_name(self._path.name + ".lock")
        self._content: bytes | None = None

    def refuse_locked(self) -> None:
        """Raise `_Disturbed` where another git command has the index."""
        if os.path.lexists(self._lock):
            raise _Disturbed(f"another git command is at work, or one was killed ({self._lock})")

    def copy_to(self, target: Path) -> None:
        """Copy the index with its times, by which git tells which entries it cannot trust."""
        try:
            with self._path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                self._content = stream.read()
        except FileNotFoundError:
            self._content = None
            return
        target.write_bytes(self._content)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))

    @contextlib.contextmanager
    def replaced_by(self, new: Path) -> Iterator[None]:
        """Hold git's lock of the index; at the end, `new` takes its place.

        An exception in between leaves the index as it was.

        Raises:
            _Disturbed: another git command has the index, or has changed it since.
            OSError: the index cannot be replaced.
        """
        with _signals_held():
            try:
                lock = os.open(self._lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                self.refuse_locked()
                raise _Disturbed("another git command is at work") from None
            try:
                with os.fdopen(lock, "wb") as stream:
                    stream.write(new.read_bytes())
                self._take_looks(new)
                if self._now() != self._content:
                    raise _Disturbed("the index changed meanwhile")
                yield
                self._lock.replace(self._path)
            except BaseException:
                self._lock.unlink(missing_ok=True)
                raise

    def _take_looks(self, new: Path) -> None:
        """Give the new index the mode of the old one and the times of its own entries."""
        if self._content is not None:
            self._lock.chmod(self._path.stat().st_mode & 0o7777)
        status = new.stat()
        os.utime(self._lock, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _now(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Let no signal end the program while it holds a lock that nobody else would remove."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
