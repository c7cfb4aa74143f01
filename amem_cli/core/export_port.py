"""What an export of plain markdown needs of the folder that it writes to and of the vault."""

from __future__ import annotations

from typing import Literal, Protocol

Written = Literal["written", "unchanged", "kept"]


class PlainFolder(Protocol):
    """A folder outside the vault in which only what was written by exports is ever replaced."""

    def put(self, path: str, content: bytes) -> Written:
        """Write a file, or say that it is so already, or that somebody else's file is there."""

    def finish(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove what former exports wrote and this one did not.

        Returns:
            Paths of the files that were removed, and of those that somebody changed and that stay.
        """

    def remember(self) -> None:
        """Keep in mind what was written so far, when an export is cut short."""

    def vault_files(self) -> tuple[str, ...]:
        """Paths of the files in the vault that are no notes."""

    def read_vault_file(self, path: str) -> bytes | None:
        """One of them; None where it cannot be read or is larger than 50 MiB."""
