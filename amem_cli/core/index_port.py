"""What the use cases need of the index: the mirror of the vault that can always be rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from amem_cli.core.resolution import NoteNames

if TYPE_CHECKING:
    from amem_cli.core.errors import Problem
    from amem_cli.core.index_records import (
        DecidedLink,
        KnownFile,
        ModelUse,
        NoteLink,
        NoteOutline,
        NoteRecord,
        NoteSummary,
        Overruling,
        PassageJob,
        PendingNote,
    )
    from amem_cli.core.journal import Event, LinkRecord
    from amem_cli.core.ports import Vectors


class MemoryIndex(NoteNames, Protocol):
    """Notes, passages, vectors, words, links, events and usage in one file."""

    def file_states(self, within: Collection[str] | None = None) -> Mapping[str, KnownFile]:
        """Files that the index knows, by path: all, or those at these paths and below them."""

    def changing(self) -> AbstractContextManager[object]:
        """One write transaction."""

    def store(self, record: NoteRecord) -> None:
        """Insert or replace a note; vectors of unchanged passages are kept."""

    def move(self, old: str, new: str) -> None:
        """A note has another path now; its usage stays."""

    def forget(self, path: str) -> None:
        """Remove a note that is gone."""

    def touch(self, path: str, file: KnownFile) -> None:
        """The file's times changed, not its content."""

    def store_events(self, journal: str, position: str, events: Sequence[Event]) -> None:
        """Mirror journal events; `position` says up to where the journal file is known."""

    def forget_events(self) -> None:
        """Forget the whole journal, as before it is mirrored anew."""

    def journal_positions(self) -> Mapping[str, str]:
        """The stored position by journal file."""

    def events(self, note: str | None = None, *, limit: int | None = None) -> list[Event]:
        """Events, oldest first, of one note (id or path) or of all."""

    def event(self, prefix: str) -> list[Event]:
        """Events whose id begins with `prefix`, at most a few."""

    def newest_event(self) -> str:
        """The greatest id of an event, or an empty text."""

    def events_caused_by(self, event: str) -> list[Event]:
        """Events whose cause is this event, oldest first."""

    def events_triggered_by(self, note: str) -> list[Event]:
        """Events of other notes that the change of a note (id or path) triggered, oldest first."""

    def model_use(self) -> list[ModelUse]:
        """What each model was asked for in all memory processes, by its name."""

    def model_totals(self) -> Mapping[str, float]:
        """Sums over all memory processes: calls, prompt_tokens, answer_tokens, seconds, notes."""

    def link_records(self, path: str | None = None) -> Mapping[tuple[str, str], LinkRecord]:
        """Why links were made, by (source path, target id or path), of one note or all."""

    def overruling(self, paths: Sequence[str] | None = None) -> list[Overruling]:
        """Links by which notes at these paths (None: all) are superseded or contradicted, where
        they still stand."""

    def links_made(self) -> Mapping[tuple[str, str], str]:
        """When a link was first made by amem or by a command, ISO 8601, by the ids or paths of its
        two notes."""

    def decided_links(self, limit: int) -> list[DecidedLink]:
        """Links that a person kept or removed, those that were made last first."""

    def taken_apart(self, path: str) -> set[str]:
        """Paths of the notes whose link with a note a person removed, whichever had it."""

    def use_encoder(self, model_id: str, dimension: int) -> bool:
        """Prepare for vectors of this model; True where a search still uses another model's."""

    def encoder(self) -> str | None:
        """Id of the model whose vectors are stored."""

    def count_to_embed(self, model_id: str) -> int:
        """How many passages have no vector of this model."""

    def passages_to_embed(self, limit: int | None = None, after: int = 0) -> list[PassageJob]:
        """At most `limit` passages without a vector of the model in use, by number, each with a
        greater number than `after`."""

    def go_over(self) -> bool:
        """Let searches use the model in use; False while passages have no vector of it.

        Raises:
            EncoderError: another process embeds by a third model meanwhile.
        """

    def store_vectors(self, passages: Sequence[int], vectors: Vectors) -> None:
        """Add vectors; shape (len(passages), dimension)."""

    def problems(self) -> list[Problem]:
        """What is wrong in notes, by path."""

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

    def passages(self, path: str) -> list[str]:
        """Passages of a note in order."""

    def links_of(self, path: str) -> list[NoteLink]:
        """Links that stand in a note."""

    def links_from(self, path: str) -> list[tuple[str, NoteLink]]:
        """The same that resolve, with the paths of the notes that they mean."""

    def links_to(self, path: str) -> list[tuple[str, NoteLink]]:
        """Links of other notes that resolve to a note, with their paths."""

    def all_links(self) -> Iterator[tuple[str, NoteLink]]:
        """Every link with the path of its note, by path."""

    def keyword_scores(
        self, terms: Sequence[str], limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """BM25 by path, higher is better, best first; `among` restricts to these paths."""

    def term_matches(
        self, terms: Sequence[str], among: Sequence[str]
    ) -> list[tuple[int, frozenset[str]]]:
        """For each term in how many notes it occurs, and which of the paths `among` hold it."""

    def spellings(self, beginning: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        """Indexed words (stems) that begin so and are that long, with their number of notes."""

    def passage_counts(self, paths: Sequence[str]) -> Mapping[str, int]:
        """In how many passages notes are cut, by path."""

    def lengths(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Characters of the first two passages of notes, by path."""

    def written_next(
        self, path: str, reach: int
    ) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Paths and `created` of the notes of the same folder created before and after a note,
        nearest first, at most `reach` on either side; none for a note without a time of day."""

    def vector_scores(
        self, vector: Vectors, limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """Best cosine of any passage by path, best first; shape of `vector`: (dimension,)."""

    def nearest_passages(self, path: str, vector: Vectors) -> list[int]:
        """Positions of a note's passages that have vectors, nearest to a vector first."""

    def note_vector(self, path: str) -> Vectors | None:
        """Mean of a note's passage vectors, unit length, shape (dimension,)."""

    def note_vectors(self) -> Mapping[str, Vectors]:
        """The same for every note that has a vector, by path."""

    def document_frequency(self, term: str) -> int:
        """In how many notes a word occurs."""

    def count(self) -> int:
        """Number of notes."""

    def tag_counts(self, *, public: bool = False) -> Mapping[str, int]:
        """How many notes (of those that are not private) have a tag, by its first spelling."""

    def private_paths(self) -> set[str]:
        """Paths of the private notes."""

    def pending(self) -> list[PendingNote]:
        """Notes that the memory process has not finished with: tried least first, then oldest."""

    def unprocessed(self) -> list[str]:
        """Paths of all notes that no memory process has seen, those of an adopted vault too: tried
        least first, then oldest."""

    def was_processed(self, keys: Sequence[str], text_hash: str) -> bool:
        """Whether a note, by its id or path, went through the memory process with this text."""

    def postpone(self, path: str, error: str) -> None:
        """Count a failed attempt."""

    def count_use(self, keys: Sequence[str], moment: str) -> None:
        """Remember that notes were found or read."""

    def usage(self, key: str) -> tuple[int, str]:
        """How often a note was found or read, and when last (ISO 8601 or empty)."""

    def usages(self) -> Mapping[str, tuple[int, str]]:
        """The same of all notes that were ever found or read."""

    def damage(self) -> list[str]:
        """What is wrong in the structure of the file, of which all is read; empty where nothing."""

    def close(self) -> None:
        """Close the file."""


Progress = Callable[[int, int], None]
