"""Checks who else may read or change the program's files, and whether a key lies among them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from amem_cli.core.finding import Finding
from amem_cli.core.redaction import holds_secret

_SECRET_SETTING = re.compile(
    r"(?i)^[\s#]*[\"']?[\w.-]*(?:api[_-]?key|password|passwd|secret|token)[\"']?\s*="
    r"\s*[\"']?[^\s\"'#]"
)
_LONGEST_LINE = 100_000


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
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            text = line[:_LONGEST_LINE]
            if holds_secret(text) or (is_settings and _SECRET_SETTING.match(text)):
                yield number
