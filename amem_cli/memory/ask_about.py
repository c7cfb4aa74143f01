"""Asks a language model about one note: everything at once if it is trusted, else for a summary.

A model is asked at most twice. The second time a trusted one is asked only for what was refused of
its first answer, and is given the reasons; what is good of an answer is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from amem_cli.analyzer.analyzer import AnalyzerValues
from amem_cli.errors import BudgetSpent, ModelClosed, ModelError
from amem_cli.memory.ask_model import Asking, ModelReply, asking, quoted
from amem_cli.memory.describe import (
    METADATA_PROMPT,
    SUMMARY_PROMPT,
    CheckedMetadata,
    MetadataQuestion,
    check_metadata,
    metadata_request,
    summary_request,
)
from amem_cli.memory.grounding import Similarity
from amem_cli.memory.link import (
    JOINT_PROMPT,
    LINKING_PROMPT,
    MOST_SHOWN,
    LinkQuestion,
    check_links,
    link_request,
    plausible_links,
    shown_notes,
)
from amem_cli.memory.outcome import (
    ANALYZER,
    Description,
    Linking,
    ModelUse,
    ProcessSettings,
    Step,
    filled,
)
from amem_cli.models.ports import ModelRequest
from amem_cli.notes.note import Metadata, Note


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model's answers come to.

    Attributes:
        linking: None if it was not asked for.
        remarks: what is odd about an answer, one line each.
        refused: all of the metadata that was not kept and why, one line each.
        said: the text of a refused context.
    """

    checked: CheckedMetadata
    linking: Linking | None = None
    remarks: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    said: str = ""
    step: Step = field(default_factory=Step)

    def description(
        self, missing: Sequence[str], values: AnalyzerValues, kept: Metadata
    ) -> Description:
        """The model's metadata, with the analyzer's, else the former, for what it does not give.

        Args:
            missing: all that the note lacks, also what the model was not asked for.
            kept: former values, which stay where neither gives one.
        """
        metadata, failures = self.checked.metadata, self.checked.failures
        instead = values.metadata(tuple(name for name in missing if not getattr(metadata, name)))
        outcome = dict.fromkeys(failures, "it is left empty")
        outcome |= {name: "the former one stays" for name in failures if getattr(kept, name)}
        by_analyzer = f"{ANALYZER} wrote it instead"
        outcome |= {name: by_analyzer for name in failures if getattr(instead, name)}
        replaced = (f"{name}: {why}; {outcome[name]}" for name, why in failures.items())
        whole = filled(filled(metadata, instead), kept)
        problems = (*self.remarks, *replaced)
        return Description(whole, self.step, problems=problems, refused=self.refused)


def ask_for_summary(
    model: str, note: Note, text: str, similarity: Similarity, settings: ProcessSettings
) -> Asking[Answer]:
    """Ask a model that is not trusted what a note is about, once: it would say the same again."""
    question = MetadataQuestion(note.title, text, ("context",))
    reply = yield from asking(summary_request(note.title, text, settings.deadline))
    step = Step(model, SUMMARY_PROMPT, reply.use)
    if reply.answer is None:
        return Answer(_nothing(question, reply.fault), step=step)
    checked = check_metadata(reply.answer, question, similarity=similarity)
    return Answer(checked, remarks=(reply.fault,) if reply.fault else (), step=step)


def _nothing(question: MetadataQuestion | None, fault: str = "") -> CheckedMetadata:
    missing = question.missing if question is not None else ()
    return CheckedMetadata(Metadata(), {name: [fault] for name in missing})


