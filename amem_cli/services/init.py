"""Takes stock of a vault when it is made: what is there needs no work of the machine's."""

from __future__ import annotations

from amem_cli.core.journal import Event
from amem_cli.services.recording import new_event
from amem_cli.services.sync import synchronise
from amem_cli.services.vault_ports import VaultPorts


def take_stock(ports: VaultPorts) -> int:
    """Index the notes that are there and record their texts as known.

    A known text is not pending; `evolve --all` processes it all the same.

    Returns:
        How many notes there are.
    """
    synchronise(ports)
    with ports.changes.locked():
        known = tuple(sorted({note.text_hash for note in ports.index.notes.summaries()}))
        event: Event = new_event(ports, "baseline", reason="the vault was made", known=known)
        ports.changes.apply([], [event])
    synchronise(ports)
    return ports.index.notes.count()
