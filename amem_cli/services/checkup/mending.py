"""What the mends of notes share: the vault opened for writing, only when one is asked for."""

from __future__ import annotations

from collections.abc import Callable

from amem_cli.services.vault_ports import VaultPorts

# The open vault, its index in step with the notes.
OpenPorts = Callable[[], VaultPorts]
