"""The first step of the memory process: asks a model for a note's keywords, tags and context.

A weak model does best if it chooses among phrases and tags that it is shown; a good one may add its
own. Only what the note bears out is kept (`grounding`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_cli.analyzer.analyzer import AnalyzerValues
from amem_cli.analyzer.keywords import candidate_phrases
from amem_cli.language.words import sentences
from amem_cli.memory.ask_model import (
    ModelReply,
    ask_once,
    choice_schema,
    fenced,
    list_schema,
    numbered,
    prompt,
    text_schema,
)
from amem_cli.memory.grounding import (
    COPIES,
    CUT_OFF,
    LOOPS,
    NoteText,
    Similarity,
    checked_context,
    checked_keywords,
    checked_tags,
    similarity_by,
)
from amem_cli.memory.outcome import (
    ANALYZER,
    Description,
    ModelUse,
    ProcessSettings,
    Step,
    filled,
)
from amem_cli.models.ports import LanguageModel, ModelRequest
from amem_cli.models.prompt_text import quote_line, texts_of
from amem_cli.notes.note import Metadata

# The journal says which prompt made a value.
METADATA_PROMPT = "construct-1"
JOINT_PROMPT = "joint-1"
MOST_PHRASES = 12
MOST_VOCABULARY = 8
TEXT_BYTES = 4_000
TITLE_BYTES = 160
ANSWER_TOKENS = 280
# By field: what is shown to choose from, the letter of its numbers, and what an answer calls the
# chosen ones and its own.
_LABELS = {
    "keywords": ("Phrases", "k", "phrases", "keywords"),
    "tags": ("Tags", "t", "tags", "new_tags"),
}
_SENTENCES_COMPARED = 24
COUNTED_OFF = "counted off instead of chosen"
# A model that does one of these would only do it again.
SIGNS_OF_WEAKNESS = frozenset({COUNTED_OFF, CUT_OFF, LOOPS, COPIES})


@dataclass(frozen=True, slots=True)
class MetadataQuestion:
    """What a model is asked about one note.

    Attributes:
        missing: of `keywords`, `tags`, `context`; at least one.
        phrases: phrases of the note that may be its keywords, the likeliest first.
        vocabulary: tags of the vault that may fit, the likeliest first.
    """

    title: str
    text: str
    missing: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] = ()

    @property
    def choices(self) -> dict[str, dict[str, str]]:
        """By missing field what is shown to choose from, by number."""
        shown = {"keywords": self.phrases, "tags": self.vocabulary}
        return {
            name: numbered(_LABELS[name][1], items)
            for name, items in shown.items()
            if name in self.missing
        }


def metadata_question(
    title: str, text: str, missing: Sequence[str], vocabulary: Sequence[str]
) -> MetadataQuestion:
    """The question about a note, with phrases to choose from."""
    phrases = candidate_phrases(f"{title}\n\n{text}", MOST_PHRASES)
    shown = tuple(vocabulary[:MOST_VOCABULARY])
    return MetadataQuestion(title, text, tuple(missing), tuple(phrases), shown)


@dataclass(frozen=True, slots=True)
class CheckedMetadata:
    """What of an answer is kept, and by each field that was asked for what was refused and why."""

    metadata: Metadata
    faults: Mapping[str, Sequence[str]]

    @property
    def unfilled(self) -> tuple[str, ...]:
        """Fields that were asked for and have no value."""
        return tuple(name for name in self.faults if not getattr(self.metadata, name))

    @property
    def problems(self) -> tuple[str, ...]:
        """What was refused and why, one line each, led by the field's name."""
        return tuple(f"{name}: {fault}" for name in self.faults for fault in self.faults[name])

    @property
    def worth_retrying(self) -> bool:
        """Something is unfilled, and no fault shows that the model cannot do better."""
        faults = {fault for name in self.unfilled for fault in self.faults[name]}
        return bool(self.unfilled) and faults.isdisjoint(SIGNS_OF_WEAKNESS)


def ask_for_metadata(
    model: LanguageModel,
    question: MetadataQuestion,
    missing: Sequence[str],
    values: AnalyzerValues,
    settings: ProcessSettings,
    joint: ModelReply | None,
    kept: Metadata,
) -> Description:
    """Ask for metadata of a note; ask once more for what fails, unless the fault shows that the
    model cannot do it. What it does not give is the analyzer's.

    Args:
        missing: all that the note lacks; the question may be about less.
        joint: the reply to the joint question; it counts as the first attempt.
        kept: former values, which stay where neither gives one.
    """
    similarity, trusted = similarity_by(values.encode), settings.trusted
    metadata, use = Metadata(), ModelUse()
    failures: dict[str, str] = {}
    remarks: dict[str, None] = {}
    refused: dict[str, None] = {}
    rest = question
    for attempt in range(settings.attempts):
        first = joint if attempt == 0 else None
        reply = first or ask_once(model, metadata_request(rest, settings.deadline))
        use += reply.use
        if reply.answer is None:
            failures.update(dict.fromkeys(rest.missing, reply.fault))
            if not trusted:
                break
            continue
        remarks |= {reply.fault: None} if reply.fault else {}
        checked = check_metadata(reply.answer, rest, similarity=similarity, trusted=trusted)
        refused |= dict.fromkeys(checked.problems)
        metadata = filled(metadata, checked.metadata)
        failures = {
            name: next(iter(checked.faults[name]), "nothing was said") for name in checked.unfilled
        }
        if not checked.worth_retrying:
            break
        # What passed is not asked for again: the shorter question is the easier one.
        rest = replace(rest, missing=checked.unfilled)
    if metadata.context and not trusted:
        own = sentences(question.text)[:_SENTENCES_COMPARED]
        near = values.encode([question.text, metadata.context, *own])
        # A weak model's sentence has to say more of the note than any of the note's own.
        if own and near[0] @ near[1] < max(near[2:] @ near[0]):
            metadata = replace(metadata, context="")
            failures["context"] = "says less than a sentence of the note"
    unfilled = tuple(name for name in missing if not getattr(metadata, name))
    instead = values.metadata(unfilled)
    outcome = dict.fromkeys(failures, "it is left empty")
    outcome |= {name: "the former one stays" for name in failures if getattr(kept, name)}
    by_analyzer = f"{ANALYZER} wrote it instead"
    outcome |= {name: by_analyzer for name in failures if getattr(instead, name)}
    replaced = (f"{name}: {why}; {outcome[name]}" for name, why in failures.items())
    refused |= dict.fromkeys(f"{name}: {why}" for name, why in failures.items())
    return Description(
        filled(filled(metadata, instead), kept),
        Step(model.name, METADATA_PROMPT if joint is None else JOINT_PROMPT, use),
        problems=(*remarks, *replaced),
        refused=(*refused,),
    )


