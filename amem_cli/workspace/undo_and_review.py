"""What a person decides on changes that were made or proposed: undo, accept and reject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, NotFoundError
from amem_cli.workspace.queries import Queries

if TYPE_CHECKING:
    from amem_cli.editing.history import HistoryEntry
    from amem_cli.editing.review import Decisions, ReviewItem
    from amem_cli.editing.undo import Undone
    from amem_cli.index.draft import FieldValue


class UndoAndReview(Queries):
    """The verbs of a vault that take changes back, and decide on proposals."""

    def last_change(self) -> list[HistoryEntry]:
        """The newest change that `undo` takes back; see `editing.history.last_change`."""
        from amem_cli.editing.history import last_change

        return last_change(self.index)

    def undo(self, event: str, *, cascade: bool = False, keep_edits: bool = False) -> Undone:
        """Take back a change; see `editing.undo.undo`.

        Raises:
            NotFoundError: no event that the caller sees begins with this id, or more than one.
            SettingsError: nothing was changed.
        """
        from amem_cli.editing.undo import undo

        # Before the undo as well: a private note that it removes is not known afterwards.
        hidden = set(self.hidden())
        unseen = self._refuse_hidden_event(event)
        try:
            with self.writing():
                undone = undo(self.ports, event, cascade=cascade, keep_edits=keep_edits)
        except AmemError as error:
            # The message may name a note that the caller is not shown.
            if any(path in f"{error.message} {error.hint}" for path in unseen):
                raise NotFoundError(
                    "it cannot be taken back: what it changed is in a note that you are not shown",
                    hint="Leave it to the user.",
                ) from None
            raise
        # A note that came back may be one that is not shown.
        hidden.update(self.hidden())
        return replace(
            undone,
            events=tuple(each for each in undone.events if each.path not in hidden),
            paths=tuple(path for path in undone.paths if path not in hidden),
            kept=tuple(line for line in undone.kept if not any(path in line for path in hidden)),
        )

    def _refuse_hidden_event(self, prefix: str) -> set[str]:
        """Paths to keep from the caller; refuses the event if it is of such a note."""
        if self.sees_private:
            return set()
        unseen = set(self.hidden())
        for event in self.index.events.find(prefix):
            key = event.note or event.path
            notes = self.index.notes.find(key) if key else []
            if any(note.path in unseen for note in notes):
                raise NotFoundError(f"no event {prefix!r}", hint="`amem history` shows their ids.")
            # Nobody knows any more whether a note that is gone was private.
            if not notes and event.path:
                unseen.add(event.path)
        return unseen

    def undo_since(self, since: str, *, keep_edits: bool = False) -> Undone:
        """Take back all that the machine did since a moment; see `editing.undo.undo_since`."""
        from amem_cli.editing.undo import undo_since

        with self.writing():
            return undo_since(self.ports, since, keep_edits=keep_edits)

    def accept(
        self,
        proposals: Sequence[ReviewItem],
        *,
        edited: Mapping[str, FieldValue] | None = None,
    ) -> Decisions:
        """Make the proposed changes, or those `edited` by a person, by id; see `editing.review`.

        Raises:
            UsageError: an edited value is impossible in its field.
        """
        from amem_cli.editing.review import accept

        with self.writing():
            return accept(self.ports, proposals, edited=edited)

    def reject(self, proposals: Sequence[ReviewItem]) -> Decisions:
        """Turn proposals down; the same changes are not proposed again."""
        from amem_cli.editing.review import reject

        with self.writing():
            return reject(self.ports, proposals)
