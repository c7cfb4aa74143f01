"""Notes in the index: their records, names and links; how it stores and how it finds them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from amem_cli.language.dates import created_text, local_text, moment_in
from amem_cli.notes.names import RememberedNames, alias_key, name_key, resolve, typed_keys

if TYPE_CHECKING:
    from amem_cli.index.connection import Database
    from amem_cli.notes.note import Note

LinkKind = Literal["wikilink", "property"]
# Receives how many of how many are done.
Progress = Callable[[int, int], None]
_SUMMARY = (
    "path, id, title, created, modified, keywords, tags, context, aliases, private, text_hash,"
    " sha, refused"
)
_MAX_MATCHES = 50
# The column `alias` of a name: it is the file's, an alias or title, or what one of these is without
# its accents, which no link means.
_FILE, _ALIAS, _TYPED = range(3)
# Such a date is not in the order of its text; the indexes of the table repeat the condition.
ZONED = "created GLOB '*T*[Zz+-]*'"
_ZONE = re.compile(r"(?:[Zz]|[+-]\d\d:?(?:\d\d)?)$")


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
        listed: in the property `links`, where amem's own links stand.
    """

    target: str
    kind: LinkKind
    listed: bool = False


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """One note as the index stores it.

    Attributes:
        text_hash: hash of what the memory process depends on.
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
    """What lists, hits and graphs show of a note; the fields are those of `_SUMMARY`.

    Attributes:
        created: by its header or its file's name, ISO 8601 by the local clock; empty if neither
            tells.
        modified: of the last change of the file, UTC.
    """

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

    @property
    def made(self) -> str:
        return made(self.created, self.id, self.modified)


class NoteOutline(NamedTuple):
    """What filters need; read for all notes in a small part of the time of summaries."""

    path: str
    id: str | None
    created: str
    modified: str
    tags: Sequence[str]

    @property
    def made(self) -> str:
        return made(self.created, self.id, self.modified)


def made(created: str, note_id: str | None, modified: str) -> str:
    """When a note was made, as far as the index tells; ISO 8601 by the local clock.

    That is `created`; else what the id says, for the machine's writing changes the file's time.
    """
    if created:
        return created
    moment = moment_in((note_id or "")[:14]) or datetime.fromisoformat(modified).astimezone()
    return created_text(moment.replace(tzinfo=None))


def with_key(notes: Iterable[NoteSummary], key: str) -> list[NoteSummary]:
    return [summary for summary in notes if key in (summary.id, summary.path)]


class IndexNotes:
    """Finds notes and returns what lists show of them."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def summary(self, path: str) -> NoteSummary | None:
        return next(iter(self._select("WHERE path = ?", (path,))), None)

    def of_paths(self, paths: Iterable[str]) -> dict[str, NoteSummary]:
        """Those of these paths that are notes, with their notes."""
        sql = f"SELECT {_SUMMARY} FROM notes WHERE path IN (SELECT value FROM json_each(?))"  # noqa: S608
        rows = self._file.rows(sql, (json.dumps(list(paths)),))
        return {row[0]: _summary(row) for row in rows}

    def summaries(self) -> Iterator[NoteSummary]:
        yield from map(_summary, self._file.stream(f"SELECT {_SUMMARY} FROM notes ORDER BY path"))  # noqa: S608

    def outlines(self) -> Iterator[NoteOutline]:
        """All notes, in brief."""
        rows = self._file.rows("SELECT path, id, created, modified, tags FROM notes")
        # Many notes have the same tags.
        tags = {text: json.loads(text) for text in {row[-1] for row in rows}}
        for *values, text in rows:
            path, note_id, created, modified = values
            yield NoteOutline(path, note_id, local_text(created), modified, tags[text])

    def find(self, name: str) -> list[NoteSummary]:
        """Notes by id, path, file name, title, alias, or a prefix of the id; where no name is so
        written, by one without its accents."""
        named = "WHERE note IN (SELECT note FROM names WHERE key = ? AND alias = ?)"
        conditions: list[tuple[str, tuple[Any, ...]]] = [
            ("WHERE id = ?", (name,)),
            ("WHERE path IN (?, ?)", (name, f"{name}.md")),
            (named, (name_key(name), _FILE)),
            (named, (name_key(name), _ALIAS)),
            # A title with a slash cannot be a link target, but a person may type it.
            ("WHERE title = ? COLLATE NOCASE", (name,)),
            ("WHERE note IN (SELECT note FROM names WHERE key = ?)", typed_keys(name)[:1]),
        ]
        if name[:4].isdigit():
            # A range instead of LIKE: it uses the index and knows no wildcards.
            conditions.append(("WHERE id >= ? AND id < ?", (name, name + "\U0010ffff")))
        return next((found for each in conditions if (found := self._select(*each))), [])

    def count_ids(self, prefix: str, *, private: bool = True) -> int:
        """How many notes (without the private ones, if so asked) have an id that begins so."""
        sql = "SELECT count(*) FROM notes WHERE id >= ? AND id < ? AND private <= ?"
        return int(self._file.value(sql, prefix, prefix + "\U0010ffff", private))

    def id_taken(self, note_id: str) -> bool:
        """True if a note has or, by the journal, ever had this id."""
        sql = (
            "SELECT EXISTS(SELECT 1 FROM notes WHERE id = ?1)"
            " OR EXISTS(SELECT 1 FROM events WHERE note = ?1)"
        )
        return bool(self._file.value(sql, note_id))

    def numbers(self) -> Mapping[str, int]:
        return dict(self._file.rows("SELECT path, note FROM notes"))

    def count(self) -> int:
        return int(self._file.value("SELECT count(*) FROM notes"))

    def tag_counts(
        self, *, public: bool = False, without: Collection[str] = ()
    ) -> Mapping[str, int]:
        """How many notes have a tag, by its first spelling: of those that are not private, or not
        at one of some paths."""
        sql = (
            "SELECT value, count(DISTINCT note) FROM notes, json_each(notes.tags)"
            " WHERE private <= ? AND notes.path NOT IN (SELECT value FROM json_each(?))"
            " GROUP BY lower(value) ORDER BY min(note)"
        )
        bindings = (not public, json.dumps([*without]))
        return {tag: int(count) for tag, count in self._file.rows(sql, bindings)}

    def private_paths(self) -> set[str]:
        return {path for (path,) in self._file.rows("SELECT path FROM notes WHERE private")}

    def neighbours_in_time(
        self, path: str, reach: int
    ) -> tuple[str, list[tuple[str, str]], list[tuple[str, str]]]:
        """The notes of the same folder created before and after, nearest first.

        Returns:
            When it was made by the local clock, ISO 8601; then paths with the same of the others
            within a day, at most `reach` on either side. All is empty for a note without a time of
            day; midnight sharp is not one, because many dates are written so.
        """
        rows = self._file.rows("SELECT folder, created FROM notes WHERE path = ?", (path,))
        if not rows or not _ZONE.sub("", rows[0][1][len("2026-01-01") :]).strip("Tt 0:."):
            return "", [], []
        folder, own = rows[0][0], local_text(rows[0][1])
        sql = (
            f"SELECT path, created FROM notes WHERE created <> '' AND NOT {ZONED} AND folder = ?"  # noqa: S608
            " AND (created, path) {0} (?, ?) ORDER BY created {1}, path {1} LIMIT ?"
        )
        bindings = (folder, own, path, reach)
        found = self._file.rows(sql.format("<", "DESC"), bindings)
        found += self._file.rows(sql.format(">", "ASC"), bindings)
        found += self._zoned(folder, own)
        others = sorted({(local_text(created), other) for other, created in found})
        before = [(other, made) for made, other in reversed(others) if (made, other) < (own, path)]
        after = [(other, made) for made, other in others if (made, other) > (own, path)]
        return own, before[:reach], after[:reach]

    def _zoned(self, folder: str, moment: str) -> list[tuple[str, str]]:
        """Paths and dates of the notes of a folder made about a day around a local moment, of those
        that name their time zone."""
        day = moment_in(moment)
        sql = (
            f"SELECT path, created FROM notes WHERE created <> '' AND {ZONED} AND folder = ?"  # noqa: S608
            " AND created BETWEEN ? AND ?"
        )
        around = (timedelta(days=-2), timedelta(days=2))
        first, last = (created_text(day + each) if day else "" for each in around)
        return self._file.rows(sql, (folder, first, last))

    def _select(self, condition: str, bindings: Any) -> list[NoteSummary]:
        sql = f"SELECT {_SUMMARY} FROM notes {condition} ORDER BY path LIMIT ?"  # noqa: S608
        return [_summary(row) for row in self._file.rows(sql, (*bindings, _MAX_MATCHES))]


