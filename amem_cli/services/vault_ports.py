"""The open vault that every use case works on."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from amem_cli.core.changes import ChangeStore, Clock
    from amem_cli.core.errors import Problem
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.journal_news import JournalNews
    from amem_cli.core.note import PropertyNames
    from amem_cli.core.vault_port import Vault


class Journal(Protocol):
    """The journal's files."""

    def read_new(self, positions: Mapping[str, str], problems: list[Problem]) -> JournalNews:
        """Events beyond the known positions, by the file's name."""


@dataclass(frozen=True, slots=True)
class VaultPorts:
    """What is needed to read and change a vault; models come separately.

    Attributes:
        names: how the vault calls the program's properties.
        spared: asked where notes are missing: paths of those that are not to be forgotten, as while
            somebody is asked about them.
    """

    vault: Vault
    index: MemoryIndex
    changes: ChangeStore
    journal: Journal
    clock: Clock
    names: PropertyNames
    spared: Callable[[], Container[str]] = tuple
