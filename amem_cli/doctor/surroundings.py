"""Checks what surrounds a vault: SQLite, the disk, the file system, watch limits, and git.

The git repository is checked by reading its files; git itself is never run.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from amem_cli.data import table
from amem_cli.doctor.finding import Finding
from amem_cli.git.state import common_folder, git_folder, unfinished_work, work_tree
from amem_cli.system import inotify
from amem_cli.vault.template import ATTRIBUTES, IGNORED, extend_lines

# The first version without the WAL-reset bug, which can corrupt a database that two processes use.
SAFE_SQLITE = (3, 51, 3)
LEAST_FREE_BYTES = 100 * 1024 * 1024

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


def sqlite_findings(version: str = "") -> Iterator[Finding]:
    """Whether a version of SQLite (that of apsw if empty) is safe for an index."""
    if not version:
        import apsw

        version = apsw.sqlite_lib_version()
    numbers = tuple(int(part) for part in version.split(".")[:3])
    if numbers < SAFE_SQLITE:
        message = f"SQLite {version} can corrupt an index that two processes use"
        hint = 'Install a newer one: pip install --upgrade "apsw>=3.51.3"'
        yield Finding("", message, hint)


def disk_findings(root: Path, free_bytes: int | None = None) -> Iterator[Finding]:
    """Whether there is room for new notes and the index."""
    free = shutil.disk_usage(root).free if free_bytes is None else free_bytes
    if free < LEAST_FREE_BYTES:
        message = f"only {free / 1024**2:.0f} MB are free on the vault's disk"
        hint = "Free some space; a full disk stops every change, but loses none."
        yield Finding("", message, hint)


def place_findings(root: Path, mounts: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Whether the vault is on a network drive or in a synced folder, a risk for the index.

    Args:
        mounts: types of file systems by mount point; those of this machine if None.
    """
    try:
        str(root).encode()
    except UnicodeEncodeError:
        shown = str(root).encode("utf-8", "backslashreplace").decode()
        message = f"the vault's path is not UTF-8, so it cannot have an index: {shown}"
        yield Finding("", message, "Rename the folder.")
    if mounts is None:
        import psutil

        # Of two mounts at one point the later one hides the other.
        mounts = {each.mountpoint: each.fstype for each in psutil.disk_partitions(all=True)}
    kind = next((mounts[str(each)] for each in (root, *root.parents) if str(each) in mounts), "")
    places = table("places.toml")
    if kind in places["network"] or (kind.startswith("fuse") and kind not in places["local_fuse"]):
        message = f"the vault is on a file system of another machine or program ({kind})"
        hint = "Use it from one machine at a time; changes made elsewhere are seen late."
        yield Finding("", message, hint, severity="notice")
    # Some add to the name, as in `Dropbox (Personal)` and `OneDrive - Company`.
    names = [part.casefold().split(" (")[0].split(" - ")[0] for part in root.parts]
    synced = next((places["synced"][name] for name in names if name in places["synced"]), "")
    if synced:
        message = f"the vault is in a folder that {synced} synchronises"
        hint = "Exclude .amem/index.db* there if you can; the notes and the journal may be synced."
        yield Finding("", message, hint, severity="notice")


def watch_findings(folders: int, proc: Path = inotify.PROC) -> Iterator[Finding]:
    """Whether the system lets `amem watch` watch all folders of the vault."""
    most = inotify.limit("max_user_watches", proc)
    if most is not None and folders >= most:
        message = f"the vault has {folders} folders, but the system watches at most {most}"
        hint = f"sudo sysctl fs.inotify.max_user_watches={max(2 * folders, 524_288)}"
        yield Finding("", message, hint)
    instances = inotify.limit("max_user_instances", proc)
    if instances is not None and (used := inotify.instances_in_use(proc)) >= instances:
        message = f"{used} of your programs watch folders, but the system allows only {instances}"
        hint = f"sudo sysctl fs.inotify.max_user_instances={max(2 * instances, 512)}"
        yield Finding("", message, hint)


def git_findings(root: Path) -> Iterator[Finding]:
    """What is wrong with the repository that the vault is in; nothing if it is in none."""
    top = work_tree(root)
    if top is None:
        return
    below = "" if root == top else f"{root.relative_to(top).as_posix()}/"
    # As git does, patterns nearer to the file come last and win.
    folders = [(top, below), (root, "")]
    folder = git_folder(top / ".git")
    if folder is None:
        hint = "Repair the repository, or remove .git if there should be none."
        yield Finding(str(top / ".git"), "does not lead to a repository", hint)
        return
    if _is_tracked(folder / "index", f"{below}.amem/index.db"):
        message = "is tracked by git, though it is only a copy and changes all the time"
        yield Finding(".amem/index.db", message, "git rm --cached .amem/index.db")
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
                name,
                f"lacks {', '.join(lines)}",
                f"Add the line{'s' if len(lines) > 1 else ''} at its end.",
                fix=None if path.is_symlink() else partial(_extend, path, lines),
            )
    unfinished = unfinished_work(folder)
    if unfinished:
        hint = "Finish or abort it (see git status), then run `amem index`."
        yield Finding("", f"{unfinished} is not finished", hint)
    if _is_ignored(folders, _JOURNAL):
        message = "excludes the journal, so other clones can neither explain nor undo a change"
        hint = "Fine if you use this vault in one place only; else let git track .amem/journal."
        yield Finding(".gitignore", message, hint, severity="notice")
    shared = common_folder(folder)
    programs = [*_hooks(shared / "hooks"), *_configured_programs(shared / "config")]
    if programs:
        hint = "Fine if they are yours; check them if the vault is somebody else's. amem runs none."
        message = f"git runs programs here: {', '.join(programs)}"
        yield Finding(str(shared), message, hint, severity="notice")


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
    # Searching bytes is enough; parsing would have to know all of git's extensions.
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
