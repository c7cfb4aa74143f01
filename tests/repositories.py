"""Git repositories for tests: real ones, whose people have settings of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-rewrite",
    "reference-transaction",
    "post-index-change",
    "pre-auto-gc",
)


@dataclass
class TestRepository:
    """A repository and the person who works in it.

    Attributes:
        top: its work tree.
        environment: what every git of this person is started with.
    """

    __test__ = False
    top: Path
    environment: dict[str, str] = field(default_factory=dict)

    def git(self, *words: str, stdin: bytes = b"") -> str:
        """Run git as the person does; returns what it prints."""
        done = subprocess.run(
            ["git", *words], cwd=self.top, env=self.environment, input=stdin, capture_output=True
        )
        assert done.returncode == 0, (words, done.stderr)
        return os.fsdecode(done.stdout)

    def fails(self, *words: str) -> None:
        """Run git where it is to stop, as at a conflict."""
        done = subprocess.run(
            ["git", *words], cwd=self.top, env=self.environment, capture_output=True
        )
        assert done.returncode != 0, words

    def at(self, top: Path) -> TestRepository:
        """The same person in another work tree."""
        return replace(self, top=top)

    def write(self, path: str, content: str | bytes) -> Path:
        """Write a file as an editor would."""
        full = self.top / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(content if isinstance(content, bytes) else content.encode())
        return full

    def save(self, *paths: str, message: str = "by hand") -> str:
        """Commit files as the person does."""
        self.git("add", "--", *paths)
        self.git("commit", "-q", "-m", message)
        return self.head()

    def head(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD").strip()

    def status(self) -> list[str]:
        """What differs from the last commit, in git's short form."""
        return [line for line in self.git("status", "--porcelain", "-z").split("\0") if line]

    def changed(self, commit: str = "HEAD") -> dict[str, str]:
        """What a commit did, by path: A, M or D."""
        words = ("diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-status", commit)
        fields = self.git(*words).split("\0")[:-1]
        return dict(zip(fields[1::2], fields[::2], strict=True))

    def content(self, path: str, commit: str = "HEAD") -> bytes:
        """A file as a commit holds it."""
        return os.fsencode(self.git("cat-file", "blob", f"{commit}:{path}"))

    def message(self) -> str:
        """The last commit's message."""
        return self.git("log", "-1", "--format=%B").strip("\n")

    def mark(self, name: str, marks: Path, then: str = "exit 0") -> Path:
        """A program that leaves a mark when it is run."""
        program = marks / f"{name}-program"
        program.write_text(f"#!/bin/sh\ntouch '{marks / name}.ran'\n{then}\n")
        program.chmod(0o755)
        return program


def person(home: Path, *, name: str = "Robin", **variables: str) -> dict[str, str]:
    """The environment of somebody whose settings of git lie in `home`."""
    home.mkdir(parents=True, exist_ok=True)
    settings = "[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n"
    if name:
        settings += f"[user]\n\tname = {name}\n\temail = {name.lower()}@example.org\n"
    (home / ".gitconfig").write_text(settings)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {
        **kept,
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        **variables,
    }


def new_repository(top: Path, environment: dict[str, str], *options: str) -> TestRepository:
    """An empty repository."""
    top.mkdir(parents=True, exist_ok=True)
    repository = TestRepository(top, environment)
    repository.git("init", "-q", *options)
    return repository


def wrapped_git(folder: Path, script: str) -> str:
    """A path on which `git` is a shell script; `$git` in it is the real one.

    Returns:
        The value for PATH.
    """
    real = shutil.which("git")
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "git"
    program.write_text(f'#!/bin/sh\ngit={real}\n{script}\nexec $git "$@"\n')
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
