"""Addresses that open a note in Obsidian."""

from __future__ import annotations

from urllib.parse import quote


def obsidian_address(vault_name: str, path: str) -> str:
    """`obsidian://open?…` of a note, of letters, digits and `%` alone.

    Args:
        vault_name: as Obsidian knows the vault: the name of its folder.
        path: of the note within the vault.
    """
    vault, file = (quote(_encodable(text), safe="") for text in (vault_name, path))
    return f"obsidian://open?vault={vault}&file={file}"


def _encodable(text: str) -> bytes:
    return text.encode("utf-8", "replace")
