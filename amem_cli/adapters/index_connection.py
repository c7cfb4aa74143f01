"""Opens the index file, notices when it is not the one it should be, and sets bad ones aside."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from amem_cli.adapters.index_schema import SCHEMA_VERSION, TABLES
from amem_cli.core.errors import IndexFault

BUSY_MILLISECONDS = 10_000


class IndexConnection:
    """One connection to the index file.

    Raises:
        IndexFault: the file cannot be opened for writing at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fresh = False
        self._vectors_ready = False
        self._depth = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = self._open()
        except (OSError, apsw.Error) as error:
            raise IndexFault(
                f"cannot open the index {path.name}: {error}",
                hint="Check permissions and space of the vault's .amem folder.",
            ) from None

    def _open(self) -> apsw.Connection:
        try:
            db = self._connect()
        except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError):
            set_aside(self.path)
            db = self._connect()
        return db

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self.path))
        try:
            db.set_busy_timeout(BUSY_MILLISECONDS)
            db.pragma("journal_mode", "wal")
            db.pragma("synchronous", "normal")
            version = int(db.pragma("user_version"))
            if version == 0:
                with _immediate(db):
                    if int(db.pragma("user_version")) == 0:
                        db.execute(TABLES)
                        db.pragma("user_version", SCHEMA_VERSION)
                        self.fresh = True
            elif version != SCHEMA_VERSION:
                raise apsw.NotADBError(f"schema {version}")
        except BaseException:
            db.close()
            raise
        return db

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """One write transaction; a nested one joins it.

        Raises:
            IndexFault: the file was deleted or replaced while it was open.
        """
        self._depth += 1
        try:
            if self._depth > 1:
                yield
                return
            with _immediate(self._db):
                yield
        finally:
            self._depth -= 1

    def rows(self, sql: str, bindings: Any = ()) -> Any:
        """Run one statement and give its cursor; values are always bound, never formatted in."""
        return self._db.execute(sql, bindings)

    def meta(self, key: str) -> str | None:
        """One value of the index's own record."""
        row = self.rows("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Set one value of the index's own record."""
        self.rows("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def load_vector_extension(self) -> None:
        """Make sqlite-vec's tables usable on this connection; loading is off again afterwards."""
        if self._vectors_ready:
            return
        import sqlite_vec

        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.enable_load_extension(False)
        self._vectors_ready = True

    def close(self) -> None:
        """Close the file."""
        self._db.close()


@contextlib.contextmanager
def _immediate(db: apsw.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if not db.getautocommit():
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def set_aside(path: Path) -> None:
    """Move an index that cannot be used out of the way; it holds nothing but copies."""
    stamp = f"{time.time_ns():x}"
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(path.with_name(f"{path.name}.unusable-{stamp}{suffix}"))


def delete_index(path: Path) -> None:
    """Delete the index file with its side files, and those that were set aside."""
    for part in path.parent.glob(path.name + "*"):
        part.unlink(missing_ok=True)
