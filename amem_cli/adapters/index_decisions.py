"""What people decided about links, as the journal says, in the index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from amem_cli.adapters.index_overruled import OverruledTable
from amem_cli.core.index_port import DecidedLink

if TYPE_CHECKING:
    from amem_cli.core.journal import Event
    from amem_cli.core.link_feedback import LinkDecision

_PATH = "coalesce((SELECT path FROM notes WHERE id = {0} OR path = {0} LIMIT 1), {1})"


class DecisionTable(OverruledTable):
    """Keeps the decisions of all notes, so that nothing has to read the whole journal for them."""

    def decided_links(self) -> list[DecidedLink]:
        """Links that a person kept or removed, with the paths of the notes as they are now."""
        from amem_cli.core.link_feedback import LinkDecision

        source, target = _PATH.format("d.source", "d.path"), _PATH.format("d.target", "d.target")
        sql = (
            f"SELECT {source}, {target}, d.target, d.judge, d.strength, d.kept, d.relation,"  # noqa: S608
            " d.reason FROM decisions d ORDER BY d.source, d.target"
        )
        return [
            DecidedLink(
                row[0], row[1], LinkDecision(row[2], row[3], row[4], bool(row[5]), *row[6:])
            )
            for row in self.rows(sql)
        ]

    def concerns_decisions(self, event: Event) -> bool:
        """Whether an event, stored already, may change what is kept here of its note."""
        if event.review:
            return True
        about_links = event.links or any(change.field == "links" for change in event.changes)
        if not about_links and event.kind not in ("process", "undo", "reject"):
            return False
        # Most notes are processed once and have seen no person since.
        sql = (
            "SELECT count(*) > 1 OR EXISTS(SELECT 1 FROM decisions WHERE source = ?1)"
            " OR EXISTS(SELECT 1 FROM events WHERE note = ?1"
            " AND kind IN ('edit', 'release', 'undo', 'reject'))"
            " FROM events WHERE note = ?1 AND kind = 'process'"
        )
        row = self.rows(sql, (event.note or event.path,)).fetchone()
        return bool(row and row[0])

    def store_decisions(self, source: str, path: str, decisions: Iterable[LinkDecision]) -> None:
        """Replace what is kept of a note, given by its id or path.

        Args:
            path: where the note was last; it may have lost its id.
        """
        self.rows("DELETE FROM decisions WHERE source = ?", (source,))
        for each in decisions:
            self.rows(
                "INSERT INTO decisions VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    source,
                    path,
                    each.target,
                    each.judge,
                    each.strength,
                    each.kept,
                    each.relation,
                    each.reason,
                ),
            )
