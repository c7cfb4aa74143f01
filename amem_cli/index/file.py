"""The index as a file: its tables, whether it is usable, and how an unusable one is set aside."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from amem_cli.errors import IndexFault
from amem_cli.language.dates import local_text
from amem_cli.system.files import move_over

# To raise it is all that a change of the tables, or of what they hold, needs: other versions are
# rebuilt.
SCHEMA_VERSION = 24
# A passage's bits are at `passage % CODES_PER_BLOCK` in the row of `codes` whose block
# is `passage // CODES_PER_BLOCK`: one row for many passages is fast to read and to write.
CODES_PER_BLOCK = 256
# A checkpoint of another process may take seconds.
_BUSY_MILLISECONDS = 10_000
DAMAGE = (apsw.CorruptError, apsw.NotADBError)
# How a full disk, missing permissions or a read-only file system show when a file is opened.
UNWRITABLE = (
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)

Stats = tuple[os.stat_result | None, ...]


class Unusable(Exception):
    """The file at the index's path is not a usable index."""


class Missing(Unusable):
    """There is no index, or an empty file."""


def open_index(path: Path) -> tuple[apsw.Connection, int]:
    """Open the file for reading and writing, unchanged if it is not a usable index; and tell which
    generation the file itself has reached.

    Raises:
        Unusable, apsw.CorruptError, apsw.NotADBError: it is not a usable index.
    """
    if not is_regular(path):
        raise Unusable("its place is taken by something that is no file")
    if not path.exists():
        raise Missing("it is not there")
    # Asked before connecting, which itself makes the log that tells of a use.
    trusted = in_use(path) or _was_closed_cleanly(path)
    db = _connect(path)
    try:
        if db.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
            raise Missing("it is empty")
        version = db.pragma("user_version")
        if version != SCHEMA_VERSION or db.pragma("journal_mode") != "wal":
            is_other = version not in (0, SCHEMA_VERSION)
            raise Unusable(
                f"it is {'of another version of amem' if is_other else 'no index of amem'}"
            )
        # A vault may come from somebody else: a trigger would run with the next write.
        if db.execute("SELECT 1 FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchone():
            raise Unusable("it holds what amem never writes")
        try:
            [(base,)] = db.execute("SELECT value + 0 FROM meta WHERE key = 'base'")
        except (apsw.SQLError, ValueError):
            raise Unusable("it is not amem's") from None
        reached = generation_on_disk(db)
        # The log beside the file must continue this file, not one that was there before.
        if not base <= reached <= db.pragma("application_id"):
            raise Unusable("it was replaced by an older copy while in use")
        if not trusted and db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise Unusable("its structure is damaged")
    except BaseException:
        db.close()
        raise
    return db, reached


def create_index(path: Path) -> None:
    """Create an empty index; one process at a time."""
    with contextlib.closing(_connect(path)) as db:
        db.pragma("journal_mode", "wal")
        with immediate(db):
            from amem_cli.data import text

            db.execute(text("index_tables.sql"))
            db.execute("INSERT INTO meta VALUES('base', '0')")
            db.pragma("user_version", SCHEMA_VERSION)
            # Generations count from a random number: no two indexes have the same.
            db.pragma("application_id", 1 + (int.from_bytes(os.urandom(4), "big") >> 2))


def generation_on_disk(db: apsw.Connection) -> int:
    """The number of the last transaction in the file itself, without its log; 0 for none.

    It is in the header's field for the application id, which is consistent during a checkpoint too.
    Read through SQLite: to close the file, opened a second time, would drop SQLite's locks on it.
    """
    _, header = db.read("main", 0, 0, 100)
    return int.from_bytes(header[68:72], "big")


@contextlib.contextmanager
def immediate(db: apsw.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # After some errors, such as a full disk, SQLite has rolled back by itself.
        if not db.getautocommit():
            db.execute("ROLLBACK")
        raise


def use_counters(path: Path) -> list[Any]:
    """Rows of the table `usage` of an unusable index; empty if they cannot be read."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    sql = "SELECT note, count, last FROM usage WHERE typeof(count) = 'integer'"
    # Only the index has the counters, but to lose them is not a failure.
    with contextlib.suppress(apsw.Error, OSError):
        if is_regular(path) and path.exists():
            # Immutable: SQLite then makes no side files, and trusts none of those that are there.
            uri = f"{path.absolute().as_uri()}?immutable=1"
            with contextlib.closing(apsw.Connection(uri, flags=flags)) as db:
                db.pragma("trusted_schema", False)
                return list(db.execute(sql))
    return []


def in_use(path: Path) -> bool:
    """True while a process has the index open, or if one ended without closing it."""
    return path.with_name(path.name + "-wal").exists()


def stats(path: Path) -> Stats:
    """Status of the index file, its log and its shared memory; None for a missing one."""
    found: list[os.stat_result | None] = []
    for part in _parts(path):
        try:
            found.append(os.stat(part))  # noqa: PTH116 - Path's method is slow, for every transaction
        except OSError:
            found.append(None)
    return tuple(found)


def is_regular(path: Path) -> bool:
    """True if each part of the index is missing or a file, not a link, folder or pipe."""
    for part in _parts(path):
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(part.lstat().st_mode):
                return False
    return True


def record_clean_close(path: Path) -> None:
    """Remember the state of the index file; otherwise its structure is checked at the next open."""
    if not _was_closed_cleanly(path):
        with contextlib.suppress(OSError):
            _seal(path).write_text(_fingerprint(path), encoding="ascii")


def set_aside(path: Path) -> None:
    """Rename an unusable index, and delete the one renamed before.

    It holds only copies; the last one is kept to find out what happened to it.
    """
    _delete_set_aside(path)
    stamp = f"{time.time_ns():x}"
    for part in _parts(path):
        with contextlib.suppress(FileNotFoundError):
            suffix = part.name.removeprefix(path.name)
            move_over(part, path.with_name(f"{path.name}.unusable-{stamp}{suffix}"))


def delete_side_files(path: Path) -> None:
    """Delete the log and the shared memory of an index file that is gone."""
    for part in _parts(path)[1:]:
        part.unlink(missing_ok=True)


def delete_index(path: Path) -> None:
    """Delete the index with its side files, and the one that was set aside."""
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
    """Copy an index, as far as it can be read, into another folder."""
    import shutil

    copy = folder / path.name
    trusted = not in_use(path) and _was_closed_cleanly(path)
    # Not the shared memory, which SQLite makes anew from the log.
    for part in _parts(path)[:2] if is_regular(path) else ():
        if os.access(part, os.R_OK):
            shutil.copyfile(part, folder / part.name)
    if trusted:
        record_clean_close(copy)
    return copy


def _connect(path: Path) -> apsw.Connection:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "SQLite needs a path in UTF-8; rename the folder") from None
    db = apsw.Connection(str(path))
    try:
        db.set_busy_timeout(_BUSY_MILLISECONDS)
        if db.readonly("main"):
            raise PermissionError(errno.EACCES, "Permission denied")
        # A power cut may cost the last transactions; the files still hold what was in them.
        db.pragma("synchronous", "normal")
        db.pragma("trusted_schema", False)
        db.create_scalar_function("local_text", lambda *values: local_text(str(values[0])), 1)
    except BaseException:
        db.close()
        raise
    return db


def _delete_set_aside(path: Path) -> None:
    import shutil

    for part in path.parent.glob(f"{path.name}.unusable-*"):
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def _parts(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]


def _seal(path: Path) -> Path:
    return path.with_name(f"{path.name}.seal")


def _was_closed_cleanly(path: Path) -> bool:
    """True if the index is as the process that closed it last left it."""
    try:
        return _seal(path).read_text(encoding="ascii") == _fingerprint(path)
    except (OSError, ValueError):
        return False


def _fingerprint(path: Path) -> str:
    status = path.stat()
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
