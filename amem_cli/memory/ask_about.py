"""Asks a language model about one note: everything at once if it is trusted, else for a summary.

A model is asked at most twice. The second time a trusted one is asked only for what was refused of
its first answer, and is given the reasons; what is good of an answer is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from amem_cli.analyzer.analyzer import AnalyzerValues
from amem_cli.errors import BudgetSpent, ModelClosed, ModelError
from amem_cli.memory.ask_model import Asking, ModelReply, asking, quoted
from amem_cli.memory.describe import (
    METADATA_PROMPT,
    CheckedMetadata,
    MetadataQuestion,
    check_metadata,
    metadata_request,
    says_more,
)
from amem_cli.memory.grounding import Similarity, similarity_by
from amem_cli.memory.link import (
    JOINT_PROMPT,
    LINKING_PROMPT,
    MOST_SHOWN,
    LinkQuestion,
    check_links,
    check_mended_changes,
    link_request,
    mending_request,
    plausible_links,
)
from amem_cli.memory.outcome import Linking, ModelUse, ProcessSettings, Step, filled
from amem_cli.models.ports import ModelRequest
from amem_cli.notes.note import Metadata, Note


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model's answers come to.

    Attributes:
        failures: why a field that was asked for is empty, by its name.
        remarks: what is odd about an answer, one line each.
        refused: what was not kept of the metadata and why, one line each, also where something else
            in the field was.
        linking: None if it was not asked for.
        said: the text of a refused context.
    """

    metadata: Metadata
    step: Step
    failures: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    refused: Sequence[str] = ()
    linking: Linking | None = None
    said: str = ""


def ask_for_summary(
    model: str, question: MetadataQuestion, values: AnalyzerValues, settings: ProcessSettings
) -> Asking[Answer]:
    """Ask a model that is not trusted, unless a fault shows that it can do no better."""
    similarity = similarity_by(values.encode)
    metadata, use = Metadata(), ModelUse()
    failures: dict[str, str] = {}
    remarks: dict[str, None] = {}
    for _ in range(settings.attempts):
        reply = yield from asking(metadata_request(question, settings.deadline))
        use += reply.use
        if reply.answer is None:
            failures = dict.fromkeys(question.missing, reply.fault)
            break
        remarks |= {reply.fault: None} if reply.fault else {}
        checked = check_metadata(reply.answer, question, similarity=similarity)
        metadata, failures = checked.metadata, checked.failures
        if not checked.worth_retrying:
            break
    if metadata.context and not says_more(question.text, metadata.context, values):
        metadata = replace(metadata, context="")
        failures["context"] = "says less than a sentence of the note"
    return Answer(metadata, Step(model, METADATA_PROMPT, use), failures, tuple(remarks))


def _refused(fault: str, checked: CheckedMetadata) -> tuple[str, ...]:
    """All of an answer's metadata that was not kept, and what is missing, once each."""
    missing = (f"{name}: {why}" for name, why in checked.failures.items())
    return tuple(filter(None, dict.fromkeys((fault, *checked.problems, *missing))))


