"""The steps of the memory process for one note: describe, link, evolve.

They analyse and write nothing. What a language model is to be asked, if there is one and it may
read the note, they yield (`memory.ask_model`); every answer is checked, asked for once more, and
replaced by the offline analyzer's value if it fails again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from amem_cli.analyzer.analyzer import AnalyzerValues, note_vector
from amem_cli.analyzer.cues import days_pointed_at
from amem_cli.analyzer.earlier_notes import EarlierNotes, Place, notes_apart, waiting_notes
from amem_cli.analyzer.link_choice import changed_contexts, score_links
from amem_cli.analyzer.link_evidence import is_quoted, named_notes, near_notes
from amem_cli.analyzer.own_words import own_sentences
from amem_cli.errors import ModelClosed, ModelError
from amem_cli.journal.link_decisions import SUGGESTED_FROM, before_closing
from amem_cli.language.words import sentences
from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.outcome import (
    ANALYZER,
    JUDGE,
    Description,
    JudgeLimits,
    Linking,
    NoteAnalysis,
    ProcessSettings,
    Step,
    filled,
)
from amem_cli.models.ports import NoteText
from amem_cli.notes.names import is_linkable
from amem_cli.notes.note import METADATA_FIELDS, SUPERSEDING, Metadata, Note

if TYPE_CHECKING:
    from amem_cli.analyzer.link_evidence import LinkCandidate
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.journal.link_decisions import Evolution
    from amem_cli.journal.provenance import Provenance
    from amem_cli.memory.ask_model import Asking
    from amem_cli.memory.link import LinkQuestion
    from amem_cli.models.ports import Encoder, Judge, LanguageModel
    from amem_cli.notes.note import MemoryLink

# Notes weighed: the nearest are not always the related ones. The strengths were fitted on so many;
# for a model, which tells them apart, only their order counts.
WEIGHED = 16
# Strengths with the judge's word keep the same promises with so much less.
LESS_IF_JUDGED = 0.08
WEIGHED_FOR_A_MODEL = 48
# Letters of a context that leave room for another closing.
_LONGEST_KEPT = 160


@dataclass(frozen=True, slots=True)
class MemorySteps:
    """The steps of the process; without a model the offline analyzer does all of it.

    Attributes:
        now: the moment of the process; dates after it do not say when a note was made.
        waiting: places in time by path of the notes that wait for their first process; if None,
            the queue tells.
        judge: tells which of the likeliest notes are related, and how, where no model decides it.
        asked: contexts that wait for a person because of the note, by the older one's id or path.
    """

    index: MemoryIndex
    encoder: Encoder
    model: LanguageModel | None
    settings: ProcessSettings
    now: datetime = datetime.max
    waiting: Mapping[str, Place] | None = None
    judge: Judge | None = None
    asked: Mapping[str, str] = field(default_factory=dict)

    def analyse(
        self, note: Note, owned: Provenance, kept: Metadata | None = None
    ) -> Asking[NoteAnalysis]:
        """Find metadata for the empty fields, links to older notes, and changes of those.

        Args:
            note: with the moment when it was made as its date.
            owned: what of the note the machine wrote.
            kept: former values for empty fields, which stay where no new one is found.

        Raises:
            ModelError, EncoderError: the model gave no answer, or the encoder cannot be run.
        """
        text = plain_text(note.body)
        if not text:
            return NoteAnalysis(Description(), Linking(), ANALYZER)
        kept = kept or Metadata()
        missing = tuple(name for name in METADATA_FIELDS if not getattr(note, name))
        apart = notes_apart(self.index, note.path)
        values = AnalyzerValues(self.index, self.encoder.encode, note, text, apart)
        if self._model_for(note) is None:
            description = Description(filled(values.metadata(missing), kept))
            linking, _ = self._links(filled(note, description.metadata), text, owned)
        else:
            description, linking = yield from self._ask(note, text, owned, missing, values, kept)
        filled_in = [name for name in missing if getattr(description.metadata, name)]
        description = replace(description, reason=_were_missing(filled_in))
        models = {description.step.model, linking.step.model} - {ANALYZER}
        model = min(models) if models else ANALYZER
        return NoteAnalysis(description, linking, model, waits_for=linking.waits_for)

    def _ask(
        self,
        note: Note,
        text: str,
        owned: Provenance,
        missing: tuple[str, ...],
        values: AnalyzerValues,
        kept: Metadata,
    ) -> Asking[tuple[Description, Linking]]:
        """The steps with the language model, in one joint question if it is trusted."""
        # Not loaded if no model is asked.
        from amem_cli.memory.ask_about import NoteQuestion, ask_for_summary
        from amem_cli.memory.describe import MetadataQuestion
        from amem_cli.memory.grounding import similarity_by
        from amem_cli.memory.link import shown_text

        model, settings = self.model, self.settings
        assert model is not None

        similarity = similarity_by(self.encoder.encode)
        offline = Description(filled(values.metadata(missing), kept))
        if not settings.trusted:
            description = offline
            # Of a note of one sentence, that sentence says most.
            if len(sentences(text)) > 1 and "context" in missing:
                answer = yield from ask_for_summary(model.name, note, text, similarity, settings)
                description = answer.description(missing, values, kept)
            return description, self._links(filled(note, description.metadata), text, owned)[0]
        # The note's context is not known yet; its own words must do to find older notes.
        labels = tuple(name for name in missing if name != "context")
        linking, question = self._links(filled(note, values.metadata(labels)), text, owned)
        asked = tuple(name for name in missing if name != "keywords" or settings.keywords)
        if not asked and question is None:
            return offline, linking
        public_tags = values.tag_counts()
        offered = MetadataQuestion(
            note.title,
            text,
            asked,
            values.offered_tags(public_tags),
            beside=f"{note.created[:10]}\n{shown_text(question) if question is not None else ''}",
        )
        answer = yield from NoteQuestion(
            model.name,
            note,
            offered if asked else None,
            question,
            public_tags,
            similarity,
        ).ask(settings)
        if asked:
            return answer.description(missing, values, kept), answer.linking or linking
        # The model was asked, also if nothing that it said of links is believed.
        by_model = Step(answer.step.model, answer.step.prompt)
        return replace(offline, step=by_model), answer.linking or linking

    def _model_for(self, note: Note | NoteSummary | LinkCandidate) -> LanguageModel | None:
        """The model, if it may read the note."""
        model = self.model
        return None if model is None or (note.private and model.is_remote) else model

    def asks_about_links(self, note: Note) -> bool:
        """Whether a model decides about the links of a note, and not the judge."""
        return bool(self.settings.trusted and self.settings.max_links and self._model_for(note))

    def links(self, note: Note, owned: Provenance) -> Linking:
        """What the analyzer and the judge make of the older notes; no model is asked."""
        return self._links(note, plain_text(note.body), owned)[0]

    def _earlier(self, note: Note, waiting: Mapping[str, Place]) -> EarlierNotes:
        """The notes that count for one; absent are those of the waiting ones that are later."""
        own = waiting.get(note.path, (note.created, note.id or "", note.path))
        later = [path for path, place in waiting.items() if place > own]
        return EarlierNotes(self.index, self.now, later)

    def _nearness(self, paths: Sequence[str], sentence: str) -> dict[str, float]:
        """How near the tokens of a sentence are to those of notes."""
        vector, tokens = self.encoder.encode_question(sentence, plain=True)
        return self.index.vectors.token_scores(vector, tokens, paths)

    def _links(
        self, note: Note, text: str, owned: Provenance
    ) -> tuple[Linking, LinkQuestion | None]:
        """What the analyzer makes of the older notes that the note may be linked to, and the
        question for a model; None if it may not be asked, or need not be."""
        vector = note_vector(self.index, self.encoder.encode, note)
        asks = self.asks_about_links(note)
        weighed = WEIGHED_FOR_A_MODEL if asks else WEIGHED
        unlinked = self.index.link_history.unlinked(note.path)
        earlier = self._earlier(note, self.waiting or {})
        named = named_notes(self.index, note.path, days_pointed_at(note), earlier)
        near = partial(near_notes, self.index, note.path, text, vector, weighed, named=named)
        nearest = near(earlier)
        if self.waiting is None and any(each.created >= note.created for each in nearest):
            # Only then the queue is asked: it takes long in a large vault.
            earlier = self._earlier(note, waiting_notes(self.index, self.now))
            nearest = near(earlier) if earlier.absent else nearest
        day = note.created[:10]

        def told(older: LinkCandidate) -> str:
            contexts = f"{older.context}\n{self.asked.get(older.key, '')}".splitlines()
            return "\n".join(each.partition(day)[2] for each in contexts if day)

        older = [
            replace(each, told=told(each))
            for each in nearest
            if is_linkable(each.path)
            # Nothing of a private note spreads: a link names it, a model repeats its words.
            and (note.private or not each.private)
            and not owned.declined & {each.key, each.path}
            and each.path not in unlinked
        ]
        if not older:
            return Linking(), None
        judging = _Judging(None if asks else self.judge, self.settings.judging, note, text)
        likely, said = score_links(
            note,
            older,
            document_frequency=earlier.document_frequency,
            total=earlier.total,
            minimum=min(self.settings.plausible, SUGGESTED_FROM - LESS_IF_JUDGED),
            judge=judging.relations,
            nearness=partial(self._nearness, [each.path for each in older]),
        )
        by_person = self.index.link_history.linked_by_person(note.path)
        sure = {older[each.older].path for each in said if each.sure}
        # A note speaks of a sample in so many words, or a person links the two; weighed with the
        # others, the samples show what is usual, also in a new vault.
        apart = notes_apart(self.index, note.path) - by_person - sure
        likely = [link for link in likely if link.target not in apart]

        def reaches(link: MemoryLink, least: float) -> bool:
            return link.strength >= least - LESS_IF_JUDGED * (link.target in judging.judged)

        # One link joins two notes, unless the second says what holds now.
        linking_here = {
            path for path, link in self.index.links.incoming(note.path) if link.kind == "property"
        }
        strong = [
            link
            for link in likely
            if link.target in sure
            or (reaches(link, self.settings.minimum_strength) and link.target not in linking_here)
        ]
        # What the note says in so many words comes first, if not all have room.
        strong.sort(key=lambda link: link.target not in sure)
        # A link of a person's takes no place, and what the note says of that pair counts.
        new = [link for link in strong if link.target not in by_person]
        made = new[: self.settings.max_links]
        made += [link for link in strong if link.target in by_person]
        weaker = (link for link in likely if reaches(link, SUGGESTED_FROM) and link not in made)
        offline: list[Evolution] = []
        if self.settings.evolve:
            # Nothing of a note spreads into one that more or fewer may read, and no guess is made
            # at what became of a sample.
            samples = self.index.events.sample_notes() if said else ()
            said = [
                each
                for each in said
                if older[each.older].private == note.private
                and (each.sure or older[each.older].path not in samples)
            ]
            encode = self.encoder.encode
            unclosed = partial(self._unclosed_context, note)
            offline = changed_contexts(note, said, older, unclosed, encode)
        linking = Linking(
            tuple(made),
            tuple(offline),
            Step(prompt=judging.asked),
            problems=judging.problems,
            judged=judging.judged,
            waits_for=judging.waits_for,
            suggested=tuple(weaker),
        )
        if not asks:
            return linking, None
        plausible = {one.target: one for one in likely if one.strength >= self.settings.plausible}
        by_path = {each.path: each for each in older if self._model_for(each) is not None}
        shown = [by_path[path] for path in plausible if path in by_path]
        return linking, self._link_question(note, shown, plausible, linking, owned)

    def _unclosed_context(self, note: Note, older: LinkCandidate) -> str:
        """The context of an older note without what the analyzer closed it with; with that if the
        note did it last, says so still, and there is room for more."""
        context = older.context
        before, key = before_closing(self.index.events.read(older.key), context, ANALYZER)
        closing = context.removeprefix(before.rstrip(" .。"))
        own = islice(own_sentences(note), 1, None)
        is_own = key in (note.id, note.path) and len(context) <= _LONGEST_KEPT
        stays = is_own and any(is_quoted(each.text, closing) for each in own)
        return context if stays else before

    def _link_question(
        self,
        note: Note,
        readable: Sequence[LinkCandidate],
        plausible: Mapping[str, MemoryLink],
        linking: Linking,
        owned: Provenance,
    ) -> LinkQuestion | None:
        """The plausible candidates, with what was decided and linked before."""
        from amem_cli.memory.evolve import existing_links
        from amem_cli.memory.link import MOST_SHOWN, LinkQuestion, nearest_sentences

        settings = self.settings
        candidates = readable[: min(settings.candidates, MOST_SHOWN)]
        if not candidates or self.model is None:
            return None

        doubted = {path for path, link in plausible.items() if link.relation in SUPERSEDING}
        return LinkQuestion(
            candidates,
            nearest_sentences(note, candidates, self.encoder.encode),
            linking,
            plausible,
            existing=existing_links(self.index, note, owned, candidates, doubted)
            if settings.evolve
            else (),
            evolve=settings.evolve,
            max_links=settings.max_links,
        )


def _were_missing(names: Sequence[str]) -> str:
    """Why these fields are written; empty for none."""
    listed = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    verb = "was" if [*names] == ["context"] else "were"
    return f"{listed} {verb} missing" if names else ""


@dataclass(slots=True)
class _Judging:
    """The judge and one note; of which notes, by path, it said something, and what went wrong."""

    judge: Judge | None
    limits: JudgeLimits
    note: Note
    text: str
    judged: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()
    waits_for: str = ""

    @property
    def asked(self) -> str:
        """The judge's name, if it said something."""
        return self.judge.name if self.judge is not None and self.judged else ""

    def relations(self, olders: Sequence[LinkCandidate]) -> list[dict[str, float]]:
        """What the judge says of the first of some older notes; nothing if it cannot be had."""
        if self.judge is None or not olders:
            return []
        newer = NoteText(self.note.created[:10], self.note.title, self.text)
        shown = [
            NoteText(each.created[:10], each.title, each.text)
            for each in olders[: self.limits.candidates]
        ]
        try:
            found = self.judge.relations(
                newer, shown, most_tokens=self.limits.tokens, seconds=self.limits.seconds
            )
        except ModelClosed:
            raise
        except ModelError as error:
            self.problems = (f"{error.message}; links by the evidence alone",)
            return []
        self.judged = frozenset(each.path for each, _ in zip(olders, found, strict=False))
        if self.limits.waits and len(found) < len(shown):
            self.waits_for = JUDGE
            time = f"{len(found)} of {len(shown)} older notes"
            self.problems = (f"the judge of links had time for {time}",)
        return found
