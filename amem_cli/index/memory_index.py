"""The index of a vault: one SQLite file that mirrors notes and journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from amem_cli.index.connection import Database
from amem_cli.index.events import IndexEvents, IndexLinkHistory, IndexQueue, IndexUsage
from amem_cli.index.notes import IndexFiles, IndexNotes
from amem_cli.index.text import IndexLinks, IndexNames, IndexText
from amem_cli.index.vectors import IndexVectors


class MemoryIndex:
    """Words by FTS5, vectors by sqlite-vec; it can be rebuilt from the files at any time.

    Args:
        notify, refill: see `Database`.

    Raises:
        IndexFault: there is no room for an index anywhere.
    """

    def __init__(
        self,
        path: Path,
        *,
        notify: Callable[[str], None] | None = None,
        refill: Callable[[], object] | None = None,
    ) -> None:
        self.file = file = Database(path, notify=notify, refill=refill)
        self.notes = IndexNotes(file)
        self.vectors = IndexVectors(file)
        self.text = IndexText(file, self.vectors)
        self.names = IndexNames(file)
        self.links = IndexLinks(file, self.names)
        self.files = IndexFiles(file, self.names, self.links, self.text)
        self.link_history = IndexLinkHistory(file, self.links)
        self.events = IndexEvents(file, self.link_history)
        self.queue = IndexQueue(file)
        self.usage = IndexUsage(file)
        self.changing = file.changing
        self.damage = file.damage
        self.close = file.close
