"""Which notes are superseded or contradicted by others, as the journal says, in the index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from amem_cli.adapters.index_names import NameTables
from amem_cli.core.index_records import (
    OVERRULING,
    Overruling,
)

if TYPE_CHECKING:
    from amem_cli.core.journal import Event, LinkRecord

_SOURCE = "JOIN notes n ON n.id = v.source OR (n.id IS NULL AND n.path = v.source)"


class OverruledTable(NameTables):
    """Keeps, of all links that the journal explains, those that say which note holds.

    Most vaults have few of them or none, so that asking for them costs a search next to nothing.
    """

    def overruling(self, paths: Sequence[str] | None = None) -> list[Overruling]:
        """Links by which notes are superseded or contradicted, where they still stand.

        Args:
            paths: of the notes that may be; None for all.
        """
        if paths is None:
            sql = (
                "SELECT o.path, n.path, v.relation FROM overruled v"  # noqa: S608
                f" JOIN notes o ON o.id = v.target OR o.path = v.target {_SOURCE} ORDER BY 1, 2"
            )
            rows = self.rows(sql).fetchall()
        else:
            sql = (
                "SELECT o.path, n.path, v.relation FROM notes o"  # noqa: S608
                f" JOIN overruled v ON v.target = o.id OR v.target = o.path {_SOURCE}"
                " WHERE o.path IN (SELECT value FROM json_each(?)) ORDER BY 1, 2"
            )
            rows = self.rows(sql, (json.dumps(list(paths)),)).fetchall()
        found = (Overruling(*row) for row in rows)
        return [each for each in found if self._stands(each)]

    def _stands(self, found: Overruling) -> bool:
        """Whether the link is still in the front matter: a person may have deleted it."""
        return any(
            target == found.older and link.kind == "property"
            for target, link in self.links_from(found.newer)
        )

    def concerns_overruled(self, event: Event) -> bool:
        """Whether an event may change what is kept here of its note."""
        if any(link.relation in OVERRULING for link in event.links):
            return True
        if not event.links and all(change.field != "links" for change in event.changes):
            return False
        sql = "SELECT 1 FROM overruled WHERE source = ? LIMIT 1"
        key = event.note or event.path
        return event.kind == "undo" or self.rows(sql, (key,)).fetchone() is not None

    def store_overruled(self, source: str, links: Iterable[LinkRecord]) -> None:
        """Replace what is kept of a note, given by its id or path."""
        self.rows("DELETE FROM overruled WHERE source = ?", (source,))
        for link in links:
            if link.relation in OVERRULING:
                values = (source, link.target, link.relation)
                self.rows("INSERT OR REPLACE INTO overruled VALUES(?, ?, ?)", values)
