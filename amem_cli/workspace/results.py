"""What the verbs of a workspace give back, where no use case has a result of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.duplicates.find import Duplicate
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.search import Hit, Mode
    from amem_cli.search.supersession import Supersession


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a new note.

    Attributes:
        known: nothing was added: the outcome is of a note that held the very text already.
        duplicates: other notes with the same text, or nearly.
    """

    outcome: Outcome
    known: bool = False
    duplicates: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of a changed note.

    Attributes:
        changed: names of the fields that changed, `content` among them.
        revision: hash of the text as it is now.
        duplicates: other notes with the new text, or nearly.
    """

    outcome: Outcome
    changed: tuple[str, ...] = ()
    revision: str = ""
    duplicates: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        mode: how it was searched: by words alone if the encoder cannot be had.
    """

    query: str
    mode: Mode
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class ListedNote:
    """A note of a list, with the notes that say that it no longer holds.

    Attributes:
        usage: how often amem showed or found it, and when last.
    """

    note: NoteSummary
    supersession: Supersession
    usage: tuple[int, str]
