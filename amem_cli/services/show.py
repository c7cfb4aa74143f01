"""Reads one note with its links in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amem_cli.core.note_file import parse_note
from amem_cli.core.resolution import resolve
from amem_cli.services.lookup import note_named
from amem_cli.services.standing import Standing, standings

if TYPE_CHECKING:
    from amem_cli.core.index_records import NoteSummary
    from amem_cli.core.journal import LinkRecord
    from amem_cli.core.note import Note
    from amem_cli.services.vault_ports import VaultPorts


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link from or to the note that is read.

    Attributes:
        outgoing: False for a link of the other note to this one.
        kind: `wikilink` or `property`.
        record: the explanation, where the link was made by the machine or by a command.
    """

    id: str | None
    path: str
    title: str
    outgoing: bool
    kind: str
    record: LinkRecord | None

    def document(self) -> dict[str, Any]:
        """The link as JSON."""
        record = self.record
        return {
            "id": self.id,
            "path": self.path,
            "title": self.title,
            "direction": "out" if self.outgoing else "in",
            "kind": self.kind,
            "by": record.by if record else "person",
            "relation": record.relation if record else None,
            "strength": record.strength if record and record.by == "machine" else None,
            "reason": (record.reason or None) if record else None,
        }


@dataclass(frozen=True, slots=True)
class NoteView:
    """A note as it is read.

    Attributes:
        raw: the file's bytes.
        standing: which notes supersede or contradict it.
        usage: how often amem showed or found it, and when last.
    """

    summary: NoteSummary
    note: Note
    raw: bytes
    links: tuple[LinkView, ...]
    standing: Standing
    usage: tuple[int, str] = (0, "")


def read_note(ports: VaultPorts, name: str) -> NoteView:
    """The note that the user named.

    Raises:
        NotFoundError: there is no such note, or more than one.
    """
    summary = note_named(ports.index, name)
    raw = ports.vault.read(summary.path).raw
    note = parse_note(summary.path, raw, ports.names)
    standing = standings(ports.index, [summary.path]).get(summary.path, Standing())
    return NoteView(summary, note, raw, tuple(_links(ports, summary)), standing)


def _links(ports: VaultPorts, note: NoteSummary) -> list[LinkView]:
    index = ports.index
    own = index.link_history.records(note.path)
    found: dict[tuple[str, bool], LinkView] = {}
    for link in index.links.written(note.path):
        target = resolve(link.target, note.path, index.names)
        other = index.notes.summary(target) if target is not None else None
        if other is not None and other.path != note.path:
            record = own.get((note.path, other.key)) or own.get((note.path, other.path))
            view = _view(other, True, link.kind, record)
            found.setdefault((other.path, True), view)
    for source, link in index.links.incoming(note.path):
        other = index.notes.summary(source)
        if other is not None:
            records = index.link_history.records(source)
            record = records.get((source, note.key)) or records.get((source, note.path))
            found.setdefault((source, False), _view(other, False, link.kind, record))
    return list(found.values())


def _view(other: NoteSummary, outgoing: bool, kind: str, record: LinkRecord | None) -> LinkView:
    explained = record if kind == "property" else None
    return LinkView(other.id, other.path, other.title, outgoing, kind, explained)
