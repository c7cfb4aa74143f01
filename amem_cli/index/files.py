"""Stores notes in the index with all that is found of them, and removes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from amem_cli.errors import Problem
from amem_cli.index.records import IndexLinks, IndexNames, KnownFile, NoteRecord

if TYPE_CHECKING:
    from amem_cli.index.connection import Database
    from amem_cli.index.text import IndexText

_MOVES_KEPT = 10_000


class IndexFiles:
    """Stores and removes notes with their names, links, passages and words."""

    def __init__(
        self, file: Database, names: IndexNames, links: IndexLinks, text: Callable[[], IndexText]
    ) -> None:
        self._file = file
        self._names = names
        self._links = links
        self._text = text

    def states(self, within: Collection[str] | None = None) -> Mapping[str, KnownFile]:
        """Indexed files by path: all, or those at these paths and below them."""
        sql = "SELECT path, size, mtime_ns, ctime_ns, inode, scanned_ns, sha, id FROM notes"
        if within is None:
            rows: Iterable[tuple[Any, ...]] = self._file.current_rows(sql)
        else:
            # What lies below a folder sorts between `folder/` and the character after the slash.
            below = sql + " WHERE path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"
            rows = (row for path in within for row in self._file.current_rows(below, (path,)))
        return {path: KnownFile._make(values) for path, *values in rows}

    def store(self, record: NoteRecord) -> None:
        """Insert or replace a note; vectors of unchanged passages are kept."""
        from amem_cli.language.detect import language_of

        note, file = record.note, record.file
        number = self._number(note.path)
        if number is not None:
            self._forget_language(number)
            self._keep_usage(number, note.id or note.path)
            # Failed attempts with another text do not count for this one.
            self._file.rows(
                "DELETE FROM attempts WHERE path = ?1 AND NOT EXISTS("
                "SELECT 1 FROM notes WHERE note = ?2 AND text_hash = ?3)",
                (note.path, number, record.text_hash),
            )
        lists = (note.keywords, note.tags, note.aliases)
        keywords, tags, aliases = (json.dumps(each, ensure_ascii=False) for each in lists)
        refused = note.refused.message if note.refused else ""
        dates = (note.created, record.modified)
        metadata = (keywords, tags, note.context, aliases, note.private, refused)
        values = (note.path, note.id, note.title, *dates, *metadata, record.text_hash, *file[:6])
        told = language_of("\n".join((note.title, *record.passages)))
        language = (told.code, told.is_clear, " ".join(sorted(told.possible)))
        marks = ", ".join("?" * (len(values) + 5))
        sql = f"INSERT OR REPLACE INTO notes VALUES({marks})"
        self._file.rows(sql, (number, *values, _folder(note.path), *language))
        self._file.rows(
            "INSERT INTO languages VALUES(?, ?, 1) ON CONFLICT DO UPDATE SET notes = notes + 1",
            language[:2],
        )
        number = self._number(note.path)
        assert number is not None
        self._names.store(number, note.path, note.title, note.aliases)
        self._links.store(number, record.links)
        self._text().store(number, record)
        self._store_problems(number, record)

    def move(self, old: str, new: str) -> None:
        """A note has another path now; its usage stays."""
        number = self._number(old)
        if number is not None:
            sql = "UPDATE notes SET path = ?, folder = ? WHERE note = ?"
            self._file.rows(sql, (new, _folder(new), number))
            self._file.rows("UPDATE OR REPLACE usage SET note = ? WHERE note = ?", (new, old))
            self._file.rows("UPDATE OR REPLACE attempts SET path = ? WHERE path = ?", (new, old))

    def remember_moves(self, moves: Iterable[tuple[str, str]]) -> None:
        """Notes have other paths (former, present), or others have theirs; links may have to
        follow."""
        present = dict(moves)
        known = {at: present.get(now, now) for at, now in self._stored_moves().items()}
        latest = list((known | present).items())[-_MOVES_KEPT:]
        self._file.set_meta("moves", json.dumps(dict(latest), ensure_ascii=False))
        self._file.set_meta("links_follow", "")

    def moves(self) -> Mapping[str, str]:
        """Present paths by the former ones that are known."""
        # What the journal says is also known after the index was made anew.
        sql = (
            "SELECT DISTINCT e.record ->> '$.path', n.path FROM events e JOIN notes n"
            " ON n.id = e.note WHERE e.record ->> '$.path' <> n.path"
        )
        return self._stored_moves() | dict(self._file.rows(sql))

    def _stored_moves(self) -> dict[str, str]:
        return dict(json.loads(self._file.meta("moves") or "{}"))

    def links_follow(self) -> bool:
        """Whether the machine's links have followed all moves."""
        return bool(self._file.meta("links_follow"))

    def set_links_follow(self) -> None:
        self._file.set_meta("links_follow", "1")

    def forget(self, path: str) -> None:
        """Remove a note that is gone."""
        number = self._number(path)
        if number is None:
            return
        self._text().forget(number)
        self._forget_language(number)
        for table in ("notes", "names", "links", "problems"):
            self._file.rows(f"DELETE FROM {table} WHERE note = ?", (number,))  # noqa: S608
        # Its usage stays: git or a sync program may bring the note back.
        self._file.rows("DELETE FROM attempts WHERE path = ?", (path,))

    def _forget_language(self, number: int) -> None:
        self._file.rows(
            "UPDATE languages SET notes = notes - 1 WHERE (language, is_clear) ="
            " (SELECT language, is_clear FROM notes WHERE note = ?)",
            (number,),
        )

    def update_states(self, files: Mapping[str, KnownFile]) -> None:
        """Only the files' states changed; the size too of one that was read during a save."""
        if not files:
            return
        self._file.rows(
            "UPDATE notes SET size = now.value ->> 0, mtime_ns = now.value ->> 1,"
            " ctime_ns = now.value ->> 2, inode = now.value ->> 3, scanned_ns = now.value ->> 4,"
            " modified ="
            " strftime('%Y-%m-%dT%H:%M:%S+00:00', (now.value ->> 1) / 1000000000, 'unixepoch')"
            " FROM json_each(?) now WHERE notes.path = now.key",
            (json.dumps(files),),
        )

    def problems(self) -> list[Problem]:
        sql = (
            "SELECT n.path, p.line, p.message, p.hint FROM problems p JOIN notes n USING(note)"
            " ORDER BY n.path, p.line"
        )
        return [Problem(*row) for row in self._file.rows(sql)]

    def _number(self, path: str) -> int | None:
        number: int | None = self._file.value("SELECT note FROM notes WHERE path = ?", path)
        return number

    def _keep_usage(self, number: int, key: str) -> None:
        """A note that gets an id is counted by its id from then on."""
        former = self._file.value("SELECT coalesce(id, path) FROM notes WHERE note = ?", number)
        if former != key:
            sql = "UPDATE OR IGNORE usage SET note = ? WHERE note = ?"
            self._file.rows(sql, (key, former))

    def _store_problems(self, number: int, record: NoteRecord) -> None:
        self._file.rows("DELETE FROM problems WHERE note = ?", (number,))
        refused = (record.note.refused,) if record.note.refused else ()
        for problem in (*refused, *record.note.problems):
            self._file.rows(
                "INSERT INTO problems VALUES(?, ?, ?, ?)",
                (number, problem.line, problem.message, problem.hint),
            )


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