class IndexNames:
    """File names, titles and aliases; see `amem_cli.notes.names.NoteNames`."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def store(self, number: int, path: str, title: str, aliases: Sequence[str]) -> None:
        """Replace the names of a note, given by its number."""
        self._file.rows("DELETE FROM names WHERE note = ?", (number,))
        name = name_key(path)
        others = {alias_key(alias) for alias in (*aliases, title)} - {name, ""}
        keys = [(name, _FILE), *((other, _ALIAS) for other in sorted(others))]
        typed = {key for each in (path, title, *aliases) for key in typed_keys(each)}
        typed -= {name, *others, ""}
        for key, alias in (*keys, *((key, _TYPED) for key in sorted(typed))):
            self._file.rows("INSERT INTO names VALUES(?, ?, ?)", (key, number, alias))

    def candidates(self, key: str) -> list[str]:
        """Paths of notes whose file name has this key."""
        return self._named(key, _FILE)

    def alias_candidates(self, key: str) -> list[str]:
        """Paths of notes with such a title or alias."""
        return self._named(key, _ALIAS)

    def _named(self, key: str, alias: int) -> list[str]:
        sql = (
            "SELECT path FROM names JOIN notes USING(note) WHERE key = ? AND alias = ?"
            " ORDER BY path"
        )
        return [path for (path,) in self._file.rows(sql, (key, alias))]


class IndexLinks:
    """Links between notes; their targets are resolved when they are read."""

    def __init__(self, file: Database, names: IndexNames) -> None:
        self._file = file
        self._names = names

    def store(self, number: int, links: Sequence[NoteLink]) -> None:
        """Replace the links of a note, given by its number."""
        self._file.rows("DELETE FROM links WHERE note = ?", (number,))
        for position, link in enumerate(links):
            self._file.rows(
                "INSERT INTO links VALUES(?, ?, ?, ?, ?, ?)",
                (number, position, link.target, name_key(link.target), link.kind, link.listed),
            )

    def written(self, path: str) -> list[NoteLink]:
        """All links in a note, in order."""
        return [link for _, link in self._read("WHERE path = ?", path)]

    def outgoing(self, path: str) -> list[tuple[str, NoteLink]]:
        """Links of a note that resolve, with the paths of their targets."""
        sql = (
            "SELECT DISTINCT l.key, n.path FROM notes s JOIN links l ON l.note = s.note"
            " JOIN names USING(key) JOIN notes n ON n.note = names.note"
            " WHERE s.path = ? AND names.alias = 0 ORDER BY n.path"
        )
        named: dict[str, list[str]] = {}
        for key, candidate in self._file.rows(sql, (path,)):
            named.setdefault(key, []).append(candidate)
        names = RememberedNames(self._names, named)
        resolved = ((resolve(link.target, path, names), link) for link in self.written(path))
        return [(target, link) for target, link in resolved if target is not None]

    def incoming(self, path: str) -> list[tuple[str, NoteLink]]:
        """Links of other notes that resolve to a note, with their paths."""
        keys = "SELECT names.key FROM names JOIN notes n USING(note) WHERE n.path = ?"
        others = self._read(f"WHERE links.key IN ({keys}) AND path <> ?", path, path)
        names = RememberedNames(self._names, {})
        return [each for each in others if resolve(each[1].target, each[0], names) == path]

    def linked(self, path: str) -> list[str]:
        """Paths of the notes that a note links to or is linked from, each once, links out first."""
        both = (*self.outgoing(path), *self.incoming(path))
        return [each for each in dict.fromkeys(other for other, _ in both) if each != path]

    def all(self) -> Iterator[tuple[str, NoteLink]]:
        """Every link with the path of its note, by path."""
        return self._read("")

    def _read(self, condition: str, *bindings: str) -> Iterator[tuple[str, NoteLink]]:
        sql = (
            "SELECT path, target, kind, listed FROM links JOIN notes USING(note)"  # noqa: S608
            f" {condition} ORDER BY path, position"
        )
        for source, target, kind, listed in self._file.stream(sql, bindings):
            yield source, NoteLink(target, kind, bool(listed))


def summaries_by_number(file: Database, numbers: Iterable[int]) -> dict[int, NoteSummary]:
    sql = f"SELECT note, {_SUMMARY} FROM notes WHERE note IN (SELECT value FROM json_each(?))"  # noqa: S608
    return {row[0]: _summary(row[1:]) for row in file.rows(sql, (json.dumps(list(numbers)),))}


def _summary(row: tuple[Any, ...]) -> NoteSummary:
    *head, keywords, tags, context, aliases, private, text_hash, sha, refused = row
    lists = (_items(keywords), _items(tags))
    tail = (context, _items(aliases), bool(private), text_hash, sha, refused)
    head[3] = local_text(head[3])
    return NoteSummary(*(*head, *lists, *tail))


def _items(text: str) -> tuple[str, ...]:
    # Most lists are empty, and to parse one takes as long as to read the rest of a note.
    return () if text == "[]" else tuple(json.loads(text))
