"""What the index stores and returns of notes, links and passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from amem_cli.journal.link_decisions import LinkDecision
    from amem_cli.notes.note import Note

LinkKind = Literal["wikilink", "property"]
# Receives how many of how many are done.
Progress = Callable[[int, int], None]


class KnownFile(NamedTuple):
    """The state of a file when it was indexed; a tuple for speed, like `FileState`.

    Attributes:
        scanned_ns: time before the file was read; if the file's times are not older, it may have
            changed unseen within the clock's granularity.
        sha: SHA-256 of its bytes, hexadecimal.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    scanned_ns: int
    sha: str
    id: str | None


@dataclass(frozen=True, slots=True)
class NoteLink:
    """A link as written in a note.

    Attributes:
        target: the text before `#` and `|`.
        kind: `wikilink` in the body, `property` in the front matter.
        relative: a markdown link, whose target is relative to the note's own folder first.
    """

    target: str
    kind: LinkKind
    relative: bool = False


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """One note as the index stores it.

    Attributes:
        sha: hash of the file; `text_hash`: hash of what the memory process depends on.
        modified: ISO 8601 time of the last change, UTC.
        passages: pieces of the body in order, each short enough for the encoder.
    """

    note: Note
    file: KnownFile
    text_hash: str
    modified: str
    links: tuple[NoteLink, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteSummary:
    """What lists, hits and graphs show of a note."""

    path: str
    id: str | None
    title: str
    created: str
    modified: str
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    context: str
    aliases: tuple[str, ...]
    private: bool
    text_hash: str
    sha: str
    refused: str

    @property
    def key(self) -> str:
        """The id, or the path of a note without one, as in the journal."""
        return self.id or self.path


class NoteOutline(NamedTuple):
    """What filters need; read for all notes in a small part of the time of summaries."""

    path: str
    created: str
    modified: str
    tags: Sequence[str]


class SupersedingLink(NamedTuple):
    """A link by which one note supersedes or contradicts another.

    Attributes:
        older: path of the note that is superseded or contradicted.
        newer: path of the note that has the link.
        relation: `supersedes` or `contradicts`.
    """

    older: str
    newer: str
    relation: str


class DecidedLink(NamedTuple):
    """What a person decided about a link.

    Attributes:
        source, target: paths of the two notes; of one that is gone, or has no id any more, what
            the journal called it last.
    """

    source: str
    target: str
    decision: LinkDecision


@dataclass(frozen=True, slots=True)
class PassageJob:
    """A passage that has no vector yet."""

    passage: int
    summary: NoteSummary
    text: str


@dataclass(frozen=True, slots=True)
class PendingNote:
    """A note whose text waits for the memory process.

    Attributes:
        attempts: how often this text was tried and failed.
        version: hash of the note's bytes.
    """

    path: str
    attempts: int
    error: str
    version: str


class ModelTotals(NamedTuple):
    """What one model was asked for.

    Attributes:
        model: its name; of a server's model `NAME at HOST`.
        notes: notes whose memory process asked it.
        seconds: wall time of its calls.
    """

    model: str
    notes: int
    calls: int
    prompt_tokens: int
    answer_tokens: int
    seconds: float


def with_key(notes: Iterable[NoteSummary], key: str) -> list[NoteSummary]:
    """The notes with this id or path.

    A person may also name a note by its title or the beginning of its id; the journal never does.
    """
    return [summary for summary in notes if key in (summary.id, summary.path)]
