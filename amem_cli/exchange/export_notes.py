"""Exports notes as records, and says what they still tell of private notes that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from amem_cli.errors import Problem
from amem_cli.index.memory_index import VaultPorts
from amem_cli.markdown.links import find_links, parse_link
from amem_cli.notes.names import RememberedNames, resolve
from amem_cli.notes.note import parse_note

if TYPE_CHECKING:
    from amem_cli.search.search import Filters


class Selection:
    """The notes that an export takes, and what they say of those that it leaves out.

    Attributes:
        notes: by path.
        left_out: how many private notes were selected and do not go out.
        named: by the path of an exported note, the private notes left out that its text names.
        cut_links: how many entries of `links` were cut, as they lead to private notes left out.
        problems: what could not be exported as it is.
    """

    def __init__(self, ports: VaultPorts, filters: Filters | None, *, private: bool) -> None:
        found = [
            note for note in ports.index.notes.summaries() if not filters or filters.admit(note)
        ]
        self.notes = [note for note in found if private or not note.private]
        self.left_out = len(found) - len(self.notes)
        exported = {note.path for note in self.notes}
        self._private = ports.index.notes.private_paths() - exported
        self._names = RememberedNames(ports.index.names, {})
        self._ports = ports
        self.named: dict[str, set[str]] = {}
        self.cut_links = 0
        self.problems: list[Problem] = []

    def records(self) -> Iterator[dict[str, Any]]:
        """Each note as the object of a JSON line; `aliases` and `private` only if it has them."""
        for summary in self.notes:
            content = self._ports.vault.read(summary.path)
            note = parse_note(summary.path, content.raw, self._ports.names)
            if content.cut:
                message = "is larger than 2 MiB; the line has its beginning"
                self.problems.append(Problem(note.path, 0, message))
            else:
                try:
                    content.raw.decode("utf-8")
                except UnicodeDecodeError:
                    message = "is not UTF-8; the line has � for bad bytes"
                    self.problems.append(Problem(note.path, 0, message))
            body = find_links(note.body) if self._private and "[" in note.body else ()
            targets = {resolve(link.target, note.path, self._names) for link in body}
            if named := self._private & targets:
                self.named[note.path] = named
            links = [text for text in note.links if not self._leads_to_private(text, note.path)]
            self.cut_links += len(note.links) - len(links)
            record: dict[str, Any] = {
                "content": note.body,
                "title": note.title,
                "id": note.id,
                "created": note.created,
                "keywords": list(note.keywords),
                "tags": list(note.tags),
                "context": note.context,
                "links": links,
                "path": note.path,
            }
            if note.aliases:
                record["aliases"] = list(note.aliases)
            if note.private:
                record["private"] = True
            yield record

    def _leads_to_private(self, text: str, source: str) -> bool:
        link = parse_link(text)
        return link is not None and resolve(link.target, source, self._names) in self._private
