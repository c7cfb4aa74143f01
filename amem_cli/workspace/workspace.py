"""The application: what a person or a program can do with a vault, each verb with one result.

What needs nothing but the open vault, as linking two notes, is called with `Workspace.ports`; the
verbs here add models, progress, counts of use, and leave out what the caller is not shown.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from amem_cli.errors import AmemError, NotFoundError, WriteConflict
from amem_cli.workspace.open_vault import OpenVault

if TYPE_CHECKING:
    from amem_cli.ask.ask import Answer
    from amem_cli.duplicates.compare import Duplicate
    from amem_cli.editing.add import NewNote
    from amem_cli.editing.edit import FieldEdits, Removal, TextEdit
    from amem_cli.editing.history import HistoryEntry
    from amem_cli.editing.move import Moved, OpenInEditor
    from amem_cli.editing.undo import Undone
    from amem_cli.graph.stats import Stats
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.batch import EvolveBatch
    from amem_cli.memory.outcome import Outcome
    from amem_cli.models.ports import Encoder
    from amem_cli.search.read import LinkView, NoteView
    from amem_cli.search.search import Filters, Hit, Mode, Supersession

# If others edit the text at the same time, a paragraph can be appended to what they saved.
_ATTEMPTS = 3

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found; `mode` is `keyword` if the encoder cannot be had."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]

    @property
    def problem(self) -> str:
        """Why there is no hit that is close to the query; empty if there is one."""
        if not self.hits:
            return "nothing close"
        return "" if self.hits[0].close else "nothing close: these notes come nearest"


@dataclass(frozen=True, slots=True)
class ListedNote:
    """A note of a list; `usage` says how often amem showed or found it, and when last."""

    note: NoteSummary
    supersession: Supersession
    usage: tuple[int, str]


@dataclass(frozen=True, slots=True)
class Related:
    """A note near another: `link`, in the note at `source`, leads to it; `distance` links away."""

    link: LinkView
    note: NoteSummary
    distance: int
    source: str


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a new or a changed note.

    Attributes:
        known: a note held the very text, and nothing was added.
        duplicates: other notes with the same text, or nearly.
        changed: names of the fields that changed, `content` among them.
        revision: hash of the changed text as it is now.
    """

    outcome: Outcome
    known: bool = False
    duplicates: tuple[Duplicate, ...] = ()
    changed: tuple[str, ...] = ()
    revision: str = ""


def without(result: _Result, hidden: Collection[str]) -> _Result:
    """A result without what its lists say of hidden notes.

    Args:
        result: a dataclass; its tuples may hold paths, lines, notes, links, events and proposals.
    """
    if not hidden:
        return result
    shown: Any = result
    lists = {each.name: getattr(shown, each.name) for each in fields(shown)}
    kept = {
        name: tuple(each for each in items if not _tells_of(each, hidden))
        for name, items in lists.items()
        if isinstance(items, tuple)
    }
    changed: _Result = replace(shown, **kept)
    return changed


def _tells_of(item: Any, hidden: Collection[str]) -> bool:
    if isinstance(item, str):
        is_path = item.endswith(".md") and " " not in item
        return item in hidden if is_path else any(path in item for path in hidden)
    parts = (item, getattr(item, "note", None), getattr(item, "link_change", None))
    ends = (getattr(part, name, None) for part in parts for name in ("path", "source", "target"))
    return any(getattr(end, "path", end) in hidden for end in ends)


