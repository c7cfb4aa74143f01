"""Paths of notes in a vault: which ones may be gone through, and how odd ones are told of."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath

from amem_cli.core.errors import Problem, UnsafePath
from amem_cli.core.vault_port import FileState

_DRIVE = re.compile(r"[A-Za-z]?:")


def has_drive(path: str) -> bool:
    """True where a path begins as one with a drive of Windows."""
    return _DRIVE.match(path) is not None


def shown_path(path: str) -> str:
    """The path as valid Unicode; bytes that are none are shown as escapes."""
    return path.encode("utf-8", "backslashreplace").decode("ascii", "replace")


def path_parts(path: str) -> tuple[str, ...]:
    """The names that a vault-relative path goes through.

    Raises:
        UnsafePath: the path leaves the vault or enters a dot folder.
    """
    pure = PurePosixPath(path)
    odd = "\\" in path or "\0" in path or pure.is_absolute() or not pure.parts
    drive = os.name == "nt" and ":" in path
    if odd or drive or any(part.startswith(".") for part in pure.parts):
        raise UnsafePath(f"{path!r} is not a place for notes", hint="Name a path in the vault.")
    return pure.parts


def through_link(path: str) -> UnsafePath:
    """What is raised for a path that goes through a link."""
    return UnsafePath(f"{path!r} goes through a link", hint="Use the real path.")


def odd_name(path: str) -> Problem | None:
    """Why a file cannot be a note for its name alone."""
    if path.isprintable() and "\\" not in path:
        return None
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return Problem(shown_path(path), 0, "the file name is not UTF-8", "Rename the file.")
    if "\\" in path:
        return Problem(path, 0, "a backslash is in the name or its folder's", "Rename it.")
    if any(character < " " or "\x7f" <= character <= "\x9f" for character in path):
        return Problem(path, 0, "a control character is in the name or its folder's", "Rename it.")
    return None


def file_state(path: str, status: os.stat_result) -> FileState:
    """What the program remembers of a file to see whether it changed."""
    return FileState(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
