"""Replaces or creates one file so that nobody's text is ever lost: guarded, atomic, durable."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

from amem_cli.core.errors import SettingsError, WriteConflict

TEMPORARY_PREFIX = ".amem-"
TEMPORARY_SUFFIX = ".tmp"

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2


def sha256(data: bytes) -> str:
    """SHA-256 of `data`, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def replace_file(path: Path, content: bytes, *, expected: str) -> None:
    """Put `content` in place of a regular file that still has the hash `expected`.

    The new file is exchanged with the old one, and what came out is compared again, so that a save
    that happens between the check and the exchange is put back and not lost.

    Raises:
        WriteConflict: the file is gone or is not the one expected; it is as it was found.
        SettingsError: the file cannot be written (permission, link, disk).
    """
    try:
        before = path.lstat()
    except FileNotFoundError:
        raise WriteConflict(f"{path.name} was moved or deleted meanwhile") from None
    _refuse_odd_file(path, before)
    temporary = _write_temporary(path.parent, content, mode=stat.S_IMODE(before.st_mode))
    try:
        if sha256(_read(path)) != expected:
            raise WriteConflict(f"{path.name} changed meanwhile")
        if _rename2(temporary, path, _RENAME_EXCHANGE):
            if sha256(_read(temporary)) != expected:
                _rename2(temporary, path, _RENAME_EXCHANGE)
                raise WriteConflict(f"{path.name} changed meanwhile")
        else:
            temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise _failed(path, error) from error
    finally:
        _discard(temporary, {expected, sha256(content)})


def _discard(temporary: Path, known: set[str]) -> None:
    """Delete a temporary file, unless it came to hold a save of somebody else's.

    That happens where an editor saves twice around a failed exchange; the file is left then, and
    the next scan moves it to the trash.
    """
    with suppress(OSError):
        if sha256(temporary.read_bytes()) in known:
            temporary.unlink()


def move_file(source: Path, target: Path) -> None:
    """Move a file to a name that is free, in one step where the system can.

    Raises:
        FileExistsError: the name is taken.
        SettingsError: the file cannot be moved.
    """
    try:
        if not _rename2(source, target, _RENAME_NOREPLACE):
            if target.exists():
                raise FileExistsError(target)
            source.rename(target)
        sync_folder(source.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise _failed(source, error) from error


def create_file(path: Path, content: bytes) -> None:
    """Create a file that does not exist yet; it appears whole.

    Raises:
        FileExistsError: the name is taken.
        SettingsError: the file cannot be written.
    """
    temporary = _write_temporary(path.parent, content, mode=0o666 & ~_umask())
    try:
        if not _rename2(temporary, path, _RENAME_NOREPLACE):
            os.link(temporary, path)
        sync_folder(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise _failed(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_temporary(folder: Path, content: bytes, *, mode: int) -> Path:
    path = folder / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        raise _failed(path, error) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise _failed(path, error) from error
    return path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise WriteConflict(f"{path.name} was moved or deleted meanwhile") from None


def _refuse_odd_file(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SettingsError(
            f"{path.name} is not a regular file", hint="amem does not write through links."
        )
    if status.st_nlink > 1:
        raise SettingsError(
            f"{path.name} is hard-linked elsewhere",
            hint="Writing would split the link; make it a file of its own first.",
        )
    if not status.st_mode & stat.S_IWUSR:
        raise SettingsError(f"{path.name} is read-only", hint="Allow writing it, if amem may.")


def _failed(path: Path, error: OSError) -> SettingsError:
    hint = {
        errno.ENOSPC: "The disk is full; free some space and try again.",
        errno.EROFS: "The file system is read-only.",
        errno.EACCES: "Check the permissions of the folder.",
    }.get(error.errno or 0, "Check the disk and the permissions of the folder.")
    return SettingsError(f"cannot write {path.name}: {error.strerror or error}", hint=hint)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _rename2(source: Path, target: Path, flags: int) -> bool:
    """Rename with flags; False where the system or file system has no such call."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    if call(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(target))
