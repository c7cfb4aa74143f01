"""Checks the git repository of a vault by reading its files; git itself is never run."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from amem_cli.adapters.git_state import (
    checked_out,
    common_folder,
    git_folder,
    unfinished_work,
    work_tree,
)
from amem_cli.adapters.vault_template import ATTRIBUTES, IGNORED, extend_lines
from amem_cli.core.finding import Finding

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


def git_findings(root: Path, *, may_mend: bool) -> Iterator[Finding]:
    """What is wrong with the repository that the vault is in; nothing where it is in none."""
    top = work_tree(root)
    if top is None:
        return
    folder = git_folder(top / ".git")
    if folder is None or not checked_out(folder):
        hint = "Mend the repository, or remove the file if there shall be none."
        yield Finding("git", str(top / ".git"), "does not lead to a repository", hint)
        return
    yield from _tracked_index(folder, root.relative_to(top).as_posix())
    yield from _missing_lines(root, top, may_mend=may_mend)
    unfinished = unfinished_work(folder)
    if unfinished:
        hint = "Finish or abort it (git status tells how), then run `amem index`."
        yield Finding("git", "", f"{unfinished} is not finished", hint)
    below = root.relative_to(top).as_posix()
    if _is_ignored(root, top, below, _JOURNAL):
        yield Finding(
            "git",
            ".gitignore",
            "keeps the journal out of git, so other clones can neither explain nor undo a change",
            "Fine if this vault is used in one place only; else let git see .amem/journal.",
            severity="notice",
        )
    yield from _code_that_git_runs(common_folder(folder))


def _tracked_index(folder: Path, below: str) -> Iterator[Finding]:
    prefix = "" if below == "." else f"{below}/"
    if _is_tracked(folder / "index", f"{prefix}.amem/index.db"):
        yield Finding(
            "git",
            ".amem/index.db",
            "is tracked by git, though it is only a copy and changes all the time",
            "git rm --cached .amem/index.db",
        )


def _is_tracked(index: Path, path: str) -> bool:
    """Whether git's own index holds a path (versions 2 and 3 in full, 4 by its last name)."""
    try:
        if index.stat().st_size > _LARGEST_FILE:
            return False
        data = index.read_bytes()
    except OSError:
        return False
    if data[:4] != b"DIRC":
        return False
    if int.from_bytes(data[4:8], "big") >= 4:
        return path.rpartition("/")[2].encode() + b"\0" in data
    name = os.fsencode(path)
    place = data.find(name + b"\0")
    while place >= 0:
        # Two bytes of flags stand before a name; their low twelve bits are its length.
        if int.from_bytes(data[place - 2 : place], "big") & 0xFFF == len(name):
            return True
        place = data.find(name + b"\0", place + 1)
    return False


def _missing_lines(root: Path, top: Path, *, may_mend: bool) -> Iterator[Finding]:
    below = root.relative_to(top).as_posix()
    missing = [
        line
        for line in IGNORED
        if not all(_is_ignored(root, top, below, path) for path in _MEANT.get(line, (line,)))
    ]
    merged = any(
        "merge=union" in line.split()[1:] and _matches(line.split()[0], path)
        for folder, path in ((root, _JOURNAL), (top, _below(below, _JOURNAL)))
        for line in _lines(folder / ".gitattributes")
    )
    for name, lines in ((".gitignore", missing), (".gitattributes", [] if merged else ATTRIBUTES)):
        if lines:
            path = root / name
            yield Finding(
                "git",
                name,
                f"lacks {', '.join(lines)}",
                f"Add the line{'s' if len(lines) > 1 else ''} at its end.",
                mend=partial(_extend, path, lines) if may_mend and not path.is_symlink() else None,
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


def _is_ignored(root: Path, top: Path, below: str, path: str) -> bool:
    ignored = False
    for folder, place in ((top, _below(below, path)), (root, path)):
        for pattern in _lines(folder / ".gitignore"):
            if _matches(pattern.removeprefix("!"), place):
                ignored = not pattern.startswith("!")
    return ignored


def _below(folder: str, path: str) -> str:
    return path if folder == "." else f"{folder}/{path}"


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
        found = [
            f"hooks/{path.name}"
            for path in sorted(hooks.iterdir())
            if path.suffix != ".sample" and path.is_file() and os.access(path, os.X_OK)
        ]
    except OSError:
        found = []
    section = ""
    for line in _lines(folder / "config"):
        heading = _SECTION.match(line)
        section = heading[1].casefold() if heading else section
        setting = _RUNS_CODE.match(line)
        if setting and section in _CODE_SECTIONS and setting[2].strip() not in ("", "false"):
            found.append(f"{section}.{setting[1]}")
    if found:
        yield Finding(
            "git",
            str(folder),
            f"git runs programs here: {', '.join(found)}",
            "Fine if they are yours; look at them if the vault came from somebody else. amem runs"
            " none of them.",
            severity="notice",
        )
