"""Names of notes and links between them in the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amem_cli.adapters.index_connection import IndexConnection
from amem_cli.core.index_records import NoteLink
from amem_cli.core.resolution import RememberedNames, alias_key, name_key, resolve


class NameTables(IndexConnection):
    """Stores what notes are called and what they link to, and finds which note a link means."""

    def store_names(self, handle: int, path: str, title: str, aliases: Sequence[str]) -> None:
        """Replace the names of a note, given by its number."""
        self.rows("DELETE FROM names WHERE note = ?", (handle,))
        name = name_key(path)
        others = {alias_key(alias) for alias in (*aliases, title)} - {name, ""}
        self.rows("INSERT INTO names VALUES(?, ?, 0)", (name, handle))
        for other in sorted(others):
            self.rows("INSERT INTO names VALUES(?, ?, 1)", (other, handle))

    def store_links(self, handle: int, links: Sequence[NoteLink]) -> None:
        """Replace the links of a note, given by its number."""
        self.rows("DELETE FROM links WHERE note = ?", (handle,))
        for position, link in enumerate(links):
            self.rows(
                "INSERT INTO links VALUES(?, ?, ?, ?, ?, ?)",
                (handle, position, link.target, name_key(link.target), link.kind, link.relative),
            )

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
        return [row[0] for row in self.rows(sql, (key, alias))]

    def links_of(self, path: str) -> list[NoteLink]:
        """Links that stand in a note."""
        sql = (
            "SELECT target, kind, relative FROM links JOIN notes USING(note) WHERE path = ?"
            " ORDER BY position"
        )
        return [
            NoteLink(target, kind, bool(relative))
            for target, kind, relative in self.rows(sql, (path,))
        ]

    def links_from(self, path: str) -> list[tuple[str, NoteLink]]:
        """Links of a note that resolve, with the paths of the notes that they mean."""
        links = self.links_of(path)
        sql = (
            "SELECT DISTINCT l.key, n.path FROM notes s JOIN links l ON l.note = s.note"
            " JOIN names USING(key) JOIN notes n ON n.note = names.note"
            " WHERE s.path = ? AND names.alias = 0 ORDER BY n.path"
        )
        named: dict[str, list[str]] = {}
        for key, candidate in self.rows(sql, (path,)).fetchall():
            named.setdefault(key, []).append(candidate)
        names = RememberedNames(self, named)
        found = ((resolve(link.target, path, names), link) for link in links)
        return [(target, link) for target, link in found if target is not None]

    def links_to(self, path: str) -> list[tuple[str, NoteLink]]:
        """Links of other notes that resolve to a note, with their paths."""
        sql = (
            "SELECT n.path, l.target, l.kind, l.relative FROM links l JOIN notes n USING(note)"
            " WHERE l.key IN (SELECT key FROM names JOIN notes USING(note) WHERE path = ?)"
            " AND n.path <> ? ORDER BY n.path, l.position"
        )
        names = RememberedNames(self, {})
        return [
            (source, NoteLink(target, kind, bool(relative)))
            for source, target, kind, relative in self.rows(sql, (path, path)).fetchall()
            if resolve(target, source, names) == path
        ]

    def all_links(self) -> Iterator[tuple[str, NoteLink]]:
        """Every link with the path of its note, by path."""
        sql = (
            "SELECT n.path, l.target, l.kind, l.relative FROM links l JOIN notes n USING(note)"
            " ORDER BY n.path, l.position"
        )
        for source, target, kind, relative in self.rows(sql):
            yield source, NoteLink(target, kind, bool(relative))
