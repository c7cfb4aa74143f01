"""Folders of the program's own in a vault, which may be somebody else's vault."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from amem_cli.core.errors import SettingsError


def own_files(folder: Path, pattern: str) -> Iterator[Path]:
    """Regular files of one of the program's own folders, by name; none where it is a link."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in sorted(folder.glob(pattern)):
        if not path.is_symlink() and path.is_file():
            yield path


def make_own_folder(folder: Path) -> None:
    """Make one of the program's own folders where it is missing.

    Raises:
        SettingsError: it is a link, and would lead what is written elsewhere.
        OSError: it cannot be made.
    """
    if folder.is_symlink():
        raise SettingsError(f"{folder.name} in .amem is a link", hint="Replace it by a folder.")
    # Not its parents: a vault that was moved away is not begun anew in its former place.
    folder.mkdir(exist_ok=True)


def read_own_file(path: Path, limit: int) -> bytes:
    """Read a file of the program's own, following no link and waiting for no pipe.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no regular file, or is larger than `limit` bytes.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("it is no regular file")
        raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise ValueError("the file is too large")
    return raw
