"""The index in one SQLite file: words by FTS5, vectors by sqlite-vec."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from amem_cli.index.connection import IndexConnection
from amem_cli.index.events import IndexEvents, IndexLinkHistory, IndexQueue, IndexUsage
from amem_cli.index.notes import IndexFiles, IndexNotes
from amem_cli.index.text import IndexLinks, IndexNames, IndexText
from amem_cli.index.vectors import IndexVectors


class SqliteIndex:
    """The index file; see `amem_cli.index.port.MemoryIndex` for what each call promises.

    Args:
        notify, refill: see `IndexConnection`.

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
        file = IndexConnection(path, notify=notify, refill=refill)
        self.file = file
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

    def changing(self) -> AbstractContextManager[None]:
        """One write transaction."""
        return self.file.changing()

    def damage(self) -> list[str]:
        """What SQLite finds wrong in the structure of the file; reads all of it."""
        return self.file.damage()

    def close(self) -> None:
        """Close the file."""
        self.file.close()