def metadata_request(question: MetadataQuestion, deadline: float) -> ModelRequest:
    """Ask for the missing metadata of a note within so many seconds."""
    main = next(name for name in ("context", "keywords", "tags") if name in question.missing)
    lines = [
        *offered_labels(question),
        f"Title: {quote_line(question.title, TITLE_BYTES)}",
        f"Note:\n{fenced(question.text, TEXT_BYTES)}",
        prompt("question", main),
    ]
    return ModelRequest(
        instructions=f"{prompt('task', 'metadata')}\n{prompt('rules', 'metadata')}",
        text="\n".join(lines),
        schema={"type": "object", "properties": metadata_properties(question)},
        max_tokens=ANSWER_TOKENS,
        deadline=deadline,
    )


def offered_labels(question: MetadataQuestion) -> list[str]:
    """The lines that show the phrases and tags to choose from."""
    lines = []
    for name, items in question.choices.items():
        shown = "; ".join(f"{number} {quote_line(item, 60)}" for number, item in items.items())
        lines += [f"{_LABELS[name][0]}: {shown}"] if shown else []
    return lines


def metadata_properties(question: MetadataQuestion) -> dict[str, Any]:
    """The part of an answer's schema for the missing metadata."""
    properties: dict[str, Any] = {}
    if "context" in question.missing:
        # Asked for nothing else, a weak model needs the frame that keeps it to a sentence; a good
        # one writes "Mr. Voss" and would stumble over it.
        alone = question.missing == ("context",)
        frame = {**text_schema(40, 200), "x-sentence": True}
        properties["context"] = frame if alone else text_schema(20, 200)
    for name, items in question.choices.items():
        _, _, chosen, added = _LABELS[name]
        fewest, most, fewest_own, most_own, length = (
            (1, 5, 2, 4, (3, 40)) if name == "keywords" else (0, 3, 1, 2, (2, 30))
        )
        if items:
            numbers = choice_schema([*items])
            properties[chosen] = list_schema(numbers, min(most, len(items)), fewest)
        own = text_schema(*length)
        properties[added] = list_schema(own, most_own, 0 if items else fewest_own)
    return properties


def check_metadata(
    answer: Mapping[str, Any],
    question: MetadataQuestion,
    *,
    similarity: Similarity | None,
    trusted: bool = False,
) -> CheckedMetadata:
    """Keep of an answer, whose shape need not be right, what the note bears out.

    Args:
        similarity: cosine of two texts, or None without an encoder.
        trusted: the model is able to judge, so it may name what the note only means, and choosing
            the first of the items is no sign of weakness.
    """
    source = NoteText(question.title, question.text)
    context = ""
    labels: dict[str, tuple[str, ...]] = {}
    faults: dict[str, Sequence[str]] = dict.fromkeys(question.missing, ())
    if "context" in question.missing:
        context, fault = checked_context(answer.get("context"), source, similarity)
        faults["context"] = [fault] if fault else []
    for name, items in question.choices.items():
        _, _, listed, added = _LABELS[name]
        numbers = dict.fromkeys(texts_of(answer.get(listed)))
        chosen = [items[number] for number in numbers if number in items]
        said = [*chosen, *texts_of(answer.get(added))]
        if name == "keywords":
            values, refused = checked_keywords(said, source, similarity, trusted=trusted)
        else:
            vocabulary = question.vocabulary
            values, refused = checked_tags(said, source, vocabulary, similarity, trusted=trusted)
        counted = not trusted and _is_counted_off(chosen, [*items.values()])
        labels[name] = () if counted else values
        faults[name] = [COUNTED_OFF, *refused] if counted else refused
    metadata = Metadata(labels.get("keywords", ()), labels.get("tags", ()), context)
    return CheckedMetadata(metadata, faults)


def _is_counted_off(chosen: Sequence[str], items: Sequence[str]) -> bool:
    """Whether an answer took the first items in their order, as a model does that cannot judge.

    Nothing is lost if a good one does so: the items come in the analyzer's own order.
    """
    places = [items.index(item) for item in chosen]
    in_order = len(chosen) >= 2 and places == sorted(places) and places[-1] <= len(chosen)
    return in_order and len(items) > len(chosen) + 1
