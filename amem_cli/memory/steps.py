"""What the machine thinks of one note: its metadata, its links, and what they change.

Nothing is written here. The language model is asked where there is one and the note may be shown
to it; every answer is checked, asked again once, and replaced by the offline analyzer's value
where it still fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amem_cli.analyzer.analyzer import Analyzed, note_vector
from amem_cli.analyzer.link_choice import link_suggestions, superseded
from amem_cli.analyzer.link_evidence import LinkCandidate, NearNote, near_notes, older
from amem_cli.index.records import NoteSummary
from amem_cli.journal.link_decisions import USUAL_MINIMUM, Evolution
from amem_cli.journal.provenance import Provenance
from amem_cli.markdown.links import plain_text
from amem_cli.memory.ask_model import Opening, Shown, ask_for_links, ask_for_metadata, ask_jointly
from amem_cli.memory.describe import CONSTRUCTION_PROMPT
from amem_cli.memory.learn import Decisions
from amem_cli.memory.link import JOINT_PROMPT, LINKING_PROMPT
from amem_cli.memory.outcome import ANALYZER, Construction, Linking, Step, Thought
from amem_cli.memory.relink import standing_links
from amem_cli.memory.trust import PLAUSIBLE
from amem_cli.models.ports import Encoder, LanguageModel
from amem_cli.notes.names import is_linkable
from amem_cli.notes.note import METADATA_FIELDS, SUPERSEDING, MemoryLink, Metadata, Note

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import Vectors

# What a model that is not trusted is asked of a note. It only counts off what it is to choose from,
# and what it says of links changes nothing for the better (docs/memory.md).
FIELDS_OF_THE_WEAK = frozenset({"context"})
# Notes weighed for each that a model is shown: the nearest are not always the related ones.
WEIGHED_FOR_EACH_SHOWN = 2


@dataclass(frozen=True, slots=True)
class Survey:
    """The older notes that a note might have to do with, and what the analyzer holds of them.

    Attributes:
        suggested: links that the evidence alone carries.
        may_change: paths of the notes that may change because of this one.
        offline: changes that need no model.
        shown: what a model is asked about; None where it may not be asked, or need not be.
    """

    suggested: tuple[MemoryLink, ...] = ()
    may_change: frozenset[str] = frozenset()
    offline: tuple[Evolution, ...] = ()
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class Thinker:
    """Thinks about notes of one vault.

    Attributes:
        model: None leaves all of it to the offline analyzer.
        trusted: the model is good enough to overrule the analyzer.
        evolve: older notes may change.
        plausible: strength by the evidence, 0..1, from which on its word on a link counts; it is
            not asked about weaker ones.
        decided: what the owner decided about links.
    """

    index: MemoryIndex
    encoder: Encoder
    model: LanguageModel | None
    max_links: int
    candidates: int
    deadline: float
    evolve: bool
    trusted: bool
    plausible: float = PLAUSIBLE
    decided: Decisions = field(default_factory=Decisions)

    def think(self, note: Note, owned: Provenance) -> Thought:
        """Metadata where it is missing, links to older notes, and changes of those.

        Raises:
            ModelError: the language model gave no answer at all.
            EncoderError: the encoder cannot be run.
        """
        text = plain_text(note.body)
        if not text:
            return Thought(Construction(), Linking(), ANALYZER)
        missing = tuple(name for name in METADATA_FIELDS if not getattr(note, name))
        analyzed = Analyzed(self.index, self.encoder.encode, note, text)
        survey, opening = None, None
        if self.model is not None and self.trusted and missing and self._may_be_shown(note):
            # What it is about is not known yet; its own words must do to find older notes.
            labels = tuple(name for name in missing if name != "context")
            survey = self._survey(_filled(note, analyzed.metadata(labels)), text, owned)
            opening = self._opening(self.model, note, text, missing, analyzed, survey)
        construction = Construction()
        if missing:
            construction = self._construct(note, text, missing, analyzed, opening)
        filled = _filled(note, construction.metadata)
        if survey is None or opening is None:
            survey = self._survey(filled, text, owned)
        linking = self._link(filled, survey, opening)
        used = {construction.step.model, linking.step.model} - {ANALYZER}
        return Thought(construction, linking, min(used) if used else ANALYZER)

    def _may_be_shown(self, note: Note | NoteSummary) -> bool:
        return self.model is not None and not (note.private and self.model.is_remote)

    def _opening(
        self,
        model: LanguageModel,
        note: Note,
        text: str,
        missing: Sequence[str],
        analyzed: Analyzed,
        survey: Survey,
    ) -> Opening | None:
        """The answer to both steps in one; None where there is nothing to ask about links."""
        if survey.shown is None:
            return None
        return ask_jointly(
            model,
            note=note,
            text=text,
            missing=missing,
            vocabulary=analyzed.near_tags(),
            shown=survey.shown,
            evolve=self.evolve,
            max_links=self.max_links,
            deadline=self.deadline,
        )

    def _construct(
        self,
        note: Note,
        text: str,
        missing: tuple[str, ...],
        analyzed: Analyzed,
        opening: Opening | None,
    ) -> Construction:
        reason = f"{_listing(missing)} were missing"
        wanted = missing if self.trusted else tuple(set(missing) & FIELDS_OF_THE_WEAK)
        if self.model is None or not wanted or not self._may_be_shown(note):
            return Construction(analyzed.metadata(missing), reason=reason)
        asked = ask_for_metadata(
            self.model,
            note=note,
            text=text,
            missing=wanted,
            vocabulary=analyzed.near_tags(),
            encode=self.encoder.encode,
            trusted=self.trusted,
            deadline=self.deadline,
            opening=opening,
        )
        said, failures = asked.metadata, dict(asked.failures)
        if not self.trusted and said.context and self._says_less(said.context, text, analyzed):
            said = replace(said, context="")
            failures["context"] = "says less of the note"
        unfilled = tuple(name for name in missing if not getattr(said, name))
        metadata = _filled_metadata(said, analyzed.metadata(unfilled))
        replaced = (f"{name}: {why}; {ANALYZER} wrote it instead" for name, why in failures.items())
        problems = (*asked.remarks, *replaced)
        prompt = CONSTRUCTION_PROMPT if opening is None else JOINT_PROMPT
        return Construction(metadata, Step(self.model.name, prompt, asked.use), reason, problems)

    def _says_less(self, context: str, text: str, analyzed: Analyzed) -> bool:
        """Whether a sentence is further from the note than the analyzer's own is."""
        own = analyzed.metadata(("context",)).context
        vectors = self.encoder.encode([text, context, own])
        return bool(vectors[0] @ vectors[1] < vectors[0] @ vectors[2])

    def _survey(self, note: Note, text: str, owned: Provenance) -> Survey:
        vector = note_vector(self.encoder.encode, note)
        weighed = WEIGHED_FOR_EACH_SHOWN * self.candidates
        near = near_notes(self.index, note.path, text, vector, weighed)
        apart = self.index.link_history.unlinked(note.path)
        free = [
            each
            for each in older(near, note.created)
            if is_linkable(each.summary.path)
            # Nothing of a private note spreads: a link tells its name, a model its words.
            and (note.private or not each.summary.private)
            and not owned.declined & {each.summary.key, each.summary.path}
            and each.summary.path not in apart
        ]
        if not free or not self.max_links:
            return Survey()
        evidence = [each.evidence for each in free]
        least = self.decided.minimum(ANALYZER)
        suggested = self._suggested(note, evidence, self.max_links, least)
        may_change = frozenset(
            each.summary.path for each in free if each.summary.private == note.private
        )
        offline = tuple(
            each for each in superseded(note, suggested, evidence) if each.path in may_change
        )
        shown = self._shown(note, free, suggested) if self.trusted else None
        if shown is not None:
            shown = self._with_the_past(note, vector, owned, shown)
        return Survey(tuple(suggested), may_change, offline, shown)

    def _link(self, note: Note, survey: Survey, opening: Opening | None) -> Linking:
        if self.model is None or survey.shown is None:
            return Linking(survey.suggested, survey.offline)
        asked = ask_for_links(
            self.model,
            note=note,
            shown=survey.shown,
            vocabulary=self.index.notes.tag_counts(public=not note.private),
            encode=self.encoder.encode,
            evolve=self.evolve,
            max_links=self.max_links,
            deadline=self.deadline,
            opening=opening,
        )
        prompt = LINKING_PROMPT if opening is None else JOINT_PROMPT
        if asked.evolutions is None:
            step = Step(prompt=prompt, use=asked.use)
            return Linking(asked.links, survey.offline, step, asked.problems)
        step = Step(self.model.name, prompt, asked.use)
        allowed = tuple(each for each in asked.evolutions if each.path in survey.may_change)
        links = self._strong_enough(asked.links, self.model.name, survey.shown)
        return Linking(links, allowed, step, asked.problems, asked.link_changes)

    def _strong_enough(
        self, links: Sequence[MemoryLink], judge: str, shown: Shown
    ) -> tuple[MemoryLink, ...]:
        """A model's links without the weak ones, where the owner removed many of its links."""
        least = self.decided.minimum(judge)
        if least <= USUAL_MINIMUM:
            return tuple(links)
        standing = {each.target for each in shown.standing}
        return tuple(each for each in links if each.strength >= least or each.target in standing)

    def _with_the_past(self, note: Note, vector: Vectors, owned: Provenance, shown: Shown) -> Shown:
        """What is shown, with what was decided and linked before."""

        def may_be_shown(other: NoteSummary) -> bool:
            return (note.private or not other.private) and self._may_be_shown(other)

        examples = self.decided.examples(self.index, note, vector, may_be_shown)
        shown = replace(shown, examples=tuple(examples))
        if not self.evolve:
            return shown
        doubted = {path for path, link in shown.plausible.items() if link.relation in SUPERSEDING}
        standing = standing_links(self.index, note, owned, shown.candidates, doubted)
        return replace(shown, standing=tuple(standing))

    def _suggested(
        self, note: Note, evidence: Sequence[LinkCandidate], limit: int, minimum: float
    ) -> list[MemoryLink]:
        return link_suggestions(
            note,
            evidence,
            document_frequency=self.index.text.document_frequency,
            total=self.index.notes.count(),
            limit=limit,
            minimum=minimum,
        )

    def _shown(
        self, note: Note, free: Sequence[NearNote], suggested: Sequence[MemoryLink]
    ) -> Shown | None:
        if not self._may_be_shown(note):
            return None
        by_path = {each.summary.path: each for each in free}
        evidence = [each.evidence for each in free]
        plausible = self._suggested(note, evidence, len(evidence), self.plausible)
        candidates = tuple(
            by_path[link.target].evidence
            for link in plausible
            if self._may_be_shown(by_path[link.target].summary)
        )[: self.candidates]
        if not candidates:
            return None
        return Shown(candidates, tuple(suggested), {link.target: link for link in plausible})


def _filled(note: Note, metadata: Metadata) -> Note:
    """The note as it will be: what it has stays."""
    return replace(
        note,
        keywords=note.keywords or metadata.keywords,
        tags=note.tags or metadata.tags,
        context=note.context or metadata.context,
    )


def _filled_metadata(first: Metadata, second: Metadata) -> Metadata:
    return Metadata(
        first.keywords or second.keywords,
        first.tags or second.tags,
        first.context or second.context,
    )


def _listing(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