class Workspace(OpenVault):
    """A vault with its verbs; see `OpenVault` for opening, closing and calls of several threads.

    Notes that the caller does not see are left out of every result. A verb for one note takes its
    summary as `note` gives it. All raise `Stopped` when the caller does not wait any more. What
    raises another error has written nothing.
    """

    def note(self, name: str) -> NoteSummary:
        """The note with this id (or its unique beginning), path, file name, title or alias.

        Raises:
            NotFoundError: no note that the caller sees has this name, or more than one.
        """
        from amem_cli.search.read import note_named

        return note_named(self.index, name, private=self.sees_private)

    def search(
        self,
        query: str,
        *,
        mode: Mode = "hybrid",
        limit: int = 5,
        neighbors: bool = True,
        filters: Filters | None = None,
        min_score: float | None = None,
    ) -> SearchResult:
        """The best notes for a query, then notes linked to them.

        Args:
            min_score: leave out hits with a lower score. None keeps those that are not `close` to
                the query as well.

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
        with self.caller_now.progress("searching"):
            hits = search(
                self.index,
                query,
                encoder=encoder,
                mode=mode,
                limit=limit,
                neighbors=neighbors,
                filters=self._visible(filters),
                min_score=min_score,
            )
        self.count_use([hit.note.key for hit in hits])
        hidden = self.hidden()
        return SearchResult(query, mode, tuple(without(hit, hidden) for hit in hits))

    def _visible(self, filters: Filters | None) -> Filters:
        from amem_cli.search.search import Filters

        return replace(filters or Filters(), hidden=self.hidden())

    def _encoder_with_all_embedded(self) -> Encoder:
        self.embed_missing()
        return self.encoder

    def _encoder_if_any(self) -> Encoder | None:
        """The encoder to search with; None, and a notice, if it cannot be had."""
        from amem_cli.search.search import encoder_if_any

        return encoder_if_any(self._encoder_with_all_embedded, self.notice)

    def ask(
        self,
        question: str,
        *,
        limit: int = 6,
        use_model: bool = True,
        filters: Filters | None = None,
    ) -> Answer:
        """Answer a question from the notes that a search finds, or say that they do not hold it;
        its citations then are only what comes nearest.

        Args:
            use_model: False only quotes.

        Raises:
            UsageError: the question is empty.
        """
        from amem_cli.ask.ask import ask, budget_of

        trusted = use_model and self.model_trust.asked_for == "all"
        encoder = self._encoder_if_any()
        with self.model_at_work() if trusted else contextlib.nullcontext():
            # A model that is not asked is not loaded either.
            model = self.models.model if trusted else None
            label = "looking for an answer" if model is None else f"asking {model.name}"
            with self.caller_now.progress(label, at_once=True):
                answer = ask(
                    self.ports,
                    question,
                    encoder=encoder,
                    model=model,
                    budget=budget_of(self.settings),
                    deadline=self.settings.llm_deadline_seconds,
                    limit=limit,
                    filters=self._visible(filters),
                )
        self.count_use([each.id or each.path for each in answer.citations or answer.shown])
        return answer

    def show(self, note: NoteSummary, *, counts: bool = True) -> NoteView:
        """A note with its links in both directions; unless `counts`, nobody read it.

        Raises:
            NotFoundError: it is gone.
        """
        from amem_cli.journal.link_decisions import MOST_SUGGESTED
        from amem_cli.search.read import read_note

        view = read_note(self.ports, note.path)
        if counts:
            self.count_use([note.key])
        hidden = self.hidden()
        shown = without(view, hidden)
        return replace(
            shown,
            suggested=shown.suggested[:MOST_SUGGESTED],
            supersession=without(view.supersession, hidden),
            usage=self.index.usage.of(note.key),
        )

    def list_notes(
        self,
        *,
        filters: Filters | None = None,
        orphans: bool = False,
        pending: bool = False,
        sort: str = "created",
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[ListedNote]:
        """Notes that meet all conditions; dates sort newest first, names from A to Z."""
        from amem_cli.search.read import listed
        from amem_cli.search.search import Supersession, supersessions

        notes = listed(
            self.index,
            filters=self._visible(filters),
            orphans=orphans,
            pending=pending,
            sort=sort,
            reverse=reverse,
            limit=limit,
        )
        superseded, usages = supersessions(self.index, filters=filters), self.index.usage.all()
        current, hidden = Supersession(), self.hidden()
        return [
            ListedNote(
                note,
                without(superseded.get(note.path, current), hidden),
                usages.get(note.key, (0, "")),
            )
            for note in notes
        ]

    def history(self, note: str = "", *, limit: int) -> list[HistoryEntry]:
        """What happened, oldest first.

        Args:
            note: id or path: only this note, with what it brought about in others; empty: all.
            limit: the newest so many events.
        """
        from amem_cli.editing.history import history

        # By id and path: events from before the note's first change know only its path.
        summaries = [self.index.notes.summary(path) for path in self.hidden()]
        hidden = {key for note in summaries if note for key in (note.path, note.key)}
        looked_at = limit if not hidden else 2 * limit
        while True:
            entries = history(self.index, note, limit=looked_at)
            visible = [each for each in entries if not {each.event.note, each.event.path} & hidden]
            # Many of the newest events may be of hidden notes.
            if len(visible) >= limit or len(entries) < looked_at:
                return visible[-limit:]
            looked_at *= 4

    def related(self, note: NoteSummary, *, depth: int = 1, limit: int) -> tuple[Related, ...]:
        """Notes up to `depth` links away in either direction, each once, the nearest first."""
        distance = {note.path: 0}
        queue = deque([note])
        related: list[Related] = []
        while queue and len(related) < limit:
            near = queue.popleft()
            if distance[near.path] >= depth:
                continue
            for link in self.show(near, counts=False).links:
                other = self.index.notes.summary(link.path)
                if other is None or link.path in distance:
                    continue
                distance[link.path] = distance[near.path] + 1
                queue.append(other)
                related.append(Related(link, other, distance[link.path], near.path))
        return tuple(related[:limit])

    def stats(self) -> Stats:
        """Counts of notes, links and pending work, and the model's tokens."""
        from amem_cli.graph.stats import stats

        return stats(self.ports, private=self.sees_private)

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
            undone = undo(self.ports, event, cascade=cascade, keep_edits=keep_edits)
        except AmemError as error:
            # The message may name a note that the caller is not shown.
            if _tells_of(f"{error.message} {error.hint}", unseen):
                raise NotFoundError(
                    "it cannot be taken back: what it changed is in a note that you are not shown",
                    hint="Leave it to the user.",
                ) from None
            raise
        # A note that came back may be one that is not shown.
        return without(undone, hidden.union(self.hidden()))

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

    def add(self, new: NewNote, *, unless_known: bool = False, wait: bool = True) -> Saved:
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
            self.caller_now.step("writing the note")
            # Under one lock, or two programs that add the same text at once would make two notes.
            with self.ports.changes.locked():
                if unless_known:
                    existing = note_with_text(
                        self.ports, new.content, title=new.title, hidden=self.hidden()
                    )
                placed = replace(new, folder=self.settings.notes_dir)
                path = add(self.ports, placed) if existing is None else existing.path
            if existing is not None:
                is_pending = any(note.path == path for note in self.index.queue.pending())
                return Saved(self._unprocessed(path, pending=is_pending), known=True)
            self.caller_now.saved(path)
            outcome = self.process_note(path, wait=wait, new_text=True)
        return Saved(outcome, duplicates=self._duplicates(path))

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
            self._start_judge()
            self.embed_missing()
            with self.model_at_work():
                from amem_cli.memory.outcome import IN_A_MOMENT

                process = self.process
                process = replace(process, settings=replace(process.settings, judging=IN_A_MOMENT))
                name = process.model.name if process.model else ""
                asking = f", asking {name or 'the judge of links'}" if name or process.judge else ""
                label = f"working out keywords, tags and links{asking}"
                with self.caller_now.progress(label, at_once=True):
                    outcome = process.run(path, asked=True, only_pending=new_text)
        except NotFoundError as error:
            return self._unprocessed(path, error.message, pending=False)
        except AmemError as error:
            return self._unprocessed(path, error.message, error.hint)
        return without(outcome, self.hidden())

    def _start_judge(self) -> None:
        judge = self.models.judge
        if judge is None or self.model_trust.asked_for == "all":
            return

        def start() -> None:
            # If it cannot be loaded, the question tells why.
            with contextlib.suppress(AmemError):
                judge.start()

        threading.Thread(target=start, daemon=True).start()

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
        revision: str = "",
        wait: bool = True,
    ) -> Saved:
        """Change fields of a note as its owner, then link it anew.

        Args:
            append: a paragraph for the end of the text, in place of a new text in the edits.
            revision: hash of the text that the edits were made for; empty for any.

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
                self.caller_now.step("writing the note")
                changed = update(self.ports, note, edits, text=based_on)
                break
            except WriteConflict:
                if append is None or revision or attempt + 1 == _ATTEMPTS:
                    raise
        if changed:
            self.caller_now.saved(note.path)
        return self._updated(note, changed, wait=wait)

    def edit_text(
        self, note: NoteSummary, edit: TextEdit, *, revision: str = "", wait: bool = True
    ) -> Saved:
        """Replace one place in a note's text as its owner, then link it anew.

        Args:
            revision: hash of the text that the edit was made for; empty for any.

        Raises:
            NotFoundError: the place is not there, or not only once.
            UsageError, HeaderRefused, WriteConflict: nothing was written.
        """
        from amem_cli.editing.edit import edit_text

        self.caller_now.step("writing the note")
        is_changed = edit_text(self.ports, note, edit, text=revision)
        if is_changed:
            self.caller_now.saved(note.path)
        return self._updated(note, ("content",) if is_changed else (), wait=wait)

    def _updated(self, note: NoteSummary, changed: tuple[str, ...], *, wait: bool) -> Saved:
        summary = self.index.notes.summary(note.path)
        is_new = "content" in changed
        outcome = self.process_note(note.path, wait=wait, new_text=is_new)
        return Saved(
            outcome,
            duplicates=self._duplicates(note.path) if is_new else (),
            changed=changed,
            revision=summary.text_hash if summary is not None else "",
        )

    def note_edited(self, note: NoteSummary, *, wait: bool = True) -> Outcome:
        """Link a note anew, given as it was before a person had it open, if they changed it."""
        self.synchronise()
        now = self.index.notes.summary(note.path)
        if now is not None and now.sha == note.sha:
            return self._unprocessed(note.path, pending=False)
        self.caller_now.saved(note.path)
        new_text = now is None or now.text_hash != note.text_hash
        return self.process_note(note.path, wait=wait, new_text=new_text)

    def remove(self, note: NoteSummary) -> Removal:
        """Move a note to the trash; links of the machine's to it go with it, a person's stay.

        Raises:
            WriteConflict: a note changed meanwhile; nothing was done.
        """
        from amem_cli.editing.edit import remove

        return without(remove(self.ports, note), self.hidden())

    def move(self, note: NoteSummary, name: str, *, editor: OpenInEditor | None = None) -> Moved:
        """Give a note another name or folder; all links to it follow. See `editing.move.move`.

        Raises:
            UsageError, UnsafePath, HeaderRefused, SettingsError, WriteConflict: nothing was done.
        """
        from amem_cli.editing.move import OpenInEditor, move

        hidden, opened = self.hidden(), editor or OpenInEditor()
        moved = move(self.ports, note, name, unseen=hidden, editor=opened)
        return without(moved, hidden)

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
            caller, count = self.caller_now, len(paths)
            batch.begin = lambda path: caller.step(f"{path} ({batch.reached + 1} of {count})")
            yield batch
