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

# The purpose of each line of `.gitignore`; other lines may serve it too.
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

# Folders with patterns, and the prefix of the vault's paths in each.
_Folders = Sequence[tuple[Path, str]]


def git_findings(root: Path) -> Iterator[Finding]:
    """What is wrong with the repository that the vault is in; nothing if it is in none."""
    top = work_tree(root)
    if top is None:
        return
    below = "" if root == top else f"{root.relative_to(top).as_posix()}/"
    folders = [(top, below), (root, "")]
    folder = git_folder(top / ".git")
    if folder is None:
        hint = "Repair the repository, or remove .git if there should be none."
        yield Finding("git", str(top / ".git"), "does not lead to a repository", hint)
        return
    if _is_tracked(folder / "index", f"{below}.amem/index.db"):
        message = "is tracked by git, though it is only a copy and changes all the time"
        yield Finding("git", ".amem/index.db", message, "git rm --cached .amem/index.db")
    missing = [
        line
        for line in IGNORED
        if not all(_is_ignored(folders, path) for path in _MEANT.get(line, (line,)))
    ]
    attributes = [] if _joins_journals(folders) else list(ATTRIBUTES)
    for name, lines in ((".gitignore", missing), (".gitattributes", attributes)):
        if lines:
            path = root / name
            yield Finding(
                "git",
                name,
                f"lacks {', '.join(lines)}",
                f"Add the line{'s' if len(lines) > 1 else ''} at its end.",
                fix=None if path.is_symlink() else partial(_extend, path, lines),
            )
    unfinished = unfinished_work(folder)
    if unfinished:
        hint = "Finish or abort it (see git status), then run `amem index`."
        yield Finding("git", "", f"{unfinished} is not finished", hint)
    if _is_ignored(folders, _JOURNAL):
        message = "excludes the journal, so other clones can neither explain nor undo a change"
        hint = (
            "Fine if you use this vault in one place only; otherwise let git track .amem/journal."
        )
        yield Finding("git", ".gitignore", message, hint, severity="notice")
    shared = common_folder(folder)
    programs = [*_hooks(shared / "hooks"), *_configured_programs(shared / "config")]
    if programs:
        hint = "Fine if they are yours; check them if the vault is somebody else's. amem runs none."
        message = f"git runs programs here: {', '.join(programs)}"
        yield Finding("git", str(shared), message, hint, severity="notice")


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
    # Two bytes precede a name: four flags, and its length in twelve bits.
    starts = ((flags << 12 | len(name)).to_bytes(2, "big") for flags in range(16))
    return len(name) < 0xFFF and any(start + name + b"\0" in data for start in starts)


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


def _hooks(folder: Path) -> list[str]:
    try:
        return [
            f"hooks/{path.name}"
            for path in sorted(folder.iterdir())
            if path.suffix != ".sample" and path.is_file() and os.access(path, os.X_OK)
        ]
    except OSError:
        return []


def _configured_programs(config: Path) -> Iterator[str]:
    section = ""
    for line in _lines(config):
        heading = _SECTION.match(line)
        section = heading[1].casefold() if heading else section
        setting = _RUNS_CODE.match(line)
        if setting and section in _CODE_SECTIONS and setting[2].strip() not in ("", "false"):
            yield f"{section}.{setting[1]}"
