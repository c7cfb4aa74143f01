"""The content of notes in the index: their names, links, passages and words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from amem_cli.index.records import NoteLink, NoteRecord
from amem_cli.notes.names import RememberedNames, alias_key, name_key, resolve

if TYPE_CHECKING:
    from amem_cli.index.connection import Database
    from amem_cli.index.vectors import IndexVectors

# Title, body, keywords, tags, context, date.
_COLUMN_WEIGHTS = "2.0, 1.0, 2.0, 1.0, 1.0, 1.0"
_MAX_TERMS = 64
# Words of the vocabulary that are compared with one misspelt word.
_MAX_SPELLINGS = 20_000
_AMONG = "IN (SELECT value FROM json_each(?))"


class IndexNames:
    """File names, titles and aliases; see `amem_cli.notes.names.NoteNames`."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def store(self, number: int, path: str, title: str, aliases: Sequence[str]) -> None:
        """Replace the names of a note, given by its number."""
        self._file.rows("DELETE FROM names WHERE note = ?", (number,))
        name = name_key(path)
        others = {alias_key(alias) for alias in (*aliases, title)} - {name, ""}
        self._file.rows("INSERT INTO names VALUES(?, ?, 0)", (name, number))
        for other in sorted(others):
            self._file.rows("INSERT INTO names VALUES(?, ?, 1)", (other, number))

    def candidates(self, key: str) -> list[str]:
        """Paths of notes whose file name has this key."""
        return self._named(key, alias=0)

    def alias_candidates(self, key: str) -> list[str]:
        """Paths of notes with such a title or alias."""
        return self._named(key, alias=1)

    def _named(self, key: str, *, alias: int) -> list[str]:
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
                (number, position, link.target, name_key(link.target), link.kind, link.relative),
            )

    def written(self, path: str) -> list[NoteLink]:
        """All links in a note, in order."""
        sql = (
            "SELECT target, kind, relative FROM links JOIN notes USING(note) WHERE path = ?"
            " ORDER BY position"
        )
        return [
            NoteLink(target, kind, bool(relative))
            for target, kind, relative in self._file.rows(sql, (path,))
        ]

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
        sql = (
            "SELECT n.path, l.target, l.kind, l.relative FROM links l JOIN notes n USING(note)"
            " WHERE l.key IN (SELECT key FROM names JOIN notes USING(note) WHERE path = ?)"
            " AND n.path <> ? ORDER BY n.path, l.position"
        )
        names = RememberedNames(self._names, {})
        return [
            (source, NoteLink(target, kind, bool(relative)))
            for source, target, kind, relative in self._file.rows(sql, (path, path))
            if resolve(target, source, names) == path
        ]

    def all(self) -> Iterator[tuple[str, NoteLink]]:
        """Every link with the path of its note, by path."""
        sql = (
            "SELECT n.path, l.target, l.kind, l.relative FROM links l JOIN notes n USING(note)"
            " ORDER BY n.path, l.position"
        )
        for source, target, kind, relative in self._file.stream(sql):
            yield source, NoteLink(target, kind, bool(relative))


