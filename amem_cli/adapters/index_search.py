"""What a search asks of the index beside the scores: matches, neighbours in time, spellings."""

from __future__ import annotations

import json
from collections.abc import Sequence

from amem_cli.adapters.index_connection import IndexConnection

# Words of the vocabulary that are looked at for one misspelt word.
_MAX_SPELLINGS = 20_000


class SearchTables(IndexConnection):
    """Reads the tables of words and of notes for `amem_cli.services.query`."""

    def term_matches(
        self, terms: Sequence[str], among: Sequence[str]
    ) -> list[tuple[int, frozenset[str]]]:
        """For each term in how many notes it occurs, and which of the paths `among` hold it."""
        from amem_cli.core.full_text import match_expression

        sql = "SELECT note, path FROM notes WHERE path IN (SELECT value FROM json_each(?))"
        paths = dict(self.rows(sql, (json.dumps(list(among)),)).fetchall())
        handles = json.dumps(list(paths))
        matches = []
        for term in terms:
            expression = match_expression(term)
            if not expression:
                matches.append((0, frozenset[str]()))
                continue
            sql = (
                "SELECT count(*), json_group_array(rowid)"
                " FILTER (WHERE rowid IN (SELECT value FROM json_each(?)))"
                " FROM words WHERE words MATCH ?"
            )
            count, found = self.rows(sql, (handles, expression)).fetchone()
            matches.append((int(count), frozenset(paths[note] for note in json.loads(found))))
        return matches

    def lengths(self, paths: Sequence[str]) -> dict[str, int]:
        """Characters of the first two passages of notes, by path; a long note need not be read."""
        sql = (
            "SELECT n.path, sum(length(p.text)) FROM notes n JOIN passages p USING(note)"
            " WHERE n.path IN (SELECT value FROM json_each(?)) AND p.position < 2 GROUP BY n.note"
        )
        return dict(self.rows(sql, (json.dumps(list(paths)),)).fetchall())

    def written_next(
        self, path: str, reach: int
    ) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The notes of the same folder created before and after, nearest first.

        Returns:
            Paths with their `created` texts, at most `reach` on either side; none for a note
            without a time of day, and midnight sharp is none: so a mere date is often written.
        """
        sql = "SELECT folder, created FROM notes WHERE path = ?"
        row = self.rows(sql, (path,)).fetchone()
        if row is None or not row[1][len("2026-01-01") :].strip("Tt 0:.Zz"):
            return [], []
        folder, created = row
        bindings = (folder, created, path, reach)
        before = self.rows(
            "SELECT path, created FROM notes WHERE created <> '' AND folder = ?"
            " AND (created, path) < (?, ?) ORDER BY created DESC, path DESC LIMIT ?",
            bindings,
        ).fetchall()
        after = self.rows(
            "SELECT path, created FROM notes WHERE created <> '' AND folder = ?"
            " AND (created, path) > (?, ?) ORDER BY created, path LIMIT ?",
            bindings,
        ).fetchall()
        return before, after

    def spellings(self, beginning: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        """Indexed words that begin so, with the number of notes they occur in.

        Args:
            shortest, longest: bounds of a word's length in characters, inclusive.
        """
        self.rows("CREATE VIRTUAL TABLE IF NOT EXISTS temp.spelt USING fts5vocab(main, words, row)")
        sql = (
            "SELECT term, doc FROM temp.spelt WHERE term >= ? AND term < ?"
            " AND length(term) BETWEEN ? AND ? LIMIT ?"
        )
        bounds = (beginning, beginning + "\U0010ffff", shortest, longest, _MAX_SPELLINGS)
        return [(term, int(count)) for term, count in self.rows(sql, bounds)]
