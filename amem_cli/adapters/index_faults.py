"""Turns what SQLite reports into failures that a user understands."""

from __future__ import annotations

import apsw

from amem_cli.core.errors import IndexFault

DAMAGE = (apsw.CorruptError, apsw.NotADBError)
# What a full disk, missing rights or a read-only file system look like while a file is opened.
UNWRITABLE = (
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)


class IndexDamaged(IndexFault):
    """The index's content makes no sense; it is set aside when it is next opened or used."""


def understood(error: apsw.Error) -> IndexFault | None:
    """The failure in a user's words; None for one that only a bug can cause."""
    if isinstance(error, DAMAGE):
        return IndexDamaged(
            "the index is damaged",
            hint="Run the command again: the index is made anew from your notes.",
        )
    if isinstance(error, apsw.FullError):
        return IndexFault(
            "no space is left for the index; it is as it was before",
            hint="Free some space; the next command goes on from there.",
        )
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return IndexFault(
            "another amem process keeps the index busy", hint="Try again in a moment."
        )
    if isinstance(error, UNWRITABLE):
        return IndexFault(
            f"the index cannot be read or written: {error}",
            hint="Check permissions and space of the vault's .amem folder.",
        )
    return None
