"""What the machine thinks of one note: its metadata, its links, and what they change.

Nothing is written here. The language model is asked where there is one and the note may be shown
to it; every answer is checked, asked again once, and replaced by the offline analyzer's value
where it still fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amem_cli.core.analysis import (
    USUAL_MINIMUM,
    LinkCandidate,
    TaggedNeighbour,
    TagUse,
    context_sentence,
    extract_keywords,
    link_suggestions,
    suggest_tags,
    superseded,
)
from amem_cli.core.construction import CONSTRUCTION_PROMPT
from amem_cli.core.embedding_text import embedded_text
from amem_cli.core.index_port import MemoryIndex, NoteSummary
from amem_cli.core.linking import LINKING_PROMPT, Evolution
from amem_cli.core.note import METADATA_FIELDS, MemoryLink, Metadata, Note
from amem_cli.core.ownership import Ownership
from amem_cli.core.passages import split_passages
from amem_cli.core.ports import Encoder, LanguageModel
from amem_cli.core.resolution import is_linkable
from amem_cli.core.reweighing import LinkChange
from amem_cli.core.wikilinks import plain_text
from amem_cli.services.asking import Shown, ask_for_links, ask_for_metadata
from amem_cli.services.near_notes import NearNote, near_notes, older
from amem_cli.services.outcome import ModelUse

if TYPE_CHECKING:
    from amem_cli.core.ports import Vectors

ANALYZER = "amem analyzer"
TAGS_COMPARED = 40
NEIGHBOURS_FOR_TAGS = 8
# Notes less alike than this have nothing to say about each other's tags.
LEAST_LIKENESS_TO_VOTE = 0.3
# What a model that is not trusted is asked of a note; it only counts off the other choices.
FIELDS_OF_THE_WEAK = frozenset({"context"})
# Least strength by the evidence at which a model is asked about a note at all.
PLAUSIBLE = 0.12
# The same for a model that is not trusted to judge by itself.
PLAUSIBLE_TO_THE_WEAK = 0.25


@dataclass(frozen=True, slots=True)
class Step:
    """Who did one step of the process, and at what cost."""

    model: str = ANALYZER
    prompt: str = ""
    use: ModelUse = field(default_factory=ModelUse)


@dataclass(frozen=True, slots=True)
class Construction:
    """Metadata for the note."""

    metadata: Metadata = field(default_factory=Metadata)
    step: Step = field(default_factory=Step)
    reason: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Linking:
    """Links from the note, and changes of the older notes that they lead to.

    Attributes:
        link_changes: changes of links that the machine made earlier, from this note or from one
            that it is linked with.
    """

    links: tuple[MemoryLink, ...] = ()
    evolutions: tuple[Evolution, ...] = ()
    step: Step = field(default_factory=Step)
    problems: tuple[str, ...] = ()
    link_changes: tuple[LinkChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Thought:
    """All that the machine has to say about one version of a note.

    Attributes:
        rejudged: changes of the note's own links that its new text calls for, by the analyzer.
    """

    construction: Construction
    linking: Linking
    model: str
    rejudged: tuple[LinkChange, ...] = ()

    @property
    def use(self) -> ModelUse:
        """Cost of all steps."""
        return self.construction.step.use + self.linking.step.use

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong or was replaced, one line each."""
        return self.construction.problems + self.linking.problems


