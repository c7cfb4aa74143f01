"""Opens the index file, notices when it is not the one it should be, and sets bad ones aside."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from amem_cli.adapters import index_file
from amem_cli.adapters.index_faults import (
    DAMAGE,
    UNWRITABLE,
    IndexDamaged,
    understood,
)
from amem_cli.adapters.index_opening import Unusable, immediate, marks_on_disk, open_index
from amem_cli.core.errors import IndexFault

if TYPE_CHECKING:
    import tempfile

# Rows of a long answer that are read at a time.
_PORTION = 512


class IndexConnection:
    """One connection to the index file, shared by the threads of one process.

    Where the file cannot be written, a temporary copy takes its place (`temporary`); a file that
    cannot be used is set aside and made anew.

    Args:
        notify: told in one line of either.
        refill: brings an index that was opened anew in the middle of the work in step with the
            vault.

    Raises:
        IndexFault: there is no room for an index anywhere.
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
        self._notify = notify
        self._refill = refill
        self._refilling = False
        self._copies: tempfile.TemporaryDirectory[str] | None = None
        self._former: apsw.Connection | None = None
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
                try:
                    self._connect()
                except (Unusable, *DAMAGE) as error:
                    index_file.set_aside(self.path)
                    self._tell(f"the index was not usable and is made anew ({error})")
                    self._connect()

    def _open_copy(self, reason: Exception) -> None:
        import tempfile

        self._copies = tempfile.TemporaryDirectory(prefix="amem-index-")
        self.temporary = True
        told = getattr(reason, "strerror", None) or str(reason)
        self._tell(f"cannot write {self.path} ({told}); working on a temporary copy")
        self.path = index_file.copy_index(self.path, Path(self._copies.name))
        self._open()

    def _connect(self) -> None:
        opened = open_index(self.path)
        self._db = opened.db
        self._mark, self._reached = opened.mark, opened.reached
        self._files = index_file.identities(self.path)
        self._seen = ""
        self._damaged = False
        self._vectors_ready = False

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """One write transaction; a nested one joins it, other threads wait.

        Raises:
            IndexFault: there is no space, or another process keeps the index busy; nothing was
                changed.
        """
        with self._lock:
            self.keep_current()
            self._depth += 1
            try:
                if self._depth > 1:
                    yield
                    return
                with self._understandable(), immediate(self._db):
                    self._count_generation()
                    yield
            finally:
                self._depth -= 1

    def keep_current(self) -> None:
        """Go over to the file that is at the path now, if it is no longer the one that was opened.

        Raises:
            IndexFault: it cannot be opened.
        """
        with self._lock:
            if self._depth or self._is_current():
                return
            try:
                self._reopen()
            except (OSError, apsw.Error) as error:
                raise _cannot_open(self.path, error) from None
            if self._refill is not None and not self._refilling:
                self._refilling = True
                try:
                    self._refill()
                finally:
                    self._refilling = False

    def _is_current(self) -> bool:
        """True while nobody deleted, replaced or overwrote a file of the index."""
        if self._damaged:
            return False
        now = index_file.identities(self.path)
        if any(mine not in (None, found) for mine, found in zip(self._files, now, strict=True)):
            return False
        self._files = now
        seen = index_file.fingerprint(self.path)
        if seen != self._seen:
            # A checkpoint of some process, or somebody else's copy written over the file.
            found = marks_on_disk(self.path)
            if found is not None and found[0] != self._mark:
                return False
            reached = 0 if found is None else found[1]
            if reached < self._reached:
                return False
            self._reached, self._seen = reached, seen
        return True

    def _reopen(self) -> None:
        with self._replacing():
            mine, now = self._files, index_file.identities(self.path)
            if now[0] is None or now[0] != mine[0]:
                # Another file is there: side files of the old one would be taken for its own.
                if now[0] is None or now[1] == mine[1]:
                    index_file.delete_side_files(self.path)
            else:
                index_file.set_aside(self.path)
            # Somebody may still be reading from it; it can no longer touch what is at the path.
            self._former, former = self._db, self._former
            if former is not None:
                former.close()
            self._tell("the index was replaced or damaged while in use; it is brought up to date")
        self._open()

    @contextlib.contextmanager
    def _replacing(self) -> Iterator[None]:
        """Of several processes that find a bad index, one sets it aside."""
        from filelock import FileLock

        # The lock would make folders that are missing, as where the vault was moved away.
        if not self.path.parent.is_dir():
            raise _cannot_open(self.path, FileNotFoundError("its folder is gone"))
        with FileLock(str(self.path.with_name("index.lock")), timeout=60):
            yield

    def _count_generation(self) -> None:
        """Make each transaction tell how far the file itself had come when it was made."""
        self.rows(
            "UPDATE meta SET value = CASE key WHEN 'generation' THEN value + 1"
            " ELSE max(value + 0, ?) END WHERE key IN ('generation', 'base')",
            (self._reached,),
        )

    def require_stored(self) -> None:
        """Refuse to go on where only a temporary copy of the index can be changed.

        Raises:
            IndexFault: it is so.
        """
        if self.temporary:
            raise IndexFault(
                "the index cannot be written",
                hint="Check permissions and space of the vault's .amem folder.",
            )

    def damage(self) -> list[str]:
        """What SQLite finds wrong in the structure of the file; reads all of it."""
        try:
            found = [str(row[0]) for row in self.rows("PRAGMA quick_check(10)")]
        except IndexDamaged as error:
            return [error.message]
        return [] if found == ["ok"] else found

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and give its rows; values are always bound, never formatted in.

        Raises:
            IndexFault: there is no space, or the file is damaged.
        """
        with self._lock, self._understandable():
            try:
                return list(self._db.execute(sql, bindings))
            except UnicodeEncodeError:
                # Half of a surrogate pair, as JSON may bring it: nothing in the index has one.
                return list(self._db.execute(sql, tuple(map(_encodable, bindings))))

    def value(self, sql: str, *bindings: Any) -> Any:
        """The first value of the first row; None if there is no row."""
        rows = self.rows(sql, bindings)
        return rows[0][0] if rows else None

    def portions(self, sql: str, *, size: int) -> Iterator[list[Any]]:
        """The rows of a statement that has many, `size` at a time; others may run in between.

        Raises:
            IndexFault: the file is damaged.
        """
        rows: Iterator[Any] | None = None
        while True:
            with self._lock, self._understandable():
                rows = rows or self._db.execute(sql)
                portion = list(islice(rows, size))
            if not portion:
                return
            yield portion

    def stream(self, sql: str) -> Iterator[Any]:
        """The same rows one at a time."""
        for portion in self.portions(sql, size=_PORTION):
            yield from portion

    def current_rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a statement with which a synchronisation begins.

        If the index was deleted, replaced or damaged, they come from the one made anew.
        """
        self.keep_current()
        try:
            return self.rows(sql, values)
        except IndexDamaged:
            if self._depth:
                raise
        self.keep_current()
        return self.rows(sql, values)

    @contextlib.contextmanager
    def reading_vectors(self) -> Iterator[None]:
        """Statements inside see one state of the index, and may call sqlite-vec's functions."""
        with self._lock:
            if not self._vectors_ready:
                import sqlite_vec

                self._db.enable_load_extension(True)
                self._db.load_extension(sqlite_vec.loadable_path())
                self._db.enable_load_extension(False)
                self._vectors_ready = True
            with self._understandable(), self._db:
                yield

    @contextlib.contextmanager
    def _understandable(self) -> Iterator[None]:
        """Turn failures of SQLite into those that a user understands."""
        try:
            yield
        except apsw.Error as error:
            fault = understood(error)
            if fault is None:
                raise
            self._damaged = self._damaged or isinstance(fault, IndexDamaged)
            raise fault from error

    def meta(self, key: str) -> str | None:
        """One value of the index's own record."""
        value = self.value("SELECT value FROM meta WHERE key = ?", key)
        return None if value is None else str(value)

    def set_meta(self, key: str, value: str) -> None:
        """Set one value of the index's own record."""
        self.rows("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def close(self) -> None:
        """Close the file."""
        if self._former is not None:
            self._former.close()
        if self._damaged and self._files[0] == index_file.identities(self.path)[0]:
            with contextlib.suppress(OSError, IndexFault), self._replacing():
                index_file.set_aside(self.path)
        self._db.close()
        if not self._damaged and not index_file.in_use(self.path):
            index_file.seal(self.path)
        if self._copies is not None:
            self._copies.cleanup()

    def _tell(self, text: str) -> None:
        if self._notify is not None:
            self._notify(text)


def _encodable(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _cannot_open(path: Path, error: Exception) -> IndexFault:
    if isinstance(error, apsw.Error):
        known = understood(error)
        told = known.message if known is not None else str(error)
    else:
        told = getattr(error, "strerror", None) or str(error)
    return IndexFault(
        f"cannot open the index {path.name}: {told}",
        hint="Check permissions and space of the vault's .amem folder.",
    )
