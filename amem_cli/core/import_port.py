"""What an import needs of a place that notes come from, and the notes as it gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from amem_cli.core.errors import Problem

KINDS = (
    "jsonl",
    "markdown",
    "obsidian",
    "logseq",
    "zk",
    "basic-memory",
    "amem",
    "chroma",
    "mem0",
)


@dataclass(frozen=True, slots=True)
class SourceRelation:
    """A link of a source that says what it means.

    Attributes:
        target: a name by which the source knows the other note.
        relation: the source's own word for it.
        reason: what the source says of it, or empty.
    """

    target: str
    relation: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SourceNote:
    """One note of a source.

    Attributes:
        key: what tells it from the others of its source and stays the same: a path or an id.
        place, line: where it stands, for messages; line 0 where it is a whole file.
        raw: a whole markdown file with its header, or with `exact` and for records its text alone.
        has_header: `raw` may open with a header of its own, which is kept.
        path: its path in the source, with `.md`; empty where the file name comes from the title.
        created: when it was made, where its header does not say so.
        links: names of notes that it links to beside its text.
        names: other names by which notes of the source mean it.
        properties: more properties by name; those that stand in its header already are left.
        lost: what it refers to, in a way of the source's own, and nothing there has.
        exact: nothing is added to it, as to a note that this program itself wrote out.
    """

    key: str
    place: str
    raw: bytes
    line: int = 0
    has_header: bool = True
    path: str = ""
    title: str = ""
    id: str = ""
    created: datetime | None = None
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""
    links: tuple[str, ...] = ()
    relations: tuple[SourceRelation, ...] = ()
    names: tuple[str, ...] = ()
    properties: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    exact: bool = False


class Source(Protocol):
    """A place that notes come from. It is only read."""

    @property
    def kind(self) -> str:
        """One of `KINDS`."""

    @property
    def identity(self) -> str:
        """What tells it from another source on this machine, without naming a path."""

    @property
    def others(self) -> tuple[str, ...]:
        """Paths of its files that are no notes, as pictures."""

    def notes(self, problems: list[Problem]) -> Iterator[SourceNote]:
        """Its notes in a stable order; may be asked for more than once.

        Args:
            problems: takes what cannot be read.
        """

    def size_of(self, path: str) -> int | None:
        """Bytes of one of its other files; None where it is no regular file of the source."""

    def read_other(self, path: str) -> bytes | None:
        """One of its other files; None where it cannot be read or is too large."""


class AttachmentFolder(Protocol):
    """Where files that are no notes go in the vault."""

    def paths(self) -> tuple[str, ...]:
        """Vault-relative paths of those that are there."""

    def sha(self, path: str) -> str | None:
        """SHA-256 of the file at a vault-relative path, hexadecimal; None where there is none."""

    def create(self, path: str, content: bytes) -> None:
        """Make a file.

        Raises:
            FileExistsError: something is there already.
            SettingsError, UnsafePath: it cannot be made.
        """
