"""Checks who else may read or change the program's files, and whether a key lies among them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from amem_cli.doctor.finding import Finding
from amem_cli.language.safe_text import holds_secret

_SECRET_SETTING = re.compile(
    r"(?i)^[\s#]*[\"']?[\w.-]*(?:api[_-]?key|password|passwd|secret|token)[\"']?\s*="
    r"\s*[\"']?[^\s\"'#]"
)
_LONGEST_LINE = 100_000
_WRITTEN_FOLDERS = {
    ".amem/journal": "nothing that changes a note can be recorded",
    ".amem/intents": "no note can be changed",
    ".amem/review": "no proposal can wait",
    ".trash": "no note can be removed",
}
_WRITTEN_FILES = (".amem/write.lock", ".amem/index.db", ".amem/journal/*.jsonl")


def state_findings(root: Path) -> Iterator[Finding]:
    """Whether the vault's `.amem` is a folder of its own that only its owner can change."""
    state = root / ".amem"
    if state.is_symlink():
        yield Finding(
            "permissions",
            ".amem",
            "is a link, so amem would write outside of the vault",
            "Replace it by a folder of its own.",
        )
        return
    for path in _own_files(state):
        shown = path.relative_to(root).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            hint = "Replace it by a file of its own; amem follows no link out of the vault."
            yield Finding("permissions", shown, "is a link", hint)
        elif os.name == "posix" and mode & stat.S_IWOTH:
            yield Finding(
                "permissions",
                shown,
                "can be changed by every user of this machine",
                f"chmod o-w '{path}'",
            )


def folder_findings(root: Path, notes_dir: str) -> Iterator[Finding]:
    """Whether what amem writes to is there as folders, and may be written by the user.

    Args:
        notes_dir: where new notes go, relative to the vault.
    """
    for shown, what in {**_WRITTEN_FOLDERS, notes_dir: "no note can be added"}.items():
        path = root / shown
        if os.path.lexists(path) and not path.is_symlink() and not path.is_dir():
            hint = "Move it elsewhere; amem makes the folder when it needs one."
            yield Finding("files", shown, f"is no folder, so {what}", hint)
    places = [root, *(root / shown for shown in (".amem", notes_dir, *_WRITTEN_FOLDERS))]
    files = [path for name in _WRITTEN_FILES for path in sorted(root.glob(name))]
    closed = [
        path
        for path in dict.fromkeys((*places, *files))
        if not path.is_symlink()
        and (path.is_dir() or path in files)
        and not os.access(path, os.W_OK | (os.X_OK if path.is_dir() else os.R_OK))
    ]
    if closed:
        first = closed[0].relative_to(root).as_posix()
        more = f", nor {len(closed) - 1} more of the files and folders" if closed[1:] else ""
        yield Finding(
            "permissions",
            first if first != "." else str(root),
            f"cannot be changed by you{more}, so notes can be found and read, but not written",
            f"If it shall be writable: chmod -R u+rwX '{root}'; chown it first if it is not yours.",
        )


def user_findings(state: Path, settings_file: Path, *, may_mend: bool) -> Iterator[Finding]:
    """Whether the user's own state is private, and the user's settings cannot be changed by others.

    Args:
        state: where this machine's name, consents and logs of crashes are kept.
    """
    if os.name != "posix":
        return
    if state.is_dir() and not state.is_symlink() and _open_to_others(state):
        mine = all(path.lstat().st_uid == os.getuid() for path in (state, *_state_files(state)))
        yield Finding(
            "permissions",
            str(state),
            "holds what you chose on this machine, and other users can read it",
            f"chmod -R go-rwx '{state}'",
            mend=partial(_close, state) if may_mend and mine else None,
        )
    if not settings_file.is_file():
        return
    mode = settings_file.stat().st_mode
    if mode & stat.S_IWOTH:
        yield Finding(
            "permissions",
            str(settings_file),
            "can be changed by every user of this machine",
            f"chmod 600 '{settings_file}'",
        )
    elif mode & (stat.S_IRGRP | stat.S_IROTH) and any(_secret_lines(settings_file)):
        yield Finding(
            "permissions",
            str(settings_file),
            "holds what looks like a key, and other users can read it",
            f"chmod 600 '{settings_file}'; better, keep the key in AMEM_API_KEY.",
        )


def secret_findings(root: Path) -> Iterator[Finding]:
    """Keys and passwords in what is versioned with the vault; they are never shown."""
    state = root / ".amem"
    if state.is_symlink():
        return
    for path in _own_files(state):
        if path.is_symlink() or not path.is_file():
            continue
        for line in _secret_lines(path):
            yield Finding(
                "secrets",
                path.relative_to(root).as_posix(),
                "holds what looks like a key or a password, and it is versioned with the vault",
                "Revoke it where it came from, remove it here, and put the new one into"
                " AMEM_API_KEY.",
                line,
            )


def _own_files(state: Path) -> Iterator[Path]:
    """The folder, the settings and the journal: what others would change to mislead the program."""
    yield state
    for pattern in ("*.toml", "journal", "journal/*.jsonl", "intents"):
        yield from sorted(state.glob(pattern))


def _state_files(state: Path) -> list[Path]:
    return [path for path in state.rglob("*") if not path.is_symlink()]


def _open_to_others(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _close(state: Path) -> str:
    count = 0
    for path in (state, *_state_files(state)):
        wanted = 0o700 if path.is_dir() else 0o600
        if _open_to_others(path):
            path.chmod(wanted)
            count += 1
    return f"Made {state} private: folders 0700, files 0600 ({count} changed)."


def _secret_lines(path: Path) -> Iterator[int]:
    """Lines that hold a secret, 1-based; in settings also by the name of the setting."""
    is_settings = path.suffix == ".toml"
    try:
        lines = path.open(encoding="utf-8", errors="replace")
    except OSError:
        # The checks that need the file tell that it cannot be read.
        return
    with lines:
        for number, line in enumerate(lines, 1):
            text = line[:_LONGEST_LINE]
            if holds_secret(text) or (is_settings and _SECRET_SETTING.match(text)):
                yield number
