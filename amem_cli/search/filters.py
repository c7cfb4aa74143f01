"""Which notes a search or a list takes."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.index.records import NoteOutline, NoteSummary


@dataclass(frozen=True, slots=True)
class Filters:
    """Which notes a search or a list may return.

    Attributes:
        tags: all of these, nested ones included (`inbox` finds `inbox/to-read`).
        since, until: bounds of the day a note was created; inclusive.
        path: a folder, a note, or a pattern of paths with `*`, `?` or `[…]`; `*` also matches
            several folders.
        hidden: paths of notes that the caller must not learn of.
    """

    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    path: str = ""
    hidden: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.since or self.until or self.path or self.hidden)

    def admit(self, note: NoteOutline | NoteSummary) -> bool:
        """True if the note meets all conditions."""
        if note.path in self.hidden:
            return False
        if self.path and not is_within(note.path, self.path):
            return False
        if self.since and day_of(note) < self.since.date().isoformat():
            return False
        if self.until and day_of(note) > self.until.date().isoformat():
            return False
        own = [f"{tag.casefold()}/" for tag in note.tags]
        wanted = [f"{tag.removeprefix('#').strip('/').casefold()}/" for tag in self.tags]
        return all(any(tag.startswith(parent) for tag in own) for parent in wanted)


EVERY_NOTE = Filters()


def day_of(note: NoteOutline | NoteSummary) -> str:
    """The day in a note's `created`; without one the local day of the last save."""
    if note.created:
        return note.created[:10]
    return datetime.fromisoformat(note.modified).astimezone().date().isoformat()


def is_within(path: str, place: str) -> bool:
    """True for a note that is or lies in `place`: a note, a folder, or a pattern of either."""
    wanted, own = _plain_place(place), unicodedata.normalize("NFC", path)
    if wanted == ".":
        return True
    if own in (wanted, f"{wanted}.md") or own.startswith(f"{wanted}/"):
        return True
    is_pattern = any(sign in wanted for sign in "*?[")
    return is_pattern and (fnmatchcase(own, wanted) or fnmatchcase(own, f"{wanted}/*"))


@lru_cache(maxsize=8)
def _plain_place(place: str) -> str:
    return unicodedata.normalize("NFC", normpath(place.strip().strip("/") or "."))
