"""The open vault that use cases work on."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.index.events import Journal
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.journal.change_store import ChangeStore
    from amem_cli.journal.events import Clock
    from amem_cli.notes.note import PropertyNames
    from amem_cli.vault.port import Vault


@dataclass(frozen=True, slots=True)
class VaultPorts:
    """What reads and changes a vault, except models.

    Attributes:
        names: the vault's names for the program's properties.
        keep_missing: called if notes are missing: paths of those that the index keeps, as while the
            watcher asks what became of them.
    """

    vault: Vault
    index: MemoryIndex
    changes: ChangeStore
    journal: Journal
    clock: Clock
    names: PropertyNames
    keep_missing: Callable[[], Container[str]] = tuple
