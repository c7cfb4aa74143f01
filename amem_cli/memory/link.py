"""The second step of the memory process: which older notes a model links a new note to.

The model can only name the notes that it is shown. Its links count only if the evidence makes them
plausible (`analyzer.link_choice` decides without a model). A model that is able to answer both
steps gets them as one joint question, which halves the calls: it reads the note and the rules once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.journal.link_decisions import USUAL_MINIMUM
from amem_cli.memory.ask_model import (
    ModelReply,
    ask_once,
    choice_schema,
    fenced,
    list_schema,
    named_entries,
    numbered,
    prompt,
    text_schema,
)
from amem_cli.memory.describe import (
    ANSWER_TOKENS,
    JOINT_PROMPT,
    TEXT_BYTES,
    TITLE_BYTES,
    MetadataQuestion,
    metadata_properties,
    offered_labels,
)
from amem_cli.memory.evolve import (
    LONGEST_REASON,
    MOST_CHANGES,
    ExistingLink,
    checked_changes,
    checked_existing,
    checked_reason,
    existing_lines,
    existing_properties,
    is_empty_talk,
)
from amem_cli.memory.grounding import Similarity
from amem_cli.memory.learn import LinkExample, with_examples
from amem_cli.memory.outcome import Linking, ModelUse, Step
from amem_cli.models.ports import LanguageModel, ModelRequest
from amem_cli.models.prompt_text import FENCE, quote_line
from amem_cli.notes.note import RELATIONS, MemoryLink, Note, Relation

# The journal says which prompt made a link.
LINKING_PROMPT = "link-1"
MOST_SHOWN = 10
MOST_LINKS = 5
_NOTE_BYTES = 1_000
_EXCERPT_BYTES = 240
_EXCERPT_BESIDE_CONTEXT = 120
_CONTEXT_BYTES = 200
_LINE_BYTES = 450
_MOST_ADDED = 3
_WEAKEST = 0.1
_USUAL_STRENGTH = 0.5
_EMPTY_TALK = "links: a reason that says nothing"


@dataclass(frozen=True, slots=True)
class LinkQuestion:
    """The older notes that a model is asked about, and what the analyzer says of them.

    Attributes:
        candidates: the nearest first; the first 10 are shown, as `n1` to `n10`.
        by_analyzer: what it makes of them by the evidence alone.
        plausible: by path, the links that the evidence does not speak against; a model's link to
            any other note is not believed.
        examples: what the owner decided about other links.
        existing: the machine's links between these notes, and the note, to look at again.
        evolve: the model may change the older notes.
        max_links: most links of an answer.
        minimum: least strength of new links, by what the owner made of the model's earlier ones.
    """

    candidates: Sequence[LinkCandidate]
    by_analyzer: Linking = field(default_factory=Linking)
    plausible: Mapping[str, MemoryLink] = field(default_factory=dict)
    examples: Sequence[LinkExample] = ()
    existing: Sequence[ExistingLink] = ()
    evolve: bool = True
    max_links: int = MOST_LINKS
    minimum: float = USUAL_MINIMUM


def ask_for_links(
    model: LanguageModel,
    note: Note,
    question: LinkQuestion,
    *,
    vocabulary: Collection[str],
    similarity: Similarity,
    deadline: float,
    attempts: int,
    joint: ModelReply | None = None,
) -> Linking:
    """Ask a trusted model which of the shown notes a note is related to, and what it changes there.

    Its links are kept if they are plausible; without a usable answer the analyzer's are.

    Args:
        note: with its metadata.
        joint: the reply to the joint question; it counts as the first attempt, and its cost as the
            first step's.
    """
    use, fault = ModelUse(), ""
    made_by = LINKING_PROMPT if joint is None else JOINT_PROMPT
    for attempt in range(attempts):
        if attempt == 0 and joint is not None:
            answer, fault, _ = joint
        else:
            answer, fault, cost = ask_once(model, link_request(note, question, deadline))
            use += cost
        if answer is None:
            continue
        checked = check_links(
            answer, note, question, similarity=similarity, vocabulary=sorted(vocabulary)
        )
        problems = (fault, *checked.problems) if fault else checked.problems
        if not checked.believed:
            break
        links = _kept(checked.links, question)
        step = Step(model.name, made_by, use)
        # What the model was shown and did not link, it does not suggest either.
        seen = {one.path for one in question.candidates[:MOST_SHOWN]}
        others = (*question.by_analyzer.links, *question.by_analyzer.suggested)
        suggested = tuple(link for link in others if link.target not in seen)
        return replace(checked, links=links, suggested=suggested, step=step, problems=problems)
    else:
        problems = (f"links: {fault}; the analyzer's links are kept",)
    # If the answer shows that the model cannot judge, the analyzer decides.
    step = Step(prompt=made_by, use=use)
    return replace(question.by_analyzer, step=step, problems=problems, believed=False)


def _kept(links: Sequence[MemoryLink], question: LinkQuestion) -> tuple[MemoryLink, ...]:
    """The model's links that are plausible, strongest first, with a reason each."""
    existing = {link.target for link in question.existing}
    kept = [
        replace(link, reason=link.reason or question.plausible[link.target].reason)
        for link in links
        if link.target in question.plausible
        # The owner may have removed many of this model's links.
        and (question.minimum <= max(link.strength, USUAL_MINIMUM) or link.target in existing)
    ]
    return tuple(sorted(kept, key=lambda link: (-link.strength, link.target)))


