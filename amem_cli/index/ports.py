"""The open vault that use cases work on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.index.events import Journal
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.journal.change_store import ChangeStore
    from amem_cli.notes.note import PropertyNames
    from amem_cli.vault.folder import VaultFolder
    from amem_cli.vault.port import SystemClock


@dataclass(frozen=True)
class VaultPorts:
    """What reads and changes a vault, except models.

    Attributes:
        names: the vault's names for the program's properties.
        keep_missing: called if notes are missing: paths of those that the index keeps, as while the
            watcher asks what became of them.
    """

    vault: VaultFolder
    index: MemoryIndex
    open_changes: Callable[[], ChangeStore]
    journal: Journal
    clock: SystemClock
    names: PropertyNames
    keep_missing: Callable[[], Container[str]] = tuple
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
