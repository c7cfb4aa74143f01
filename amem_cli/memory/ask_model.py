"""Asks a language model, reads its answer strictly, and asks once more where that fails."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from amem_cli.analyzer.keywords import candidate_phrases
from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.journal.link_decisions import Evolution, LinkUpdate
from amem_cli.memory.describe import check_metadata, metadata_request
from amem_cli.memory.existing_links import ExistingLink
from amem_cli.memory.link import LinkExample, check_links, joint_request, linking_request
from amem_cli.memory.outcome import ModelUse
from amem_cli.models.ports import LanguageModel, ModelRequest
from amem_cli.models.reply_schema import AnswerRejected, read_answer
from amem_cli.notes.note import MemoryLink, Metadata, Note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

if TYPE_CHECKING:
    Encode = Callable[[Sequence[str]], Vectors]

ATTEMPTS = 2
SHOWN_IN_PART = "the model's window held only a part of what it was to read"
PHRASES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class MetadataReply:
    """What of a model's answers is believed.

    Attributes:
        metadata: fields that nothing believable was said of are empty.
        failures: why, by field.
        remarks: what else is to be known of the answers, one line each.
    """

    metadata: Metadata
    use: ModelUse
    failures: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def ask_once(
    model: LanguageModel, request: ModelRequest
) -> tuple[dict[str, Any] | None, str, ModelUse]:
    """One answer of the asked shape with a remark on it, or None and why it was rejected.

    Raises:
        ModelError: no answer could be had.
    """
    answer = model.answer(request)
    use = ModelUse(1, answer.prompt_tokens, answer.answer_tokens, answer.seconds)
    if answer.refused:
        return None, "the model declined to answer", use
    if not answer.complete:
        return None, "the answer was cut off", use
    try:
        remark = SHOWN_IN_PART if answer.truncated else ""
        return read_answer(answer.text, request.schema), remark, use
    except AnswerRejected as rejected:
        return None, f"the answer was rejected: {rejected}", use


@dataclass(frozen=True, slots=True)
class JointReply:
    """The answer to the joint question, from which both steps take their part.

    Attributes:
        answer: None where it was rejected, and why in `fault`.
    """

    answer: dict[str, Any] | None
    fault: str
    use: ModelUse


def ask_jointly(
    model: LanguageModel,
    *,
    note: Note,
    text: str,
    missing: Sequence[str],
    vocabulary: Sequence[str],
    shown: ShownCandidates,
    evolve: bool,
    max_links: int,
    deadline: float,
) -> JointReply:
    """Ask for the missing metadata of a note, its links and what it changes, all at once.

    Raises:
        ModelError: no answer could be had.
    """
    request = joint_request(
        note,
        text,
        missing=missing,
        candidates=_phrases(note, text),
        vocabulary=vocabulary,
        older=shown.candidates,
        deadline=deadline,
        allow_evolution=evolve,
        max_links=max_links,
        examples=shown.examples,
        standing=shown.standing,
    )
    return JointReply(*ask_once(model, request))


def _phrases(note: Note, text: str) -> list[str]:
    return candidate_phrases(f"{note.title}\n\n{text}", PHRASES_SHOWN)


def ask_for_metadata(
    model: LanguageModel,
    *,
    note: Note,
    text: str,
    missing: Sequence[str],
    vocabulary: Sequence[str],
    encode: Encode,
    trusted: bool,
    deadline: float,
    opening: JointReply | None = None,
) -> MetadataReply:
    """Ask for the missing metadata of a note; what fails is asked once more by itself, unless the
    fault shows that the model cannot do it.

    Args:
        vocabulary: tags of the vault that may fit, the likeliest first.
        opening: what was said already; it counts as the first time of asking.

    Raises:
        ModelError: no answer could be had.
    """
    candidates = _phrases(note, text)
    similar = _Similarity(encode)
    metadata, use = Metadata(), ModelUse()
    failures: dict[str, str] = {}
    remarks: dict[str, None] = {}
    wanted: Collection[str] = tuple(missing)
    for attempt in range(ATTEMPTS):
        if attempt or opening is None:
            request = metadata_request(
                note.title,
                text,
                missing=wanted,
                candidates=candidates,
                vocabulary=vocabulary,
                deadline=deadline,
            )
            answer, fault, cost = ask_once(model, request)
        else:
            answer, fault, cost = opening.answer, opening.fault, opening.use
        use += cost
        if answer is None:
            failures.update(dict.fromkeys(wanted, fault))
            if not trusted:
                break
            continue
        remarks |= {fault: None} if fault else {}
        checked = check_metadata(
            answer,
            note.title,
            text,
            missing=wanted,
            candidates=candidates,
            vocabulary=vocabulary,
            similarity=similar,
            trusted=trusted,
        )
        metadata = _joined(metadata, checked.metadata)
        for name in wanted:
            faults = [each for each in checked.problems if each.startswith(f"{name}: ")]
            failures[name] = faults[0].split(": ", 1)[1] if faults else "nothing was said"
        wanted = checked.unfilled
        # Some faults show that the model cannot do it; asking again would only cost.
        if not checked.worth_retrying:
            break
    unfilled = {name: failures[name] for name in wanted}
    return MetadataReply(metadata, use, unfilled, tuple(remarks))


def _joined(first: Metadata, second: Metadata) -> Metadata:
    return replace(
        first,
        keywords=first.keywords or second.keywords,
        tags=first.tags or second.tags,
        context=first.context or second.context,
    )


class _Similarity:
    """Cosine of two texts, each encoded once."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._vectors: dict[str, Vectors] = {}

    def __call__(self, one: str, other: str) -> float:
        for text in (one, other):
            if text not in self._vectors:
                self._vectors[text] = self._encode([text])[0]
        return float(self._vectors[one] @ self._vectors[other])


