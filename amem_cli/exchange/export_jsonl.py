"""Writes notes out as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from amem_cli.errors import Problem
from amem_cli.exchange.export_markdown import StayingNotes
from amem_cli.index.draft import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.notes.codec import parse_note

if TYPE_CHECKING:
    from amem_cli.search.search import Filters


def chosen(ports: VaultPorts, filters: Filters, *, private: bool) -> tuple[list[NoteSummary], int]:
    """The notes that are to be written out, by path, and how many private ones are left out."""
    notes = [note for note in ports.index.notes.summaries() if not filters or filters.admit(note)]
    public = [note for note in notes if private or not note.private]
    return public, len(notes) - len(public)


def export_records(
    ports: VaultPorts,
    notes: list[NoteSummary],
    staying: StayingNotes,
    problems: list[Problem],
) -> Iterator[dict[str, Any]]:
    """Each note as the object of a JSON line; `aliases` and `private` where it has them.

    Args:
        staying: learns which private notes that stay are named by others; links to them are cut.
        problems: takes what a line cannot hold of a note.
    """
    for summary in notes:
        content = ports.vault.read(summary.path)
        note = parse_note(summary.path, content.raw, ports.names)
        if content.cut:
            problems.append(
                Problem(note.path, 0, "is larger than 2 MiB; the line has its beginning")
            )
        elif not _is_text(content.raw):
            problems.append(Problem(note.path, 0, "is not UTF-8; the line has � for what is none"))
        staying.look_through(note.body, note.path)
        record: dict[str, Any] = {
            "content": note.body,
            "title": note.title,
            "id": note.id,
            "created": note.created,
            "keywords": list(note.keywords),
            "tags": list(note.tags),
            "context": note.context,
            "links": staying.links(note.links, note.path, any_note=False),
            "path": note.path,
        }
        if note.aliases:
            record["aliases"] = list(note.aliases)
        if note.private:
            record["private"] = True
        yield record


def export_lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Each record as a JSON line."""
    for record in records:
        yield json.dumps(record, ensure_ascii=False)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
