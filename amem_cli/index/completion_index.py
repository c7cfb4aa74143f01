"""What the index names, for completion in a shell: read as it is, and never written."""

from __future__ import annotations

import json
from pathlib import Path

import apsw

from amem_cli.index.file import SCHEMA_VERSION, in_use, is_regular
from amem_cli.notes.names import alias_key, typed_keys

# More than anybody reads; the latest are given.
_MOST = 1_000


class CompletionIndex:
    """An index opened for one look; `apsw.Error` or `OSError` if it cannot be read."""

    def __init__(self, path: Path) -> None:
        if not is_regular(path) or not path.exists():
            raise FileNotFoundError(path)
        # Without the log of a process that is at work, SQLite must make no files of its own.
        shared = in_use(path) and path.with_name(f"{path.name}-shm").exists()
        uri = f"{path.absolute().as_uri()}?{'mode=ro' if shared else 'immutable=1'}"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        self._db = apsw.Connection(uri, flags=flags)
        self._db.pragma("trusted_schema", False)
        if self._db.pragma("user_version") != SCHEMA_VERSION:
            raise apsw.SchemaChangeError("another version")

    def notes(self, prefix: str) -> list[tuple[str, str]]:
        """Names of notes that begin so, whatever case and accents, each with the note's context.

        A title, file name or alias; a path if there is a slash in what they begin with; or an id.
        """
        if "/" in prefix:
            sql = (
                "SELECT path, title FROM notes WHERE substr(path, 1, length(?1)) = ?1"
                " ORDER BY path LIMIT ?2"
            )
            return list(self._db.execute(sql, (prefix, _MOST)))
        key, typed = alias_key(prefix), typed_keys(prefix)[0]
        found: list[tuple[str, ...]] = list(
            self._db.execute(
                "SELECT title, path, aliases, context FROM notes WHERE note IN"
                " (SELECT note FROM names WHERE key >= ?1 AND key < ?1 || char(0x10ffff)"
                " OR key >= ?2 AND key < ?2 || char(0x10ffff)) ORDER BY modified DESC LIMIT ?3",
                (key, typed, _MOST),
            )
        )
        names: dict[str, str] = {}
        for title, path, aliases, context in found:
            stem = path.rpartition("/")[2].removesuffix(".md")
            for name in (title, stem, *json.loads(aliases)):
                begins_so = any(each.startswith(typed) for each in typed_keys(name))
                if begins_so or alias_key(name).startswith(key):
                    names.setdefault(name, context)
                    break
        if prefix.isdigit():
            sql = (
                "SELECT id, title FROM notes WHERE id >= ?1 AND id < ?1 || char(0x10ffff)"
                " ORDER BY id DESC LIMIT ?2"
            )
            names.update(self._db.execute(sql, (prefix, _MOST)))
        return list(names.items())

    def tags(self) -> list[tuple[str, str]]:
        """All tags, each with how many notes have it."""
        sql = (
            "SELECT value, count(DISTINCT note) FROM notes, json_each(notes.tags)"
            " GROUP BY lower(value) ORDER BY value"
        )
        return [(tag, str(count)) for tag, count in self._db.execute(sql)]

    def events(self) -> list[tuple[str, str]]:
        """The latest events, each with its kind and its note."""
        sql = (
            "SELECT event, kind || ' ' || coalesce(record ->> '$.path', '') FROM events"
            " ORDER BY event DESC LIMIT ?"
        )
        return list(self._db.execute(sql, (_MOST,)))

    def folders(self) -> list[tuple[str, str]]:
        """All folders with notes, with a slash behind them."""
        sql = "SELECT DISTINCT folder || '/' FROM notes WHERE folder <> '' ORDER BY folder"
        return [(folder, "") for (folder,) in self._db.execute(sql)]
