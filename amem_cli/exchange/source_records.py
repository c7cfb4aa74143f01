"""Reads the JSON lines in which amem writes notes out, and that other programs can make.

Turns records of other memory programs, A-MEM and mem0, into notes.
Files of records as places to import from: JSON lines, and the JSON of other programs.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from amem_cli.errors import Problem, SettingsError
from amem_cli.exchange.source import SourceNote, moment_in, texts_in
from amem_cli.language.dates import parse_moment
from amem_cli.markdown.links import format_link, parse_link
from amem_cli.markdown.tags import normalise_tag

# Ids of other programs are kept, so that what refers to them still does.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


def read_line(line: str, place: str = "", number: int = 0) -> SourceNote:
    """One JSON line as a note.

    A line with a `path` was written by an export, and is taken as it is: nothing is added.

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
    properties: dict[str, str | tuple[str, ...]] = {}
    aliases = tuple(_texts(record, "aliases"))
    if aliases:
        properties["aliases"] = aliases
    if record.get("private"):
        properties["private"] = "true"
    if path and created:
        properties["created"] = created
    return SourceNote(
        key=note_id or path or json.dumps(record, sort_keys=True),
        place=place,
        line=number,
        raw=_encoded(content),
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
        properties=properties,
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


def _encoded(content: str) -> bytes:
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("the text is not valid Unicode") from None


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


_MEMORY_RECORDS_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
# What A-MEM writes where nothing was said.
_SAYS_NOTHING = frozenset({"", "None", "General", "Uncategorized"})
_PROPERTY = re.compile(r"[^\W\d][\w -]{0,60}")
_OWN_NAMES = frozenset(
    [
        "id",
        "created",
        "keywords",
        "tags",
        "tag",
        "context",
        "links",
        "title",
        "aliases",
        "alias",
        "private",
        "cssclasses",
    ]
)
_MEM0_SCOPES = ("user_id", "agent_id", "run_id", "app_id", "actor_id", "role")


def amem_note(record: Mapping[str, Any], place: str, line: int = 0) -> SourceNote:
    """A record of A-MEM: of its collection's metadata, or of a note's fields as JSON.

    Lists may be stored as text. Counters and its history of evolution are not taken over.

    Raises:
        ValueError: it has no text; the message says so.
    """
    content = _memory_records_text(record.get("content"))
    if not content.strip():
        raise ValueError("no “content”")
    category = _meant(record.get("category"))
    return replace(
        _bare_note(record, content, place, line),
        created=moment_in(_memory_records_text(record.get("timestamp"))),
        keywords=texts_in(record.get("keywords")),
        tags=_tags(texts_in(record.get("tags"))),
        context=_meant(record.get("context")),
        links=texts_in(record.get("links")),
        properties={"category": category} if category else {},
    )


def amem_records(document: object) -> Iterator[object]:
    """The notes in a dump: a list of them, or a mapping of ids, as `memories` or at the top."""
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
    """A memory of mem0 as `get_all` gives it, or as its history holds it.

    Raises:
        ValueError: it has no text; the message says so.
    """
    content = _memory_records_text(record.get("memory")) or _memory_records_text(record.get("data"))
    if not content.strip():
        raise ValueError("no “memory”")
    return replace(
        _bare_note(record, content, place, line),
        created=moment_in(_memory_records_text(record.get("created_at"))),
        tags=_tags(texts_in(record.get("categories"))),
        properties=_properties(record) | _privacy(record.get("metadata")),
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
    """What mem0's history says that is still remembered: the last text of each memory.

    Args:
        rows: its rows in the order in which they were written.
    """
    memories: dict[str, dict[str, Any]] = {}
    for row in rows:
        key = _memory_records_text(row.get("memory_id"))
        if not key:
            continue
        if row.get("is_deleted") or _memory_records_text(row.get("event")).upper() == "DELETE":
            memories.pop(key, None)
            continue
        known = memories.setdefault(key, {"id": key, "created_at": row.get("created_at")})
        known["memory"] = row.get("new_memory") or known.get("memory")
        known |= {name: row[name] for name in ("actor_id", "role") if row.get(name)}
    yield from memories.values()


def _bare_note(record: Mapping[str, Any], content: str, place: str, line: int) -> SourceNote:
    """A text under the id that the record has."""
    note_id = _memory_records_text(record.get("id"))
    return SourceNote(
        key=note_id or content,
        place=place,
        line=line,
        raw=content.encode("utf-8", "replace"),
        has_header=False,
        id=note_id if _MEMORY_RECORDS_ID.fullmatch(note_id) else "",
        names=(note_id,) if note_id else (),
    )


def _properties(record: Mapping[str, Any]) -> dict[str, str | tuple[str, ...]]:
    found: dict[str, str | tuple[str, ...]] = {}
    metadata = record.get("metadata")
    given = {name: record.get(name) for name in _MEM0_SCOPES}
    if isinstance(metadata, Mapping):
        given |= dict(metadata)
    for name, value in given.items():
        if not isinstance(name, str) or not _PROPERTY.fullmatch(name):
            continue
        if name.casefold() in _OWN_NAMES or len(found) > 40:
            continue
        if isinstance(value, list):
            texts = texts_in(value)
            if texts:
                found[name] = texts
        elif isinstance(value, (str, int, float, bool)) and str(value).strip():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            found[name] = " ".join(text.encode("utf-8", "replace").decode().split())[:2000]
    return found


def _privacy(metadata: object) -> dict[str, str | tuple[str, ...]]:
    """`private`, where the metadata say so: such a memory must not become a public note."""
    said = metadata.get("private") if isinstance(metadata, Mapping) else None
    is_private = str(said or "").strip().casefold() not in ("", "0", "false", "no", "off")
    return {"private": "true"} if is_private else {}


def _tags(texts: tuple[str, ...]) -> tuple[str, ...]:
    tags = (normalise_tag(text) for text in texts)
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _meant(value: object) -> str:
    text = " ".join(_memory_records_text(value).split())
    return "" if text in _SAYS_NOTHING else text


def _memory_records_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float, datetime)):
        return ""
    return str(value).encode("utf-8", "replace").decode()


