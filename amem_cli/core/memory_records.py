"""Turns records of other memory programs, A-MEM and mem0, into notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from amem_cli.core.import_port import SourceNote
from amem_cli.core.literal_values import texts_in
from amem_cli.core.source_dates import moment_in
from amem_cli.core.tags import normalise_tag

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
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
    content = _text(record.get("content"))
    if not content.strip():
        raise ValueError("no “content”")
    category = _meant(record.get("category"))
    return replace(
        _bare_note(record, content, place, line),
        created=moment_in(_text(record.get("timestamp"))),
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
    content = _text(record.get("memory")) or _text(record.get("data"))
    if not content.strip():
        raise ValueError("no “memory”")
    return replace(
        _bare_note(record, content, place, line),
        created=moment_in(_text(record.get("created_at"))),
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
        key = _text(row.get("memory_id"))
        if not key:
            continue
        if row.get("is_deleted") or _text(row.get("event")).upper() == "DELETE":
            memories.pop(key, None)
            continue
        known = memories.setdefault(key, {"id": key, "created_at": row.get("created_at")})
        known["memory"] = row.get("new_memory") or known.get("memory")
        known |= {name: row[name] for name in ("actor_id", "role") if row.get(name)}
    yield from memories.values()


def _bare_note(record: Mapping[str, Any], content: str, place: str, line: int) -> SourceNote:
    """A text under the id that the record has."""
    note_id = _text(record.get("id"))
    return SourceNote(
        key=note_id or content,
        place=place,
        line=line,
        raw=content.encode("utf-8", "replace"),
        has_header=False,
        id=note_id if _ID.fullmatch(note_id) else "",
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
    text = " ".join(_text(value).split())
    return "" if text in _SAYS_NOTHING else text


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float, datetime)):
        return ""
    return str(value).encode("utf-8", "replace").decode()