@dataclass(frozen=True, slots=True)
class NoteQuestion:
    """What a trusted model is asked about a note, which may be less than it could be.

    Attributes:
        model: its name.
        vocabulary: the vault's tags, whose spelling is used.
        similarity: cosine of two texts.
    """

    model: str
    note: Note
    metadata: MetadataQuestion | None
    links: LinkQuestion | None
    vocabulary: Collection[str]
    similarity: Similarity

    @property
    def prompt(self) -> str:
        """Name of the prompt, for the journal."""
        if self.links is None:
            return METADATA_PROMPT
        return LINKING_PROMPT if self.metadata is None else JOINT_PROMPT

    def ask(self, settings: ProcessSettings) -> Asking[Answer]:
        """Ask, and once more for what was refused.

        Raises:
            ModelError: the model gave no answer.
        """
        reply = yield from asking(self._request(settings.deadline))
        use, is_last = reply.use, settings.attempts < 2
        if reply.answer is None and not is_last:
            reply = yield from asking(self._request(settings.deadline, reply.fault))
            use, is_last = use + reply.use, True
        if reply.answer is None:
            return self._without_answer(reply.fault, use)
        answer = self._checked(reply)
        again = None if is_last else self._mending_request(answer, settings.deadline)
        if again is not None:
            try:
                mended = yield from asking(again)
            except ModelClosed:
                raise
            except (BudgetSpent, ModelError) as error:
                # What the first answer gave is paid for and good, if it gave anything.
                if self.metadata is not None and answer.metadata == Metadata():
                    raise
                answer = replace(answer, remarks=(*answer.remarks, error.message))
            else:
                use += mended.use
                answer = self._mended(answer, mended)
        linking = answer.linking
        if linking is not None:
            # The cost is told once, by the first step.
            own = use if self.metadata is None else ModelUse()
            linking = replace(linking, step=replace(linking.step, use=own))
        return replace(answer, step=replace(answer.step, use=use), linking=linking)

    def _request(self, deadline: float, *refused: str) -> ModelRequest:
        if self.links is None:
            assert self.metadata is not None
            return metadata_request(self.metadata, deadline, trusted=True, refused=refused)
        return link_request(
            self.note, self.links, deadline, metadata=self.metadata, refused=refused
        )

    def _without_answer(self, fault: str, use: ModelUse) -> Answer:
        failures = dict.fromkeys(self.metadata.missing if self.metadata else (), fault)
        linking = None
        if self.links is not None:
            step = Step(prompt=self.prompt, use=ModelUse() if self.metadata else use)
            problems = (f"links: {fault}; the analyzer's links are kept",)
            linking = replace(self.links.by_analyzer, step=step, problems=problems, believed=False)
        return Answer(Metadata(), Step(self.model, self.prompt, use), failures, linking=linking)

    def _checked(self, reply: ModelReply) -> Answer:
        assert reply.answer is not None
        checked = CheckedMetadata(Metadata(), {})
        if self.metadata is not None:
            checked = check_metadata(
                reply.answer, self.metadata, similarity=self.similarity, trusted=True
            )
        return Answer(
            checked.metadata,
            Step(self.model, self.prompt),
            checked.failures,
            (reply.fault,) if reply.fault else (),
            _refused(reply.fault, checked),
            self._linking(reply, filled(self.note, checked.metadata)),
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
            step = Step(prompt=self.prompt)
            return replace(question.by_analyzer, step=step, problems=problems, believed=False)
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

    def _mending_request(self, answer: Answer, deadline: float) -> ModelRequest | None:
        """The question for what was refused; None if nothing was that the model can mend."""
        refused = answer.linking.refused if answer.linking is not None else {}
        metadata = self._still_missing(answer)
        faults = [f"{name}: {why}" for name, why in answer.failures.items()]
        faults += [f"the refused context: {quoted(answer.said)}"] if answer.said else []
        if refused and self.links is not None:
            note = filled(self.note, answer.metadata)
            request = mending_request(
                note, self.links, deadline, metadata=metadata, refused=refused, faults=faults
            )
            # The same words at the beginning are not computed again.
            return replace(request, instructions=self._request(deadline).instructions)
        if metadata is None:
            return None
        return metadata_request(metadata, deadline, trusted=True, refused=faults)

    def _still_missing(self, answer: Answer) -> MetadataQuestion | None:
        if self.metadata is None or not answer.failures:
            return None
        return replace(self.metadata, missing=tuple(answer.failures))

    def _mended(self, answer: Answer, reply: ModelReply) -> Answer:
        """The answer with what the second one adds to it."""
        if reply.answer is None:
            return answer
        rest, metadata, failures = self._still_missing(answer), answer.metadata, answer.failures
        if rest is not None:
            again = check_metadata(reply.answer, rest, similarity=self.similarity, trusted=True)
            metadata, failures = filled(metadata, again.metadata), again.failures
        linking = answer.linking
        if linking is not None and linking.refused and self.links is not None:
            found = check_mended_changes(
                reply.answer,
                filled(self.note, metadata),
                self.links,
                linking.refused,
                similarity=self.similarity,
                vocabulary=sorted(self.vocabulary),
            )
            mended = {change.path: change for change in found.changes if change.context}
            first = {change.path: change for change in linking.evolutions}
            # The labels of the first answer were good, so they were not asked for again.
            joined = [
                replace(
                    first.get(path, change),
                    context=change.context,
                    reason=change.reason or first.get(path, change).reason,
                )
                for path, change in mended.items()
            ]
            kept = (change for path, change in first.items() if path not in mended)
            faults = tuple(f"changes: {path}: context " for path in mended)
            linking = replace(
                linking,
                evolutions=(*joined, *kept),
                problems=tuple(
                    each for each in linking.problems if not (faults and each.startswith(faults))
                ),
            )
        return replace(answer, metadata=metadata, failures=failures, linking=linking)
