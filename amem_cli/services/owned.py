"""Tells what in a note is the machine's own."""

from __future__ import annotations

from collections.abc import Iterable

from amem_cli.core.index_port import MemoryIndex
from amem_cli.core.journal import Event
from amem_cli.core.ownership import Ownership, ownership


def owned_by_machine(index: MemoryIndex, key: str, later: Iterable[Event] = ()) -> Ownership:
    """What the journal calls the machine's own in a note.

    Where two notes have one id, as a copy has, nobody can tell which of them an event was about:
    then nothing is the machine's.

    Args:
        key: the note's id, or its path where it has none.
        later: events of the same note that are not in the journal yet.
    """
    owned = ownership([*index.events.read(key), *later])
    return Ownership(declined=owned.declined, kept=owned.kept) if is_shared(index, key) else owned


def is_shared(index: MemoryIndex, key: str) -> bool:
    """Whether more than one note carries this id."""
    return sum(summary.id == key for summary in index.notes.find(key)) > 1
