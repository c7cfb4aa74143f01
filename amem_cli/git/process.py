"""Runs git's plumbing commands, and never a program that a repository brings along."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from amem_cli.system.command_lines import find_program

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
# These override the repository's own settings, which may name programs to run.
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.safecrlf=false",
    "commit.gpgSign=false",
    "i18n.commitEncoding=UTF-8",
)
_OPTIONS = ("--no-pager", *(word for setting in _SETTINGS for word in ("-c", setting)))
_GRACE_SECONDS = 2.0


class GitError(Exception):
    """Git failed; the message is git's own, one line."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one folder; a call still running at `deadline` (by `time.monotonic`) is ended."""

    program: str
    folder: Path
    variables: Mapping[str, str]
    deadline: float

    def with_variables(self, **variables: str) -> Git:
        """The same git with more variables."""
        return replace(self, variables={**self.variables, **variables})

    def without_filters(self, drivers: Sequence[str]) -> Git:
        """The same git, in which the named filter drivers do nothing."""
        off = {"clean": "", "process": "", "smudge": "", "required": "false"}
        settings = [(f"filter.{name}.{key}", off[key]) for name in drivers for key in off]
        variables = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings):
            variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return self.with_variables(**variables)

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
            _end(process)
            raise GitError("git took too long") from None
        # On Ctrl+C too: git must not go on alone.
        except BaseException:
            _end(process)
            raise
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
        process.communicate(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _message(err: bytes) -> str:
    """The line of git's standard error that names the error."""
    lines = [line.strip() for line in os.fsdecode(err).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return (errors or lines or [""])[0].removeprefix("fatal: ").removeprefix("error: ")