@dataclass(frozen=True, slots=True)
class Thinker:
    """Thinks about notes of one vault.

    Attributes:
        model: None leaves all of it to the offline analyzer.
        trusted: the model is good enough to overrule the analyzer.
        evolve: older notes may change.
    """

    index: MemoryIndex
    encoder: Encoder
    model: LanguageModel | None
    max_links: int
    candidates: int
    deadline: float
    evolve: bool
    trusted: bool

    def think(self, note: Note, owned: Ownership) -> Thought:
        """Metadata where it is missing, links to older notes, and changes of those.

        Raises:
            ModelError: the language model gave no answer at all.
            EncoderError: the encoder cannot be run.
        """
        text = plain_text(note.body)
        missing = tuple(name for name in METADATA_FIELDS if not getattr(note, name))
        construction = self._construct(note, text, missing) if missing and text else Construction()
        filled = _filled(note, construction.metadata)
        linking = self._link(filled, text, owned) if text else Linking()
        used = {construction.step.model, linking.step.model} - {ANALYZER}
        return Thought(construction, linking, min(used) if used else ANALYZER)

    def _may_be_shown(self, note: Note | NoteSummary) -> bool:
        return self.model is not None and not (note.private and self.model.is_remote)

    def _construct(self, note: Note, text: str, missing: tuple[str, ...]) -> Construction:
        vector = self._vector(note)
        near = self.index.vector_scores(vector, NEIGHBOURS_FOR_TAGS + 1)
        near.pop(note.path, None)
        neighbours = [
            TaggedNeighbour(summary.tags, similarity)
            for path, similarity in near.items()
            if similarity >= LEAST_LIKENESS_TO_VOTE
            and (summary := self.index.summary(path)) is not None
            and (note.private or not summary.private)
        ]
        analyzed = _Analyzed(self, note, text, vector, neighbours)
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
        )
        unfilled = tuple(name for name in missing if not getattr(asked.metadata, name))
        metadata = _filled_metadata(asked.metadata, analyzed.metadata(unfilled))
        replaced = (
            f"{name}: {why}; {ANALYZER} wrote it instead" for name, why in asked.failures.items()
        )
        problems = (*asked.remarks, *replaced)
        step = Step(self.model.name, CONSTRUCTION_PROMPT, asked.use)
        return Construction(metadata, step, reason, problems)

    def _link(self, note: Note, text: str, owned: Ownership) -> Linking:
        near = near_notes(self.index, note.path, text, self._vector(note), self.candidates)
        free = [
            each
            for each in older(near, note.created)
            if is_linkable(each.summary.path)
            # Nothing of a private note spreads: a link tells its name, a model its words.
            and (note.private or not each.summary.private)
            and not owned.declined & {each.summary.key, each.summary.path}
        ]
        if not free or not self.max_links:
            return Linking()
        evidence = [each.evidence for each in free]
        suggested = self._suggested(note, evidence, self.max_links, USUAL_MINIMUM)
        vocabulary = self.index.tag_counts(public=not note.private)
        may_change = {each.summary.path for each in free if each.summary.private == note.private}
        offline = tuple(
            each for each in superseded(note, suggested, evidence) if each.path in may_change
        )
        least = PLAUSIBLE if self.trusted else PLAUSIBLE_TO_THE_WEAK
        plausible = self._suggested(note, evidence, len(evidence), least)
        shown = self._shown(note, free, suggested, plausible)
        if self.model is None or shown is None:
            return Linking(tuple(suggested), offline)
        asked = ask_for_links(
            self.model,
            note=note,
            text=text,
            shown=shown,
            vocabulary=vocabulary,
            encode=self.encoder.encode,
            evolve=self.evolve and self.trusted,
            trusted=self.trusted,
            max_links=self.max_links,
            deadline=self.deadline,
        )
        step = Step(self.model.name, LINKING_PROMPT, asked.use)
        sure = {link.target for link in suggested}
        said = [
            each
            for each in asked.evolutions or ()
            if each.path in may_change and (self.trusted or each.path in sure)
        ]
        if not self.trusted or asked.evolutions is None:
            told = {each.path for each in said}
            said += [each for each in offline if each.path not in told]
        return Linking(asked.links, tuple(said), step, asked.problems)

    def _suggested(
        self, note: Note, evidence: Sequence[LinkCandidate], limit: int, minimum: float
    ) -> list[MemoryLink]:
        return link_suggestions(
            note,
            evidence,
            document_frequency=self.index.document_frequency,
            total=self.index.count(),
            limit=limit,
            minimum=minimum,
        )

    def _shown(
        self,
        note: Note,
        free: Sequence[NearNote],
        suggested: Sequence[MemoryLink],
        plausible: Sequence[MemoryLink],
    ) -> Shown | None:
        """What the model is asked about; None where it may not be asked, or need not be."""
        if not plausible or not self._may_be_shown(note):
            return None
        by_path = {each.summary.path: each for each in free}
        candidates = tuple(
            by_path[link.target].evidence
            for link in plausible
            if self._may_be_shown(by_path[link.target].summary)
        )[: self.candidates]
        if not candidates:
            return None
        return Shown(candidates, tuple(suggested), {link.target: link for link in plausible})

    def _vector(self, note: Note) -> Vectors:
        """The enhanced embedding of a note with the metadata it has by now."""
        passages = split_passages(note.body) or []
        texts = [embedded_text(note, passage.text) for passage in passages] or [note.title]
        mean: Vectors = self.encoder.encode(texts).mean(axis=0)
        length = float((mean @ mean) ** 0.5)
        unit: Vectors = mean / length if length > 0 else mean
        return unit


class _Analyzed:
    """The offline analyzer's values, each made when it is asked for."""

    def __init__(
        self,
        thinker: Thinker,
        note: Note,
        text: str,
        vector: Vectors,
        neighbours: Sequence[TaggedNeighbour],
    ) -> None:
        self._thinker = thinker
        self._note = note
        self._text = text
        self._vector = vector
        self._neighbours = neighbours

    def metadata(self, wanted: Sequence[str]) -> Metadata:
        """Values for the wanted fields."""
        keywords: tuple[str, ...] = ()
        if "keywords" in wanted or "tags" in wanted:
            titled = f"{self._note.title}\n\n{self._text}"
            found = extract_keywords(titled, self._thinker.encoder.encode)
            keywords = tuple(found)
        tags = self._tags(self._note.keywords or keywords) if "tags" in wanted else ()
        context = ""
        if "context" in wanted:
            encode = self._thinker.encoder.encode
            context = context_sentence(self._note.title, self._note.body, encode)
        return Metadata(keywords if "keywords" in wanted else (), tags, context)

    def near_tags(self, limit: int = 8) -> list[str]:
        """Tags of the vault that the note's neighbourhood uses, the likeliest first."""
        votes: dict[str, float] = {}
        for neighbour in self._neighbours:
            for tag in neighbour.tags:
                votes[tag] = votes.get(tag, 0.0) + max(0.0, neighbour.similarity)
        return sorted(votes, key=lambda tag: (-votes[tag], tag))[:limit]

    def _tags(self, keywords: Sequence[str]) -> tuple[str, ...]:
        counts = self._thinker.index.tag_counts(public=not self._note.private)
        common = sorted(counts, key=lambda tag: (-counts[tag], tag))[:TAGS_COMPARED]
        names = [tag.replace("/", " ").replace("-", " ") for tag in common]
        compared: dict[str, Vectors] = {}
        if names:
            compared = dict(zip(common, self._thinker.encoder.encode(names), strict=True))
        uses = [TagUse(tag, count, compared.get(tag)) for tag, count in counts.items()]
        return tuple(suggest_tags(self._vector, keywords, uses, self._neighbours))


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
