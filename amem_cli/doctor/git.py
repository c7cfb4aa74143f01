"""Checks the git repository of a vault by reading its files; git itself is never run."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from amem_cli.doctor.finding import Finding
from amem_cli.git.state import common_folder, git_folder, unfinished_work, work_tree
from amem_cli.vault.template import ATTRIBUTES, IGNORED, extend_lines

# What each line of `.gitignore` is there for; another line may do the same.
_MEANT = {
    ".amem/index.db*": (".amem/index.db", ".amem/index.db-wal", ".amem/index.db-shm"),
    ".amem/*.lock": (".amem/write.lock", ".amem/work.lock", ".amem/watch.lock"),
    ".amem/intents/": (".amem/intents/0.json",),
}
_JOURNAL = ".amem/journal/2026-01-0.jsonl"
_SECTION = re.compile(r"\s*\[\s*([\w.-]+)(?:\s+\"[^\"]*\")?\s*\]")
_RUNS_CODE = re.compile(
    r"\s*(fsmonitor|hookspath|sshcommand|clean|smudge|process|textconv)\s*=\s*(.*)", re.IGNORECASE
)
_CODE_SECTIONS = frozenset({"core", "filter", "diff"})
_LARGEST_FILE = 200_000_000

# Folders with patterns, and what a vault's path begins with in each.
_Folders = Sequence[tuple[Path, str]]


def git_findings(root: Path, *, may_mend: bool) -> Iterator[Finding]:
    """What is wrong with the repository that the vault is in; nothing if it is in none."""
    top = work_tree(root)
    if top is None:
        return
    below = "" if root == top else f"{root.relative_to(top).as_posix()}/"
    folders = [(top, below), (root, "")]
    folder = git_folder(top / ".git")
    if folder is None:
        hint = "Mend the repository, or remove the file if there shall be none."
        yield Finding("git", str(top / ".git"), "does not lead to a repository", hint)
        return
    if _is_tracked(folder / "index", f"{below}.amem/index.db"):
        yield Finding(
            "git",
            ".amem/index.db",
            "is tracked by git, though it is only a copy and changes all the time",
            "git rm --cached .amem/index.db",
        )
    for name, lines in (
        (".gitignore", _missing_patterns(folders)),
        (".gitattributes", [] if _joins_journals(folders) else ATTRIBUTES),
    ):
        if lines:
            path = root / name
            yield Finding(
                "git",
                name,
                f"lacks {', '.join(lines)}",
                f"Add the line{'s' if len(lines) > 1 else ''} at its end.",
                mend=partial(_extend, path, lines) if may_mend and not path.is_symlink() else None,
            )
    unfinished = unfinished_work(folder)
    if unfinished:
        hint = "Finish or abort it (git status tells how), then run `amem index`."
        yield Finding("git", "", f"{unfinished} is not finished", hint)
    if _is_ignored(folders, _JOURNAL):
        yield Finding(
            "git",
            ".gitignore",
            "keeps the journal out of git, so other clones can neither explain nor undo a change",
            "Fine if this vault is used in one place only; else let git see .amem/journal.",
            severity="notice",
        )
    yield from _code_that_git_runs(common_folder(folder))


def _is_tracked(index: Path, path: str) -> bool:
    """Whether git's own index holds a path (versions 2 and 3 in full, 4 by its last name)."""
    try:
        data = index.read_bytes() if index.stat().st_size <= _LARGEST_FILE else b""
    except OSError:
        return False
    if data[:4] != b"DIRC":
        return False
    if int.from_bytes(data[4:8], "big") >= 4:
        return path.rpartition("/")[2].encode() + b"\0" in data
    name = os.fsencode(path)
    # Two bytes stand before a name: four flags, and its length in twelve bits.
    starts = ((flags << 12 | len(name)).to_bytes(2, "big") for flags in range(16))
    return len(name) < 0xFFF and any(start + name + b"\0" in data for start in starts)


def _missing_patterns(folders: _Folders) -> list[str]:
    return [
        line
        for line in IGNORED
        if not all(_is_ignored(folders, path) for path in _MEANT.get(line, (line,)))
    ]


def _joins_journals(folders: _Folders) -> bool:
    return any(
        "merge=union" in line.split()[1:] and _matches(line.split()[0], below + _JOURNAL)
        for folder, below in folders
        for line in _lines(folder / ".gitattributes")
    )


def _extend(path: Path, lines: Sequence[str]) -> str:
    extend_lines(path, tuple(lines))
    return f"Added to {path.name}: {', '.join(lines)}"


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]


def _is_ignored(folders: _Folders, path: str) -> bool:
    ignored = False
    for folder, below in folders:
        for pattern in _lines(folder / ".gitignore"):
            if _matches(pattern.removeprefix("!"), below + path):
                ignored = not pattern.startswith("!")
    return ignored


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern of git's names the path or one of the folders it lies in."""
    bare = pattern.removesuffix("/").removeprefix("**/")
    parts = path.split("/")
    if "/" not in bare.removeprefix("/") and not pattern.startswith("/"):
        return any(fnmatch.fnmatchcase(part, bare) for part in parts)
    bare = bare.removeprefix("/")
    depth = bare.count("/") + 1
    return fnmatch.fnmatchcase("/".join(parts[:depth]), bare)


def _code_that_git_runs(folder: Path) -> Iterator[Finding]:
    hooks = folder / "hooks"
    try:
        programs = [
            f"hooks/{path.name}"
            for path in sorted(hooks.iterdir())
            if path.suffix != ".sample" and path.is_file() and os.access(path, os.X_OK)
        ]
    except OSError:
        programs = []
    section = ""
    for line in _lines(folder / "config"):
        heading = _SECTION.match(line)
        section = heading[1].casefold() if heading else section
        setting = _RUNS_CODE.match(line)
        if setting and section in _CODE_SECTIONS and setting[2].strip() not in ("", "false"):
            programs.append(f"{section}.{setting[1]}")
    if programs:
        yield Finding(
            "git",
            str(folder),
            f"git runs programs here: {', '.join(programs)}",
            "Fine if they are yours; look at them if the vault came from somebody else. amem runs"
            " none of them.",
            severity="notice",
        )