MAX_JSON_BYTES = 1024 * 1024 * 1024

_Reading = Callable[[Mapping[str, Any], str, int], SourceNote]


class RecordSource:
    """What files of records have in common: there is nothing beside the records."""

    kind = "jsonl"
    others: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def identity(self) -> str:
        """Ids of records tell by themselves where they are from."""
        return self.kind

    def size_of(self, path: str) -> int | None:
        """There are no other files."""
        return None

    def read_other(self, path: str) -> bytes | None:
        """There are no other files."""
        return None

    def _taken(
        self, read: _Reading, record: object, place: str, number: int, problems: list[Problem]
    ) -> Iterator[SourceNote]:
        """The record as a note, or none where it cannot be one, which is told."""
        if not isinstance(record, Mapping):
            problems.append(Problem(place, number, "not a JSON object"))
            return
        try:
            yield read(record, place, number)
        except ValueError as error:
            problems.append(Problem(place, number, str(error)))


class JsonLines(RecordSource):
    """JSON lines, of a file or of standard input.

    Args:
        text: the lines.
    """

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(path)
        self._lines = text.split("\n")

    def notes(self, problems: list[Problem]) -> Iterator[SourceNote]:
        """A note for each line; a line that cannot be one is told."""
        for number, line in enumerate(self._lines, 1):
            if not line.strip():
                continue
            try:
                yield read_line(line, str(self.path), number)
            except ValueError as error:
                problems.append(Problem(str(self.path), number, str(error)))


class JsonRecords(RecordSource):
    """One JSON document of records.

    Args:
        kind: `amem` or `mem0`.
    """

    def __init__(self, path: Path, document: object, kind: str) -> None:
        super().__init__(path)
        self.kind = kind
        self._document = document

    def notes(self, problems: list[Problem]) -> Iterator[SourceNote]:
        """A note for each record, in their order; the line in messages is the record's number."""
        records, read = (
            (mem0_records, mem0_note) if self.kind == "mem0" else (amem_records, amem_note)
        )
        for number, record in enumerate(records(self._document), 1):
            # What `amem export --json` prints is one document too.
            is_own = isinstance(record, Mapping) and "path" in record and "content" in record
            taken = read_record if is_own else read
            yield from self._taken(taken, record, str(self.path), number, problems)
        entities = self._document.get("relations") if isinstance(self._document, Mapping) else None
        if self.kind == "mem0" and isinstance(entities, list) and entities:
            text = f"{len(entities)} relations between entities are no memories and are not taken"
            problems.append(Problem(str(self.path), 0, text))


def read_text(path: Path, *, limit: int = MAX_JSON_BYTES) -> str:
    """A whole file as text.

    Raises:
        SettingsError: it cannot be read, is too large or not UTF-8.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as stream:
            is_odd = not stat.S_ISREG(os.fstat(handle).st_mode)
            raw = b"" if is_odd else stream.read(limit + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "Name a file, a folder, or - for JSON lines on stdin."
        raise SettingsError(f"cannot read {path}: {reason}", hint=hint) from None
    if is_odd:
        raise SettingsError(f"{path} is not a regular file", hint="Pipe it in, and name it -.")
    if len(raw) > limit:
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
