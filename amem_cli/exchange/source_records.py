"""Reads records: the JSON lines of `amem export`, and the JSON of A-MEM and mem0."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from amem_cli.errors import Problem, SettingsError
from amem_cli.exchange.source import (
    ImportSource,
    Properties,
    SourceNote,
    moment_in,
    texts_in,
    valid_tags,
)
from amem_cli.language.dates import parse_moment
from amem_cli.markdown.links import format_link, normalise_tag, parse_link
from amem_cli.notes.note import OWNED_FIELDS

# Ids of other programs are kept, so that references to them stay valid.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


def read_line(line: str, place: str = "", number: int = 0) -> SourceNote:
    """One JSON line as a note; see `read_record`.

    Raises:
        ValueError: the line is not such an object; the message says why.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    return read_record(record, place, number)


def read_record(record: Mapping[str, Any], place: str = "", number: int = 0) -> SourceNote:
    """The object of a line as a note.

    One with a `path` comes from an export: nothing is added to it.

    Raises:
        ValueError: it cannot be one; the message says why.
    """
    content, path = _text(record, "content"), _text(record, "path")
    if not content.strip() and not path:
        raise ValueError("no “content”")
    note_id = _text(record, "id")
    if note_id and not _ID.fullmatch(note_id):
        raise ValueError(f"{note_id!r} cannot be an id")
    created = _text(record, "created")
    moment = parse_moment(created) if created and not path else None
    tags = tuple(_texts(record, "tags"))
    impossible = next((tag for tag in tags if not path and normalise_tag(tag) is None), None)
    if impossible is not None:
        raise ValueError(f"{impossible!r} cannot be a tag")
    properties: dict[str, str | tuple[str, ...]] = {
        "aliases": tuple(_texts(record, "aliases")),
        "private": "true" if record.get("private") else "",
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
        created=moment,
        keywords=tuple(_texts(record, "keywords")),
        tags=tags,
        context=_text(record, "context"),
        links=tuple(_link(text, exact=bool(path)) for text in _texts(record, "links")),
        names=(note_id,) if note_id else (),
        properties={name: value for name, value in properties.items() if value},
        exact=bool(path),
    )


def _link(text: str, *, exact: bool) -> str:
    if exact:
        return text
    link = text if parse_link(text) else format_link(text)
    parsed = parse_link(link)
    if parsed is None or not parsed.target:
        raise ValueError(f"{text!r} cannot be a link")
    return link


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise ValueError(f"“{name}” is not text")
    return str(value)


def _texts(record: Mapping[str, Any], name: str) -> list[str]:
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"“{name}” is not a list of texts")
    return value


# A-MEM's defaults for what nobody said.
_DEFAULTS = frozenset({"", "None", "General", "Uncategorized"})
_PROPERTY = re.compile(r"[^\W\d][\w -]{0,60}")
# Names of amem's own fields and of those that Obsidian reads; metadata must not set them.
_OWN_NAMES = frozenset(
    (*OWNED_FIELDS, "tag", "title", "aliases", "alias", "private", "cssclasses"),
)
_MEM0_SCOPES = ("user_id", "agent_id", "run_id", "app_id", "actor_id", "role")


def amem_note(record: Mapping[str, Any], place: str, line: int = 0) -> SourceNote:
    """A record of A-MEM: its collection's metadata, or a note's fields as JSON.

    Lists may be stored as text. Counters and the evolution history are not taken over.

    Raises:
        ValueError: it has no text.
    """
    content = _string(record.get("content"))
    if not content.strip():
        raise ValueError("no “content”")
    category = _said(record.get("category"))
    return replace(
        _bare_note(record, content, place, line),
        created=moment_in(_string(record.get("timestamp"))),
        keywords=texts_in(record.get("keywords")),
        tags=valid_tags(texts_in(record.get("tags"))),
        context=_said(record.get("context")),
        links=texts_in(record.get("links")),
        properties={"category": category} if category else {},
    )


def amem_records(document: object) -> Iterator[object]:
    """The notes in a dump: a list, or a mapping of ids, under `memories` or at the top."""
    if isinstance(document, Mapping) and isinstance(document.get("memories"), (list, Mapping)):
        document = document["memories"]
    if isinstance(document, Mapping):
        if "content" in document:
            yield document
            return
        for key, value in document.items():
            yield {"id": key, **value} if isinstance(value, Mapping) else value
    elif isinstance(document, list):
        yield from document


def mem0_note(record: Mapping[str, Any], place: str, line: int = 0) -> SourceNote:
    """A memory of mem0, from `get_all` or from its history.

    Raises:
        ValueError: it has no text.
    """
    content = _string(record.get("memory")) or _string(record.get("data"))
    if not content.strip():
        raise ValueError("no “memory”")
    return replace(
        _bare_note(record, content, place, line),
        created=moment_in(_string(record.get("created_at"))),
        tags=valid_tags(texts_in(record.get("categories"))),
        properties=_mem0_properties(record),
    )


