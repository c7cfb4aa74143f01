"""Analyses one note: its metadata, its links to older notes, and what it changes in those.

Nothing is written here. The language model is asked if there is one and it may read the note; every
answer is checked, asked for once more, and replaced by the offline analyzer's value if it fails
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amem_cli.analyzer.analyzer import AnalyzerValues, note_vector
from amem_cli.analyzer.link_choice import link_suggestions, superseded_contexts
from amem_cli.analyzer.link_evidence import LinkCandidate, near_notes
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.records import NoteSummary
from amem_cli.journal.link_decisions import USUAL_MINIMUM, Evolution
from amem_cli.journal.provenance import Provenance
from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.ask_model import ModelReply, ask_once
from amem_cli.memory.describe import (
    METADATA_PROMPT,
    MetadataQuestion,
    ask_for_metadata,
    filled,
    metadata_question,
)
from amem_cli.memory.evolve import ExistingLink
from amem_cli.memory.grounding import similarity_by
from amem_cli.memory.learn import LearnedThresholds
from amem_cli.memory.link import (
    JOINT_PROMPT,
    LINKING_PROMPT,
    LinkQuestion,
    ask_for_links,
    link_request,
)
from amem_cli.memory.outcome import (
    ANALYZER,
    Description,
    Linking,
    NoteAnalysis,
    ProcessSettings,
    Step,
)
from amem_cli.memory.relink import existing_links
from amem_cli.models.ports import Encoder, LanguageModel
from amem_cli.notes.names import is_linkable
from amem_cli.notes.note import METADATA_FIELDS, SUPERSEDING, MemoryLink, Note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

# What a model that is not trusted is asked of a note. It only counts off what it is to choose from,
# and what it says of links changes nothing for the better (docs/memory.md).
FIELDS_OF_THE_WEAK = frozenset({"context"})
# Notes weighed for each that a model is shown: the nearest are not always the related ones.
WEIGHED_FOR_EACH_SHOWN = 2


@dataclass(frozen=True, slots=True)
class CandidateLinks:
    """The older notes that a note may be linked to, and what the analyzer makes of them.

    Attributes:
        suggested: links that the evidence alone supports.
        may_change: paths of the notes that may change because of this one.
        offline: changes that need no model.
        question: for a model; None if it may not be asked, or need not be.
    """

    suggested: tuple[MemoryLink, ...] = ()
    may_change: frozenset[str] = frozenset()
    offline: tuple[Evolution, ...] = ()
    question: LinkQuestion | None = None


@dataclass(frozen=True, slots=True)
class MemorySteps:
    """The steps of the memory process for the notes of one vault.

    Attributes:
        model: None leaves all of it to the offline analyzer.
        learned: what the owner's decisions about links teach.
    """

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
            ModelError: the language model gave no answer.
            EncoderError: the encoder cannot be run.
        """
        text = plain_text(note.body)
        if not text:
            return NoteAnalysis(Description(), Linking(), ANALYZER)
        missing = tuple(name for name in METADATA_FIELDS if not getattr(note, name))
        values = AnalyzerValues(self.index, self.encoder.encode, note, text)
        trusted, model = self.settings.trusted, self._model_for(note)
        wanted = missing if trusted else tuple(FIELDS_OF_THE_WEAK.intersection(missing))
        question, candidates, joint = None, None, None
        if model is not None and wanted:
            question = metadata_question(note.title, text, wanted, values.near_tags())
        if model is not None and question is not None and trusted:
            # The note's context is not known yet; its own words must do to find older notes.
            labels = tuple(name for name in missing if name != "context")
            candidates = self._candidate_links(filled(note, values.metadata(labels)), text, owned)
            # Without an older note to ask about, the metadata is asked for alone.
            if candidates.question is not None:
                deadline = self.settings.deadline
                request = link_request(note, candidates.question, deadline, metadata=question)
                joint = ask_once(model, request)
        description = Description()
        if missing:
            description = self._describe(model, question, missing, values, joint)
        described = filled(note, description.metadata)
        # With its context the note may be near to others than its words alone.
        if candidates is None or joint is None:
            candidates = self._candidate_links(described, text, owned)
        linking = self._link(described, candidates, joint)
        models = {description.step.model, linking.step.model} - {ANALYZER}
        return NoteAnalysis(description, linking, min(models) if models else ANALYZER)

    def _model_for(self, note: Note | NoteSummary | LinkCandidate) -> LanguageModel | None:
        """The model, if it may read the note."""
        model = self.model
        return None if model is None or (note.private and model.is_remote) else model

    def _describe(
        self,
        model: LanguageModel | None,
        question: MetadataQuestion | None,
        missing: tuple[str, ...],
        values: AnalyzerValues,
        joint: ModelReply | None,
    ) -> Description:
        names = missing[0]
        if len(missing) > 1:
            names = f"{', '.join(missing[:-1])} and {missing[-1]}"
        reason = f"{names} were missing"
        if model is None or question is None:
            return Description(values.metadata(missing), reason=reason)
        reply = ask_for_metadata(
            model,
            question,
            similarity=similarity_by(self.encoder.encode),
            trusted=self.settings.trusted,
            deadline=self.settings.deadline,
            joint=joint,
        )
        metadata, failures = reply.metadata, dict(reply.failures)
        if metadata.context and not self.settings.trusted:
            own = values.metadata(("context",)).context
            vectors = self.encoder.encode([question.text, metadata.context, own])
            # A weak model's sentence has to be nearer to the note than the analyzer's own.
            if vectors[0] @ vectors[1] < vectors[0] @ vectors[2]:
                metadata = replace(metadata, context="")
                failures["context"] = "says less of the note"
        unfilled = tuple(name for name in missing if not getattr(metadata, name))
        metadata = filled(metadata, values.metadata(unfilled))
        replaced = (f"{name}: {why}; {ANALYZER} wrote it instead" for name, why in failures.items())
        prompt = METADATA_PROMPT if joint is None else JOINT_PROMPT
        step = Step(model.name, prompt, reply.use)
        return Description(metadata, step, reason, (*reply.remarks, *replaced))

    def _candidate_links(self, note: Note, text: str, owned: Provenance) -> CandidateLinks:
        vector = note_vector(self.encoder.encode, note)
        weighed = WEIGHED_FOR_EACH_SHOWN * self.settings.candidates
        unlinked = self.index.link_history.unlinked(note.path)
        older = [
            each
            for each in near_notes(self.index, note.path, text, vector, weighed)
            # A note without a date counts as old.
            if (not each.created or each.created <= note.created)
            and is_linkable(each.path)
            # Nothing of a private note spreads: a link names it, a model repeats its words.
            and (note.private or not each.private)
            and not owned.declined & {each.key, each.path}
            and each.path not in unlinked
        ]
        if not older or not self.settings.max_links:
            return CandidateLinks()
        minimum = self.learned.minimum(ANALYZER)
        suggested = self._suggested(note, older, self.settings.max_links, minimum)
        may_change = frozenset(each.path for each in older if each.private == note.private)
        offline = tuple(
            each for each in superseded_contexts(note, suggested, older) if each.path in may_change
        )
        question = self._link_question(note, vector, older, suggested, owned)
        return CandidateLinks(tuple(suggested), may_change, offline, question)

    def _suggested(
        self, note: Note, older: Sequence[LinkCandidate], limit: int, minimum: float
    ) -> list[MemoryLink]:
        return link_suggestions(
            note,
            older,
            document_frequency=self.index.text.document_frequency,
            total=self.index.notes.count(),
            limit=limit,
            minimum=minimum,
        )

    def _link_question(
        self,
        note: Note,
        vector: Vectors,
        older: Sequence[LinkCandidate],
        suggested: Sequence[MemoryLink],
        owned: Provenance,
    ) -> LinkQuestion | None:
        """The plausible candidates, with what was decided and linked before."""
        if not self.settings.trusted or self._model_for(note) is None:
            return None
        by_path = {each.path: each for each in older}
        links = self._suggested(note, older, len(older), self.settings.plausible)
        plausible = {link.target: link for link in links}
        candidates = [by_path[path] for path in plausible if self._model_for(by_path[path])]
        if not candidates:
            return None
        candidates = candidates[: self.settings.candidates]

        def may_be_shown(other: NoteSummary) -> bool:
            return (note.private or not other.private) and self._model_for(other) is not None

        existing: Sequence[ExistingLink] = ()
        if self.settings.evolve:
            doubted = {path for path, link in plausible.items() if link.relation in SUPERSEDING}
            existing = existing_links(self.index, note, owned, candidates, doubted)
        return LinkQuestion(
            candidates,
            suggested,
            plausible,
            examples=self.learned.examples(self.index, note, vector, may_be_shown),
            existing=existing,
            evolve=self.settings.evolve,
            max_links=self.settings.max_links,
        )

    def _link(self, note: Note, candidates: CandidateLinks, joint: ModelReply | None) -> Linking:
        model, question = self.model, candidates.question
        if model is None or question is None:
            return Linking(candidates.suggested, candidates.offline)
        checked, use = ask_for_links(
            model,
            note,
            question,
            vocabulary=self.index.notes.tag_counts(public=not note.private),
            similarity=similarity_by(self.encoder.encode),
            deadline=self.settings.deadline,
            joint=joint,
        )
        prompt = LINKING_PROMPT if joint is None else JOINT_PROMPT
        if not checked.believed:
            step = Step(prompt=prompt, use=use)
            return Linking(checked.links, candidates.offline, step, checked.problems)
        evolutions = tuple(
            each for each in checked.evolutions if each.path in candidates.may_change
        )
        links, minimum = checked.links, self.learned.minimum(model.name)
        if minimum > USUAL_MINIMUM:
            # The owner removed many of this model's links.
            existing = {link.target for link in question.existing}
            links = tuple(
                link for link in links if link.strength >= minimum or link.target in existing
            )
        step = Step(model.name, prompt, use)
        return Linking(links, evolutions, step, checked.problems, checked.link_changes)
