"""Moves notes in and out as JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from amem_cli.core.errors import AmemError, Problem, SettingsError
from amem_cli.core.identity import parse_moment
from amem_cli.core.index_port import Progress
from amem_cli.core.wikilinks import format_link, parse_link
from amem_cli.services.add import NewNote, add
from amem_cli.services.vault_ports import VaultPorts

# Ids of other programs are kept, so that what refers to them still does.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    Attributes:
        skipped: lines whose note is in the vault already.
        problems: lines that could not be imported.
    """

    paths: tuple[str, ...]
    skipped: int
    problems: tuple[Problem, ...]


def import_lines(
    ports: VaultPorts,
    lines: Iterable[str],
    *,
    source: str,
    folder: str,
    total: int = 0,
    progress: Progress | None = None,
) -> ImportReport:
    """Add a note for each JSON line; one bad line does not stop the rest.

    A line with an id that the vault knows is skipped, so that an import can be repeated.
    """
    paths: list[str] = []
    problems: list[Problem] = []
    skipped = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            new = read_line(line, folder)
            if new.id and ports.index.id_taken(new.id):
                skipped += 1
                continue
            paths.append(add(ports, new))
        except SettingsError:
            # What keeps one note from being written keeps all of them.
            raise
        except (AmemError, ValueError) as error:
            text = error.message if isinstance(error, AmemError) else str(error)
            problems.append(Problem(source, number, text))
        if progress is not None:
            progress(number, max(total, number))
    return ImportReport(tuple(paths), skipped, tuple(problems))


def read_line(line: str, folder: str) -> NewNote:
    """One JSON line as a new note.

    Raises:
        ValueError: the line is not such an object; the message says why.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    content = _text(record, "content")
    if not content.strip():
        raise ValueError("no “content”")
    note_id = _text(record, "id")
    if note_id and not _ID.fullmatch(note_id):
        raise ValueError(f"{note_id!r} cannot be an id")
    created = _text(record, "created")
    links = [_link(text) for text in _texts(record, "links")]
    return NewNote(
        content=content,
        title=_text(record, "title"),
        id=note_id,
        created=parse_moment(created) if created else None,
        keywords=_texts(record, "keywords"),
        tags=_texts(record, "tags"),
        context=_text(record, "context"),
        links=links,
        folder=folder,
    )


def _link(text: str) -> str:
    link = text if parse_link(text) else format_link(text)
    parsed = parse_link(link)
    if parsed is None or not parsed.target:
        raise ValueError(f"{text!r} cannot be a link")
    return link


def export_lines(ports: VaultPorts) -> Iterator[str]:
    """Every note as a JSON line, by path."""
    from amem_cli.core.note_file import parse_note

    for summary in ports.index.summaries():
        note = parse_note(summary.path, ports.vault.read(summary.path).raw, ports.names)
        record = {
            "content": note.body,
            "title": note.title,
            "id": note.id,
            "created": note.created,
            "keywords": list(note.keywords),
            "tags": list(note.tags),
            "context": note.context,
            "links": list(note.links),
            "path": note.path,
        }
        yield json.dumps(record, ensure_ascii=False)


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise ValueError(f"“{name}” is not text")
    return str(value)


def _texts(record: dict[str, Any], name: str) -> list[str]:
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"“{name}” is not a list of texts")
    return value
