"""Checks the git repository that a vault is in, by asking git; no program of its settings runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from amem_cli.doctor.finding import Finding
from amem_cli.git.repository import GitError, open_git
from amem_cli.git.state import git_folder, unfinished_work, work_tree
from amem_cli.vault.template import ATTRIBUTES, IGNORED, extend_lines

# Files that each line of `.gitignore` is there for; other lines may serve them too.
_MEANT = dict(
    zip(
        IGNORED,
        (
            (".amem/index.db", ".amem/index.db-wal", ".amem/index.db-shm"),
            (".amem/write.lock", ".amem/work.lock", ".amem/watch.lock"),
            (".amem/intents/0.json",),
        ),
        strict=True,
    )
)
_INDEX = ".amem/index.db"
_JOURNAL = ".amem/journal/2026-01-0.jsonl"
_SECONDS = 10.0


def git_findings(root: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    """What is wrong with the repository that the vault is in; nothing if it is in none."""
    top = work_tree(root)
    if top is None:
        return
    folder = git_folder(top / ".git")
    if folder is None:
        hint = "Repair the repository, or remove .git if there should be none."
        yield Finding(str(top / ".git"), "does not lead to a repository", hint)
        return
    if unfinished := unfinished_work(folder):
        hint = "Finish or abort it (see git status), then run `amem index`."
        yield Finding("", f"{unfinished} is not finished", hint)
    wanted = [path for paths in _MEANT.values() for path in paths]
    try:
        git = open_git(root, environment, seconds=_SECONDS)
        # `check-ignore` takes no path as a literal one.
        git = replace(git, variables={**git.variables, "GIT_LITERAL_PATHSPECS": "0"})
        tracked = git("ls-files", "--", _INDEX)
        names = git("check-ignore", "--no-index", "--", *wanted, _JOURNAL, success=(0, 1))
        merged = git("check-attr", "merge", "--", _JOURNAL)
    except GitError:
        # Without git, or in a repository that it refuses, nothing is committed from here either.
        return
    if tracked:
        message = "is tracked by git, though it is only a copy and changes all the time"
        yield Finding(_INDEX, message, f"git rm --cached {_INDEX}")
    ignored = set(names.splitlines())
    missing = [line for line, paths in _MEANT.items() if not ignored.issuperset(paths)]
    attributes = [] if merged.rstrip().endswith(" union") else [*ATTRIBUTES]
    for name, lines in ((".gitignore", missing), (".gitattributes", attributes)):
        if lines:
            path = root / name
            message, hint = f"lacks {', '.join(lines)}", "Add this at its end."
            fix = None if path.is_symlink() else partial(_extend, path, lines)
            yield Finding(name, message, hint, fix=fix)
    if _JOURNAL in ignored:
        message = "excludes the journal, so other clones can neither explain nor undo a change"
        hint = "Fine if you use this vault in one place only; else let git track .amem/journal."
        yield Finding(".gitignore", message, hint, severity="notice")


def _extend(path: Path, lines: Sequence[str]) -> str:
    extend_lines(path, tuple(lines))
    return f"Added to {path.name}: {', '.join(lines)}"