def mem0_records(document: object) -> Iterator[object]:
    """The memories in an export: under `results` or `memories`, or a list of them."""
    if isinstance(document, Mapping):
        for name in ("results", "memories"):
            if isinstance(document.get(name), list):
                document = document[name]
                break
    if isinstance(document, list):
        yield from document
    elif isinstance(document, Mapping):
        yield document


def memories_in_history(rows: Iterator[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The last text of each memory that was not deleted, from the rows of mem0's history."""
    memories: dict[str, dict[str, Any]] = {}
    for row in rows:
        key = _string(row.get("memory_id"))
        if not key:
            continue
        if row.get("is_deleted") or _string(row.get("event")).upper() == "DELETE":
            memories.pop(key, None)
            continue
        memory = memories.setdefault(key, {"id": key, "created_at": row.get("created_at")})
        memory["memory"] = row.get("new_memory") or memory.get("memory")
        memory |= {name: row[name] for name in ("actor_id", "role") if row.get(name)}
    yield from memories.values()


def _bare_note(record: Mapping[str, Any], content: str, place: str, line: int) -> SourceNote:
    """A text under the id that the record has."""
    note_id = _string(record.get("id"))
    return SourceNote(
        key=note_id or content,
        place=place,
        line=line,
        raw=content.encode("utf-8", "replace"),
        has_header=False,
        id=note_id if _ID.fullmatch(note_id) else "",
        names=(note_id,) if note_id else (),
    )


def _mem0_properties(record: Mapping[str, Any]) -> Properties:
    properties: dict[str, str | tuple[str, ...]] = {}
    metadata = record.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    for name, value in {**{name: record.get(name) for name in _MEM0_SCOPES}, **metadata}.items():
        if not isinstance(name, str) or not _PROPERTY.fullmatch(name):
            continue
        if name.casefold() in _OWN_NAMES or len(properties) > 40:
            continue
        if isinstance(value, list):
            texts = texts_in(value)
            if texts:
                properties[name] = texts
        elif isinstance(value, (str, int, float, bool)) and str(value).strip():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            properties[name] = " ".join(text.encode("utf-8", "replace").decode().split())[:2000]
    # Such a memory must not become a public note.
    private = str(metadata.get("private") or "").strip().casefold()
    if private not in ("", "0", "false", "no", "off"):
        properties["private"] = "true"
    return properties


def _said(value: object) -> str:
    text = " ".join(_string(value).split())
    return "" if text in _DEFAULTS else text


def _string(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float, datetime)):
        return ""
    return str(value).encode("utf-8", "replace").decode()


MAX_JSON_BYTES = 1024 * 1024 * 1024

RecordReader = Callable[[Mapping[str, Any], str, int], SourceNote]


def read_or_report(
    read: RecordReader, record: object, place: str, number: int, problems: list[Problem]
) -> Iterator[SourceNote]:
    """The record as a note; none, and a problem, if it cannot be one."""
    try:
        if not isinstance(record, Mapping):
            raise ValueError("not a JSON object")
        yield read(record, place, number)
    except ValueError as error:
        problems.append(Problem(place, number, str(error)))


def json_lines(path: Path, text: str) -> ImportSource:
    """The notes of JSON lines, from a file or from standard input."""
    lines = text.split("\n")

    def notes(problems: list[Problem]) -> Iterator[SourceNote]:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield read_line(line, str(path), number)
            except ValueError as error:
                problems.append(Problem(str(path), number, str(error)))

    return ImportSource("jsonl", notes)


def json_records(path: Path, document: object, kind: str) -> ImportSource:
    """The notes of one JSON document; the line in messages is the record's number.

    Args:
        kind: `amem` or `mem0`.
    """
    records, reader = (mem0_records, mem0_note) if kind == "mem0" else (amem_records, amem_note)

    def notes(problems: list[Problem]) -> Iterator[SourceNote]:
        for number, record in enumerate(records(document), 1):
            # `amem export --json` prints one document too.
            is_own = isinstance(record, Mapping) and "path" in record and "content" in record
            read = read_record if is_own else reader
            yield from read_or_report(read, record, str(path), number, problems)
        entities = document.get("relations") if isinstance(document, Mapping) else None
        if kind == "mem0" and isinstance(entities, list) and entities:
            message = f"{len(entities)} relations between entities are not memories; left out"
            problems.append(Problem(str(path), 0, message))

    return ImportSource(kind, notes)


def read_text(path: Path) -> str:
    """A whole file as text.

    Raises:
        SettingsError: it cannot be read, is too large or not UTF-8.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_JSON_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    if len(raw) > MAX_JSON_BYTES:
        raise SettingsError(f"{path} is larger than 1 GiB", hint="Split it.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not UTF-8", hint="Save it as UTF-8.") from None


def parse_json(path: Path, text: str) -> object:
    """A JSON document.

    Raises:
        SettingsError: it is none, or nested too deep.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise SettingsError(f"{path} is nested too deep to be read") from None
    except json.JSONDecodeError as error:
        raise SettingsError(f"{path}:{error.lineno} is not JSON: {error}") from None
    except ValueError:
        # Python reads no number of thousands of digits.
        raise SettingsError(f"{path} holds a number that is too long to be read") from None