def link_request(
    note: Note,
    question: LinkQuestion,
    deadline: float,
    *,
    metadata: MetadataQuestion | None = None,
) -> ModelRequest:
    """Ask within so many seconds which candidates a described note is linked with, and what it
    changes in them; and for `metadata`, which makes it the joint question."""
    shown = _shown(note, question)
    names = {one.path: name for name, one in shown.items()}
    title = quote_line(note.title, TITLE_BYTES)
    lines = [
        f"Older notes:\n{FENCE}",
        *(_candidate_line(name, one, question.evolve) for name, one in shown.items()),
        FENCE,
        *existing_lines(note, question.existing, names),
    ]
    if metadata is None:
        rules, tokens = ["links"], 0
        lines += [f"New note: {title}{_about(note.context)}", fenced(note.body, _NOTE_BYTES)]
    else:
        rules, tokens = ["metadata", "links"], ANSWER_TOKENS
        lines += [*offered_labels(metadata), f"New note: {title}"]
        lines.append(fenced(metadata.text, TEXT_BYTES))
    kind = "links" if metadata is None else "joint"
    rules += ["changes"] if question.evolve else []
    return ModelRequest(
        instructions="\n".join([prompt("task", kind), *(prompt("rules", each) for each in rules)]),
        text=with_examples(question.examples, "\n".join([*lines, prompt("question", kind)])),
        schema={
            "type": "object",
            "properties": {
                **(metadata_properties(metadata) if metadata else {}),
                **_link_properties([*shown], question),
                **existing_properties(question.existing),
            },
        },
        # Changes of older notes need room of their own.
        max_tokens=tokens + (480 if question.evolve else 260),
        deadline=deadline,
    )


def _shown(note: Note, question: LinkQuestion) -> dict[str, LinkCandidate]:
    """The candidates that are shown, by the names that the model calls them by."""
    # No path reaches the model: it can only name what it is shown.
    others = [one for one in question.candidates if one.path != note.path]
    return numbered("n", others[:MOST_SHOWN])


def _candidate_line(name: str, candidate: LinkCandidate, with_labels: bool) -> str:
    day = f" ({candidate.created[:10]})" if candidate.created else ""
    # A context says more than the first words do, and every token costs time.
    size = _EXCERPT_BESIDE_CONTEXT if candidate.context else _EXCERPT_BYTES
    excerpt = quote_line(candidate.text, size)
    title = quote_line(candidate.title, TITLE_BYTES)
    line = f"{name} {title}{day}{_about(candidate.context)} | {excerpt}"
    if not with_labels:
        return line
    labels = [quote_line(label, 48) for label in (*candidate.keywords[:6], *candidate.tags[:4])]
    return quote_line(f"{line} | {', '.join(labels)}" if labels else line, _LINE_BYTES)


