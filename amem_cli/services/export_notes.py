"""Writes notes out as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from amem_cli.core.index_records import NoteSummary
from amem_cli.core.note_file import parse_note
from amem_cli.services.vault_ports import VaultPorts

if TYPE_CHECKING:
    from amem_cli.services.query import Filters


def chosen(ports: VaultPorts, filters: Filters, *, private: bool) -> tuple[list[NoteSummary], int]:
    """The notes that are to be written out, by path, and how many private ones are left out."""
    notes = [note for note in ports.index.summaries() if not filters or filters.admit(note)]
    public = [note for note in notes if private or not note.private]
    return public, len(notes) - len(public)


def export_records(ports: VaultPorts, notes: list[NoteSummary]) -> Iterator[dict[str, Any]]:
    """Each note as the object of a JSON line; `aliases` and `private` where it has them."""
    for summary in notes:
        note = parse_note(summary.path, ports.vault.read(summary.path).raw, ports.names)
        record: dict[str, Any] = {
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
        if note.aliases:
            record["aliases"] = list(note.aliases)
        if note.private:
            record["private"] = True
        yield record


def export_lines(ports: VaultPorts, notes: list[NoteSummary]) -> Iterator[str]:
    """Each note as a JSON line."""
    for record in export_records(ports, notes):
        yield json.dumps(record, ensure_ascii=False)
