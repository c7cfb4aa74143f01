"""The index in one SQLite file: words by FTS5, vectors by sqlite-vec."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from amem_cli.adapters.index_embedding import EmbeddingTables
from amem_cli.adapters.index_journal import JournalTables
from amem_cli.adapters.index_search import SearchTables

# Title, body, keywords, tags, context, date.
_COLUMN_WEIGHTS = "2.0, 1.0, 2.0, 1.0, 1.0, 1.0"


class SqliteIndex(EmbeddingTables, JournalTables, SearchTables):
    """The index file; see `amem_cli.core.index_port.MemoryIndex` for what each call promises."""

    def keyword_scores(
        self, terms: Sequence[str], limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """BM25 by path, higher is better, best first; `among` restricts to these paths."""
        from amem_cli.core.full_text import match_expression

        expressions = [match_expression(term) for term in terms[:64]]
        query = " OR ".join(expression for expression in expressions if expression)
        if not query or limit < 1:
            return {}
        restriction = ""
        bindings: tuple[str, ...] = ()
        if among is not None:
            restriction = " AND n.path IN (SELECT value FROM json_each(?))"
            bindings = (_json(among),)
        sql = (
            f"SELECT n.path, -bm25(words, {_COLUMN_WEIGHTS}) AS score FROM words"  # noqa: S608
            " JOIN notes n ON n.note = words.rowid"
            f" WHERE words MATCH ?{restriction} ORDER BY score DESC, n.path LIMIT ?"
        )
        return dict(self.rows(sql, (query, *bindings, limit)).fetchall())

    def document_frequency(self, term: str) -> int:
        """In how many notes a word occurs."""
        from amem_cli.core.full_text import match_expression

        expression = match_expression(term)
        if not expression:
            return 0
        sql = "SELECT count(*) FROM words WHERE words MATCH ?"
        row = self.rows(sql, (expression,)).fetchone()
        return int(row[0]) if row else 0

    def canonical_dump(self) -> Mapping[str, list[tuple[object, ...]]]:
        """Everything that follows from the vault alone, in an order free of history.

        Two indexes of the same vault are equal here; usage and attempts are left out, and so are
        the bits of vectors, whose centre is of the time when they were made.
        """
        paths = dict(self.rows("SELECT note, path FROM notes").fetchall())
        dump: dict[str, list[tuple[object, ...]]] = {
            "encoder": [(self.encoder(),)],
            "notes": self.rows(
                "SELECT path, id, title, created, modified, keywords, tags, context, aliases,"
                " private, refused, text_hash, size, sha FROM notes ORDER BY path"
            ).fetchall(),
            "words": self._dump_words(paths),
            "events": self.rows("SELECT event, note, kind, record FROM events").fetchall(),
            "processed": self.rows("SELECT text_hash, note FROM processed").fetchall(),
            "overruled": self.rows("SELECT source, target, relation FROM overruled").fetchall(),
            "decisions": self.rows("SELECT * FROM decisions").fetchall(),
        }
        for table, columns in (
            ("names", "key, alias"),
            ("links", "position, target, kind, relative"),
            ("passages", "position, text, embed_key, embedded"),
            ("problems", "line, message, hint"),
        ):
            sql = f"SELECT path, {columns} FROM {table} JOIN notes USING(note) ORDER BY 1, 2, 3"  # noqa: S608
            dump[table] = self.rows(sql).fetchall()
        if self.encoder() is not None:
            dump["vectors"] = self.rows(
                "SELECT n.path, p.position, v.embedding FROM vectors v JOIN passages p"
                " USING(passage) JOIN notes n USING(note) ORDER BY 1, 2"
            ).fetchall()
        return dump

    def _dump_words(self, paths: Mapping[int, str]) -> list[tuple[object, ...]]:
        self.rows(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, words, instance)"
        )
        sql = "SELECT doc, term, col, offset FROM temp.places"
        return sorted((paths[doc], *rest) for doc, *rest in self.rows(sql))


def _json(values: Sequence[str]) -> str:
    return json.dumps(list(values))
