"""The one shape in which every import source gives its notes, and what reading them needs.

Lists and mappings stored as text are parsed, never run. When a note was made is looked up in its
properties and its file's name.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from amem_cli.errors import HeaderRefused
from amem_cli.language.dates import parse_moment
from amem_cli.markdown.links import normalise_tag
from amem_cli.notes.front_matter import find_fences, read_header

if TYPE_CHECKING:
    from amem_cli.errors import Problem
    from amem_cli.exchange.source_folder import SourceFolder

Properties = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SourceRelation:
    """A link of a source with its meaning.

    Attributes:
        target: a name by which the source knows the other note.
        relation: the source's own word for it.
    """

    target: str
    relation: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SourceNote:
    """One note of a source.

    Attributes:
        key: a path or id, unique in the source and the same in every import.
        place, line: for messages; line 0 if it is a whole file.
        raw: a whole markdown file with its header; for records and with `exact` the text alone.
        has_header: `raw` may open with a header of its own, which is kept.
        path: its path in the source, with `.md`; empty if the file name comes from the title.
        created: when it was made, unless its header says so.
        links: names of notes that it links to outside its text.
        names: other names by which notes of the source refer to it.
        properties: more properties by name; those in its header win.
        dangling: its references, in the source's own syntax, to nothing in the source.
        exact: nothing is added to it, because amem itself exported it.
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
    properties: Properties = field(default_factory=dict)
    dangling: tuple[str, ...] = ()
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ImportSource:
    """What `amem import` reads from; it is never written to.

    Attributes:
        kind: one of `open_source.KINDS`.
        notes: gives the notes in a stable order, and may be called more than once; adds what
            cannot be read to the list that it is given.
        folder: the folder of the notes, whose other files they may show; None for records.
    """

    kind: str
    notes: Callable[[list[Problem]], Iterator[SourceNote]]
    folder: SourceFolder | None = None

    @property
    def identity(self) -> str:
        """Tells it from other sources of this machine without naming a path.

        Ids of records are unique by themselves.
        """
        return self.folder.identity if self.folder else self.kind

    @property
    def other_files(self) -> tuple[str, ...]:
        """Paths of its files that are not notes, such as pictures."""
        return self.folder.other_paths if self.folder else ()


MAX_TEXT = 256 * 1024
MAX_DEPTH = 20

# An unclosed one matches too, so that no text is scanned twice.
_STRING = re.compile(r"'(?:[^'\\]|\\.)*(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)", re.DOTALL)
_PLAIN_DATA = re.compile(
    r"(?:[\[\](){},:.\s0-9]|(?:True|False|None)\b|-(?=[0-9])|[eE][+-]?(?=[0-9]))*"
)


def literal_value(text: str) -> object:
    """The list or mapping that a text writes out as JSON or Python; otherwise the text itself.

    Reads at most 256 KiB, nested at most 20 deep.
    """
    trimmed = text.strip()
    if not trimmed.startswith(("[", "{", "(")) or len(trimmed) > MAX_TEXT:
        return text
    bare = _STRING.sub("", trimmed)
    depth = 0
    for letter in bare:
        depth += (letter in "[{(") - (letter in "]})")
        if depth > MAX_DEPTH:
            return text
    try:
        return json.loads(trimmed)
    except (ValueError, RecursionError):
        pass
    # ast.literal_eval compiles what it reads, so it gets nothing but plain data.
    if not _PLAIN_DATA.fullmatch(bare):
        return text
    try:
        return ast.literal_eval(trimmed)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text


def texts_in(value: object) -> tuple[str, ...]:
    """The texts and numbers of a stored list, each once; of a single text, those between commas."""
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


def valid_tags(texts: Iterator[str] | tuple[str, ...]) -> tuple[str, ...]:
    """The texts as tags that Obsidian can hold, each once, without those that cannot be tags."""
    tags = map(normalise_tag, texts)
    return tuple(dict.fromkeys(tag for tag in tags if tag))


# In order of trust; compared without case, blanks, - and _.
_CREATED_NAMES = (
    "created",
    "createdat",
    "createdon",
    "creationdate",
    "datecreated",
    "createddate",
    "date",
    "timestamp",
)
_SEPARATORS = re.compile(r"[\s_-]+")
_DAY_IN_NAME = re.compile(
    r"(?<![0-9])((?:1[89]|20|21)[0-9]{2})([-_.])([01][0-9])\2([0-3][0-9])(?![0-9])"
)
_STAMP_IN_NAME = re.compile(r"(?<![0-9])((?:19|20)[0-9]{6}(?:[0-9]{4}(?:[0-9]{2})?)?)(?![0-9])")
# Earlier dates are placeholders, such as 0001-01-01.
_OLDEST = datetime(1800, 1, 1)


def created_in_header(raw: bytes) -> datetime | None:
    """When a note was made, by the property of its header that usually says so."""
    try:
        fences = find_fences(raw)
        header = read_header(raw, fences) if fences else None
    except HeaderRefused:
        return None
    if header is None:
        return None
    by_name = {_SEPARATORS.sub("", entry.name.casefold()): entry for entry in header.entries}
    for name in _CREATED_NAMES:
        if name in by_name:
            moment = moment_in(header.text_of(by_name[name].value) or "")
            if moment is not None:
                return moment
    return None


def created_in_name(path: str) -> datetime | None:
    """The day or moment in a file's name, such as a journal's."""
    name = path.rsplit("/", 1)[-1]
    day = _DAY_IN_NAME.search(name)
    if day is not None:
        return moment_in(f"{day[1]}-{day[3]}-{day[4]}")
    stamp = _STAMP_IN_NAME.search(name)
    return moment_in(stamp[1]) if stamp else None


def moment_in(text: str) -> datetime | None:
    """A date or a date and time; None for anything else, or if no calendar has it."""
    try:
        moment = parse_moment(text) if text else None
    except (ValueError, OverflowError):
        return None
    return moment if moment is not None and moment.replace(tzinfo=None) > _OLDEST else None
