"""What people decided about links, as the journal says, in the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from amem_cli.adapters.index_overruled import OverruledTable
from amem_cli.core.index_records import DecidedLink

if TYPE_CHECKING:
    from amem_cli.core.journal import Event
    from amem_cli.core.link_feedback import LinkDecision

_PATH = "coalesce((SELECT path FROM notes WHERE id = {0} OR path = {0} LIMIT 1), {1})"
# A note whose first change was taken back has lost its id; one with an id there is another note.
_LOST_ITS_ID = (
    "NOT EXISTS(SELECT 1 FROM notes n"
    " WHERE n.id = d.source OR (n.path = d.path AND n.id IS NOT NULL))"
)
_SOURCE = _PATH.format("d.source", f"iif({_LOST_ITS_ID}, d.path, d.source)")
_TARGET = _PATH.format("d.target", "d.target")


class DecisionTable(OverruledTable):
    """Keeps the decisions of all notes, so that nothing has to read the whole journal for them."""

    def decided_links(self, limit: int) -> list[DecidedLink]:
        """Links that a person kept or removed, those that were made last first, with the paths of
        the notes as they are now."""
        from amem_cli.core.link_feedback import LinkDecision

        sql = (
            f"SELECT {_SOURCE}, {_TARGET}, target, judge, strength, kept, relation, reason, event"  # noqa: S608
            " FROM decisions d ORDER BY event DESC, source, target LIMIT ?"
        )
        return [
            DecidedLink(
                row[0], row[1], LinkDecision(row[2], row[3], row[4], bool(row[5]), *row[6:])
            )
            for row in self.rows(sql, (limit,))
        ]

    def taken_apart(self, path: str) -> set[str]:
        """Paths of the notes whose link with a note a person removed, whichever had it."""
        same = "SELECT id FROM notes WHERE path = ?1 AND id IS NOT NULL UNION SELECT ?1"
        sql = (
            f"SELECT {_TARGET} FROM decisions d WHERE kept = 0"  # noqa: S608
            f" AND (source IN ({same}) OR (path = ?1 AND {_LOST_ITS_ID}))"
            f" UNION SELECT {_SOURCE} FROM decisions d WHERE kept = 0 AND target IN ({same})"
        )
        return {row[0] for row in self.rows(sql, (path,))}

    def concern_decisions(self, note: str, events: Sequence[Event]) -> bool:
        """Whether events of a note, stored already, may change what is kept here of it."""
        if any(event.review for event in events) or self._was_elsewhere(note, events):
            return True
        if not any(map(_may_decide, events)):
            return False
        # Most notes are processed once and have seen no person since.
        sql = (
            "SELECT count(*) > 1 OR EXISTS(SELECT 1 FROM decisions WHERE source = ?1)"
            " OR EXISTS(SELECT 1 FROM events WHERE note = ?1"
            " AND kind IN ('edit', 'release', 'undo', 'reject'))"
            " FROM events WHERE note = ?1 AND kind = 'process'"
        )
        row = self.rows(sql, (note,)).fetchone()
        return bool(row and row[0])

    def _was_elsewhere(self, note: str, events: Iterable[Event]) -> bool:
        """Whether the note was last known at another path than events tell."""
        found = self.rows("SELECT DISTINCT path FROM decisions WHERE source = ?", (note,))
        known = {row[0] for row in found}
        return bool(known) and any(event.path not in known for event in events)

    def store_decisions(self, source: str, path: str, decisions: Iterable[LinkDecision]) -> None:
        """Replace what is kept of a note, given by its id or path.

        Args:
            path: where the note was last; it may have lost its id.
        """
        self.rows("DELETE FROM decisions WHERE source = ?", (source,))
        for each in decisions:
            self.rows(
                "INSERT INTO decisions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    source,
                    path,
                    each.target,
                    each.judge,
                    each.strength,
                    each.kept,
                    each.relation,
                    each.reason,
                    each.event,
                ),
            )


def _may_decide(event: Event) -> bool:
    about_links = event.links or any(change.field == "links" for change in event.changes)
    return bool(about_links) or event.kind in ("process", "undo", "reject")
