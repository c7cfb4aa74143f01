"""The application: what a person or a program can do with a vault, each verb with one result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, NotFoundError, WriteConflict
from amem_cli.search.search import EVERY_NOTE, Filters
from amem_cli.workspace.open_vault import OpenVault
from amem_cli.workspace.results import Added, ListedNote, SearchResult, Updated

if TYPE_CHECKING:
    from amem_cli.ask.ask import Answer
    from amem_cli.duplicates.find import Duplicate
    from amem_cli.editing.add import NewNote
    from amem_cli.editing.edit import FieldEdits, Removal
    from amem_cli.editing.history import HistoryEntry
    from amem_cli.editing.undo import Undone
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.batch import EvolveBatch
    from amem_cli.memory.outcome import Outcome
    from amem_cli.models.ports import Encoder
    from amem_cli.notes.note import Relation
    from amem_cli.search.read import NoteView, Wanted
    from amem_cli.search.search import Hit, Mode
    from amem_cli.search.supersession import Supersession

# Of a text that others edit at the same time; what is only added can be added to theirs.
_ATTEMPTS = 3


class Workspace(OpenVault):
    """The verbs; see `OpenVault` for opening and closing.

    Notes that the caller does not see are left out of every result. Verbs for one note take its
    summary as `note` gives it. All raise `Stopped` when the caller does not wait any more.
    """

    def note(self, name: str) -> NoteSummary:
        """The note with this id (or its unique beginning), path, file name, title or alias.

        Raises:
            NotFoundError: no note that the caller sees has this name, or more than one.
        """
        from amem_cli.search.read import note_named

        return note_named(self.index, name, private=self.sees_private)

    def add(self, new: NewNote, *, unless_known: bool = False, wait: bool = True) -> Added:
        """Write a note, then describe it, link it and let older notes evolve.

        Whatever fails once it is on disk is a problem of the outcome; the note is pending then.

        Args:
            unless_known: add nothing if a note holds this very text already.
            wait: False leaves the note pending.

        Raises:
            UsageError, SettingsError: nothing was written.
        """
        from amem_cli.duplicates.find import note_with_text
        from amem_cli.editing.add import add

        with self._claiming_work() if wait else contextlib.nullcontext():
            known = None
            self._here.caller.step("writing the note")
            with self.writing(), self.ports.changes.locked():
                if unless_known:
                    known = note_with_text(
                        self.ports, new.content, title=new.title, hidden=self.hidden()
                    )
                path = add(self.ports, new) if known is None else known.path
            if known is not None:
                waits = any(note.path == path for note in self.index.queue.pending())
                return Added(self._unprocessed(path, pending=waits), known=True)
            outcome = self.remember(path, wait=wait, new_text=True)
        return Added(outcome, duplicates=self._duplicates(path))

    @contextlib.contextmanager
    def _claiming_work(self) -> Iterator[None]:
        """A watcher leaves the note to whoever waits for it, unless the model is at work."""
        if not self._model_lock.acquire(blocking=False):
            yield
            return
        try:
            with self.ports.changes.working(0.0):
                yield
        finally:
            self._model_lock.release()

    def remember(self, path: str, *, wait: bool = True, new_text: bool) -> Outcome:
        """Describe, link and evolve for a note that is safe on disk.

        Args:
            wait: False leaves the note pending.
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
                with self._here.caller.progress(label):
                    outcome = process.run(path, asked=True, only_pending=new_text)
        except NotFoundError as error:
            return self._unprocessed(path, error.message, pending=False)
        except AmemError as error:
            return self._unprocessed(path, error.message, error.hint)
        return self.visible_outcome(outcome)

    def _unprocessed(self, path: str, *problems: str, pending: bool = True) -> Outcome:
        from amem_cli.memory.process import waiting_outcome

        return waiting_outcome(self.ports, path, problems, pending=pending)

    def visible_outcome(self, outcome: Outcome) -> Outcome:
        """The outcome as far as the caller may know of it."""
        hidden = self.hidden()
        if not hidden:
            return outcome
        return replace(
            outcome,
            links=tuple(each for each in outcome.links if each.path not in hidden),
            changed_links=tuple(
                each for each in outcome.changed_links if not {each.source, each.target} & {*hidden}
            ),
            evolved=tuple(each for each in outcome.evolved if each.path not in hidden),
            proposed=tuple(
                each
                for each in outcome.proposed
                if each.path not in hidden
                and not (each.link_change and each.link_change.target in hidden)
            ),
        )

    def _duplicates(self, path: str) -> tuple[Duplicate, ...]:
        from amem_cli.duplicates.find import duplicates_of

        hidden = self.hidden()
        found = duplicates_of(self.ports, path)
        return tuple(each for each in found if each.note.path not in hidden)

    def update(
        self,
        note: NoteSummary,
        edits: FieldEdits,
        *,
        append: str | None = None,
        revision: str = "",
        wait: bool = True,
    ) -> Updated:
        """Change fields of a note as its owner, then link it anew.

        Args:
            append: a paragraph for the end of the text, in place of a new text in the edits.
            revision: hash of the text that the edits were made for; empty for any.
            wait: False leaves the note pending.

        Raises:
            UsageError: a tag is impossible, or the text is empty.
            HeaderRefused, WriteConflict: nothing was written.
        """
        from amem_cli.editing.edit import update, with_appended

        for attempt in range(_ATTEMPTS):
            based_on = revision
            if append is not None:
                content, now = with_appended(self.ports, note.path, append)
                edits, based_on = replace(edits, content=content), revision or now
            try:
                self._here.caller.step("writing the note")
                with self.writing():
                    changed = update(self.ports, note, edits, text=based_on)
                break
            except WriteConflict:
                if append is None or revision or attempt + 1 == _ATTEMPTS:
                    raise
        summary = self.index.notes.summary(note.path)
        outcome = self.remember(note.path, wait=wait, new_text="content" in changed)
        return Updated(
            outcome,
            changed,
            summary.text_hash if summary is not None else "",
            self._duplicates(note.path) if edits.content is not None else (),
        )

    def edited(self, note: NoteSummary, *, wait: bool = True) -> Outcome:
        """Link a note anew that a person has had open in an editor, if they changed it.

        Args:
            note: as it was before.
        """
        self.synchronise()
        now = self.index.notes.summary(note.path)
        if now is not None and now.sha == note.sha:
            return self._unprocessed(note.path, pending=False)
        new_text = now is None or now.text_hash != note.text_hash
        return self.remember(note.path, wait=wait, new_text=new_text)

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

    def link(
        self,
        source: NoteSummary,
        target: NoteSummary,
        *,
        relation: Relation = "related",
        reason: str = "",
    ) -> bool:
        """Link a note to another as its owner; False if that link is there already.

        Raises:
            UsageError: the notes are one and the same, or the relation is unknown.
            HeaderRefused, WriteConflict: nothing was written.
        """
        from amem_cli.editing.edit import link

        with self.writing():
            return link(self.ports, source, target, relation=relation, reason=reason)

    def unlink(self, source: NoteSummary, target: NoteSummary) -> bool:
        """Remove a property link, whoever made it; False if there is none."""
        from amem_cli.editing.edit import unlink

        with self.writing():
            return unlink(self.ports, source, target)

    def search(
        self,
        query: str,
        *,
        mode: Mode = "hybrid",
        limit: int = 5,
        neighbors: bool = True,
        filters: Filters = EVERY_NOTE,
    ) -> SearchResult:
        """The best notes for a query, then notes linked to them.

        Raises:
            UsageError: the query is empty.
            EncoderError, SettingsError: a `semantic` search has no encoder.
        """
        from amem_cli.search.search import search

        encoder = None
        if mode == "semantic":
            encoder = self._encoder_with_all_embedded()
        elif mode == "hybrid":
            encoder = self._encoder_if_any()
            mode = mode if encoder is not None else "keyword"
        with self._here.caller.progress("searching"):
            hits = search(
                self.index,
                query,
                encoder=encoder,
                mode=mode,
                limit=limit,
                neighbors=neighbors,
                filters=replace(filters, hidden=self.hidden()),
                reranker=self.reranker if mode == "hybrid" else None,
            )
        self.count_use([hit.note.key for hit in hits])
        return SearchResult(query, mode, tuple(map(self._visible_hit, hits)))

    def _encoder_with_all_embedded(self) -> Encoder:
        self.embed_missing()
        return self.encoder

    def _encoder_if_any(self) -> Encoder | None:
        """The encoder with every passage embedded; None, and a notice, if it cannot be had."""
        from amem_cli.search.search import encoder_if_any

        return encoder_if_any(self._encoder_with_all_embedded, self.notice)

    def _visible_hit(self, hit: Hit) -> Hit:
        seen = self._visible_supersession(hit)
        return replace(hit, superseded_by=seen.superseded_by, contradicted_by=seen.contradicted_by)

    def _visible_supersession(self, of: Hit | Supersession) -> Supersession:
        from amem_cli.search.supersession import Supersession

        all_seen = self.sees_private
        return Supersession(
            tuple(each for each in of.superseded_by if all_seen or not each.private),
            tuple(each for each in of.contradicted_by if all_seen or not each.private),
        )

    def ask(
        self,
        question: str,
        *,
        limit: int = 6,
        budget: int | None = None,
        filters: Filters = EVERY_NOTE,
        use_model: bool = True,
    ) -> Answer:
        """Answer a question from the notes that a search finds, or say that they do not hold it.

        Args:
            budget: tokens of notes to answer from; None is half the model's window.
            use_model: False only quotes.

        Raises:
            UsageError: the question is empty.
        """
        from amem_cli.ask.ask import AskSettings, ask

        trusted = use_model and self.model_trust.asked_for == "all"
        settings = AskSettings.of(self.settings, trusted=trusted)
        if budget is not None:
            settings = replace(settings, budget=budget)
        encoder = self._encoder_if_any()
        with self.model_at_work() if trusted else contextlib.nullcontext():
            # A model that is not asked is not loaded either.
            model = self.model if trusted else None
            label = "looking for an answer" if model is None else f"asking {model.name}"
            with self._here.caller.progress(label, at_once=True):
                answer = ask(
                    self.ports,
                    question,
                    encoder=encoder,
                    model=model,
                    settings=settings,
                    limit=limit,
                    filters=replace(filters, hidden=self.hidden()),
                )
        self.count_use([each.id or each.path for each in answer.citations or answer.shown])
        return answer

    def show(self, note: NoteSummary, *, counts: bool = True) -> NoteView:
        """A note with its links in both directions.

        Args:
            counts: remember that it was read.

        Raises:
            NotFoundError: it is gone.
        """
        from amem_cli.search.read import read_note

        view = read_note(self.ports, note.path)
        if counts:
            self.count_use([note.key])
        hidden, supersession = self.hidden(), view.supersession
        return replace(
            view,
            links=tuple(each for each in view.links if each.path not in hidden),
            supersession=self._visible_supersession(supersession),
            usage=self.index.usage.of(note.key),
        )

    def list_notes(
        self,
        *,
        filters: Filters = EVERY_NOTE,
        wanted: Wanted,
        sort: str = "created",
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[ListedNote]:
        """Notes that meet all conditions; dates sort newest first, names from A to Z."""
        from amem_cli.search.read import listed
        from amem_cli.search.supersession import Supersession, supersessions

        visible = replace(filters, hidden=self.hidden())
        notes = listed(
            self.index, filters=visible, wanted=wanted, sort=sort, reverse=reverse, limit=limit
        )
        known, usages, usual = supersessions(self.index), self.index.usage.all(), Supersession()
        found = []
        for note in notes:
            supersession = self._visible_supersession(known.get(note.path, usual))
            found.append(ListedNote(note, supersession, usages.get(note.key, (0, ""))))
        return found

    @contextlib.contextmanager
    def evolving(
        self, paths: Sequence[str], *, asked: bool = False, dry_run: bool = False
    ) -> Iterator[EvolveBatch]:
        """The memory process for many notes, which the batch goes through inside.

        Args:
            asked: the user named these notes; else those are left that others finished meanwhile.

        Raises:
            AmemError: the encoder or the language model cannot be had.
        """
        from amem_cli.memory.batch import EvolveBatch

        if paths:
            self.embed_missing()
        with self.model_at_work():
            batch = EvolveBatch(self.process, paths, asked=asked, dry_run=dry_run)
            caller, count = self._here.caller, len(paths)
            batch.begin = lambda path: caller.step(f"{path} ({batch.reached + 1} of {count})")
            yield batch

    def history(self, note: str = "", *, limit: int) -> list[HistoryEntry]:
        """What happened, oldest first.

        Args:
            note: id or path: only this note, with what it brought about in others; empty: all.
            limit: the newest so many events.
        """
        from amem_cli.editing.history import history

        hidden = {key for path in self.hidden() for key in self._keys(path)}
        looked_at = limit if not hidden else 2 * limit
        while True:
            entries = history(self.index, note, limit=looked_at)
            seen = [each for each in entries if not {each.event.note, each.event.path} & hidden]
            # Many of the newest may be of notes that are not shown.
            if len(seen) >= limit or len(entries) < looked_at:
                return seen[-limit:]
            looked_at *= 4

    def _keys(self, path: str) -> set[str]:
        summary = self.index.notes.summary(path)
        return {path, summary.key} if summary is not None else {path}

    def undo(self, event: str, *, cascade: bool = False, keep_edits: bool = False) -> Undone:
        """Take back a change; see `services.undo.undo`.

        Raises:
            NotFoundError: no event that the caller sees begins with this id, or more than one.
            SettingsError: nothing was changed.
        """
        from amem_cli.editing.undo import undo

        hidden = set(self.hidden())
        unseen = self._refuse_hidden_event(event)
        try:
            with self.writing():
                undone = undo(self.ports, event, cascade=cascade, keep_edits=keep_edits)
        except AmemError as error:
            if any(path in f"{error.message} {error.hint}" for path in unseen):
                raise NotFoundError(
                    "it cannot be taken back: what it changed is in a note that you are not shown",
                    hint="Leave it to the user: amem undo.",
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
        """Paths that the caller must not be told of, unless the event is of such a note."""
        if self.sees_private:
            return set()
        unseen = set(self.hidden())
        for event in self.index.events.find(prefix):
            key = event.note or event.path
            notes = self.index.notes.find(key) if key else []
            if any(note.path in unseen for note in notes):
                raise NotFoundError(f"no event {prefix!r}", hint="history shows their ids.")
            # Whether a note that is gone was private is not known any more.
            if not notes and event.path:
                unseen.add(event.path)
        return unseen

    def undo_since(self, since: str, *, keep_edits: bool = False) -> Undone:
        """Take back all that the machine did since a moment; see `services.undo.undo_since`."""
        from amem_cli.editing.undo import undo_since

        with self.writing():
            return undo_since(self.ports, since, keep_edits=keep_edits)
