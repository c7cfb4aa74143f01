"""Checks amem's own files: whether they can be written, secrets, leftovers of cut writes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from amem_cli.doctor.finding import Finding
from amem_cli.errors import SettingsError
from amem_cli.language.safe_text import holds_secret
from amem_cli.vault.dir_handle import own_files
from amem_cli.vault.safe_write import is_abandoned

_SECRET_SETTING = re.compile(
    r"(?i)^[\s#]*[\"']?[\w.-]*(?:api[_-]?key|password|passwd|secret|token)[\"']?\s*="
    r"\s*[\"']?[^\s\"'#]"
)
_WRITTEN = (".amem", ".amem/journal", ".amem/intents", ".amem/review", ".amem/index.db", ".trash")


def place_findings(root: Path, notes_dir: str) -> Iterator[Finding]:
    """Whether amem can write where it has to."""
    if (root / ".amem").is_symlink():
        message = "is a link, so amem would write outside of the vault"
        yield Finding(".amem", message, "Replace it with a real folder.")
        return
    for shown in (".", *_WRITTEN, notes_dir):
        path, is_file = root / shown, shown.endswith(".db")
        if not path.exists():
            continue
        if not (is_file or path.is_dir()):
            hint = "Move it elsewhere; amem makes the folder when it needs one."
            message = "is no folder, so nothing can be saved in it"
            yield Finding(shown, message, hint, check="files")
        elif not os.access(path, os.W_OK | (os.R_OK if is_file else os.X_OK)):
            message = "cannot be changed by you, so notes can be read, but not written"
            hint = f"Make it writable: chmod -R u+rwX '{root}'; chown it first if it is not yours."
            yield Finding(shown if shown != "." else str(root), message, hint)
            return


def secret_findings(state: Path) -> Iterator[Finding]:
    """Keys and passwords in the vault's settings; they are never shown."""
    for path in own_files(state, "*.toml"):
        lines: list[str] = []
        # The check of the settings reports a file that cannot be read.
        with suppress(OSError):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            if holds_secret(line) or _SECRET_SETTING.match(line):
                message = "holds what looks like a key or a password, and is versioned with notes"
                hint = "Revoke it at its provider, remove it, and put the new one in AMEM_API_KEY."
                yield Finding(f"{state.name}/{path.name}", message, hint, number)


def leftover_findings(
    root: Path, temporary: Sequence[str], settle: Callable[[], object]
) -> Iterator[Finding]:
    """Temporary files and interrupted changes.

    Args:
        temporary: vault-relative paths of temporary files.
        settle: finishes interrupted changes and puts away what dead processes left.
    """
    for shown in temporary:
        path, is_left = root / shown, False
        with suppress(OSError):
            is_left = is_abandoned(path.name, path.lstat().st_mtime_ns, time.time_ns())
        if is_left:
            hint = "It may hold somebody's last save; `amem doctor --fix` moves it to .trash/."
            fix = partial(_settled, path, settle)
            yield Finding(shown, "was left by an interrupted write", hint, fix=fix)
        else:
            message = "is being written at the moment, or was left by an interrupted write"
            hint = "amem moves it away once no process can be writing it."
            yield Finding(shown, message, hint, severity="notice")
    for path in own_files(root / ".amem/intents", "*.json"):
        message = "is an interrupted change"
        hint = "The next command finishes it, or reverts it if a note was edited since."
        if not path.stat().st_size:
            message, hint = "is left of a change that is complete", "The next command deletes it."
        fix = partial(_settled, path, settle)
        yield Finding(path.relative_to(root).as_posix(), message, hint, fix=fix)
    for path in own_files(root / ".amem/intents", "*.unreadable"):
        message = "is an interrupted change that cannot be read, so it was not made"
        hint = "Look at your newest notes, then delete it."
        yield Finding(path.relative_to(root).as_posix(), message, hint)


def _settled(path: Path, settle: Callable[[], object]) -> str:
    settle()
    if path.exists() or path.with_suffix(".unreadable").exists():
        raise SettingsError("it stays", hint="Look at it and at your newest notes, then delete it.")
    return "Finished, reverted or moved to .trash/, as the next command would have done."
