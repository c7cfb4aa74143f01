"""What the use cases need of the index, in parts; it is rebuilt from notes and journal at will."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from amem_cli.notes.names import NoteNames

if TYPE_CHECKING:
    from amem_cli.errors import Problem
    from amem_cli.index.records import (
        DecidedLink,
        KnownFile,
        ModelUse,
        NoteLink,
        NoteOutline,
        NoteRecord,
        NoteSummary,
        PassageJob,
        PendingNote,
        Superseded,
    )
    from amem_cli.journal.events import Event, LinkRecord
    from amem_cli.models.ports import Vectors


class IndexedFiles(Protocol):
    """Takes notes in and out, with all that stands in them."""

    def states(self, within: Collection[str] | None = None) -> Mapping[str, KnownFile]:
        """Files that the index knows, by path: all, or those at these paths and below them."""

    def store(self, record: NoteRecord) -> None:
        """Insert or replace a note; vectors of unchanged passages are kept."""

    def move(self, old: str, new: str) -> None:
        """A note has another path now; its usage stays."""

    def forget(self, path: str) -> None:
        """Remove a note that is gone."""

    def update_state(self, path: str, file: KnownFile) -> None:
        """The file's times changed, not its content."""

    def problems(self) -> list[Problem]:
        """What is wrong in notes, by path."""


