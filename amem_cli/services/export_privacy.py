"""Keeps links to private notes that stay behind out of an export, and finds who names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amem_cli.core.index_records import NoteSummary
from amem_cli.core.resolution import RememberedNames, resolve
from amem_cli.core.wikilinks import find_links, parse_link
from amem_cli.services.vault_ports import VaultPorts


class StayingNotes:
    """The notes of the vault that do not go out with an export.

    Args:
        notes: those that do.

    Attributes:
        named: by the path of a note that goes out, the private ones that its own words name.
        cut_links: how many entries of `links` lead to a note that stays, and were left out.
    """

    def __init__(self, ports: VaultPorts, notes: Sequence[NoteSummary]) -> None:
        self._going = {note.path for note in notes}
        self._private = ports.index.notes.private_paths() - self._going
        self.names = RememberedNames(ports.index.names, {})
        self.named: dict[str, set[str]] = {}
        self.cut_links = 0

    def links(self, texts: Iterable[str], source: str, *, any_note: bool) -> list[str]:
        """The entries of `links` without those that lead to a note that stays.

        Args:
            any_note: also where it is not private.
        """
        kept = []
        for text in texts:
            link = parse_link(text)
            found = resolve(link.target, source, self.names) if link else None
            stays = found is not None and found not in self._going
            if stays and found is not None and (any_note or found in self._private):
                self.cut_links += 1
            else:
                kept.append(text)
        return kept

    def look_through(self, text: str, source: str) -> None:
        """Remember which private notes that stay are named by links of a text."""
        if not self._private or "[" not in text:
            return
        for link in find_links(text):
            found = resolve(link.target, source, self.names)
            if found is not None:
                self.remember(source, found)

    def remember(self, source: str, target: str) -> None:
        """Remember that the words of a note name another, where that one is private and stays."""
        if target in self._private:
            self.named.setdefault(source, set()).add(target)
