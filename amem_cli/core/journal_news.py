"""What the journal's files say that the index does not know yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.core.journal import Event


@dataclass(frozen=True, slots=True)
class JournalFile:
    """What a journal file holds beyond what was known of it.

    Attributes:
        name: the file's name.
        position: says up to where the file is known once the events are stored.
    """

    name: str
    position: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class JournalNews:
    """What the journal's files say that is not known yet.

    Attributes:
        restarted: a part that was known has changed or is gone, as git does when it goes back;
            what was known is to be forgotten, the files are given whole.
    """

    files: tuple[JournalFile, ...] = ()
    restarted: bool = False
