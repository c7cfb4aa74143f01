"""One connection to the index file; replaces a file that is damaged or not the expected one."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from amem_cli.errors import IndexFault
from amem_cli.index import file as index_file
from amem_cli.index.file import DAMAGE, UNWRITABLE, Missing, Unusable

if TYPE_CHECKING:
    import tempfile

# Rows of a long answer that are read at a time.
_PORTION = 512
# A file system that gives a file another number each time would never let it end.
_MOST_REFILLS = 5
_PERMISSIONS_HINT = "Check permissions and space of the vault's .amem folder."


class IndexDamaged(IndexFault):
    """The index is damaged; it is set aside when it is next opened or used."""


class Database:
    """One connection to the index file, shared by the threads of a process.

    If the file cannot be written, a temporary copy takes its place (`temporary`); an unusable file
    is set aside and a new one created. Every method raises `IndexFault` if the file is damaged,
    busy, or has no space; a transaction has changed nothing then.
    """

    def __init__(
        self,
        path: Path,
        *,
        notify: Callable[[str], None] | None = None,
        refill: Callable[[], object] | None = None,
    ) -> None:
        self.path = path
        self.temporary = False
        self._notify = notify or (lambda line: None)
        self._refill = refill
        self._needs_refill = self._is_refilling = False
        self._copies: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.RLock()
        self._depth = 0
        try:
            try:
                path.parent.mkdir(exist_ok=True)
                self._open()
            except (OSError, *UNWRITABLE) as error:
                self._open_copy(error)
        except (OSError, apsw.Error, UnicodeEncodeError) as error:
            raise _cannot_open(path, error) from None

    def _open(self) -> None:
        try:
            self._connect()
        except (Unusable, *DAMAGE):
            with self._replacing():
                # Another process may have replaced the file while this one waited for the lock.
                try:
                    self._connect()
                except (Unusable, *DAMAGE) as error:
                    if not isinstance(error, Missing):
                        self._notify(f"the index is rebuilt: {error}")
                    self._make_anew()

    def _open_copy(self, reason: Exception) -> None:
        import tempfile

        self._copies = tempfile.TemporaryDirectory(prefix="amem-index-")
        self.temporary = True
        why = getattr(reason, "strerror", None) or str(reason)
        self._notify(f"cannot write {self.path} ({why}); working on a temporary copy")
        self.path = index_file.copy_index(self.path, Path(self._copies.name))
        self._open()

    def _connect(self) -> None:
        file, *_ = index_file.stats(self.path)
        # A former connection closes with the last result that is read from it; it cannot touch the
        # file that is at the path now.
        self._db, self._reached = index_file.open_index(self.path)
        # Before it was open, the last other process may have deleted the log and shared memory.
        self._stats = (file, *index_file.stats(self.path)[1:])
        self._damaged = False
        self._vectors_ready = False

    def _make_anew(self) -> None:
        """Set the file aside and switch to an empty index that has its use counters."""
        counters = index_file.use_counters(self.path)
        index_file.set_aside(self.path)
        index_file.create_index(self.path)
        self._connect()
        with index_file.immediate(self._db):
            self._db.executemany("INSERT OR IGNORE INTO usage VALUES(?, ?, ?)", counters)

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """One write transaction; a nested one joins it, other threads wait."""
        with self._lock:
            self.keep_current()
            self._depth += 1
            try:
                if self._depth > 1:
                    yield
                    return
                with self._translated(), index_file.immediate(self._db):
                    # Each transaction has a number, and records how far the file itself had come.
                    self._db.pragma("application_id", self._db.pragma("application_id") + 1)
                    self.set_meta("base", str(self._reached))
                    yield
            finally:
                self._depth -= 1

    def keep_current(self) -> None:
        """Switch to the file that is at the path now, if it is not the one that was opened."""
        with self._lock:
            # Never within a transaction: all of its statements belong to one file.
            if self._depth:
                return
            if not self._is_current():
                try:
                    self._reopen()
                except (OSError, apsw.Error) as error:
                    raise _cannot_open(self.path, error) from None
                self._needs_refill = self._refill is not None
            # To fill the index needs transactions, each of which comes through here.
            if self._needs_refill and not self._is_refilling:
                self._refill_until_current()

    def _refill_until_current(self) -> None:
        """Fill the index; again if it was replaced meanwhile, at the next call if that fails."""
        assert self._refill is not None
        self._is_refilling = True
        try:
            for _ in range(_MOST_REFILLS):
                if not self._needs_refill:
                    break
                self._needs_refill = False
                try:
                    self._refill()
                except BaseException:
                    self._needs_refill = True
                    raise
        finally:
            self._is_refilling = False

    def _is_current(self) -> bool:
        """True while nobody deleted, replaced or overwrote a file of the index."""
        if self._damaged:
            return False
        former, now = self._stats, index_file.stats(self.path)
        if any(
            old is not None and not _same(old, new) for old, new in zip(former, now, strict=True)
        ):
            return False
        if _version(now[0]) != _version(former[0]):
            # A checkpoint of some process, or another copy written over the file.
            try:
                reached = index_file.generation_on_disk(self._db)
                possible = self._reached <= reached <= self._db.pragma("application_id")
            except DAMAGE:
                return False
            if not possible or _version(now[0])[0] < _version(former[0])[0]:
                return False
            self._reached = reached
        self._stats = now
        return True

    def _reopen(self) -> None:
        with self._replacing():
            self._notify("the index was replaced or damaged while in use; it is brought up to date")
            mine, now = self._stats, index_file.stats(self.path)
            if _same(mine[0], now[0]):
                self._make_anew()
                return
            # Another file is there: SQLite would take the old one's side files for its own.
            if now[0] is None or _same(mine[1], now[1]):
                index_file.delete_side_files(self.path)
        self._open()

    @contextlib.contextmanager
    def _replacing(self) -> Iterator[None]:
        """Let one of several processes that find a bad index replace it."""
        from filelock import FileLock

        # The lock would create the folder again if the vault has been moved away.
        if not self.path.parent.is_dir():
            raise _cannot_open(self.path, FileNotFoundError("its folder is gone"))
        with FileLock(str(self.path.with_name("index.lock")), timeout=60):
            yield

    def require_stored(self) -> None:
        """Raise IndexFault if this is only a temporary copy of the index."""
        if self.temporary:
            raise IndexFault("the index cannot be written", hint=_PERMISSIONS_HINT)

    def damage(self) -> list[str]:
        """Damage of the file's structure, which is read whole; empty if there is none."""
        try:
            lines = [str(line) for (line,) in self.rows("PRAGMA quick_check(10)")]
        except IndexDamaged as error:
            return [error.message]
        return [] if lines == ["ok"] else lines

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
        """The rows of one statement; values are always bound, never formatted in."""
        with self._lock, self._translated():
            try:
                return list(self._db.execute(sql, bindings))
            except UnicodeEncodeError:
                # Half of a surrogate pair, as JSON may contain: nothing in the index has one.
                return list(self._db.execute(sql, tuple(map(_encodable, bindings))))

    def value(self, sql: str, *bindings: Any) -> Any:
        """The first value of the first row; None if there is no row."""
        rows = self.rows(sql, bindings)
        return rows[0][0] if rows else None

    def portions(self, sql: str, bindings: Sequence[Any] = (), *, size: int) -> Iterator[list[Any]]:
        """The rows of a statement, `size` at a time; other statements may run in between."""
        rows: Iterator[Any] | None = None
        while True:
            with self._lock, self._translated():
                rows = rows or self._db.execute(sql, bindings)
                portion = list(islice(rows, size))
            if not portion:
                return
            yield portion

    def stream(self, sql: str, bindings: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a statement, one at a time."""
        for portion in self.portions(sql, bindings, size=_PORTION):
            yield from portion

    def current_rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of the first statement of a synchronisation, from a new index if necessary."""
        self.keep_current()
        with contextlib.suppress(IndexDamaged):
            return self.rows(sql, values)
        # Within a transaction this one keeps the file, and fails again.
        self.keep_current()
        return self.rows(sql, values)

    @contextlib.contextmanager
    def reading_vectors(self) -> Iterator[None]:
        """Statements inside see one state of the index and may call sqlite-vec's functions."""
        with self._lock:
            if not self._vectors_ready:
                import sqlite_vec

                self._db.enable_load_extension(True)
                self._db.load_extension(sqlite_vec.loadable_path())
                # Off again at once: no statement may load a library.
                self._db.enable_load_extension(False)
                self._vectors_ready = True
            with self._translated(), self._db:
                yield

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn SQLite's errors into errors for a user."""
        try:
            yield
        except apsw.Error as error:
            fault = _fault(error)
            if fault is None:
                raise
            self._damaged = self._damaged or isinstance(fault, IndexDamaged)
            raise fault from error

    def meta(self, key: str) -> str | None:
        value = self.value("SELECT value FROM meta WHERE key = ?", key)
        return None if value is None else str(value)

    def set_meta(self, key: str, value: str) -> None:
        self.rows("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def close(self) -> None:
        """Close the file; replace it if it turned out to be damaged."""
        db = self._db
        if self._damaged and _same(self._stats[0], index_file.stats(self.path)[0]):
            with contextlib.suppress(OSError, apsw.Error, IndexFault), self._replacing():
                self._make_anew()
                self._db.close()
        db.close()
        if not self._damaged and not index_file.in_use(self.path):
            index_file.record_clean_close(self.path)
        if self._copies is not None:
            self._copies.cleanup()


def _fault(error: Exception) -> IndexFault | None:
    """The error for a user; None if only a bug can cause it."""
    if isinstance(error, DAMAGE):
        hint = "Run the command again: the index is rebuilt from your notes."
        return IndexDamaged("the index is damaged", hint=hint)
    if isinstance(error, apsw.FullError):
        hint = "Free some space; the next command continues from there."
        return IndexFault("no space is left for the index; it is unchanged", hint=hint)
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        hint = "Try again in a moment."
        return IndexFault("another amem process keeps the index busy", hint=hint)
    if isinstance(error, UNWRITABLE):
        return IndexFault(f"the index cannot be read or written: {error}", hint=_PERMISSIONS_HINT)
    return None


def _cannot_open(path: Path, error: Exception) -> IndexFault:
    fault = _fault(error)
    why = fault.message if fault else getattr(error, "strerror", None) or str(error)
    return IndexFault(f"cannot open the index {path.name}: {why}", hint=_PERMISSIONS_HINT)


def _encodable(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    return one is not None and other is not None and os.path.samestat(one, other)


def _version(status: os.stat_result | None) -> tuple[int, int, int]:
    """Size and times of a file; every change of the file changes one of them."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns) if status else (0, 0, 0)
