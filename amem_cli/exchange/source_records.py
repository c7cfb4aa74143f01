"""Reads records: the JSON lines of `amem export`, the JSON of A-MEM and mem0, Chroma's database.

What cannot be a note raises a `ValueError` that says why. A database is read from a copy, without
the other program's code.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import apsw

from amem_cli.errors import Problem, SettingsError
from amem_cli.exchange.source import (
    ImportSource,
    SourceNote,
    texts_in,
    valid_tags,
)
from amem_cli.language.dates import moment_in, parse_moment
from amem_cli.markdown.links import format_link, normalise_tag, parse_link
from amem_cli.notes.front_matter_edit import Bare, bare
from amem_cli.notes.note import OWNED_FIELDS

# Ids of other programs are kept, so that references to them stay valid.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


def read_line(line: str, place: str = "", number: int = 0) -> SourceNote:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    return read_record(record, place, number)


def read_record(record: object, place: str, number: int) -> SourceNote:
    """The object of a line as a note.

    One with a `path` comes from an export: nothing is added to it.
    """
    record = _object(record)
    content, path = _text(record, "content"), _text(record, "path")
    if not content.strip() and not path:
        raise ValueError("no “content”")
    note_id = _text(record, "id")
    if note_id and not _ID.fullmatch(note_id):
        raise ValueError(f"{note_id!r} cannot be an id")
    created = _text(record, "created")
    tags, links = _texts(record, "tags"), _texts(record, "links")
    if not path:
        for tag in tags:
            if normalise_tag(tag) is None:
                raise ValueError(f"{tag!r} cannot be a tag")
        links = tuple(map(_link, links))
    properties: dict[str, str | tuple[str, ...]] = {
        "aliases": _texts(record, "aliases"),
        "private": _PRIVATE if record.get("private") else "",
        "created": created if path else "",
    }
    try:
        raw = content.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("the text is not valid Unicode") from None
    return SourceNote(
        key=note_id or path or json.dumps(record, sort_keys=True),
        place=place,
        line=number,
        raw=raw,
        has_header=not path,
        path=path if path.lower().endswith(".md") else "",
        title=_text(record, "title"),
        id=note_id,
        created=parse_moment(created) if created and not path else None,
        keywords=_texts(record, "keywords"),
        tags=tags,
        context=_text(record, "context"),
        links=links,
        names=(note_id,) if note_id else (),
        properties={name: value for name, value in properties.items() if value},
        exact=bool(path),
    )


def _object(record: object) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise ValueError("not a JSON object")
    return record


def _link(text: str) -> str:
    link = text if parse_link(text) else format_link(text)
    parsed = parse_link(link)
    if parsed is None or not parsed.target:
        raise ValueError(f"{text!r} cannot be a link")
    return link


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (str, int, NoneType)):
        raise ValueError(f"“{name}” is not text")
    return "" if value is None else str(value)


def _texts(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    texts = record.get(name) or []
    if not isinstance(texts, list) or not all(isinstance(item, str) for item in texts):
        raise ValueError(f"“{name}” is not a list of texts")
    return tuple(texts)


# A-MEM's defaults for what nobody said.
_DEFAULTS = frozenset({"None", "General", "Uncategorized"})
_PROPERTY = re.compile(r"[^\W\d][\w -]{0,60}")
# Names of amem's own fields and of those that Obsidian reads; metadata must not set them.
_OWN_NAMES = frozenset(
    (*OWNED_FIELDS, "tag", "title", "aliases", "alias", "private", "cssclasses"),
)
_PRIVATE = Bare("true")
_LONGEST_VALUE = 2000


class Shape(NamedTuple):
    """What the fields of a program's records are called; empty for what it has not."""

    texts: tuple[str, ...]
    created: str
    tags: str
    kept: tuple[str, ...]
    keywords: str = ""
    context: str = ""
    links: str = ""


# Counters of A-MEM, and its history of evolution, are not taken over.
SHAPES = {
    "amem": Shape(("content",), "timestamp", "tags", ("category",), "keywords", "context", "links"),
    "mem0": Shape(
        ("memory", "data"),
        "created_at",
        "categories",
        ("user_id", "agent_id", "run_id", "app_id", "actor_id", "role"),
    ),
}


def foreign_note(shape: Shape, record: object, place: str, line: int) -> SourceNote:
    """A record of another program as a note; lists may be stored as text."""
    record = _object(record)
    content = next(filter(None, (_string(record.get(name)) for name in shape.texts)), "")
    if not content.strip():
        raise ValueError(f"no “{shape.texts[0]}”")
    note_id = _string(record.get("id"))
    return SourceNote(
        key=note_id or content,
        place=place,
        line=line,
        raw=content.encode("utf-8", "replace"),
        has_header=False,
        id=note_id if _ID.fullmatch(note_id) else "",
        created=moment_in(_string(record.get(shape.created))),
        keywords=texts_in(record.get(shape.keywords)),
        tags=valid_tags(texts_in(record.get(shape.tags))),
        context=_said(record.get(shape.context)),
        links=texts_in(record.get(shape.links)),
        names=(note_id,) if note_id else (),
        properties=_properties(shape, record),
    )


