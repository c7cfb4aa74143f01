"""The memory process for one note (A-MEM): describe, embed, link, evolve, record.

`MemorySteps` analyses and writes nothing: it asks the language model if there is one and it may
read the note; every answer is checked, asked for once more, and replaced by the offline analyzer's
value if it fails again. `MemoryProcess` records what comes of it. For a model that gives no answer
at all the analyzer stands in, once for each text, and the note stays pending; a later answer
replaces these values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from amem_cli.analyzer.analyzer import AnalyzerValues, note_vector
from amem_cli.analyzer.cues import days_pointed_at
from amem_cli.analyzer.link_choice import changed_contexts, link_suggestions, statements_of
from amem_cli.analyzer.link_evidence import named_notes, near_notes
from amem_cli.errors import (
    BudgetSpent,
    HeaderRefused,
    ModelClosed,
    ModelError,
    NoteInUse,
    WriteConflict,
)
from amem_cli.index.draft import FieldValue, NoteDraft, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, refresh, synchronise, text_hash
from amem_cli.markdown.plain_text import plain_text
from amem_cli.markdown.regions import conflict_line
from amem_cli.memory.learn import LearnedThresholds, learned_thresholds
from amem_cli.memory.outcome import (
    ANALYZER,
    Description,
    Linking,
    NewLink,
    NoteAnalysis,
    Outcome,
    ProcessSettings,
    filled,
)
from amem_cli.memory.plan import ProcessPlan
from amem_cli.memory.relink import with_links_updated
from amem_cli.models.ports import UnavailableModel
from amem_cli.notes.names import is_linkable
from amem_cli.notes.note import METADATA_FIELDS, SUPERSEDING, Metadata, Note, parse_note

if TYPE_CHECKING:
    from amem_cli.analyzer.link_evidence import LinkCandidate
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.journal.events import Event
    from amem_cli.journal.link_decisions import Evolution
    from amem_cli.journal.provenance import Provenance
    from amem_cli.memory.link import LinkQuestion
    from amem_cli.models.ports import Encoder, LanguageModel, Vectors
    from amem_cli.notes.note import MemoryLink, Relation
    from amem_cli.vault.file_state import FileContent

MAX_ROUNDS = 3
# What a model that is not trusted is asked of a note. It only counts off what it is to choose from,
# and what it says of links changes nothing for the better (docs/memory.md).
FIELDS_OF_THE_WEAK = frozenset({"context"})
# Notes weighed for each that a model is shown: the nearest are not always the related ones.
WEIGHED_FOR_EACH_SHOWN = 2


@dataclass(frozen=True, slots=True)
class MemorySteps:
    """The steps of the process; without a model the offline analyzer does all of it."""

    index: MemoryIndex
    encoder: Encoder
    model: LanguageModel | None
    settings: ProcessSettings
    learned: LearnedThresholds = field(default_factory=LearnedThresholds)

    def analyse(self, note: Note, owned: Provenance) -> NoteAnalysis:
        """Find metadata for the empty fields, links to older notes, and changes of those.

        Args:
            owned: what of the note the machine wrote.

        Raises:
            ModelError, EncoderError: the model gave no answer, or the encoder cannot be run.
        """
        text = plain_text(note.body)
        if not text:
            return NoteAnalysis(Description(), Linking(), ANALYZER)
        missing = tuple(name for name in METADATA_FIELDS if not getattr(note, name))
        values = AnalyzerValues(self.index, self.encoder.encode, note, text)
        if self._model_for(note) is None:
            description = Description(values.metadata(missing))
            linking, _ = self._links(filled(note, description.metadata), text, owned)
        else:
            description, linking = self._ask(note, text, owned, missing, values)
        names = " and ".join(filter(None, (", ".join(missing[:-1]), *missing[-1:])))
        description = replace(description, reason=f"{names} were missing" if missing else "")
        models = {description.step.model, linking.step.model} - {ANALYZER}
        return NoteAnalysis(description, linking, min(models) if models else ANALYZER)

    def _ask(
        self,
        note: Note,
        text: str,
        owned: Provenance,
        missing: tuple[str, ...],
        values: AnalyzerValues,
    ) -> tuple[Description, Linking]:
        """The steps with the language model, in one joint question if it is trusted."""
        # Not loaded if no model is asked.
        from amem_cli.memory.ask_model import ask_once
        from amem_cli.memory.describe import ask_for_metadata, metadata_question
        from amem_cli.memory.grounding import similarity_by
        from amem_cli.memory.link import ask_for_links, link_request

        model, settings = self.model, self.settings
        assert model is not None
        wanted = [name for name in missing if settings.trusted or name in FIELDS_OF_THE_WEAK]
        asked = metadata_question(note.title, text, wanted, values.near_tags()) if wanted else None
        candidates, joint = None, None
        if asked is not None and settings.trusted:
            # The note's context is not known yet; its own words must do to find older notes.
            labels = tuple(name for name in missing if name != "context")
            candidates = self._links(filled(note, values.metadata(labels)), text, owned)
            # Without an older note to ask about, the metadata is asked for alone.
            if candidates[1] is not None:
                request = link_request(note, candidates[1], settings.deadline, metadata=asked)
                joint = ask_once(model, request)
        if asked is None:
            description = Description(values.metadata(missing))
        else:
            description = ask_for_metadata(model, asked, missing, values, settings, joint)
        described = filled(note, description.metadata)
        # With its context the note may be near to others than its words alone.
        if candidates is None or joint is None:
            candidates = self._links(described, text, owned)
        linking, question = candidates
        if question is None:
            return description, linking
        return description, ask_for_links(
            model,
            described,
            question,
            vocabulary=self.index.notes.tag_counts(public=not note.private),
            similarity=similarity_by(self.encoder.encode),
            deadline=settings.deadline,
            joint=joint,
        )

    def _model_for(self, note: Note | NoteSummary | LinkCandidate) -> LanguageModel | None:
        """The model, if it may read the note."""
        model = self.model
        return None if model is None or (note.private and model.is_remote) else model

    def _links(
        self, note: Note, text: str, owned: Provenance
    ) -> tuple[Linking, LinkQuestion | None]:
        """What the analyzer makes of the older notes that the note may be linked to, and the
        question for a model; None if it may not be asked, or need not be."""
        vector = note_vector(self.encoder.encode, note)
        weighed = WEIGHED_FOR_EACH_SHOWN * self.settings.candidates
        unlinked = self.index.link_history.unlinked(note.path)
        summary = self.index.notes.summary(note.path)
        dated = replace(note, created=summary.made) if summary else note
        is_dated = summary is None or bool(summary.created)
        later = self._written_later(note.path, dated.created, is_dated=is_dated)
        named = named_notes(self.index, note.path, days_pointed_at(dated))
        older = [
            each
            for each in near_notes(self.index, note.path, text, vector, weighed, later, named)
            if is_linkable(each.path)
            # Nothing of a private note spreads: a link names it, a model repeats its words.
            and (note.private or not each.private)
            and not owned.declined & {each.key, each.path}
            and each.path not in unlinked
        ]
        if not older or not self.settings.max_links:
            return Linking(), None
        frequency = partial(self.index.text.document_frequency, excluded=later)
        total = self.index.notes.count() - len(later)
        suggestions = partial(
            link_suggestions, dated, older, document_frequency=frequency, total=total
        )
        minimum = self.learned.minimum(ANALYZER)
        suggested = suggestions(limit=self.settings.max_links, minimum=minimum)
        offline: list[Evolution] = []
        if self.settings.evolve:
            # Nothing of a note spreads into one that more or fewer may read.
            alike = [each for each in older if each.private == note.private]
            said = statements_of(dated, alike, document_frequency=frequency, total=total)
            offline = changed_contexts(dated, said, alike)
        linking = Linking(tuple(suggested), tuple(offline))
        if not self.settings.trusted or self._model_for(note) is None:
            return linking, None
        weaker = suggestions(limit=len(older), minimum=self.settings.plausible)
        plausible = {link.target: link for link in weaker}
        by_path = {each.path: each for each in older if self._model_for(each) is not None}
        shown = [by_path[path] for path in plausible if path in by_path]
        return linking, self._link_question(note, vector, shown, plausible, linking, owned)

    def _written_later(self, path: str, created: str, *, is_dated: bool) -> frozenset[str]:
        """The notes that a note is not linked to: so a vault that is processed at once gets the
        links that it would have got note by note."""
        return frozenset(
            each.path
            for each in self.index.notes.outlines()
            if each.path != path
            # Files copied at once are linked in the order in which they are processed.
            and (
                each.made > created or (each.made == created and not is_dated and each.path > path)
            )
        )

    def _link_question(
        self,
        note: Note,
        vector: Vectors,
        readable: Sequence[LinkCandidate],
        plausible: Mapping[str, MemoryLink],
        linking: Linking,
        owned: Provenance,
    ) -> LinkQuestion | None:
        """The plausible candidates, with what was decided and linked before."""
        from amem_cli.memory.evolve import existing_links
        from amem_cli.memory.link import MOST_SHOWN, LinkQuestion

        settings = self.settings
        candidates = readable[: min(settings.candidates, MOST_SHOWN)]
        if not candidates or self.model is None:
            return None

        def may_be_shown(other: NoteSummary) -> bool:
            return (note.private or not other.private) and self._model_for(other) is not None

        doubted = {path for path, link in plausible.items() if link.relation in SUPERSEDING}
        return LinkQuestion(
            candidates,
            linking,
            plausible,
            examples=self.learned.examples(self.index, note, vector, may_be_shown),
            existing=existing_links(self.index, note, owned, candidates, doubted)
            if settings.evolve
            else (),
            evolve=settings.evolve,
            max_links=settings.max_links,
            minimum=self.learned.minimum(self.model.name),
        )


@dataclass(frozen=True, slots=True)
class MemoryProcess:
    """The memory process of one open vault; without a model the offline analyzer does all of it."""

    ports: VaultPorts
    encoder: Encoder
    model: LanguageModel | None
    settings: ProcessSettings = field(default_factory=ProcessSettings)

    def run(
        self, path: str, *, asked: bool = False, dry_run: bool = False, only_pending: bool = False
    ) -> Outcome:
        """Process one note; if the model gives no answer, the outcome says why.

        Then the analyzer stands in and the note stays pending, unless its text was processed.

        Args:
            asked: somebody waits for it, so the note need not have settled.
            dry_run: report what would change and write nothing.
            only_pending: leave a note that another process has finished meanwhile, and report what
                that one made of it.

        Raises:
            NotFoundError: the note is gone.
            BudgetSpent: the model may not be asked any more today; the note is pending as before.
        """
        with self.ports.changes.working(self.settings.deadline if asked or not only_pending else 0):
            for _ in range(MAX_ROUNDS):
                try:
                    return self._run_once(path, asked, dry_run, only_pending)
                except WriteConflict:
                    # Somebody saved while the model worked: their text is what counts.
                    continue
            self._count_failure(path, "kept changing")
            return waiting_outcome(self.ports, path, ("kept changing while it was processed",))

    def _run_once(self, path: str, asked: bool, dry_run: bool, only_pending: bool) -> Outcome:
        """Describe, link and evolve one version of a note, unless it changes meanwhile."""
        waiting = partial(waiting_outcome, self.ports, path)
        if self.model is not None and self.model.is_remote:
            # A neighbour may have been made private a moment ago.
            synchronise(self.ports)
        content, note = self._read(path)
        if only_pending and self._is_finished(content, note):
            return _made_elsewhere(self.ports, path)
        if note.refused is not None:
            place = f"line {note.refused.line}: {note.refused.message}"
            return waiting((place, note.refused.hint), pending=False)
        conflict = conflict_line(note.body)
        if conflict:
            # Both sides are in the text; its owner has to decide first.
            place = f"a merge conflict in line {conflict} of the text"
            return waiting((place, "Resolve it, and save."))
        if not asked and not self._is_settled(content, note):
            problem = "is being edited; it will be done later"
            return replace(waiting((problem,)), unsettled=True)
        try:
            self._try_on(content, note)
            analysis, failure = self._analysed(content, note)
            if analysis is None:
                outcome = waiting(())
            else:
                outcome = self._record(
                    content, analysis, dry_run=dry_run, only_pending=only_pending
                )
        except HeaderRefused as error:
            return waiting((error.message, error.hint), pending=False)
        except ModelClosed:
            return waiting(("the work was stopped",))
        except BudgetSpent:
            # That is no attempt: the note is as ready tomorrow as it is now.
            raise
        except NoteInUse as error:
            # Else the model would be asked for the same again at once.
            self._count_failure(path, error.message)
            return waiting((error.message, error.hint))
        if not dry_run:
            # Later notes find this one by its metadata as well.
            embed_missing(self.ports, self.encoder)
        if failure is None:
            return outcome
        pending = not self._is_finished(content, note)
        # A note that the model was not asked about comes before those that it failed with.
        is_given_up = isinstance(self.model, UnavailableModel) and self.model.is_given_up
        if pending and not dry_run and not is_given_up:
            self._count_failure(path, failure.message)
        problems = filter(None, (*(outcome.problems or (failure.message,)), failure.hint))
        return replace(outcome, pending=pending, failed=True, problems=tuple(problems))

    def _analysed(
        self, content: FileContent, note: Note
    ) -> tuple[NoteAnalysis | None, ModelError | None]:
        """The analysis, and why the model gave no answer if it gave none.

        Then it is the analyzer's; None if the text was processed before, or the analyzer has stood
        in with it: what a person took back of that is not written again.
        """
        digest = text_hash(content.raw)
        try:
            return self._analyse(note, digest), None
        except (ModelClosed, BudgetSpent):
            raise
        except ModelError as error:
            if self._is_finished(content, note) or self.ports.index.queue.has_stand_in(
                _keys(note), digest
            ):
                return None, error
            assert self.model is not None
            offline = replace(self, model=None, settings=replace(self.settings, trusted=False))
            analysis = offline._analyse(note, digest)
            said = f"{error.message}; {ANALYZER} stands in, and the note waits for the model"
            described = replace(analysis.description, problems=(said,))
            return replace(analysis, description=described, waits_for=self.model.name), error

    def _analyse(self, note: Note, text_hash: str) -> NoteAnalysis:
        index, settings = self.ports.index, self.settings
        owned = provenance_of(index, note.id or note.path)
        learned = learned_thresholds(index, learn=settings.learn)
        steps = MemorySteps(index, self.encoder, self.model, settings, learned)
        events = index.events.read(note.id or note.path) if self.model is not None else []
        replaced = stand_in_fields(note, owned, events)
        bare = replace(note, **{name: type(getattr(note, name))() for name in replaced})
        analysis = steps.analyse(bare, owned)
        if replaced:
            reason = f"the model answers, for which {ANALYZER} had stood in"
            described = replace(analysis.description, replaces=replaced, reason=reason)
            analysis = replace(analysis, description=described)
        if not settings.evolve:
            return analysis
        return with_links_updated(
            index, self.encoder, note, text_hash, owned, analysis, trusted=settings.trusted
        )

    def _try_on(self, content: FileContent, note: Note) -> None:
        """Check that the note's properties can take what will be written, before a model works."""
        missing = (name for name in METADATA_FIELDS if not getattr(note, name))
        fields: dict[str, FieldValue] = {
            name: "x" if name == "context" else ["x"] for name in missing
        }
        NoteDraft(self.ports, content).change(fields, new_event(self.ports, "process"))

    def seconds_to_settle(self, path: str) -> float:
        """How long a note is still to be left alone; 0 if it is ready."""
        return self._seconds_to_settle(*self._read(path))

    def is_finished(self, path: str) -> bool:
        """Whether the note's text as it is now has been through the process, by the journal."""
        return self._is_finished(*self._read(path))

    def _read(self, path: str) -> tuple[FileContent, Note]:
        content = self.ports.vault.read(path)
        return content, parse_note(path, content.raw, self.ports.names)

    def _is_finished(self, content: FileContent, note: Note) -> bool:
        refresh(self.ports, [])
        return self.ports.index.queue.was_processed(_keys(note), text_hash(content.raw))

    def _is_settled(self, content: FileContent, note: Note) -> bool:
        return self._seconds_to_settle(content, note) <= 0

    def _seconds_to_settle(self, content: FileContent, note: Note) -> float:
        events = self.ports.index.events.read(note.id or note.path)
        written = {event.splice.sha_after if event.splice else event.sha for event in events}
        age = (self.ports.clock.time_ns() - content.state.mtime_ns) / 1e9
        # Nobody edits a note whose bytes the machine wrote; a file time in the future says nothing.
        if content.sha in written or age < 0:
            return 0.0
        return max(0.0, self.settings.settle_seconds - age)

    def _count_failure(self, path: str, error: str) -> None:
        with self.ports.index.changing():
            self.ports.index.queue.count_failure(path, error)

    def _record(
        self, content: FileContent, analysis: NoteAnalysis, *, dry_run: bool, only_pending: bool
    ) -> Outcome:
        path = content.state.path
        with self.ports.changes.locked():
            # The model worked without the lock, so the note may be another one by now.
            current = self.ports.vault.read(path)
            if current.sha != content.sha:
                raise WriteConflict(f"{path} changed meanwhile")
            plan = ProcessPlan(self.ports, self.settings, self._is_settled, current, analysis)
            if only_pending and self._is_finished(current, plan.note.note):
                # It had nothing to write, else the file would be another one.
                raise WriteConflict(f"{path} was finished with meanwhile")
            outcome = plan.draft()
            if dry_run:
                return outcome
            writes = [write for draft in plan.drafts for write in draft.write()]
            self.ports.changes.apply(writes, plan.events(), proposed=plan.proposed)
            refresh(self.ports, [draft.path for draft in plan.drafts])
        return replace(outcome, id=plan.note.note.id)