@dataclass(frozen=True, slots=True)
class NoteQuestion:
    """What a trusted model is asked about a note, which may be less than it could be."""

    model: str
    note: Note
    metadata: MetadataQuestion | None
    links: LinkQuestion | None
    vocabulary: Collection[str]
    similarity: Similarity

    @property
    def prompt(self) -> str:
        if self.links is None:
            return METADATA_PROMPT
        return LINKING_PROMPT if self.metadata is None else JOINT_PROMPT

    def ask(self, settings: ProcessSettings) -> Asking[Answer]:
        """Ask, and once more for what was refused.

        Raises:
            ModelError: the model gave no answer.
        """
        rest: NoteQuestion | None = self
        found, refused, use = None, list[str](), ModelUse()
        for _ in range(settings.attempts):
            assert rest is not None
            try:
                reply = yield from asking(rest._request(settings.deadline, refused))
            except ModelClosed:
                raise
            except (BudgetSpent, ModelError) as error:
                # What the first answer gave is paid for and good, if it gave anything.
                if found is None or (self.metadata and found.checked.metadata == Metadata()):
                    raise
                found = replace(found, remarks=(*found.remarks, error.message))
                break
            use += reply.use
            if reply.answer is None:
                refused = [reply.fault]
                continue
            answer = rest._checked(reply)
            found = answer if found is None else _mended(found, answer)
            rest, refused = self._rest(found)
            if rest is None:
                break
        if found is None:
            found = self._without_answer(reply.fault)
        linking = found.linking
        if linking is not None:
            # The cost is told once, by the first step.
            own = use if self.metadata is None else ModelUse()
            linking = replace(linking, step=replace(linking.step, use=own))
        return replace(found, linking=linking, step=Step(self.model, self.prompt, use))

    def _request(self, deadline: float, refused: Sequence[str]) -> ModelRequest:
        if self.links is None:
            assert self.metadata is not None
            return metadata_request(self.metadata, deadline, refused=refused)
        return link_request(
            self.note, self.links, deadline, metadata=self.metadata, refused=refused
        )

    def _without_answer(self, fault: str) -> Answer:
        linking = None
        if self.links is not None:
            problems = (f"links: {fault}; the analyzer's links are kept",)
            linking = self._by_analyzer(self.links, problems)
        return Answer(_nothing(self.metadata, fault), linking)

    def _by_analyzer(self, question: LinkQuestion, problems: tuple[str, ...]) -> Linking:
        step = Step(prompt=self.prompt)
        return replace(question.by_analyzer, step=step, problems=problems, believed=False)

    def _checked(self, reply: ModelReply) -> Answer:
        assert reply.answer is not None
        checked = _nothing(None)
        if self.metadata is not None:
            checked = check_metadata(
                reply.answer, self.metadata, similarity=self.similarity, trusted=True
            )
        missing = (f"{name}: {why}" for name, why in checked.failures.items())
        refused = dict.fromkeys((reply.fault, *checked.problems, *missing))
        return Answer(
            checked,
            self._linking(reply, filled(self.note, checked.metadata)),
            (reply.fault,) if reply.fault else (),
            refused=tuple(filter(None, refused)),
            said=str(reply.answer.get("context", "")) if "context" in checked.failures else "",
        )

    def _linking(self, reply: ModelReply, note: Note) -> Linking | None:
        """The model's links and changes, or the analyzer's if its answer shows that it cannot
        judge."""
        question = self.links
        if question is None or reply.answer is None:
            return None
        checked = check_links(
            reply.answer,
            note,
            question,
            similarity=self.similarity,
            vocabulary=sorted(self.vocabulary),
        )
        # Told once: by the links if there is no metadata to tell it.
        fault = reply.fault if self.metadata is None else ""
        problems = (fault, *checked.problems) if fault else checked.problems
        if not checked.believed:
            return self._by_analyzer(question, problems)
        # What the model was shown and did not link, it does not suggest either.
        seen = {one.path for one in question.candidates[:MOST_SHOWN]}
        others = (*question.by_analyzer.links, *question.by_analyzer.suggested)
        return replace(
            checked,
            links=plausible_links(checked.links, question),
            suggested=tuple(link for link in others if link.target not in seen),
            step=Step(self.model, self.prompt),
            problems=problems,
        )

    def _rest(self, found: Answer) -> tuple[NoteQuestion | None, list[str]]:
        """The question for what was refused, None if nothing was that the model can mend; and why
        it was, one line each."""
        failures, metadata, links = found.checked.failures, None, None
        faults = [f"{name}: {why}" for name, why in failures.items()]
        faults += [f"the refused context: {quoted(found.said)}"] if found.said else []
        if self.metadata is not None and failures:
            metadata = replace(self.metadata, missing=tuple(failures))
        refused = found.linking.refused if found.linking is not None else {}
        if self.links is not None and refused:
            older = [one for one in self.links.candidates if one.path in refused]
            links = replace(self.links, candidates=older, existing=(), max_links=0, mends=True)
            shown = shown_notes(self.note, links).items()
            faults += [f"changes, {name}: {refused[one.path]}" for name, one in shown]
        if metadata is None and links is None:
            return None, []
        note = filled(self.note, found.checked.metadata)
        return replace(self, note=note, metadata=metadata, links=links), faults


def _mended(first: Answer, second: Answer) -> Answer:
    """An answer with what the one to the question for the rest adds to it."""
    checked = first.checked
    if second.checked.faults:
        metadata = filled(checked.metadata, second.checked.metadata)
        checked = replace(second.checked, metadata=metadata)
    linking = first.linking
    if linking is not None and second.linking is not None:
        mended = {each.path: each for each in second.linking.evolutions if each.context}
        before = {each.path: each for each in linking.evolutions}
        # The labels of the first answer were good, so they were not asked for again.
        joined = [
            replace(
                before.get(path, change),
                context=change.context,
                reason=change.reason or before.get(path, change).reason,
            )
            for path, change in mended.items()
        ]
        kept = (change for path, change in before.items() if path not in mended)
        faults = tuple(f"changes: {path}: context " for path in mended)
        problems = tuple(
            each for each in linking.problems if not (faults and each.startswith(faults))
        )
        linking = replace(linking, evolutions=(*joined, *kept), problems=problems)
    return replace(first, checked=checked, linking=linking)
