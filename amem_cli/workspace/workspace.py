"""The application: what a person or a program can do with a vault, each verb with one result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, NotFoundError, WriteConflict
from amem_cli.workspace.undo_and_review import UndoAndReview

if TYPE_CHECKING:
    from amem_cli.duplicates.compare import Duplicate
    from amem_cli.editing.add import NewNote
    from amem_cli.editing.edit import FieldEdits, Removal, TextEdit
    from amem_cli.editing.move import Moved, OpenInEditor
    from amem_cli.editing.tags import Retagged
    from amem_cli.index.records import NoteSummary
    from amem_cli.journal.events import LinkRecord
    from amem_cli.memory.batch import EvolveBatch
    from amem_cli.memory.outcome import Outcome
    from amem_cli.notes.note import Relation

# If others edit the text at the same time, a paragraph can be appended to what they saved.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a new note; `known`: a note held the very text, and nothing was added.

    `duplicates` are other notes with the same text, or nearly.
    """

    outcome: Outcome
    known: bool = False
    duplicates: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of a changed note.

    Attributes:
        changed: names of the fields that changed, `content` among them.
        revision: hash of the text as it is now.
    """

    outcome: Outcome
    changed: tuple[str, ...] = ()
    revision: str = ""
    duplicates: tuple[Duplicate, ...] = ()


class Workspace(UndoAndReview):
    """A vault with all its verbs: those of `Queries` and `UndoAndReview`, and those here.

    See `SharedVault` for opening, closing and calls of several threads.
    """

    def add(self, new: NewNote, *, unless_known: bool = False, wait: bool = True) -> Added:
        """Write a note, then describe it, link it and let older notes evolve.

        Whatever fails once it is on disk is a problem of the outcome; the note is pending then.

        Args:
            unless_known: add nothing if a note holds this very text already.
            wait: False leaves the note pending.

        Raises:
            UsageError, SettingsError: nothing was written.
        """
        from amem_cli.duplicates.compare import note_with_text
        from amem_cli.editing.add import add

        self.follow_renames(unless_done=True)
        with self._claiming_work() if wait else contextlib.nullcontext():
            existing = None
            self._connection.caller.step("writing the note")
            # Under one lock, or two programs that add the same text at once would make two notes.
            with self.writing(), self.ports.changes.locked():
                if unless_known:
                    existing = note_with_text(
                        self.ports, new.content, title=new.title, hidden=self.hidden()
                    )
                path = add(self.ports, new) if existing is None else existing.path
            if existing is not None:
                is_pending = any(note.path == path for note in self.index.queue.pending())
                return Added(self._unprocessed(path, pending=is_pending), known=True)
            self._connection.caller.saved(path)
            outcome = self.process_note(path, wait=wait, new_text=True)
        return Added(outcome, duplicates=self._duplicates(path))

    @contextlib.contextmanager
    def _claiming_work(self) -> Iterator[None]:
        """Keep a watcher off the note that somebody waits for, unless the model is at work."""
        if not self._model_lock.acquire(blocking=False):
            yield
            return
        try:
            # Without waiting: a watcher may think about another note for a long time.
            with self.ports.changes.working(0.0):
                yield
        finally:
            self._model_lock.release()

    def process_note(self, path: str, *, wait: bool = True, new_text: bool) -> Outcome:
        """Describe, link and evolve for a note that is safe on disk; without `wait` it is pending.

        Args:
            new_text: the text is new, so that a watcher may have been through it already.
        """
        if not wait:
            return self._unprocessed(path)
        try:
            self.embed_missing()
            with self.model_at_work():
                process = self.process
                asking = "" if process.model is None else f", asking {process.model.name}"
                label = f"working out keywords, tags and links{asking}"
                with self._connection.caller.progress(label, at_once=True):
                    outcome = process.run(path, asked=True, only_pending=new_text)
        except NotFoundError as error:
            return self._unprocessed(path, error.message, pending=False)
        except AmemError as error:
            return self._unprocessed(path, error.message, error.hint)
        return self.visible_outcome(outcome)

    def _unprocessed(self, path: str, *problems: str, pending: bool = True) -> Outcome:
        from amem_cli.memory.process import waiting_outcome

        return waiting_outcome(self.ports, path, problems, pending=pending)

    def _duplicates(self, path: str) -> tuple[Duplicate, ...]:
        from amem_cli.duplicates.compare import duplicates_of

        hidden = self.hidden()
        return tuple(one for one in duplicates_of(self.ports, path) if one.note.path not in hidden)

    def update(
        self,
        note: NoteSummary,
        edits: FieldEdits,
        *,
        append: str | None = None,
        category: str | None = None,
        links: Sequence[NoteSummary] | None = None,
        revision: str = "",
        wait: bool = True,
    ) -> Updated:
        """Change fields of a note as its owner, then link it anew.

        Args:
            append: a paragraph for the end of the text, in place of a new text in the edits.
            category: the new `category` property.
            links: what the note's properties link to from now on; links in its text stay.
            revision: hash of the text that the edits were made for; empty for any.

        Raises:
            UsageError: a tag is impossible, or the text is empty.
            HeaderRefused, WriteConflict: nothing was written.
        """
        from amem_cli.editing.edit import set_category, update, with_appended

        for attempt in range(_ATTEMPTS):
            based_on = revision
            if append is not None:
                content, now = with_appended(self.ports, note.path, append)
                edits, based_on = replace(edits, content=content), revision or now
            try:
                self._connection.caller.step("writing the note")
                with self.writing():
                    changed = update(self.ports, note, edits, text=based_on)
                break
            except WriteConflict:
                if append is None or revision or attempt + 1 == _ATTEMPTS:
                    raise
        # Not in the loop, which would append the paragraph again.
        with self.writing():
            if category is not None:
                set_category(self.ports, note, category)
            if links is not None:
                self._set_links(note, links)
        if changed or category is not None or links is not None:
            self._connection.caller.saved(note.path)
        return self._updated(note, changed, wait=wait)

    def edit_text(
        self, note: NoteSummary, edit: TextEdit, *, revision: str = "", wait: bool = True
    ) -> Updated:
        """Replace one place in a note's text as its owner, then link it anew.

        Args:
            revision: hash of the text that the edit was made for; empty for any.

        Raises:
            NotFoundError: the place is not there, or not only once.
            UsageError, HeaderRefused, WriteConflict: nothing was written.
        """
        from amem_cli.editing.edit import edit_text

        self._connection.caller.step("writing the note")
        with self.writing():
            is_changed = edit_text(self.ports, note, edit, text=revision)
        if is_changed:
            self._connection.caller.saved(note.path)
        return self._updated(note, ("content",) if is_changed else (), wait=wait)

    def _updated(self, note: NoteSummary, changed: tuple[str, ...], *, wait: bool) -> Updated:
        summary = self.index.notes.summary(note.path)
        is_new = "content" in changed
        outcome = self.process_note(note.path, wait=wait, new_text=is_new)
        return Updated(
            outcome,
            changed,
            summary.text_hash if summary is not None else "",
            self._duplicates(note.path) if is_new else (),
        )

    def _set_links(self, note: NoteSummary, targets: Sequence[NoteSummary]) -> None:
        paths = {target.path for target in targets}
        present = {path for path, _ in self.index.links.outgoing(note.path)}
        for path in sorted(present - paths):
            former = self.index.notes.summary(path)
            if former is not None:
                self.unlink(note, former)
        for target in targets:
            if target.path not in present and target.path != note.path:
                self.link(note, target)

    def note_edited(self, note: NoteSummary, *, wait: bool = True) -> Outcome:
        """Link a note anew, given as it was before a person had it open, if they changed it."""
        self.synchronise()
        now = self.index.notes.summary(note.path)
        if now is not None and now.sha == note.sha:
            return self._unprocessed(note.path, pending=False)
        self._connection.caller.saved(note.path)
        new_text = now is None or now.text_hash != note.text_hash
        return self.process_note(note.path, wait=wait, new_text=new_text)

    def remove(self, note: NoteSummary) -> Removal:
        """Move a note to the trash; links of the machine's to it go with it, a person's stay.

        Raises:
            WriteConflict: a note changed meanwhile; nothing was done.
        """
        from amem_cli.editing.edit import remove

        with self.writing():
            removal = remove(self.ports, note)
        hidden = self.hidden()
        return replace(
            removal,
            unlinked=tuple(path for path in removal.unlinked if path not in hidden),
            dangling=tuple(path for path in removal.dangling if path not in hidden),
        )

    def move(self, note: NoteSummary, name: str, *, editor: OpenInEditor | None = None) -> Moved:
        """Give a note another name or folder; all links to it follow. See `editing.move.move`.

        Raises:
            UsageError, UnsafePath, HeaderRefused, SettingsError, WriteConflict: nothing was done.
        """
        from amem_cli.editing.move import OpenInEditor, move

        with self.writing():
            hidden = self.hidden()
            opened = editor or OpenInEditor()
            moved = move(self.ports, note, name, unseen=hidden, editor=opened)
        return replace(
            moved,
            followed=tuple(path for path in moved.followed if path not in hidden),
            left=tuple(line for line in moved.left if not any(path in line for path in hidden)),
        )

    def rename_tag(self, old: str, new: str) -> Retagged:
        """Give a tag another name in all notes; see `editing.tags.rename_tag`."""
        from amem_cli.editing.tags import rename_tag

        with self.writing():
            return rename_tag(self.ports, old, new)

    def merge_tags(self, tags: Sequence[str], into: str) -> Retagged:
        """Make several tags one in all notes; see `editing.tags.merge_tags`."""
        from amem_cli.editing.tags import merge_tags

        with self.writing():
            return merge_tags(self.ports, tags, into)

    def link(
        self,
        source: NoteSummary,
        target: NoteSummary,
        *,
        relation: Relation | None = None,
        reason: str = "",
    ) -> LinkRecord | None:
        """Link a note to another as its owner, as recorded; None if that link is there already.

        What amem made or suggests becomes the owner's, as it is unless a relation or reason is
        given.

        Raises:
            UsageError: the notes are one and the same, or the relation is unknown.
            HeaderRefused, WriteConflict: nothing was written.
        """
        from amem_cli.editing.edit import link

        with self.writing():
            return link(self.ports, source, target, relation=relation, reason=reason)

    def unlink(self, source: NoteSummary, target: NoteSummary) -> bool:
        """Remove a property link, whoever made it, and amem's the other way, or reject a
        suggestion; False if there is none."""
        from amem_cli.editing.edit import unlink

        with self.writing():
            return unlink(self.ports, source, target)

    @contextlib.contextmanager
    def evolving(
        self,
        paths: Sequence[str],
        *,
        asked: bool = False,
        settled: bool = False,
        dry_run: bool = False,
        again: bool = False,
        rest: Sequence[str] = (),
    ) -> Iterator[EvolveBatch]:
        """The memory process for many notes, which the batch goes through inside.

        Args:
            asked: the user named these notes; else those are left that others finished meanwhile.
            settled: leave notes that a person may still be editing, as nobody waits for them.
            again: make anew what amem wrote in their metadata.
            rest: notes that a later call is for, in the order of all.

        Raises:
            AmemError: the encoder or the language model cannot be had.
        """
        from amem_cli.memory.batch import EvolveBatch

        if not dry_run:
            self.follow_renames(unless_done=True)
        if paths:
            self.embed_missing()
        with self.model_at_work():
            process = replace(self.process, again=again)
            batch = EvolveBatch(process, paths, asked, settled, dry_run, rest=rest)
            caller, count = self._connection.caller, len(paths)
            batch.begin = lambda path: caller.step(f"{path} ({batch.reached + 1} of {count})")
            yield batch
