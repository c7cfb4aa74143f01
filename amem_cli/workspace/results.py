"""Results of a workspace's verbs, if no use case defines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from amem_cli.duplicates.compare import Duplicate
    from amem_cli.errors import Problem
    from amem_cli.exchange.export_notes import PrivacyFilter
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.read import LinkView
    from amem_cli.search.search import Hit, Mode, Supersession


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


@dataclass(frozen=True, slots=True)
class Related:
    """A note near another.

    Attributes:
        link: the link that leads to it, as seen from the note at `source`.
        distance: how many links away it is.
    """

    link: LinkView
    note: NoteSummary
    distance: int
    source: str


@dataclass(frozen=True, slots=True)
class RecordExport:
    """Notes on their way out; `problems` and `privacy` are complete once `records` is read.

    Attributes:
        notes: how many go out.
        left_out: how many private notes do not.
        privacy: knows which notes that stay are named by those that go out.
    """

    notes: int
    left_out: int
    records: Iterator[dict[str, Any]]
    problems: list[Problem]
    privacy: PrivacyFilter