class IndexText:
    """Passages, and the words of notes in FTS5."""

    def __init__(self, file: Database, vectors: IndexVectors) -> None:
        self._file = file
        self._vectors = vectors

    def store(self, number: int, record: NoteRecord) -> None:
        """Replace passages and words of a note, given by its number; passages that stay the same
        keep their numbers and vectors."""
        self._store_words(number, record)
        self._store_passages(number, record)

    def forget(self, number: int) -> None:
        """Remove passages, vectors and words of a note, given by its number."""
        self._file.rows("DELETE FROM words WHERE rowid = ?", (number,))
        self._forget_passages(number, keep=())

    def passages(self, path: str) -> list[str]:
        """Passages of a note in order."""
        sql = "SELECT text FROM passages JOIN notes USING(note) WHERE path = ? ORDER BY position"
        return [text for (text,) in self._file.rows(sql, (path,))]

    def passage_counts(self, paths: Sequence[str]) -> dict[str, int]:
        """Number of passages by path."""
        sql = (
            "SELECT n.path, count(*) FROM notes n JOIN passages p USING(note)"  # noqa: S608
            f" WHERE n.path {_AMONG} GROUP BY n.note"
        )
        return dict(self._file.rows(sql, (json.dumps(list(paths)),)))

    def lengths(self, paths: Sequence[str]) -> dict[str, int]:
        """Characters of the first two passages of notes, by path; a long note need not be read."""
        sql = (
            "SELECT n.path, sum(length(p.text)) FROM notes n JOIN passages p USING(note)"  # noqa: S608
            f" WHERE n.path {_AMONG} AND p.position < 2 GROUP BY n.note"
        )
        return dict(self._file.rows(sql, (json.dumps(list(paths)),)))

    def keyword_scores(
        self, terms: Sequence[str], limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """BM25 by path, higher is better, best first; `among` restricts to these paths."""
        from amem_cli.index.full_text import match_expression

        expressions = [match_expression(term) for term in terms[:_MAX_TERMS]]
        query = " OR ".join(expression for expression in expressions if expression)
        if not query or limit < 1:
            return {}
        restriction = "" if among is None else f" AND n.path {_AMONG}"
        bindings = () if among is None else (json.dumps(list(among)),)
        sql = (
            f"SELECT n.path, -bm25(words, {_COLUMN_WEIGHTS}) AS score FROM words"  # noqa: S608
            " JOIN notes n ON n.note = words.rowid"
            f" WHERE words MATCH ?{restriction} ORDER BY score DESC, n.path LIMIT ?"
        )
        return dict(self._file.rows(sql, (query, *bindings, limit)))

    def term_matches(
        self, terms: Sequence[str], among: Sequence[str]
    ) -> list[tuple[int, frozenset[str]]]:
        """For each term in how many notes it occurs, and which of the paths `among` hold it."""
        from amem_cli.index.full_text import match_expression

        sql = f"SELECT note, path FROM notes WHERE path {_AMONG}"  # noqa: S608
        paths = dict(self._file.rows(sql, (json.dumps(list(among)),)))
        sql = (
            f"SELECT count(*), json_group_array(rowid) FILTER (WHERE rowid {_AMONG})"  # noqa: S608
            " FROM words WHERE words MATCH ?"
        )
        matches = []
        for term in terms:
            count, holding = 0, "[]"
            expression = match_expression(term)
            if expression:
                [(count, holding)] = self._file.rows(sql, (json.dumps(list(paths)), expression))
            matches.append((int(count), frozenset(paths[note] for note in json.loads(holding))))
        return matches

    def document_frequency(self, term: str) -> int:
        """In how many notes a word occurs."""
        from amem_cli.index.full_text import match_expression

        expression = match_expression(term)
        if not expression:
            return 0
        return int(self._file.value("SELECT count(*) FROM words WHERE words MATCH ?", expression))

    def spellings(self, beginning: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        """Indexed words (stems) that begin so, with the number of notes they occur in.

        Args:
            shortest, longest: bounds of a word's length in characters, inclusive.
        """
        self._file.rows(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.spelt USING fts5vocab(main, words, row)"
        )
        sql = (
            "SELECT term, doc FROM temp.spelt WHERE term >= ? AND term < ?"
            " AND length(term) BETWEEN ? AND ? LIMIT ?"
        )
        bounds = (beginning, beginning + "\U0010ffff", shortest, longest, _MAX_SPELLINGS)
        return [(term, int(count)) for term, count in self._file.rows(sql, bounds)]

    def _store_words(self, number: int, record: NoteRecord) -> None:
        from amem_cli.index.full_text import indexable_text, reads_german
        from amem_cli.language.dates import date_words

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
        self._file.rows("DELETE FROM words WHERE rowid = ?", (number,))
        self._file.rows(
            "INSERT INTO words(rowid, title, body, keywords, tags, context, date)"
            " VALUES(?, ?, ?, ?, ?, ?, ?)",
            (number, *texts),
        )

    def _store_passages(self, number: int, record: NoteRecord) -> None:
        import hashlib

        note = record.note
        # The vector is made from the metadata too, so if they change a new one is needed.
        head = "\n".join((note.title, *note.keywords, *note.tags, note.context))
        wanted = {
            position: (hashlib.sha256(f"{head}\n\n{text}".encode()).digest()[:16], text)
            for position, text in enumerate(record.passages)
        }
        sql = "SELECT position, embed_key, passage FROM passages WHERE note = ?"
        kept = {
            position: passage
            for position, key, passage in self._file.rows(sql, (number,))
            if position in wanted and wanted[position][0] == key
        }
        self._forget_passages(number, keep=tuple(kept.values()))
        for position, (key, text) in wanted.items():
            if position not in kept:
                self._file.rows(
                    "INSERT INTO passages(note, position, text, embed_key) VALUES(?, ?, ?, ?)",
                    (number, position, text, key),
                )

    def _forget_passages(self, number: int, *, keep: Sequence[int]) -> None:
        sql = "SELECT passage FROM passages WHERE note = ?"
        gone = [passage for (passage,) in self._file.rows(sql, (number,)) if passage not in keep]
        self._vectors.forget(gone)
        for passage in gone:
            self._file.rows("DELETE FROM passages WHERE passage = ?", (passage,))
