"""Writes a file that the user asked for, outside what amem itself keeps."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from amem_cli.core.errors import UsageError

_OWN_FOLDER = ".amem"


def write_export(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file of the user's choice, text as UTF-8.

    The new file takes the place of a former one only when it is whole.

    Args:
        content: all of it, or its pieces, which are asked for one by one.

    Raises:
        UsageError: it lies where settings, journal and index are.
        SettingsError: it cannot be written.
    """
    if _OWN_FOLDER in path.resolve().parts:
        raise UsageError(f"{path} is in amem's own folder", hint="Write it somewhere else.")
    pieces = [content] if isinstance(content, (str, bytes)) else content
    try:
        _write(path, pieces)
    except OSError as error:
        from amem_cli.adapters.atomic_write import write_failure

        raise write_failure(str(path), error) from None


def _write(path: Path, pieces: Iterable[str | bytes]) -> None:
    status = path.stat() if path.exists() else None
    if status is not None and not stat.S_ISREG(status.st_mode):
        # A pipe or a device is written to as the pieces come; a folder is an error.
        _pour(os.open(path, os.O_WRONLY), pieces)
        return
    # A file that is not to be written, by its mode, is not replaced either.
    if status is not None:
        os.close(os.open(path, os.O_WRONLY))
    wanted = path.resolve()
    temporary = _temporary(wanted)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        if status is not None:
            with suppress(OSError):
                temporary.chmod(stat.S_IMODE(status.st_mode))
        _pour(handle, pieces, durable=True)
        temporary.replace(wanted)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _temporary(wanted: Path) -> Path:
    """A name beside the file; what killed exports of this file left there is deleted."""
    from hashlib import sha256
    from time import time_ns

    from amem_cli.adapters.temporary_names import is_abandoned, temporary_name

    mark = sha256(os.fsencode(wanted.name)).hexdigest()[:16]
    for left in wanted.parent.glob(f".amem-*-{mark}.tmp"):
        with suppress(OSError):
            if is_abandoned(left.name, left.lstat().st_mtime_ns, time_ns()):
                left.unlink()
    return wanted.with_name(temporary_name(mark))


def _pour(handle: int, pieces: Iterable[str | bytes], *, durable: bool = False) -> None:
    with os.fdopen(handle, "wb") as stream:
        for piece in pieces:
            stream.write(piece.encode("utf-8") if isinstance(piece, str) else piece)
        stream.flush()
        if durable:
            os.fsync(handle)
