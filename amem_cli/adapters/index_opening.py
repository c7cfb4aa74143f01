"""Opens an index file and looks, as closely as is cheap, at whether it can serve."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from amem_cli.adapters import index_file
from amem_cli.adapters.index_schema import APPLICATION_ID, SCHEMA_VERSION, TABLES

BUSY_MILLISECONDS = 10_000
_TRIES = 4
# How long a checkpoint of a process that the machine gives no time to may leave the file torn.
_PATIENCE_SECONDS = 3.0


class Unusable(Exception):
    """What is at the index's path cannot serve as one."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An index file that was opened.

    Attributes:
        mark: the index's random name; one that is made anew has another.
        reached: a generation that the main file, without its side files, has reached.
    """

    db: apsw.Connection
    mark: str
    reached: int


def open_index(path: Path) -> OpenIndex:
    """Open the file for reading and writing; where there is none, make one.

    Raises:
        Unusable, apsw.CorruptError, apsw.NotADBError: it cannot serve; nothing of it was changed.
        OSError, apsw.Error: it cannot be written.
    """
    if not index_file.is_regular(path):
        raise Unusable("its place is taken by something that is no file")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "SQLite needs a path in UTF-8; rename the folder") from None
    used = index_file.in_use(path)
    trusted = used or not path.exists() or index_file.is_sealed(path)
    db = apsw.Connection(str(path))
    try:
        db.set_busy_timeout(BUSY_MILLISECONDS)
        if db.readonly("main"):
            raise PermissionError(13, "Permission denied")
        _patiently(lambda: db.pragma("journal_mode", "wal"))
        db.pragma("synchronous", "normal")
        db.pragma("trusted_schema", False)
        if _is_empty(db):
            _create(db)
        _verify_schema(db)
        mark, _, base = _marks(db)
        if used:
            _verify_side_files(path, mark, base)
        if not trusted:
            _verify_structure(db)
    except BaseException:
        db.close()
        raise
    return OpenIndex(db, mark, base)


def _create(db: apsw.Connection) -> None:
    import secrets

    with immediate(db):
        if _is_empty(db):
            db.execute(TABLES)
            db.pragma("application_id", APPLICATION_ID)
            db.pragma("user_version", SCHEMA_VERSION)
            db.execute(
                "INSERT INTO meta VALUES('mark', ?), ('generation', '0'), ('base', '0')",
                (secrets.token_hex(8),),
            )
    with contextlib.suppress(apsw.Error):
        db.pragma("wal_checkpoint")


@contextlib.contextmanager
def immediate(db: apsw.Connection) -> Iterator[None]:
    """One write transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if not db.getautocommit():
            db.execute("ROLLBACK")
        raise


def _patiently(step: Callable[[], object]) -> None:
    """Try a step again that SQLite does not wait for itself."""
    for attempt in range(_TRIES):
        try:
            step()
            return
        except apsw.BusyError:
            if attempt == _TRIES - 1:
                raise
            time.sleep(0.05 * 4**attempt)


def _is_empty(db: apsw.Connection) -> bool:
    objects = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return int(db.pragma("user_version")) == 0 and objects == (0,)


def _verify_schema(db: apsw.Connection) -> None:
    version = int(db.pragma("user_version"))
    if int(db.pragma("application_id")) != APPLICATION_ID:
        raise Unusable("it is not amem's")
    if version != SCHEMA_VERSION:
        raise Unusable(f"it is of version {version}, this amem writes {SCHEMA_VERSION}")
    if db.execute("SELECT 1 FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchone():
        raise Unusable("it holds what amem never writes")


def _verify_structure(db: apsw.Connection) -> None:
    found = db.execute("PRAGMA quick_check(1)").fetchone()
    if found != ("ok",):
        raise Unusable("its structure is damaged")


def _verify_side_files(path: Path, mark: str, base: int) -> None:
    """Changes that wait beside the file must continue this file, not one that was there before."""
    found = marks_on_disk(path)
    if (found is None and base) or (found is not None and (found[0] != mark or found[1] < base)):
        raise Unusable("it was replaced by an older copy while in use")


def _marks(db: apsw.Connection) -> tuple[str, int, int]:
    """The index's random mark, its generation, and the generation that its file had reached."""
    sql = "SELECT key, value FROM meta WHERE key IN ('mark', 'generation', 'base')"
    found = {str(key): str(value) for key, value in db.execute(sql)}
    try:
        return found["mark"], int(found["generation"]), int(found["base"])
    except (KeyError, ValueError):
        raise Unusable("it is not amem's") from None


def marks_on_disk(path: Path) -> tuple[str, int] | None:
    """Mark and generation in the main file alone; None where nothing is in it yet.

    SQLite itself has to read it: closing a file that was opened beside SQLite drops its locks.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    end, pause = time.monotonic() + _PATIENCE_SECONDS, 0.002
    while True:
        try:
            db = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
            try:
                return _marks(db)[:2]
            finally:
                db.close()
        except apsw.SQLError:
            return None
        except (Unusable, apsw.Error) as error:
            # It may be in the middle of a checkpoint, which leaves the file's head as it is.
            if isinstance(error, apsw.NotADBError) or time.monotonic() > end:
                return "", -1
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
