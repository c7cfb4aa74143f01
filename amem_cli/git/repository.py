"""Commits named files of a vault, and leaves the rest of the user's work in the repository alone.

Git itself commits the files (`git commit --only`), so what the user has staged of others stays
staged. No hook, filter, signature or program that the repository brings along is run.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from amem_cli.git.state import unfinished_work
from amem_cli.system.command_lines import find_program

SECONDS = 30.0
ATTEMPTS = 3
PAUSE_SECONDS = 0.15
GRACE_SECONDS = 2.0

# These name the user and their settings. Every other variable of git's is dropped: inside a hook,
# they lead to the repository and the index of the commit in progress.
_PASSED_VARIABLES = frozenset(
    {
        "GIT_AUTHOR_EMAIL",
        "GIT_AUTHOR_NAME",
        "GIT_CEILING_DIRECTORIES",
        "GIT_COMMITTER_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    }
)
_OWN_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone must not fetch what it lacks
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_OWN_IDENTITY = ("-c", "user.name=amem", "-c", "user.email=amem@localhost")
# These override the repository's own settings, which may name programs to run.
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.safecrlf=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "i18n.commitEncoding=UTF-8",
    "maintenance.auto=false",
)
_OPTIONS = ("--no-pager", *(word for setting in _SETTINGS for word in ("-c", setting)))
_NAMED_IN_INPUT = ("--pathspec-from-file=-", "--pathspec-file-nul")

_ELSEWHERE = "git ignores it, or it is no file of this repository"

Describe = Callable[[frozenset[str]], str]


class GitError(Exception):
    """Git failed; the message is git's own, one line."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one folder; a call still running at `deadline` (by `time.monotonic`) is ended."""

    program: str
    folder: Path
    variables: Mapping[str, str]
    deadline: float

    def __call__(self, *words: str, stdin: bytes = b"", success: Collection[int] = (0,)) -> str:
        """Run one command; returns its standard output.

        Raises `GitError` if it took too long, or its exit status is none of `success`.
        """
        try:
            process = subprocess.Popen(
                [self.program, *_OPTIONS, *words],
                cwd=self.folder,
                env=dict(self.variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror}") from error
        try:
            left = max(self.deadline - time.monotonic(), 0.0)
            out, err = process.communicate(stdin, timeout=left)
        except subprocess.TimeoutExpired:
            raise GitError("git took too long") from None
        finally:
            # On Ctrl+C too: git must not go on alone.
            if process.returncode is None:
                _end(process)
        if process.returncode not in success:
            raise GitError(_message(err) or f"git {words[0]} failed")
        return os.fsdecode(out)


def open_git(folder: Path, environment: Mapping[str, str], *, seconds: float) -> Git:
    """Git for calls in a folder, which together may take `seconds`."""
    program = find_program("git", environment.get("PATH"))
    # A program that a shared folder brings along is not the user's git.
    if program is None or Path(program).absolute().is_relative_to(folder):
        raise GitError("git is not installed")
    variables = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") or name in _PASSED_VARIABLES
    }
    deadline = time.monotonic() + seconds
    return Git(str(Path(program).absolute()), folder, {**variables, **_OWN_VARIABLES}, deadline)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git in a way that lets it remove its lock files."""
    process.terminate()
    try:
        process.communicate(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _message(err: bytes) -> str:
    """The line of git's standard error that names the error."""
    lines = [line.strip() for line in os.fsdecode(err).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return (errors or lines or [""])[0].removeprefix("fatal: ").removeprefix("error: ")


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
        place = _locate(git)
        if place is None:
            return CommitReport()
        git_dir, top, prefix = place
        _refuse_inside_git(git_dir, environment)
        if unfinished := unfinished_work(git_dir):
            raise GitError(f"{unfinished} is in progress")
        if not git("symbolic-ref", "-q", "HEAD", success=(0, 1)).startswith("refs/heads/"):
            raise GitError("no branch is checked out (detached HEAD)")
        git = _without_filters(replace(git, folder=top))
        choice = _Choice(git, top, prefix, paths)
        left_out = {path[len(prefix) :]: why for path, why in choice.left_out.items()}
        changed = frozenset(path[len(prefix) :] for path in (*choice.known, *choice.new))
        message = describe(changed) if changed else ""
        commit = _commit(git, choice, message) if message else ""
        return CommitReport(commit, left_out=left_out)
    except GitError as error:
        return CommitReport(skipped=str(error))
    except OSError as error:
        return CommitReport(skipped=f"{error.strerror or error}")


def _locate(git: Git) -> tuple[Path, Path, str] | None:
    """Git's own folder, the work tree, and the path in it to the vault; None if git finds none."""
    wanted = ("--is-inside-work-tree", "--absolute-git-dir", "--show-toplevel", "--show-prefix")
    try:
        lines = git("rev-parse", *wanted).split("\n")
    except GitError as error:
        if str(error).startswith("not a git repository (or any"):
            return None
        raise
    if len(lines) != 5 or lines[0] != "true":
        raise GitError("the vault is not in the work tree of its repository")
    return Path(lines[1]), Path(lines[2]), lines[3]


def _refuse_inside_git(git_dir: Path, environment: Mapping[str, str]) -> None:
    """Refuse to move a branch while a git command of the user's is committing to it.

    Git holds no lock while it runs a hook or an editor, but names its folder in their variables.
    """
    index = environment.get("GIT_INDEX_FILE")
    named = (environment.get("GIT_DIR"), Path(index).parent if index else None)
    if any(folder and Path(folder).resolve() == git_dir.resolve() for folder in named):
        raise GitError("amem was started by a git command in this repository, as by a hook")


def _without_filters(git: Git) -> Git:
    driver = r"^filter\..*\.(clean|process|smudge)$"
    keys = _split(git("config", "-z", "--name-only", "--get-regexp", driver, success=(0, 1)))
    drivers = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    off = {"clean": "", "process": "", "smudge": "", "required": "false"}
    settings = [(f"{name}.{key}", off[key]) for name in drivers for key in off]
    variables = {**git.variables, "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return replace(git, variables=variables)


class _Choice:
    """Sorts files, by path from the top, into those to commit and those left out, and why."""

    def __init__(self, git: Git, top: Path, prefix: str, paths: Iterable[str]) -> None:
        self._top = top
        known = _split(git("ls-files", "-v", "-z", "--", prefix or "."))
        self._flags = {record[2:]: record[0] for record in known}
        self._staged: set[str] = set()
        changed: dict[str, str] = {}
        words = ("--porcelain", "-z", "--no-renames", "-uall", "--ignore-submodules=all")
        for record in _split(git("status", *words, "--", prefix or ".")):
            state, path = record[:2], record[3:]
            if "U" in state or state in ("AA", "DD"):
                raise GitError("there are unmerged files")
            changed[path] = state
            # With `git add -N`, the second column has the A.
            if state[0] not in " ?" or state[1] == "A":
                self._staged.add(path)
        named: dict[str, None] = {}
        for path in (prefix + path for path in paths):
            below = (
                [each for each in changed if each.startswith(path)] if path[-1:] == "/" else [path]
            )
            named |= dict.fromkeys(each for each in below if each[len(path) :][:1] != ".")
        self.left_out = {path: why for path in named if (why := self._reason(path, changed))}
        chosen = [path for path in named if path in changed and path not in self.left_out]
        present = [path for path in chosen if "D" not in changed[path]]
        self.left_out |= _filtered(git, present)
        chosen = [path for path in chosen if path not in self.left_out]
        self.known = [path for path in chosen if path in self._flags]
        self.new = [path for path in chosen if path not in self._flags]

    def _reason(self, path: str, changed: Collection[str]) -> str:
        """Why a file is left out, by its kind and what the user did with it; empty if it is not."""
        if path in self._staged:
            return "you have staged something of it"
        if self._flags.get(path, "H") != "H":
            return "it is marked assume-unchanged or skip-worktree"
        # A submodule, or a file that the folder took the place of.
        if any(str(parent) in self._flags for parent in PurePosixPath(path).parents):
            return _ELSEWHERE
        place = self._top / path
        if not os.path.lexists(place):
            return ""
        is_file = stat.S_ISREG(place.lstat().st_mode)
        return "" if is_file and (path in self._flags or path in changed) else _ELSEWHERE


def _filtered(git: Git, paths: Sequence[str]) -> dict[str, str]:
    """Files to which a filter driver is assigned, whether it is configured here or not.

    What such a filter hides or stores elsewhere must not enter the history as it is, and the filter
    itself is a program of the repository's.
    """
    fields = _split(git("check-attr", "-z", "--stdin", "filter", stdin=_joined(paths)))
    return {
        path: f"it has the filter “{value}”, which amem does not run"
        for path, value in zip(fields[::3], fields[2::3], strict=True)
        if value not in ("unspecified", "unset")
    }


def _commit(git: Git, choice: _Choice, message: str) -> str:
    """Commit as the user, or as amem if git does not know who that is; gives the commit's id."""
    identity: tuple[str, ...] = ()
    try:
        # Without this setting git would invent an address from the host's name.
        for who in ("AUTHOR", "COMMITTER"):
            git("-c", "user.useConfigOnly=true", "var", f"GIT_{who}_IDENT")
    except GitError:
        identity = _OWN_IDENTITY
    new = _joined(choice.new)
    words = (*identity, "commit", "--only", "--quiet", "--no-verify", "--cleanup=verbatim")
    with tempfile.TemporaryDirectory(prefix="amem-git-") as folder:
        text = Path(folder) / "message"
        text.write_bytes(message.encode("utf-8", "replace").replace(b"\0", b""))
        try:
            if new:
                # Git commits by name only what it knows.
                _locking(git, "add", "--intent-to-add", *_NAMED_IN_INPUT, stdin=new)
            stdin = _joined((*choice.known, *choice.new))
            _locking(git, *words, "-F", str(text), *_NAMED_IN_INPUT, stdin=stdin)
        except BaseException:
            git = replace(git, deadline=time.monotonic() + GRACE_SECONDS)
            if new:
                with contextlib.suppress(GitError):
                    _locking(git, "update-index", "--force-remove", "-z", "--stdin", stdin=new)
            raise
    return git("rev-parse", "HEAD").strip()


def _locking(git: Git, *words: str, stdin: bytes) -> None:
    """Run a command that locks the index, which somebody else's git may hold for a moment."""
    reason = ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            git(*words, stdin=stdin)
            return
        except GitError as error:
            reason = str(error)
            if "index.lock" not in reason:
                raise
        time.sleep(PAUSE_SECONDS * attempt)
    raise GitError(f"another git command is at work, or one was killed ({reason})")


def _joined(names: Iterable[str]) -> bytes:
    """Paths as git reads them from its standard input."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _split(out: str) -> list[str]:
    """The parts of what git prints with `-z`."""
    return out.split("\0")[:-1]