def _about(context: str) -> str:
    return f": {quote_line(context, _CONTEXT_BYTES)}" if context else ""


def _link_properties(names: list[str], question: LinkQuestion) -> dict[str, Any]:
    name, reason = choice_schema(names), text_schema(8, LONGEST_REASON)
    link = {
        "note": name,
        "reason": reason,
        "relation": choice_schema(RELATIONS),
        "strength": {"type": "number"},
    }
    properties = {"links": list_schema(link, min(question.max_links, len(names)))}
    if question.evolve:
        change = {
            "note": name,
            "why": reason,
            "context": text_schema(20, 200),
            "keywords": list_schema(text_schema(2, 40), _MOST_ADDED),
            "tags": list_schema(text_schema(2, 30), _MOST_ADDED),
            "drop": list_schema(text_schema(2, 40), _MOST_ADDED),
        }
        properties["changes"] = list_schema(change, min(MOST_CHANGES, len(names)))
    return properties


def check_links(
    answer: Mapping[str, Any],
    note: Note,
    question: LinkQuestion,
    *,
    similarity: Similarity | None,
    vocabulary: Sequence[str] = (),
) -> Linking:
    """Keep of an answer, whose shape need not be right, what the notes bear out.

    The links come strongest first; one whose reason is not about both notes has an empty reason.
    Changes are of linked notes only, at most one a note.

    Args:
        similarity: cosine of two texts, or None without an encoder.
        vocabulary: the vault's tags, whose spelling is used.
    """
    shown = _shown(note, question)
    links, faults = _links(answer.get("links"), note, shown)
    if 2 * faults.count(_EMPTY_TALK) > len(links):
        return Linking(problems=tuple(faults), believed=False)
    links.sort(key=lambda one: -one.strength)
    links, surplus = links[: question.max_links], links[question.max_links :]
    faults += [f"links: {link.target} is one too many" for link in surplus]
    linked = {link.target for link in links}
    may_change = {
        name: one
        for name, one in shown.items()
        if one.path in linked and one.private == note.private
    }
    evolutions, refused = checked_changes(
        answer.get("changes"), note, may_change, (*vocabulary, *note.tags), similarity
    )
    changes, odd = checked_existing(
        answer.get("standing"), note, question.existing, question.candidates
    )
    return Linking(
        tuple(links),
        tuple(evolutions),
        problems=(*faults, *refused, *odd),
        # A link that the answer names is not wrong, whatever else it says of it.
        link_changes=tuple(
            one for one in changes if one.source != note.path or one.target not in linked
        ),
    )


def _links(
    value: object, note: Note, shown: Mapping[str, LinkCandidate]
) -> tuple[list[MemoryLink], list[str]]:
    """Links to shown notes, each once, and what was refused and why."""
    links: list[MemoryLink] = []
    faults: list[str] = []
    reasons: set[str] = set()
    for entry, candidate in named_entries(value, "note", shown):
        if candidate is None:
            faults.append("links: a note that was not shown, or twice")
            continue
        said = entry.get("reason")
        reason = checked_reason(said, note, candidate)
        if str(said) in reasons or is_empty_talk(said, note, candidate):
            reason = ""
            faults.append(_EMPTY_TALK)
        elif not reason:
            faults.append(f"links: the reason for {candidate.path} is not about the two notes")
        reasons.add(str(said))
        relation: Relation = next(
            (one for one in RELATIONS if one == entry.get("relation")), "related"
        )
        links.append(MemoryLink(candidate.path, relation, reason, _strength(entry.get("strength"))))
    return links, faults


def _strength(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _USUAL_STRENGTH
    # An integer may be too long for a float, so it is compared before it is converted.
    if not abs(value) < math.inf:
        return _USUAL_STRENGTH
    return round(float(min(1, max(_WEAKEST, value))), 1)
