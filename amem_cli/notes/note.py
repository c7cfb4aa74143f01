"""A memory as the program sees it: one markdown note with its metadata, read from its bytes.

Notes are read as leniently as people write them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

from amem_cli.errors import HeaderRefused, Problem
from amem_cli.notes.front_matter import (
    Entry,
    Fences,
    Header,
    NotProperties,
    body_start,
    find_fences,
    read_header,
)

if TYPE_CHECKING:
    from amem_cli.settings import Settings

Relation = Literal[
    "related", "supports", "contradicts", "supersedes", "example_of", "part_of", "causes"
]
RELATIONS: tuple[Relation, ...] = get_args(Relation)

LIST_FIELDS = ("keywords", "tags", "links")
METADATA_FIELDS = ("keywords", "tags", "context")
OWNED_FIELDS = ("id", "created", "keywords", "tags", "context", "links")

# Words that clearly say no; a doubtful value must not let the text go to another machine.
_NOT_PRIVATE = ("", "false", "no", "off", "n", "0")
_BLANKS_OR_COMMAS = re.compile(r"[,\s]+")
_COMMAS_OR_LINES = re.compile(r"[,\n]")
_WIKILINK = re.compile(r"!?\[\[[^\[\]\r\n]{1,1000}\]\]")


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


class _Properties:
    """Reads the properties of one note; what cannot be read goes to `problems` and left out."""

    def __init__(self, path: str, header: Header) -> None:
        self.problems: list[Problem] = []
        self._path = path
        self._header = header

    def text(self, name: str) -> str:
        """A text as it is written, without quotes."""
        entry = self._header.entry(name)
        if entry is None:
            return ""
        if entry.value.kind != "scalar":
            self._tell(entry, "a text")
            return ""
        return self._header.text_of(entry.value) or ""

    def texts(
        self, *names: str, split: Callable[[str], list[str]] = _COMMAS_OR_LINES.split
    ) -> tuple[str, ...]:
        """The texts of a list, or of a text that is cut; Obsidian reads `tag` after `tags`."""
        texts: list[str] = []
        for entry in self._entries(names):
            known = {text.casefold() for text in texts}
            texts += (text for text in self._texts_of(entry, split) if text.casefold() not in known)
        return tuple(texts)

    def _entries(self, names: tuple[str, ...]) -> Iterator[Entry]:
        first = self._header.entry(names[0])
        if first is not None:
            yield first
        if len(names) > 1:
            # Obsidian finds its own list properties in the singular and in any case.
            for entry in self._header.entries:
                if entry.name.casefold() in names and entry is not first:
                    yield entry

    def _texts_of(self, entry: Entry, split: Callable[[str], list[str]]) -> list[str]:
        value = entry.value
        if value.kind == "scalar":
            texts = split(self._header.text_of(value) or "")
        else:
            listed = self._header.texts_of(value)
            if listed is None:
                self._tell(entry, "a list of texts")
            texts = list(listed or ())
        stripped = (text.strip() for text in texts)
        return [text for text in stripped if text]

    def context(self, name: str) -> str:
        """The sentence; of a list, its texts joined by commas."""
        entry = self._header.entry(name)
        if entry is not None and entry.value.kind == "list":
            return ", ".join(self._texts_of(entry, _COMMAS_OR_LINES.split))
        return self.text(name)

    def title(self) -> str:
        """The `title` property on one line, or empty."""
        entry = self._header.entry("title")
        return "" if entry is None or entry.value.is_null else " ".join(entry.value.text.split())

    def is_private(self) -> bool:
        """True for anything under `private` that does not clearly say no."""
        return any(
            entry.value.text.strip().casefold() not in _NOT_PRIVATE
            if entry.value.kind == "scalar"
            else bool(entry.value.parts)
            for entry in self._header.entries
            if entry.name.casefold() == "private" and not entry.value.is_null
        )

    def _tell(self, entry: Entry, expected: str) -> None:
        self.problems.append(
            Problem(
                self._path,
                self._header.line(entry.start),
                f"the property `{entry.name}` holds something else than {expected}",
                "Rename it, or give the program another name for its property in the settings.",
            )
        )


def _split_links(text: str) -> list[str]:
    # Words around the links are somebody's, so such a text stays whole.
    if _WIKILINK.sub("", text).strip(" ,;\r\n\t"):
        return [text]
    return _WIKILINK.findall(text)


_USUAL_NAMES = PropertyNames()
_BYTES_LIKELY_HEADER = 64 * 1024
# A refused header may be JSON or TOML, hence `=` and quotes. Repeats are bounded, so that
# thousands of `private: ` in a hostile header take no time.
_PRIVATE = re.compile(rb"(?i)\bprivate[\"']?[ \t]{0,80}[:=]\s{0,80}([^\r\n#,}]{0,80})")
_PRIVATE_OFF = (b"", b"false", b"no", b"off", b"0")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@lru_cache(maxsize=8)
def parse_note(path: str, raw: bytes, names: PropertyNames = _USUAL_NAMES) -> Note:
    """Read a note; never raises, whatever the bytes.

    A header that cannot be edited safely gives nothing but the body, and says why in `refused`.
    """
    fences = None
    try:
        fences = find_fences(raw)
        header = read_header(raw, fences) if fences else None
    except HeaderRefused as refused:
        return _note_without_header(path, raw, fences, refused)
    # The body may be in another encoding; an edit copies its bytes and never encodes them again.
    body = raw[body_start(raw, fences) :].decode("utf-8", "replace")
    if header is None:
        return Note(path, None, file_title(path), body)
    read = _Properties(path, header)
    tags = ("tags", "tag") if names.tags == "tags" else (names.tags,)
    note_id = read.text(names.id)
    note = Note(
        path=path,
        id=note_id if note_id.strip() else None,
        title=read.title() or file_title(path),
        body=body,
        created=read.text(names.created),
        keywords=read.texts(names.keywords),
        tags=tuple(
            bare
            for text in read.texts(*tags, split=_BLANKS_OR_COMMAS.split)
            if (bare := text.lstrip("#").strip())
        ),
        context=read.context(names.context),
        links=read.texts(names.links, split=_split_links),
        aliases=read.texts("aliases", "alias"),
        private=read.is_private(),
    )
    return replace(note, problems=tuple(read.problems))


def body_bytes(raw: bytes) -> bytes:
    """The bytes after the header and its fences.

    Without a header all but the byte order mark, so that giving the note a header changes nothing;
    the whole file if the header is refused.
    """
    try:
        fences = find_fences(raw)
        if fences:
            read_header(raw, fences)
    except HeaderRefused:
        return raw
    return raw[body_start(raw, fences) :]


def _note_without_header(
    path: str, raw: bytes, fences: Fences | None, refused: HeaderRefused
) -> Note:
    # Text between two rules counts as body, or it could not be found by its words. A rule is
    # followed by a blank line, a header seldom.
    is_text = isinstance(refused, NotProperties) or (
        fences is not None and raw[fences.text_start : fences.text_start + 1] in b"\r\n"
    )
    body = raw[body_start(raw, None if is_text else fences) :]
    looked_at = raw[: fences.body_start if fences else _BYTES_LIKELY_HEADER]
    return Note(
        path=path,
        id=None,
        title=file_title(path),
        body=body.decode("utf-16" if raw.startswith(_UTF16_MARKS) else "utf-8", "replace"),
        private=_may_be_private(looked_at),
        refused=Problem(path, refused.line, refused.message, refused.hint),
    )


def _may_be_private(header: bytes) -> bool:
    """Whether a header that cannot be read may say that the note is private."""
    found = _PRIVATE.findall(header.replace(b"\0", b""))
    return any(value.strip(b" \t\"'").lower() not in _PRIVATE_OFF for value in found)


def file_title(path: str) -> str:
    """The name of a note's file without its ending."""
    name = path.rsplit("/", 1)[-1]
    return name[:-3] if name.lower().endswith(".md") else name


def body_place(text: str) -> int:
    """Where the body begins in a note's text, in characters; 0 without front matter."""
    if not text.startswith(("---", "\ufeff---")):
        return 0
    # A program that sends text may send half a surrogate pair.
    raw = text.encode("utf-8", "surrogatepass")
    try:
        fences = find_fences(raw)
    except HeaderRefused:
        return 0
    start = 0 if fences is None else body_start(raw, fences)
    return len(raw[:start].decode("utf-8", "surrogatepass"))
