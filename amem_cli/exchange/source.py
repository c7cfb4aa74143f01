"""What an import needs of a place that notes come from, and the notes as it gives them.

Reads lists and mappings stored as text, as JSON or as Python writes them; runs nothing.
Finds when a note of another program was made, in its properties and its file's name.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from amem_cli.errors import HeaderRefused
from amem_cli.language.dates import parse_moment
from amem_cli.notes.front_matter import find_fences, read_header

if TYPE_CHECKING:
    from amem_cli.errors import Problem

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


MAX_TEXT = 256 * 1024
MAX_DEPTH = 20

# One that is not closed matches too, so that no text is gone over twice.
_STRING = re.compile(r"'(?:[^'\\]|\\.)*(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)", re.DOTALL)
_PLAIN_DATA = re.compile(
    r"(?:[\[\](){},:.\s0-9]|(?:True|False|None)\b|-(?=[0-9])|[eE][+-]?(?=[0-9]))*"
)


def literal_value(text: str) -> object:
    """The list or mapping that a text writes out; the text itself where it is none.

    Strings, numbers, truth values, None, lists, tuples and mappings are read, at most 256 KiB of
    them and 20 deep.
    """
    trimmed = text.strip()
    if not trimmed.startswith(("[", "{", "(")) or len(trimmed) > MAX_TEXT:
        return text
    bare = _STRING.sub("", trimmed)
    if _is_too_deep(bare):
        return text
    try:
        return json.loads(trimmed)
    except (ValueError, RecursionError):
        pass
    if not _PLAIN_DATA.fullmatch(bare):
        return text
    try:
        return ast.literal_eval(trimmed)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text


def texts_in(value: object) -> tuple[str, ...]:
    """The texts and numbers of a stored list, each once; of one text, those between commas."""
    if isinstance(value, str):
        value = literal_value(value)
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, (list, tuple)):
        return ()
    texts = (
        " ".join(str(item).split())
        for item in value
        if isinstance(item, (str, int, float)) and not isinstance(item, bool)
    )
    return tuple(dict.fromkeys(text for text in texts if text and text != "None"))


def _is_too_deep(text: str) -> bool:
    depth = 0
    for letter in text:
        if letter in "[{(":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif letter in "]})":
            depth -= 1
    return False


# In the order in which they are believed; compared without case, blanks, - and _.
_PROPERTIES = (
    "created",
    "createdat",
    "createdon",
    "creationdate",
    "datecreated",
    "createddate",
    "date",
    "timestamp",
)
_BETWEEN = re.compile(r"[\s_-]+")
_DAY_IN_NAME = re.compile(
    r"(?<![0-9])((?:1[89]|20|21)[0-9]{2})([-_.])([01][0-9])\2([0-3][0-9])(?![0-9])"
)
_STAMP_IN_NAME = re.compile(r"(?<![0-9])((?:19|20)[0-9]{6}(?:[0-9]{4}(?:[0-9]{2})?)?)(?![0-9])")
_OLDEST = datetime(1800, 1, 1)


def created_in_header(raw: bytes) -> datetime | None:
    """What a property that usually holds it says; None where there is none, or no header."""
    try:
        fences = find_fences(raw)
        header = read_header(raw, fences) if fences else None
    except HeaderRefused:
        return None
    if header is None:
        return None
    by_name = {_BETWEEN.sub("", entry.name.casefold()): entry for entry in header.entries}
    for name in _PROPERTIES:
        entry = by_name.get(name)
        text = header.text_of(entry.value) if entry is not None else None
        moment = moment_in(text or "")
        if moment is not None:
            return moment
    return None


def created_in_name(path: str) -> datetime | None:
    """The day or the moment with which a file's name begins or ends, as a journal's does."""
    name = path.rsplit("/", 1)[-1]
    day = _DAY_IN_NAME.search(name)
    if day is not None:
        return moment_in(f"{day[1]}-{day[3]}-{day[4]}")
    stamp = _STAMP_IN_NAME.search(name)
    return moment_in(stamp[1]) if stamp else None


def moment_in(text: str) -> datetime | None:
    """A date or a date and time; None for anything else, and for what no calendar has."""
    try:
        moment = parse_moment(text) if text else None
    except (ValueError, OverflowError):
        return None
    return moment if moment is not None and moment.replace(tzinfo=None) > _OLDEST else None