class IndexedNotes(Protocol):
    """Finds notes and tells what lists show of them."""

    def summary(self, path: str) -> NoteSummary | None:
        """One note by its path."""

    def summaries(self) -> Iterator[NoteSummary]:
        """All notes by path."""

    def summaries_after(self, path: str, limit: int, *, public: bool = False) -> list[NoteSummary]:
        """The next notes (of those that are not private) by path, at most `limit`."""

    def outlines(self) -> Iterator[NoteOutline]:
        """The same in short."""

    def find(self, name: str) -> list[NoteSummary]:
        """Notes by id, path, file name, title, alias, or a prefix of the id, in this order of
        preference: the first kind of match that finds anything decides."""

    def id_taken(self, note_id: str) -> bool:
        """True for an id that a note has or ever had, by the journal."""

    def count(self) -> int:
        """Number of notes."""

    def tag_counts(self, *, public: bool = False) -> Mapping[str, int]:
        """How many notes (of those that are not private) have a tag, by its first spelling."""

    def private_paths(self) -> set[str]:
        """Paths of the private notes."""

    def neighbours_in_time(
        self, path: str, reach: int
    ) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Paths and `created` of the notes of the same folder created before and after a note,
        nearest first, at most `reach` on either side; none for a note without a time of day."""


class IndexedText(Protocol):
    """Passages as they stand, and the words of notes."""

    def passages(self, path: str) -> list[str]:
        """Passages of a note in order."""

    def passage_counts(self, paths: Sequence[str]) -> Mapping[str, int]:
        """In how many passages notes are cut, by path."""

    def lengths(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Characters of the first two passages of notes, by path."""

    def keyword_scores(
        self, terms: Sequence[str], limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """BM25 by path, higher is better, best first; `among` restricts to these paths."""

    def term_matches(
        self, terms: Sequence[str], among: Sequence[str]
    ) -> list[tuple[int, frozenset[str]]]:
        """For each term in how many notes it occurs, and which of the paths `among` hold it."""

    def document_frequency(self, term: str) -> int:
        """In how many notes a word occurs."""

    def spellings(self, beginning: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        """Indexed words (stems) that begin so and are that long, with their number of notes."""


class IndexedLinks(Protocol):
    """Links as they stand in notes now."""

    def written(self, path: str) -> list[NoteLink]:
        """Links that stand in a note."""

    def outgoing(self, path: str) -> list[tuple[str, NoteLink]]:
        """The same that resolve, with the paths of the notes that they mean."""

    def incoming(self, path: str) -> list[tuple[str, NoteLink]]:
        """Links of other notes that resolve to a note, with their paths."""

    def all(self) -> Iterator[tuple[str, NoteLink]]:
        """Every link with the path of its note, by path."""


class IndexedVectors(Protocol):
    """Vectors of passages: of which model they are, who has none yet, and which are near."""

    def encoder(self) -> str | None:
        """Id of the model whose vectors are stored."""

    def use_encoder(self, model_id: str, dimension: int) -> bool:
        """Prepare for vectors of this model; True if searches still use another model's."""

    def count_to_embed(self, model_id: str) -> int:
        """How many passages have no vector of this model."""

    def passages_to_embed(self, limit: int | None = None, after: int = 0) -> list[PassageJob]:
        """At most `limit` passages without a vector of the model in use, by number, each with a
        greater number than `after`."""

    def store(self, passages: Sequence[int], vectors: Vectors) -> None:
        """Add vectors; shape (len(passages), dimension)."""

    def switch_encoder(self) -> bool:
        """Let searches use the model in use; False while passages have no vector of it.

        Raises:
            EncoderError: another process embeds by a third model meanwhile.
        """

    def scores(
        self, vector: Vectors, limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """Best cosine of any passage by path, best first; shape of `vector`: (dimension,)."""

    def nearest_passages(self, path: str, vector: Vectors) -> list[int]:
        """Positions of a note's passages that have vectors, nearest to a vector first."""

    def of_note(self, path: str) -> Vectors | None:
        """Mean of a note's passage vectors, unit length, shape (dimension,)."""

    def of_all_notes(self) -> Mapping[str, Vectors]:
        """The same for every note that has a vector, by path."""


class IndexedEvents(Protocol):
    """The journal."""

    def store(self, journal: str, position: str, events: Sequence[Event]) -> None:
        """Mirror journal events; `position` says up to where the journal file is known."""

    def clear(self) -> None:
        """Forget the whole journal, as before it is mirrored anew."""

    def journal_positions(self) -> Mapping[str, str]:
        """The stored position by journal file."""

    def read(self, note: str | None = None, *, limit: int | None = None) -> list[Event]:
        """Events, oldest first, of one note (id or path) or of all."""

    def find(self, prefix: str) -> list[Event]:
        """Events whose id begins with `prefix`, at most a few."""

    def newest_id(self) -> str:
        """The greatest id of an event, or an empty text."""

    def caused_by(self, event: str) -> list[Event]:
        """Events whose cause is this event, oldest first."""

    def triggered_by(self, note: str) -> list[Event]:
        """Events of other notes that the change of a note (id or path) triggered, oldest first."""

    def model_use(self) -> list[ModelUse]:
        """What each model was asked for in all memory processes, by its name."""

    def model_totals(self) -> Mapping[str, float]:
        """Sums over all memory processes: calls, prompt_tokens, answer_tokens, seconds, notes."""


class IndexedLinkHistory(Protocol):
    """What the journal says of links: why they were made, and what people decided."""

    def records(self, path: str | None = None) -> Mapping[tuple[str, str], LinkRecord]:
        """Why links were made, by (source path, target id or path), of one note or all."""

    def first_made(self) -> Mapping[tuple[str, str], str]:
        """When a link was first made by amem or by a command, ISO 8601, by the ids or paths of its
        two notes."""

    def superseded(self, paths: Sequence[str] | None = None) -> list[Superseded]:
        """Links by which notes at these paths (None: all) are superseded or contradicted, if
        they still stand."""

    def decided(self, limit: int) -> list[DecidedLink]:
        """Links that a person kept or removed, those that were made last first."""

    def unlinked(self, path: str) -> set[str]:
        """Paths of the notes whose link with a note a person removed, whichever had it."""


class IndexedQueue(Protocol):
    """Which notes the memory process has to see."""

    def pending(self) -> list[PendingNote]:
        """Notes that the memory process has not finished with: tried least first, then oldest."""

    def unprocessed(self) -> list[str]:
        """Paths of all notes that no memory process has seen, those of an adopted vault too: tried
        least first, then oldest."""

    def was_processed(self, keys: Sequence[str], text_hash: str) -> bool:
        """Whether a note, by its id or path, went through the memory process with this text."""

    def count_failure(self, path: str, error: str) -> None:
        """Count a failed attempt; notes that were tried less come before this one."""


class UsageCounters(Protocol):
    """How often notes were found or read; only the index knows it."""

    def count(self, keys: Sequence[str], moment: str) -> None:
        """Remember that notes were found or read."""

    def of(self, key: str) -> tuple[int, str]:
        """How often a note was found or read, and when last (ISO 8601 or empty)."""

    def all(self) -> Mapping[str, tuple[int, str]]:
        """The same of all notes that were ever found or read."""


class MemoryIndex(Protocol):
    """Mirrors notes and journal in one file that can be rebuilt at any time.

    Attributes:
        names: file names, titles and aliases, by which links are resolved.
    """

    @property
    def files(self) -> IndexedFiles: ...

    @property
    def notes(self) -> IndexedNotes: ...

    @property
    def names(self) -> NoteNames: ...

    @property
    def links(self) -> IndexedLinks: ...

    @property
    def text(self) -> IndexedText: ...

    @property
    def vectors(self) -> IndexedVectors: ...

    @property
    def events(self) -> IndexedEvents: ...

    @property
    def link_history(self) -> IndexedLinkHistory: ...

    @property
    def queue(self) -> IndexedQueue: ...

    @property
    def usage(self) -> UsageCounters: ...

    def changing(self) -> AbstractContextManager[object]:
        """One write transaction."""

    def damage(self) -> list[str]:
        """What is wrong in the structure of the file, of which all is read; empty where nothing."""

    def close(self) -> None:
        """Close the file."""


Progress = Callable[[int, int], None]
