"""A memory as the program sees it: one markdown note with its metadata."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from amem_cli.errors import Problem
    from amem_cli.settings import Settings

Relation = Literal[
    "related", "supports", "contradicts", "supersedes", "example_of", "part_of", "causes"
]
RELATIONS: tuple[Relation, ...] = get_args(Relation)

LIST_FIELDS = ("keywords", "tags", "links")
METADATA_FIELDS = ("keywords", "tags", "context")
OWNED_FIELDS = ("id", "created", "keywords", "tags", "context", "links")


@dataclass(frozen=True, slots=True)
class Note:
    """One note, read from its file.

    Attributes:
        path: vault-relative path with `/` on every system.
        id: Zettelkasten id, or None for a note that the program never wrote to.
        title: the `title` property, else the file name without its ending.
        body: text after the front matter, decoded; undecodable bytes are replaced.
        created: ISO 8601 text of the `created` property, or empty.
        links: wikilink texts of the `links` property, brackets included.
        private: the note must never reach a model on another machine.
        refused: why the front matter cannot be edited, or None if it can.
    """

    path: str
    id: str | None
    title: str
    body: str
    created: str = ""
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""
    links: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    private: bool = False
    refused: Problem | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class PropertyNames:
    """The property names under which a vault keeps the program's fields."""

    id: str = "id"
    created: str = "created"
    keywords: str = "keywords"
    tags: str = "tags"
    context: str = "context"
    links: str = "links"

    @classmethod
    def of(cls, settings: Settings) -> PropertyNames:
        """The names that a vault's settings give."""
        return cls(*(getattr(settings, f"properties_{item.name}") for item in fields(cls)))


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the first step of the memory process writes about a note."""

    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """A link that the machine made, with its explanation.

    Attributes:
        target: vault-relative path of the older note.
        strength: 0..1.
    """

    target: str
    relation: Relation
    reason: str
    strength: float


# Relations that say of two notes which of them holds.
SUPERSEDING: tuple[Relation, ...] = ("supersedes", "contradicts")
