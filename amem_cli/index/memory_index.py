"""The index of a vault, and the open vault that use cases work on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.index.connection import Database
from amem_cli.index.events import IndexEvents, IndexLinkHistory, IndexQueue, IndexUsage
from amem_cli.index.files import IndexFiles
from amem_cli.index.records import IndexLinks, IndexNames, IndexNotes
from amem_cli.index.vectors import IndexVectors

if TYPE_CHECKING:
    from amem_cli.index.text import IndexText
    from amem_cli.journal.change_store import ChangeStore
    from amem_cli.journal.files import JournalFolder
    from amem_cli.notes.creation_date import FirstCommit
    from amem_cli.notes.note import PropertyNames
    from amem_cli.vault.file_state import SystemClock
    from amem_cli.vault.folder import VaultFolder


class MemoryIndex:
    """One SQLite file that mirrors notes and journal; it can be rebuilt from them at any time."""

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
        self.names = IndexNames(file)
        self.links = IndexLinks(file, self.names)
        self.files = IndexFiles(file, self.names, self.links, lambda: self.text)
        self.link_history = IndexLinkHistory(file, self.links)
        self.events = IndexEvents(file, self.link_history)
        self.queue = IndexQueue(file)
        self.usage = IndexUsage(file)
        self.changing = file.changing
        self.damage = file.damage
        self.close = file.close

    @contextlib.contextmanager
    def changing_notes(self) -> Iterator[None]:
        """A write transaction that stores or forgets notes: their languages are told together."""
        with self.changing():
            yield
            self.text.settle_languages()

    @cached_property
    def text(self) -> IndexText:
        """Passages and words; only imported here, because most commands do not need them."""
        from amem_cli.index.text import IndexText

        return IndexText(self.file, self.vectors)


@dataclass(frozen=True)
class VaultPorts:
    """What reads and changes a vault, except models.

    Attributes:
        daily: what the paths of daily notes look like, such as `[Journal]/DD-MM-YYYY`.
        keep_missing: called if notes are missing: paths of those that the index keeps, as while the
            watcher asks what became of them.
    """

    vault: VaultFolder
    index: MemoryIndex
    open_changes: Callable[[], ChangeStore]
    journal: JournalFolder
    clock: SystemClock
    names: PropertyNames
    daily: str = ""
    keep_missing: Callable[[], Container[str]] = tuple
    first_commit: FirstCommit = lambda path: None
    _opening: threading.Lock = field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )

    @property
    def changes(self) -> ChangeStore:
        """The change store, opened when it is first used: a search needs none."""
        # One for all threads: it counts the holds of its lock, and two would wait for each other.
        with self._opening:
            return self._changes

    @cached_property
    def _changes(self) -> ChangeStore:
        return self.open_changes()
