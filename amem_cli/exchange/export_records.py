"""Chooses the notes of an export, keeps private ones out of it, and gives notes as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.errors import Problem
from amem_cli.index.draft import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.markdown.links import find_links, parse_link
from amem_cli.notes.codec import parse_note
from amem_cli.notes.names import RememberedNames, resolve

if TYPE_CHECKING:
    from amem_cli.search.search import Filters


def notes_to_export(
    ports: VaultPorts, filters: Filters, *, private: bool
) -> tuple[list[NoteSummary], int]:
    """The notes to export, by path, and how many private ones are left out."""
    notes = [note for note in ports.index.notes.summaries() if not filters or filters.admit(note)]
    public = [note for note in notes if private or not note.private]
    return public, len(notes) - len(public)


class PrivacyFilter:
    """Cuts links to notes that are not exported, and finds the notes that name private ones.

    Args:
        notes: those that are exported.

    Attributes:
        named: by the path of an exported note, the private notes left out that its text names.
        cut_links: how many entries of `links` were cut.
    """

    def __init__(self, ports: VaultPorts, notes: Sequence[NoteSummary]) -> None:
        self._exported = {note.path for note in notes}
        self._private = ports.index.notes.private_paths() - self._exported
        self.names = RememberedNames(ports.index.names, {})
        self.named: dict[str, set[str]] = {}
        self.cut_links = 0

    def links(self, texts: Iterable[str], source: str, *, only_private: bool) -> list[str]:
        """The entries of `links` without those that lead to notes that are not exported.

        Args:
            only_private: cut only links to private notes.
        """
        links = []
        for text in texts:
            link = parse_link(text)
            to = resolve(link.target, source, self.names) if link else None
            stays = to is None or to in self._exported or (only_private and to not in self._private)
            if stays:
                links.append(text)
            else:
                self.cut_links += 1
        return links

    def scan(self, text: str, source: str) -> None:
        """Remember which private notes the links of a text name."""
        if not self._private or "[" not in text:
            return
        for link in find_links(text):
            to = resolve(link.target, source, self.names)
            if to is not None:
                self.remember(source, to)

    def remember(self, source: str, target: str) -> None:
        """Remember that the text of a note names another, if that one is private."""
        if target in self._private:
            self.named.setdefault(source, set()).add(target)


def export_records(
    ports: VaultPorts,
    notes: list[NoteSummary],
    privacy: PrivacyFilter,
    problems: list[Problem],
) -> Iterator[dict[str, Any]]:
    """Each note as the object of a JSON line; `aliases` and `private` only if it has them.

    Args:
        privacy: cuts links to private notes, and learns which notes name them.
        problems: receives what a line cannot hold of a note.
    """
    for summary in notes:
        content = ports.vault.read(summary.path)
        note = parse_note(summary.path, content.raw, ports.names)
        if content.cut:
            problems.append(
                Problem(note.path, 0, "is larger than 2 MiB; the line has its beginning")
            )
        else:
            try:
                content.raw.decode("utf-8")
            except UnicodeDecodeError:
                problems.append(Problem(note.path, 0, "is not UTF-8; the line has � for bad bytes"))
        privacy.scan(note.body, note.path)
        record: dict[str, Any] = {
            "content": note.body,
            "title": note.title,
            "id": note.id,
            "created": note.created,
            "keywords": list(note.keywords),
            "tags": list(note.tags),
            "context": note.context,
            "links": privacy.links(note.links, note.path, only_private=True),
            "path": note.path,
        }
        if note.aliases:
            record["aliases"] = list(note.aliases)
        if note.private:
            record["private"] = True
        yield record