@dataclass(frozen=True, slots=True)
class ShownCandidates:
    """The older notes that a model is asked about, with what the analyzer holds of them.

    Attributes:
        suggested: links that the evidence alone carries.
        plausible: by path, the links that the evidence does not speak against; a model's link to
            any other note is not believed.
        examples: what the owner decided about other links.
        standing: links of the machine's between these notes, and the note, to look at again.
    """

    candidates: tuple[LinkCandidate, ...]
    suggested: tuple[MemoryLink, ...]
    plausible: Mapping[str, MemoryLink]
    examples: tuple[LinkExample, ...] = ()
    standing: tuple[ExistingLink, ...] = ()


@dataclass(frozen=True, slots=True)
class LinksReply:
    """Links and changes of older notes after the model had its say.

    Attributes:
        evolutions: None where the model said nothing usable.
    """

    links: tuple[MemoryLink, ...]
    evolutions: tuple[Evolution, ...] | None
    use: ModelUse
    problems: tuple[str, ...] = ()
    link_changes: tuple[LinkUpdate, ...] = ()


def ask_for_links(
    model: LanguageModel,
    *,
    note: Note,
    shown: ShownCandidates,
    vocabulary: Collection[str],
    encode: Encode,
    evolve: bool,
    max_links: int,
    deadline: float,
    opening: JointReply | None = None,
) -> LinksReply:
    """Ask which of the shown notes the note is truly related to, and what it changes in them.

    Only a model that is trusted to judge is worth asking. Its links are believed where the evidence
    makes them plausible; where it says nothing usable, those that the evidence carries stand.

    Args:
        note: with its metadata.
        opening: what was said already; it counts as the first time of asking, and its cost is told
            elsewhere.

    Raises:
        ModelError: no answer could be had.
    """
    similar = _Similarity(encode)
    use, fault = ModelUse(), ""
    for attempt in range(ATTEMPTS):
        if attempt or opening is None:
            request = linking_request(
                note,
                shown.candidates,
                deadline=deadline,
                allow_evolution=evolve,
                max_links=max_links,
                examples=shown.examples,
                standing=shown.standing,
            )
            answer, fault, cost = ask_once(model, request)
            use += cost
        else:
            answer, fault = opening.answer, opening.fault
        if answer is not None:
            plan = check_links(
                answer,
                note,
                shown.candidates,
                floors={},
                similarity=similar,
                vocabulary=sorted(vocabulary),
                max_links=max_links,
                trusted=True,
                standing=shown.standing,
            )
            problems = (fault, *plan.problems) if fault else plan.problems
            if not plan.believed:
                return LinksReply(shown.suggested[:max_links], None, use, problems)
            links = _plausible(plan.links, shown)[:max_links]
            return LinksReply(tuple(links), plan.evolutions, use, problems, plan.link_changes)
    problem = f"links: {fault}; the analyzer's stand"
    return LinksReply(shown.suggested[:max_links], None, use, (problem,))


def _plausible(said: Sequence[MemoryLink], shown: ShownCandidates) -> list[MemoryLink]:
    links = [
        replace(link, reason=link.reason or shown.plausible[link.target].reason)
        for link in said
        if link.target in shown.plausible
    ]
    return sorted(links, key=lambda link: (-link.strength, link.target))