def _properties(shape: Shape, record: Mapping[str, Any]) -> dict[str, str | tuple[str, ...]]:
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    given = {**{name: record.get(name) for name in shape.kept}, **metadata}
    properties: dict[str, str | tuple[str, ...]] = {
        name: _property(value)
        for name, value in given.items()
        if _PROPERTY.fullmatch(name) and name.casefold() not in _OWN_NAMES
    }
    # Such a memory must not become a public note.
    private = str(metadata.get("private") or "").strip().casefold()
    if private not in ("", "0", "false", "no", "off"):
        properties["private"] = _PRIVATE
    return {name: value for name, value in properties.items() if value}


def _property(value: object) -> str | tuple[str, ...]:
    """A value of JSON as a property of its kind; empty if it says nothing, or too much."""
    if isinstance(value, str):
        return _said(value)[:_LONGEST_VALUE]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return texts_in(value)
    text = bare(value) if value not in (None, [], {}) else None
    return text if text and len(text) <= _LONGEST_VALUE else ""


def memories_in_history(rows: Iterator[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The last text of each memory that was not deleted, from the rows of mem0's history."""
    memories: dict[str, dict[str, Any]] = {}
    for row in rows:
        key = _string(row.get("memory_id"))
        if row.get("is_deleted") or _string(row.get("event")).upper() == "DELETE":
            memories.pop(key, None)
        elif key:
            memory = memories.setdefault(key, {"id": key, "created_at": row.get("created_at")})
            memory["memory"] = row.get("new_memory") or memory.get("memory")
            memory |= {name: row[name] for name in ("actor_id", "role") if row.get(name)}
    yield from memories.values()


def _said(value: object) -> str:
    text = " ".join(_string(value).split())
    return "" if text in _DEFAULTS else text


def _string(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float, datetime)):
        return ""
    return str(value).encode("utf-8", "replace").decode()


def _reported(
    read: Callable[[Any, str, int], SourceNote],
    records: Iterable[object],
    place: str,
    problems: list[Problem],
) -> Iterator[SourceNote]:
    """The records as notes, by their numbers; one that cannot be a note becomes a problem."""
    for number, record in enumerate(records, 1):
        try:
            if record != "":
                yield read(record, place, number)
        except ValueError as error:
            problems.append(Problem(place, number, str(error)))


def json_lines(path: Path, text: str) -> ImportSource:
    lines = [line.strip() for line in text.split("\n")]
    return ImportSource("jsonl", partial(_reported, read_line, lines, str(path)))


def json_records(path: Path, document: object, kind: str) -> ImportSource:
    """The notes of a JSON document of kind `amem` or `mem0`; a record's number is its line."""

    def read(record: object, place: str, number: int) -> SourceNote:
        # `amem export --json` prints one document too.
        if isinstance(record, Mapping) and "path" in record and "content" in record:
            return read_record(record, place, number)
        return foreign_note(SHAPES[kind], record, place, number)

    def notes(problems: list[Problem]) -> Iterator[SourceNote]:
        yield from _reported(read, _records(document), str(path), problems)
        entities = document.get("relations") if isinstance(document, Mapping) else None
        if kind == "mem0" and isinstance(entities, list) and entities:
            message = f"{len(entities)} relations between entities are not memories; left out"
            problems.append(Problem(str(path), 0, message))

    return ImportSource(kind, notes)


def _records(document: object) -> Iterator[object]:
    """The notes in a dump: one, a list, or a mapping of ids, at the top or under a usual name."""
    if isinstance(document, Mapping):
        lists = (document.get(name) for name in ("results", "memories"))
        document = next((each for each in lists if isinstance(each, (list, Mapping))), document)
    if isinstance(document, list):
        yield from document
    elif isinstance(document, Mapping):
        if document.keys() & {"content", "memory", "data"}:
            yield document
            return
        for key, value in document.items():
            yield {"id": key, **value} if isinstance(value, Mapping) else value


def read_text(path: Path) -> str:
    """A whole file as text; `SettingsError` if that cannot be had."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{name} is not UTF-8", hint="Save it as UTF-8.") from None


def parse_json(path: Path, text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise SettingsError(f"{path} is nested too deep to be read") from None
    except json.JSONDecodeError as error:
        raise SettingsError(f"{path}:{error.lineno} is not JSON: {error}") from None
    except ValueError:
        # Python reads no number of thousands of digits.
        raise SettingsError(f"{path} holds a number that is too long to be read") from None


_MAX_VALUE = 64 * 1024 * 1024
_MAX_DATABASE_BYTES = 8 * 1024 * 1024 * 1024
_CHROMA_TABLES = frozenset({"collections", "segments", "embeddings", "embedding_metadata"})
_DOCUMENT = "chroma:document"
# What is read of tables, and how.
_COLLECTIONS = ("id", "name"), "FROM collections ORDER BY name = 'memories' DESC, name"
_ITEMS = (
    ("e.id", "embedding_id", "e.created_at"),
    "FROM embeddings e JOIN segments s ON s.id = segment_id WHERE s.collection = ? ORDER BY e.id",
)
_FIELDS = (
    ("key", "string_value", "int_value", "float_value"),
    ("FROM embedding_metadata WHERE id = ?"),
)
_HISTORY = ("memory_id", "new_memory", "event", "created_at", "is_deleted")


def tables_of(path: Path) -> frozenset[str]:
    """Names of the tables of a SQLite file; `SettingsError` if it cannot be read as one."""
    with _copy_of(path) as db:
        return _tables(db)


def chroma_notes(path: Path, problems: list[Problem]) -> Iterator[SourceNote]:
    """The documents of all collections of a `chroma.sqlite3`, A-MEM's `memories` first."""
    read = partial(foreign_note, SHAPES["amem"])
    with _copy_of(path) as db:
        missing = _CHROMA_TABLES - _tables(db)
        if missing:
            raise SettingsError(
                f"{path} is not a Chroma database: it has no table {min(missing)}",
                hint="Chroma writes such files from version 0.4 on.",
            )
        for collection, name in _read(db, _COLLECTIONS):
            records = (_chroma_record(db, *item) for item in _read(db, _ITEMS, collection))
            yield from _reported(read, records, f"{path.name}:{name or ''}", problems)


def _chroma_record(db: apsw.Connection, number: int, item: str, added: str) -> dict[str, Any]:
    fields = {
        key: next((value for value in values if value is not None), None)
        for key, *values in _read(db, _FIELDS, number)
    }
    content = fields.pop(_DOCUMENT, None) or fields.get("content")
    moment = fields.get("timestamp")
    timestamp = moment if moment_in(_string(moment)) else added
    return {"id": item, **fields, "timestamp": timestamp, "content": content}


def mem0_history_notes(path: Path, problems: list[Problem]) -> Iterator[SourceNote]:
    """The memories in mem0's `history.db` that were not deleted, in the order of their making."""
    with _copy_of(path) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(history)")}
        if not columns.issuperset(_HISTORY):
            raise SettingsError(f"{path} is not a history of mem0")
        names = [*_HISTORY, *(name for name in ("actor_id", "role") if name in columns)]
        rows = _read(db, (names, "FROM history ORDER BY created_at, updated_at, rowid"))
        records = (dict(zip(names, row, strict=True)) for row in rows)
        read = partial(foreign_note, SHAPES["mem0"])
        yield from _reported(read, memories_in_history(records), path.name, problems)


def _read(
    db: apsw.Connection, query: tuple[Sequence[str], str], *values: object
) -> Iterator[tuple[Any, ...]]:
    """Columns of rows; None for an endless text or one that is not UTF-8, as any file may hold."""
    columns, rest = query
    raw = (
        f"CASE WHEN length({name}) > {_MAX_VALUE} THEN NULL"
        f" WHEN typeof({name}) = 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
        for name in columns
    )
    for row in db.execute(f"SELECT {', '.join(raw)} {rest}", values):
        yield tuple(_decoded(value) if isinstance(value, bytes) else value for value in row)


def _decoded(value: bytes) -> str | None:
    with suppress(UnicodeDecodeError):
        return value.decode("utf-8")
    return None


def _tables(db: apsw.Connection) -> frozenset[str]:
    tables = _read(db, (["name"], "FROM sqlite_master WHERE type = 'table'"))
    return frozenset(str(name) for (name,) in tables)


@contextmanager
def _copy_of(path: Path) -> Iterator[apsw.Connection]:
    """A database, opened from a copy that includes what is only in its write-ahead log.

    Everything that a hostile schema could run is turned off.
    """
    with tempfile.TemporaryDirectory(prefix="amem-import-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            if path.stat().st_size > _MAX_DATABASE_BYTES:
                raise SettingsError(f"{path} is larger than 8 GiB")
            shutil.copyfile(path, copy)
            # A running program keeps its last writes in the log.
            log = path.with_name(path.name + "-wal")
            if log.is_file() and not log.is_symlink():
                shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
        except OSError as error:
            raise SettingsError(f"cannot read {path}: {error.strerror}") from None
        try:
            with closing(apsw.Connection(str(copy))) as db:
                for name in ("ENABLE_TRIGGER", "TRUSTED_SCHEMA", "ENABLE_VIEW"):
                    db.config(getattr(apsw, f"SQLITE_DBCONFIG_{name}"), 0)
                db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
                db.pragma("cell_size_check", True)
                db.pragma("query_only", True)
                yield db
        except apsw.Error as error:
            raise SettingsError(
                f"{path} cannot be read as a database: {error}", hint="Copy it from a backup."
            ) from None
