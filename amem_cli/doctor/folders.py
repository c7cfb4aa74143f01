"""Checks amem's own files: permissions, secrets, and leftovers of interrupted writes."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from amem_cli.doctor.finding import Finding, Fix
from amem_cli.errors import SettingsError
from amem_cli.language.safe_text import holds_secret
from amem_cli.notes.names import conflict_copy
from amem_cli.system.processes import user_id
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.folder import NOTE_SUFFIX
from amem_cli.vault.safe_write import TEMPORARY_PREFIX, is_abandoned

_SECRET_SETTING = re.compile(
    r"(?i)^[\s#]*[\"']?[\w.-]*(?:api[_-]?key|password|passwd|secret|token)[\"']?\s*="
    r"\s*[\"']?[^\s\"'#]"
)
_LONGEST_LINE = 100_000
_EVERY_USER = "can be changed by every user of this machine"
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
        message = "is a link, so amem would write outside of the vault"
        yield Finding(".amem", message, "Replace it with a real folder.")
        return
    for path in _own_files(state):
        shown = path.relative_to(root).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            hint = "Replace it with a real file; amem follows no link out of the vault."
            yield Finding(shown, "is a link", hint)
        elif os.name == "posix" and mode & stat.S_IWOTH:
            yield Finding(shown, _EVERY_USER, f"chmod o-w '{path}'")


def blocked_findings(root: Path, notes_dir: str) -> Iterator[Finding]:
    """Files in the place of folders that amem makes."""
    for shown, what in {**_WRITTEN_FOLDERS, notes_dir: "no note can be added"}.items():
        path = root / shown
        if os.path.lexists(path) and not path.is_symlink() and not path.is_dir():
            hint = "Move it elsewhere; amem makes the folder when it needs one."
            yield Finding(shown, f"is no folder, so {what}", hint)


def writable_findings(root: Path, notes_dir: str) -> Iterator[Finding]:
    """Whether the user may write to the folders and files that amem writes to."""
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
        more = f", nor can {len(closed) - 1} more files and folders" if closed[1:] else ""
        message = f"cannot be changed by you{more}, so notes can be found and read, but not written"
        hint = f"To make it writable: chmod -R u+rwX '{root}'; chown it first if it is not yours."
        yield Finding(first if first != "." else str(root), message, hint)


def user_findings(state: Path, settings_file: Path) -> Iterator[Finding]:
    """Whether the user's own state is private, and nobody else can change the user's settings."""
    if os.name != "posix":
        return
    files = [path for path in (state, *state.rglob("*")) if not path.is_symlink()]
    if state.is_dir() and not state.is_symlink() and _open_to_others(state):
        is_mine = all(path.lstat().st_uid == user_id() for path in files)
        message = "holds your choices on this machine, and other users can read it"
        fix = partial(_make_private, files) if is_mine else None
        yield Finding(str(state), message, f"chmod -R go-rwx '{state}'", fix=fix)
    if not settings_file.is_file():
        return
    mode = settings_file.stat().st_mode
    chmod = f"chmod 600 '{settings_file}'"
    if mode & stat.S_IWOTH:
        yield Finding(str(settings_file), _EVERY_USER, chmod)
    elif mode & (stat.S_IRGRP | stat.S_IROTH) and any(_secret_lines(settings_file)):
        message = "holds what looks like a key, and other users can read it"
        hint = f"{chmod}; better, keep the key in AMEM_API_KEY."
        yield Finding(str(settings_file), message, hint)


def secret_findings(root: Path) -> Iterator[Finding]:
    """Keys and passwords in what is versioned with the vault; they are never shown."""
    state = root / ".amem"
    for path in () if state.is_symlink() else _own_files(state):
        if path.is_symlink() or not path.is_file():
            continue
        shown = path.relative_to(root).as_posix()
        message = "holds what looks like a key or a password, and it is versioned with the vault"
        hint = "Revoke it at its provider, remove it here, and put the new one into AMEM_API_KEY."
        for line in _secret_lines(path):
            yield Finding(shown, message, hint, line)


def leftover_findings(
    root: Path, temporary: Sequence[str], settle: Callable[[], object]
) -> Iterator[Finding]:
    """Temporary files, interrupted changes, and indexes that were set aside.

    Args:
        temporary: vault-relative paths of temporary files.
        settle: finishes interrupted changes and removes what dead processes left.
    """
    for shown in temporary:
        yield _temporary_file(root, shown, settle)
    state = root / ".amem"
    if state.is_symlink():
        return

    def leftover(path: Path, message: str, hint: str, fix: Fix | None = None) -> Finding:
        return Finding(path.relative_to(root).as_posix(), message, hint, fix=fix)

    for path in sorted((state / "intents").glob("*.json")):
        if not path.stat().st_size:
            message = "is left of a change that is complete"
            yield leftover(path, message, "Delete it.", partial(_delete, [path]))
            continue
        hint = "The next command finishes it, or reverts it if a note was edited since."
        yield leftover(path, "is an interrupted change", hint, partial(_finish, path, settle))
    for path in sorted((state / "intents").glob("*.unreadable")):
        message = "is an interrupted change that cannot be read, so it was not made"
        yield leftover(path, message, "Look at your newest notes, then delete it.")
    for path in sorted(state.glob("*")):
        # Conflict copies of journals are read as any journal; those of the index hold only copies.
        is_own = path.name.startswith((TEMPORARY_PREFIX, "index"))
        if conflict_copy(path.name) and path.is_file() and not is_own:
            message = "is a conflict copy of a file of amem's"
            yield leftover(path, message, "Copy what you want to keep from it, then delete it.")
    unusable = [
        path
        for folder in (state, state / "tmp")
        for path in sorted(folder.glob("index.db.unusable-*"))
        if path.is_file() and not path.is_symlink()
    ]
    if unusable:
        more = f"; so were {len(unusable) - 1} more" if unusable[1:] else ""
        message = f"was set aside because the index was unusable{more}"
        hint = "You may delete it; an index holds only copies."
        finding = leftover(unusable[0], message, hint, partial(_delete, unusable))
        yield replace(finding, severity="notice")


def _temporary_file(root: Path, shown: str, settle: Callable[[], object]) -> Finding:
    path = root / shown
    try:
        abandoned = is_abandoned(path.name, path.lstat().st_mtime_ns, time.time_ns())
    except OSError:
        abandoned = False
    if not abandoned:
        message = "is being written at the moment, or was left by an interrupted write"
        hint = "amem moves it away once no process can be writing it."
        return Finding(shown, message, hint, severity="notice")
    hint = "It may hold somebody's last save; `amem doctor --fix` moves it to .trash/."
    fix = partial(_rescue, root, path, settle)
    return Finding(shown, "was left by an interrupted write", hint, fix=fix)


def _rescue(root: Path, path: Path, settle: Callable[[], object]) -> str:
    # Every scan of the notes already puts away what lies among them and unfinished intents.
    settle()
    name = f"recovered-{path.name[len(TEMPORARY_PREFIX) :]}"
    trash = root / ".trash"
    if not path.exists():
        rescued = trash / f"{name}{NOTE_SUFFIX}"
        return f"Moved to .trash/{rescued.name}." if rescued.exists() else "Deleted."
    trash.mkdir(exist_ok=True)
    with OpenFolder(path.parent) as source, OpenFolder(root) as target:
        target.enter(trash.name)
        source.move(path.name, target, name)
    return f"Moved to .trash/{name}."


def _finish(path: Path, settle: Callable[[], object]) -> str:
    settle()
    aside = path.with_suffix(".unreadable")
    if path.exists() or aside.exists():
        hint = f"Look at your newest notes, then delete .amem/intents/{aside.name}."
        raise SettingsError("the change cannot be read", hint=hint)
    return "Finished, or reverted if a note was edited since."


def _delete(paths: Sequence[Path]) -> str:
    for path in paths:
        path.unlink(missing_ok=True)
    return f"Deleted {', '.join(path.name for path in paths)}."


def _make_private(paths: Sequence[Path]) -> str:
    opened = list(filter(_open_to_others, paths))
    for path in opened:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return f"Made {paths[0]} private: folders 0700, files 0600 ({len(opened)} changed)."


def _open_to_others(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _own_files(state: Path) -> Iterator[Path]:
    """The folder, the settings and the journal: what others would change to mislead amem."""
    yield state
    for pattern in ("*.toml", "journal", "journal/*.jsonl", "intents"):
        yield from sorted(state.glob(pattern))


def _secret_lines(path: Path) -> Iterator[int]:
    """1-based lines that hold a secret; in settings also by the name of the setting."""
    is_settings = path.suffix == ".toml"
    try:
        lines = path.open(encoding="utf-8", errors="replace")
    except OSError:
        # The checks that need the file report that it cannot be read.
        return
    with lines:
        for number, line in enumerate(lines, 1):
            text = line[:_LONGEST_LINE]
            if holds_secret(text) or (is_settings and _SECRET_SETTING.match(text)):
                yield number
