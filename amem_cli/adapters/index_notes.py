"""Notes, names, links and passages in the index."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from amem_cli.adapters.index_names import NameTables
from amem_cli.adapters.index_vectors import VectorTables
from amem_cli.core.errors import Problem
from amem_cli.core.index_records import (
    KnownFile,
    NoteRecord,
    NoteSummary,
)
from amem_cli.core.resolution import name_key

_SUMMARY = (
    "path, id, title, created, modified, keywords, tags, context, aliases, private, text_hash,"
    " sha, refused"
)


class _Outline(NamedTuple):
    path: str
    created: str
    modified: str
    tags: Sequence[str]


class NoteTables(VectorTables, NameTables):
    """Stores and finds notes."""

    def file_states(self, within: Collection[str] | None = None) -> Mapping[str, KnownFile]:
        """Files that the index knows, by path: all, or those at these paths and below them."""
        sql = "SELECT path, size, mtime_ns, ctime_ns, inode, scanned_ns, sha, id FROM notes"
        if within is None:
            return {path: KnownFile._make(values) for path, *values in self.current_rows(sql)}
        # What lies below a folder sorts between `folder/` and the character after the slash.
        below = sql + " WHERE path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"
        rows = (row for path in within for row in self.current_rows(below, (path,)))
        return {path: KnownFile._make(values) for path, *values in rows}

    def store(self, record: NoteRecord) -> None:
        """Insert or replace a note; vectors of unchanged passages are kept."""
        note, file = record.note, record.file
        handle = self._handle(note.path)
        if handle is not None:
            self._forget_words(handle)
            self._keep_usage(handle, note.id or note.path)
            # What failed with another text says nothing of this one.
            self.rows(
                "DELETE FROM attempts WHERE path = ?1 AND NOT EXISTS("
                "SELECT 1 FROM notes WHERE note = ?2 AND text_hash = ?3)",
                (note.path, handle, record.text_hash),
            )
        values = (
            handle,
            note.path,
            note.id,
            note.title,
            note.created,
            record.modified,
            _listed(note.keywords),
            _listed(note.tags),
            note.context,
            _listed(note.aliases),
            note.private,
            note.refused.message if note.refused else "",
            record.text_hash,
            file.size,
            file.mtime_ns,
            file.ctime_ns,
            file.inode,
            file.scanned_ns,
            file.sha,
            _folder(note.path),
        )
        marks = ", ".join("?" * len(values))
        self.rows(f"INSERT OR REPLACE INTO notes VALUES({marks})", values)
        handle = self._handle(note.path)
        assert handle is not None
        self.store_names(handle, note.path, note.title, note.aliases)
        self.store_links(handle, record.links)
        self._store_words(handle, record)
        self._store_passages(handle, record)
        self._store_problems(handle, record)

    def _keep_usage(self, handle: int, key: str) -> None:
        """A note that gets an id is counted by it from then on."""
        row = self.rows("SELECT coalesce(id, path) FROM notes WHERE note = ?", (handle,)).fetchone()
        if row is not None and row[0] != key:
            self.rows("UPDATE OR IGNORE usage SET note = ? WHERE note = ?", (key, row[0]))

    def move(self, old: str, new: str) -> None:
        """A note has another path now; its usage stays."""
        handle = self._handle(old)
        if handle is not None:
            sql = "UPDATE notes SET path = ?, folder = ? WHERE note = ?"
            self.rows(sql, (new, _folder(new), handle))
            self.rows("UPDATE OR REPLACE usage SET note = ? WHERE note = ?", (new, old))
            self.rows("UPDATE OR REPLACE attempts SET path = ? WHERE path = ?", (new, old))

    def forget(self, path: str) -> None:
        """Remove a note that is gone."""
        handle = self._handle(path)
        if handle is None:
            return
        self._forget_words(handle)
        self._forget_passages(handle, keep=())
        for table in ("notes", "names", "links", "problems"):
            self.rows(f"DELETE FROM {table} WHERE note = ?", (handle,))  # noqa: S608
        self.rows("DELETE FROM attempts WHERE path = ?", (path,))

    def touch(self, path: str, file: KnownFile) -> None:
        """The file's times changed, or its size as a save was seen half done; not its content."""
        self.rows(
            "UPDATE notes SET mtime_ns = ?1, ctime_ns = ?2, inode = ?3, scanned_ns = ?4, size = ?5,"
            " modified = strftime('%Y-%m-%dT%H:%M:%S+00:00', ?1 / 1000000000, 'unixepoch')"
            " WHERE path = ?6",
            (file.mtime_ns, file.ctime_ns, file.inode, file.scanned_ns, file.size, path),
        )

    def _handle(self, path: str) -> int | None:
        row = self.rows("SELECT note FROM notes WHERE path = ?", (path,)).fetchone()
        return None if row is None else int(row[0])

    def _store_words(self, handle: int, record: NoteRecord) -> None:
        from amem_cli.core.full_text import indexable_text, reads_german
        from amem_cli.core.moments import date_words

        note = record.note
        columns = (
            " ".join((note.title, *note.aliases)),
            "\n".join(record.passages),
            " ".join(note.keywords),
            " ".join(note.tags),
            note.context,
            date_words(note.created),
        )
        german = reads_german("\n".join(columns))
        texts = tuple(indexable_text(column, german=german) for column in columns)
        self.rows(
            "INSERT INTO words(rowid, title, body, keywords, tags, context, date)"
            " VALUES(?, ?, ?, ?, ?, ?, ?)",
            (handle, *texts),
        )

    def _forget_words(self, handle: int) -> None:
        self.rows("DELETE FROM words WHERE rowid = ?", (handle,))

    def _store_passages(self, handle: int, record: NoteRecord) -> None:
        import hashlib

        note = record.note
        head = "\n".join((note.title, *note.keywords, *note.tags, note.context))
        wanted = {
            position: (hashlib.sha256(f"{head}\n\n{text}".encode()).digest()[:16], text)
            for position, text in enumerate(record.passages)
        }
        sql = "SELECT position, embed_key, passage FROM passages WHERE note = ?"
        kept = {
            position: passage
            for position, key, passage in self.rows(sql, (handle,))
            if position in wanted and wanted[position][0] == key
        }
        self._forget_passages(handle, keep=tuple(kept.values()))
        for position, (key, text) in wanted.items():
            if position not in kept:
                self.rows(
                    "INSERT INTO passages(note, position, text, embed_key) VALUES(?, ?, ?, ?)",
                    (handle, position, text, key),
                )

    def _forget_passages(self, handle: int, *, keep: Sequence[int]) -> None:
        sql = "SELECT passage FROM passages WHERE note = ?"
        gone = [passage for (passage,) in self.rows(sql, (handle,)) if passage not in keep]
        self.forget_vectors(gone)
        for passage in gone:
            self.rows("DELETE FROM passages WHERE passage = ?", (passage,))

    def _store_problems(self, handle: int, record: NoteRecord) -> None:
        self.rows("DELETE FROM problems WHERE note = ?", (handle,))
        refused = (record.note.refused,) if record.note.refused else ()
        for problem in (*refused, *record.note.problems):
            self.rows(
                "INSERT INTO problems VALUES(?, ?, ?, ?)",
                (handle, problem.line, problem.message, problem.hint),
            )

    def problems(self) -> list[Problem]:
        """What is wrong in notes, by path."""
        sql = (
            "SELECT n.path, p.line, p.message, p.hint FROM problems p JOIN notes n USING(note)"
            " ORDER BY n.path, p.line"
        )
        return [Problem(*row) for row in self.rows(sql)]

    def summary(self, path: str) -> NoteSummary | None:
        """One note by its path."""
        found = self._summaries("WHERE path = ?", (path,))
        return found[0] if found else None

    def summaries(self) -> Iterator[NoteSummary]:
        """All notes by path."""
        yield from map(_summary, self.rows(f"SELECT {_SUMMARY} FROM notes ORDER BY path"))  # noqa: S608

    def summaries_after(self, path: str, limit: int, *, public: bool = False) -> list[NoteSummary]:
        """The next notes by path, at most `limit`."""
        condition = "AND NOT private" if public else ""
        sql = f"SELECT {_SUMMARY} FROM notes WHERE path > ? {condition} ORDER BY path LIMIT ?"  # noqa: S608
        return [_summary(row) for row in self.rows(sql, (path, limit))]

    def summaries_of(self, handles: Iterable[int]) -> dict[int, NoteSummary]:
        """Notes by their numbers in the index."""
        sql = f"SELECT note, {_SUMMARY} FROM notes WHERE note IN (SELECT value FROM json_each(?))"  # noqa: S608
        return {row[0]: _summary(row[1:]) for row in self.rows(sql, (json.dumps(list(handles)),))}

    def outlines(self) -> Iterator[_Outline]:
        """All notes in short."""
        rows = self.rows("SELECT path, created, modified, tags FROM notes").fetchall()
        # Many notes have the same tags.
        tags = {text: json.loads(text) for text in {row[3] for row in rows}}
        for path, created, modified, text in rows:
            yield _Outline(path, created, modified, tags[text])

    def _summaries(self, where: str, bindings: Any) -> list[NoteSummary]:
        sql = f"SELECT {_SUMMARY} FROM notes {where} ORDER BY path LIMIT 50"  # noqa: S608
        return [_summary(row) for row in self.rows(sql, bindings)]

    def find(self, name: str) -> list[NoteSummary]:
        """Notes by id, path, file name, title, alias, or a prefix of the id."""
        by_id = self._summaries("WHERE id = ?", (name,))
        by_path = by_id or self._summaries("WHERE path IN (?, ?)", (name, f"{name}.md"))
        if by_path:
            return by_path
        key = name_key(name)
        for alias in (0, 1):
            where = "WHERE note IN (SELECT note FROM names WHERE key = ? AND alias = ?)"
            found = self._summaries(where, (key, alias))
            if found:
                return found
        # A title with a slash is no link target, but a name that a person may type.
        by_title = self._summaries("WHERE title = ? COLLATE NOCASE", (name,))
        if by_title:
            return by_title
        if name[:4].isdigit():
            # A range instead of LIKE: it uses the index and knows no wildcards.
            return self._summaries("WHERE id >= ? AND id < ?", (name, name + "\U0010ffff"))
        return []

    def id_taken(self, note_id: str) -> bool:
        """True for an id that a note has or ever had, by the journal."""
        sql = (
            "SELECT EXISTS(SELECT 1 FROM notes WHERE id = ?1)"
            " OR EXISTS(SELECT 1 FROM events WHERE note = ?1)"
        )
        row = self.rows(sql, (note_id,)).fetchone()
        return bool(row and row[0])

    def passages(self, path: str) -> list[str]:
        """Passages of a note in order."""
        sql = "SELECT text FROM passages JOIN notes USING(note) WHERE path = ? ORDER BY position"
        return [row[0] for row in self.rows(sql, (path,))]

    def count(self) -> int:
        """Number of notes."""
        row = self.rows("SELECT count(*) FROM notes").fetchone()
        return int(row[0]) if row else 0

    def tag_counts(self, *, public: bool = False) -> Mapping[str, int]:
        """How many notes (of those that are not private) have a tag, by its first spelling."""
        sql = (
            "SELECT value, count(DISTINCT note) FROM notes, json_each(notes.tags)"
            " WHERE private <= ? GROUP BY lower(value) ORDER BY min(note)"
        )
        return {tag: int(count) for tag, count in self.rows(sql, (not public,))}

    def private_paths(self) -> set[str]:
        """Paths of the private notes."""
        return {path for (path,) in self.rows("SELECT path FROM notes WHERE private")}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _listed(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _summary(row: tuple[Any, ...]) -> NoteSummary:
    path, note_id, title, created, modified, keywords, tags, context, aliases, *rest = row
    private, text_hash, sha, refused = rest
    return NoteSummary(
        path=path,
        id=note_id,
        title=title,
        created=created,
        modified=modified,
        keywords=tuple(json.loads(keywords)),
        tags=tuple(json.loads(tags)),
        context=context,
        aliases=tuple(json.loads(aliases)),
        private=bool(private),
        text_hash=text_hash,
        sha=sha,
        refused=refused,
    )