def _keys(note: Note) -> list[str]:
    """What the journal may call the note."""
    return [key for key in (note.id, note.path) if key]


def stand_in_fields(note: Note, owned: Provenance, events: Sequence[Event]) -> list[str]:
    """Fields of a note that the analyzer filled while the model gave no answer, and nobody changed
    since; `events` are the note's, oldest first."""
    runs: set[str] = set()
    written: dict[str, object] = {}
    for event in events:
        if event.kind == "process":
            runs = {*runs, event.id} if event.waits_for else set()
        elif event.kind == "construct" and event.cause in runs:
            written |= {change.field: change.after for change in event.changes}
    if not runs:
        return []
    present = {"keywords": list(note.keywords), "tags": list(note.tags), "context": note.context}
    own = {
        "keywords": owned.keywords.issuperset(note.keywords),
        "tags": owned.tags.issuperset(note.tags),
        "context": owned.context == note.context,
    }
    return [name for name in written if own.get(name) and written[name] == present[name]]


def waiting_outcome(
    ports: VaultPorts, path: str, problems: Sequence[str], *, pending: bool = True
) -> Outcome:
    """The outcome for a note that was not processed."""
    summary = ports.index.notes.summary(path)
    outcome = Outcome(path, None, path, pending=pending, problems=tuple(filter(None, problems)))
    if summary is None:
        return outcome
    metadata = Metadata(summary.keywords, summary.tags, summary.context)
    return replace(outcome, id=summary.id, title=summary.title, metadata=metadata)


def _made_elsewhere(ports: VaultPorts, path: str) -> Outcome:
    """The outcome for a note that another process has finished."""
    links = []
    for (_, key), record in ports.index.link_history.records(path).items():
        if record.by != "machine":
            continue
        target = ports.index.notes.summary(record.path)
        title, relation = target.title if target else record.path, cast("Relation", record.relation)
        links.append(NewLink(key, record.path, title, relation, record.reason, record.strength))
    return replace(waiting_outcome(ports, path, (), pending=False), links=tuple(links))
