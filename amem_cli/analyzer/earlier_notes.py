"""The notes that count for one that is processed: those that were there before it.

Processing many notes at once gives what adding them in the order of time gives: of the notes that
wait for their first process, the later ones count as not written yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from amem_cli.language.dates import created_text, local_moment, moment_in

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteOutline, NoteSummary
    from amem_cli.models.ports import Vectors

# A note's place in the order of time: when it was made, its id, its path.
Place = tuple[str, str, str]
# To so few notes a search is restricted; among more, it asks for more and drops what is absent.
_FEW = 400


def moment_made(note: NoteSummary | NoteOutline, now: datetime) -> str:
    """When a note was made, ISO 8601 by this machine's clock, so that texts compare as moments do.

    A date that is still to come does not say it; then the id does, or the file's time.
    """
    present = local_moment(now, None)
    told = map(moment_in, (note.created, (note.id or "")[:14], note.modified))
    moments = (local_moment(moment, None) for moment in told if moment is not None)
    return created_text(next((each for each in moments if each <= present), present))


def place_in_time(note: NoteSummary | NoteOutline, now: datetime) -> Place:
    """Where a note stands in the order of time; no two notes stand at the same place."""
    return moment_made(note, now), note.id or "", note.path


def waiting_notes(
    index: MemoryIndex, now: datetime, paths: Collection[str] = (), before: str = ""
) -> Mapping[str, Place]:
    """Places by path of the notes that wait for their first process.

    Args:
        paths: those to be processed though they are not pending, as the notes of an adopted folder.
        before: as things were before this event, by its id; of the pending notes and those at
            `paths`.
    """
    waiting = index.queue.never_processed(paths, before)
    outlines = index.notes.outlines() if waiting else ()
    return {each.path: place_in_time(each, now) for each in outlines if each.path in waiting}


def notes_apart(index: MemoryIndex, path: str) -> frozenset[str]:
    """Paths of the notes that lend one no tags, and are linked with it only by what it says: to a
    person's note those that amem made the vault with, and the other way round."""
    samples = index.events.sample_notes()
    if path not in samples:
        return samples
    return frozenset(each.path for each in index.notes.outlines()) - samples


class EarlierNotes:
    """The notes of a vault without those that count as absent."""

    def __init__(
        self, index: MemoryIndex, now: datetime = datetime.max, absent: Collection[str] = ()
    ) -> None:
        self._index = index
        self._now = now
        self.absent = frozenset(absent)
        self._frequencies: dict[str, int] = {}

    def made(self, note: NoteSummary | NoteOutline) -> str:
        return moment_made(note, self._now)

    @cached_property
    def total(self) -> int:
        return self._index.notes.count() - len(self._absent_numbers)

    @cached_property
    def _absent_numbers(self) -> frozenset[int]:
        return frozenset(number for path, number in self._numbers.items() if path in self.absent)

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return self._index.notes.numbers() if self.absent else {}

    @cached_property
    def _present(self) -> list[str]:
        return [path for path in self._numbers if path not in self.absent]

    def document_frequency(self, word: str) -> int:
        """In how many notes a folded word occurs."""
        if word not in self._frequencies:
            found = self._index.text.document_frequency(word, self._absent_numbers)
            self._frequencies[word] = found
        return self._frequencies[word]

    def nearest(self, vector: Vectors, limit: int) -> dict[str, float]:
        """Cosine by path of the notes nearest to a vector, shape (dimension,), best first."""
        return self._best(partial(self._index.vectors.scores, vector), limit)

    def with_words(self, terms: Sequence[str], limit: int) -> dict[str, float]:
        """Scores by path of the notes with the most telling of the terms, best first."""
        return self._best(partial(self._index.text.keyword_scores, terms), limit)

    def _best(self, search: Callable[..., dict[str, float]], limit: int) -> dict[str, float]:
        if not self.absent:
            return search(limit)
        if self.total > _FEW:
            # Of so many at least a part is likely to be present.
            asked = 2 * limit * -(-(self.total + len(self.absent)) // self.total)
            found = search(asked)
            kept = [path for path in found if path not in self.absent]
            if len(kept) >= limit or len(found) < asked:
                return {path: found[path] for path in kept[:limit]}
        return search(limit, self._present)
