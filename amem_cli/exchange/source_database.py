"""Reads the SQLite files of Chroma and mem0 from a copy, without those programs' code."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from amem_cli.errors import Problem, SettingsError
from amem_cli.exchange.source import SourceNote, moment_in
from amem_cli.exchange.source_records import (
    amem_note,
    mem0_note,
    memories_in_history,
    read_or_report,
)

MAX_DATABASE_BYTES = 8 * 1024 * 1024 * 1024
MAX_VALUE = 2 * 1024 * 1024
# Limits of a hostile file: a note has a handful of fields, and at most 2 MiB.
MAX_FIELDS = 1000

_CHROMA_TABLES = frozenset({"collections", "segments", "embeddings", "embedding_metadata"})
_DOCUMENT = "chroma:document"
# Read as bytes, because a file may declare anything to be text.
_COLLECTIONS = (
    "SELECT id, CAST(name AS BLOB) FROM collections ORDER BY name = 'memories' DESC, name"
)
_ITEMS = (
    "SELECT e.id, CAST(e.embedding_id AS BLOB), CAST(e.created_at AS BLOB) FROM embeddings e"
    " JOIN segments s ON s.id = e.segment_id WHERE s.collection = ? ORDER BY e.id"
)
_FIELDS = (
    "SELECT CAST(key AS BLOB),"
    " CASE WHEN length(string_value) <= ?2 THEN CAST(string_value AS BLOB) END,"
    " coalesce(CAST(int_value AS INTEGER), CAST(float_value AS REAL)), length(string_value)"
    " FROM embedding_metadata WHERE id = ?1 LIMIT ?3"
)
_HISTORY = (
    "SELECT CAST(memory_id AS BLOB),"
    " CASE WHEN length(new_memory) <= ?1 THEN CAST(new_memory AS BLOB) END, CAST(event AS BLOB),"
    " CAST(created_at AS BLOB), CAST(is_deleted AS INTEGER){more}"
    " FROM history ORDER BY created_at, updated_at, rowid"
)


def tables_of(path: Path) -> frozenset[str]:
    """Names of the tables of a SQLite file; `SettingsError` if it cannot be read as one."""
    with _copy_of(path) as db:
        return _tables(db)


def chroma_notes(path: Path, problems: list[Problem]) -> Iterator[SourceNote]:
    """The documents of all collections of a `chroma.sqlite3`, A-MEM's `memories` first."""
    with _copy_of(path) as db:
        missing = _CHROMA_TABLES - _tables(db)
        if missing:
            raise SettingsError(
                f"{path} is not a Chroma database: it has no table {min(missing)}",
                hint="Chroma writes such files from version 0.4 on.",
            )
        for collection, name in _read(db, _COLLECTIONS):
            for number, item, added in _read(db, _ITEMS, collection):
                place = f"{path.name}:{name or ''}"
                record = _metadata(db, number)
                record.setdefault("id", item)
                record["content"] = record.pop(_DOCUMENT, None) or record.get("content")
                for note in read_or_report(amem_note, record, place, number, problems):
                    yield replace(note, created=note.created or moment_in(str(added)))


def mem0_history_notes(path: Path, problems: list[Problem]) -> Iterator[SourceNote]:
    """The memories in mem0's `history.db` that were not deleted, in the order of their making."""
    with _copy_of(path) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(history)")}
        names = ["memory_id", "new_memory", "event", "created_at", "is_deleted"]
        if not columns.issuperset(names):
            raise SettingsError(f"{path} is not a history of mem0")
        more = [name for name in ("actor_id", "role") if name in columns]
        sql = _HISTORY.format(more="".join(f", CAST({name} AS BLOB)" for name in more))
        rows = _read(db, sql, MAX_VALUE)
        records = (dict(zip([*names, *more], row, strict=True)) for row in rows)
        for number, record in enumerate(memories_in_history(records), 1):
            yield from read_or_report(mem0_note, record, path.name, number, problems)


def _metadata(db: apsw.Connection, number: int) -> dict[str, Any]:
    rows = _read(db, _FIELDS, number, MAX_VALUE, MAX_FIELDS)
    return {
        key: amount if text is None else text
        for key, text, amount, length in rows
        # A text that is too large is not cut but reported as missing.
        if isinstance(key, str) and not (text is None and length)
    }


def _read(db: apsw.Connection, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
    """Rows with bytes as text; None for what is not UTF-8."""
    for row in db.execute(sql, values):
        yield tuple(_text(value) if isinstance(value, bytes) else value for value in row)


def _text(value: bytes) -> str | None:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _tables(db: apsw.Connection) -> frozenset[str]:
    sql = "SELECT CAST(name AS BLOB) FROM sqlite_master WHERE type = 'table'"
    return frozenset(str(row[0]) for row in _read(db, sql))


@contextlib.contextmanager
def _copy_of(path: Path) -> Iterator[apsw.Connection]:
    """A database, opened from a copy that includes what is only in its write-ahead log."""
    with tempfile.TemporaryDirectory(prefix="amem-import-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            if path.stat().st_size > MAX_DATABASE_BYTES:
                raise SettingsError(f"{path} is larger than 8 GiB")
            shutil.copyfile(path, copy)
            # A running program keeps its last writes in the log.
            log = path.with_name(path.name + "-wal")
            if log.is_file() and not log.is_symlink():
                shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
        except OSError as error:
            raise SettingsError(f"cannot read {path}: {error.strerror}") from None
        try:
            with contextlib.closing(_open(copy)) as db:
                yield db
        except apsw.Error as error:
            raise SettingsError(
                f"{path} cannot be read as a database: {error}", hint="Copy it from a backup."
            ) from None


def _open(copy: Path) -> apsw.Connection:
    """The copy, with everything that a hostile schema could run turned off."""
    if copy.with_name(copy.name + "-wal").exists():
        db = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)
    else:
        uri = f"{copy.as_uri()}?immutable=1&mode=ro"
        db = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    for name in ("ENABLE_TRIGGER", "TRUSTED_SCHEMA", "ENABLE_VIEW"):
        db.config(getattr(apsw, f"SQLITE_DBCONFIG_{name}"), 0)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.pragma("cell_size_check", True)
    db.pragma("query_only", True)
    return db
