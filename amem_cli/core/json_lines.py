"""Reads the JSON lines in which amem writes notes out, and that other programs can make."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from amem_cli.core.identity import parse_moment
from amem_cli.core.import_port import SourceNote
from amem_cli.core.tags import normalise_tag
from amem_cli.core.wikilinks import format_link, parse_link

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
