"""The index as files on disk: which they are, how they were left, and setting bad ones aside."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from amem_cli.core.errors import IndexFault

SIDE_FILES = ("-wal", "-shm")


def in_use(path: Path) -> bool:
    """True while a process has the index open, or where one ended without closing it."""
    return path.with_name(path.name + "-wal").exists()


def identities(path: Path) -> tuple[tuple[int, int] | None, ...]:
    """Device and inode of the index file and of its side files; None for one that is not there."""
    found: list[tuple[int, int] | None] = []
    for part in _parts(path):
        try:
            status = os.stat(part)  # noqa: PTH116 - a Path for every transaction is slow
        except OSError:
            found.append(None)
        else:
            found.append((status.st_dev, status.st_ino))
    return tuple(found)


def fingerprint(path: Path) -> str:
    """What the system says of the index file; it changes with every change of the file."""
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def is_sealed(path: Path) -> bool:
    """True for an index that is as the last process left it that closed it."""
    try:
        return _seal(path).read_text(encoding="ascii") == fingerprint(path)
    except (OSError, ValueError):
        return False


def seal(path: Path) -> None:
    """Remember how the index file is now; without this it is checked when it is next opened."""
    if not is_sealed(path):
        with suppress(OSError):
            _seal(path).write_text(fingerprint(path), encoding="ascii")


def is_regular(path: Path) -> bool:
    """True where each part of the index is free or a file, no link, folder or pipe."""
    for part in _parts(path):
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(part.lstat().st_mode):
                return False
    return True


def set_aside(path: Path) -> None:
    """Move an index that cannot be used out of the way, and delete the one moved before.

    It holds nothing but copies; the last one is kept to find out what happened to it.

    Raises:
        OSError: the folder cannot be written.
    """
    _delete_set_aside(path)
    stamp = f"{time.time_ns():x}"
    for part in _parts(path):
        with suppress(FileNotFoundError):
            suffix = part.name.removeprefix(path.name)
            part.rename(path.with_name(f"{path.name}.unusable-{stamp}{suffix}"))


def delete_side_files(path: Path) -> None:
    """Delete what is left beside an index file that is gone."""
    for part in list(_parts(path))[1:]:
        part.unlink(missing_ok=True)


def delete_index(path: Path) -> None:
    """Delete the index with its side files, and the one that was set aside.

    Raises:
        IndexFault: the folder cannot be written.
    """
    try:
        set_aside(path)
        _delete_set_aside(path)
        _seal(path).unlink(missing_ok=True)
    except OSError as error:
        raise IndexFault(
            f"cannot delete the index {path.name}: {error.strerror}",
            hint="Check the permissions of the vault's .amem folder.",
        ) from None


def copy_index(path: Path, folder: Path) -> Path:
    """Copy an index as far as it can be read into another folder, with its seal.

    Raises:
        OSError: the other folder has no room.
    """
    import shutil

    copy = folder / path.name
    trusted = not in_use(path) and is_sealed(path)
    for part in list(_parts(path))[:2] if is_regular(path) else ():
        if os.access(part, os.R_OK):
            shutil.copyfile(part, folder / part.name)
    if trusted:
        seal(copy)
    return copy


def _delete_set_aside(path: Path) -> None:
    import shutil

    for part in path.parent.glob(f"{path.name}.unusable-*"):
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def _parts(path: Path) -> Iterator[Path]:
    yield path
    for suffix in SIDE_FILES:
        yield path.with_name(path.name + suffix)


def _seal(path: Path) -> Path:
    return path.with_name(f"{path.name}.seal")
