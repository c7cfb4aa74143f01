"""The second step of the memory process: which older notes a model links a new note to.

The model can only name the notes that it is shown. Its links count only if the evidence makes them
plausible (`analyzer.link_choice` decides without a model). A model that is able to answer both
steps gets them as one joint question, which halves the calls: it reads the note and the rules once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.language.words import sentences
from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.ask_model import (
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
    TITLE_BYTES,
    MetadataQuestion,
    closing_lines,
    metadata_properties,
    offered_tags,
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
from amem_cli.memory.outcome import Linking
from amem_cli.models.ports import ModelRequest
from amem_cli.models.prompt_text import FENCE, quote_line, quote_opening
from amem_cli.notes.note import RELATIONS, MemoryLink, Note, Relation

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

# The journal says which prompt made a link, or all of a note's values.
LINKING_PROMPT = "link-3"
JOINT_PROMPT = "joint-3"
MOST_SHOWN = 14
MOST_LINKS = 5
_NOTE_BYTES = 1_000
_JOINT_BYTES = 3_000
_CONTEXT_BYTES = 200
LINE_TITLE_BYTES = 80
# Context, text beside a context, and text without one: of the nearest notes, which are likeliest to
# belong, and of the others.
_SHOWN_IN_FULL = 4
_LINE_BYTES = {True: (200, 110, 240), False: (160, 0, 160)}
_TAG_BYTES = 32
# Of each note; more would cost more time than it gains.
_SENTENCES = 16
_SENTENCE_CHARACTERS = 300
_FEWEST_CHARACTERS = 24
# A text that is no longer is shown from its beginning; characters of an excerpt beside a context,
# and of one alone.
_SHORT = 110
_EXCERPT = {True: 110, False: 240}
_GAP = " … "
_MOST_ADDED = 3
_WEAKEST = 0.1
_USUAL_STRENGTH = 0.5
_EMPTY_TALK = "links: a reason that says nothing"
# What models call relations beside the words that they were given.
_RELATIONS_MEANT: Mapping[str, Relation] = {
    "caused_by": "causes",
    "explains": "causes",
    "explained_by": "causes",
    "answers": "supersedes",
    "resolves": "supersedes",
    "updates": "supersedes",
    "corrects": "supersedes",
    "refutes": "contradicts",
    "confirms": "supports",
    "continues": "part_of",
}


@dataclass(frozen=True, slots=True)
class LinkQuestion:
    """The older notes that a model is asked about, and what the analyzer says of them.

    Attributes:
        candidates: the likeliest first; the first 14 are shown, as `n1` to `n14`.
        excerpts: by path, what of a candidate's text is shown; else its beginning.
        by_analyzer: what it makes of them by the evidence alone.
        plausible: by path, the links that the evidence does not speak against; a model's link to
            any other note is not believed.
        existing: the machine's links between these notes, and the note, to look at again.
        mends: no link is asked for, as the changes of an earlier answer are to be mended.
    """

    candidates: Sequence[LinkCandidate]
    excerpts: Mapping[str, str] = field(default_factory=dict)
    by_analyzer: Linking = field(default_factory=Linking)
    plausible: Mapping[str, MemoryLink] = field(default_factory=dict)
    existing: Sequence[ExistingLink] = ()
    evolve: bool = True
    max_links: int = MOST_LINKS
    mends: bool = False


def shown_text(question: LinkQuestion) -> str:
    """What a model reads of the older notes."""
    shown = question.candidates[:MOST_SHOWN]
    excerpts = [question.excerpts.get(each.path, each.text) for each in shown]
    return "\n".join(
        f"{each.title} {each.created[:10]}\n{each.context}\n{excerpt}"
        for each, excerpt in zip(shown, excerpts, strict=True)
    )


def nearest_sentences(
    note: Note, candidates: Sequence[LinkCandidate], encode: Callable[[Sequence[str]], Vectors]
) -> dict[str, str]:
    """By path, of each candidate whose text is long the sentences nearest to any of the note's.

    They come in the order of the text, as many as have room; `…` stands for what is left out. The
    fact that joins two notes is often in the middle of a text.
    """
    own = _sentences(plain_text(note.body)) or [note.title]
    theirs = {each.path: _sentences(each.text) for each in candidates if len(each.text) > _SHORT}
    said = [sentence for told in theirs.values() for sentence in told]
    if not said:
        return {}
    vectors = encode([*own, *said])
    near = (vectors[len(own) :] @ vectors[: len(own)].T).max(axis=1)
    excerpts, at = {}, 0
    for each in candidates:
        told = theirs.get(each.path, [])
        if told:
            most = _EXCERPT[bool(each.context)]
            excerpts[each.path] = _excerpt(told, near[at : at + len(told)].tolist(), most)
            at += len(told)
    return excerpts


def _sentences(text: str) -> list[str]:
    """The sentences of a text without rows of tables, and stubs that say nothing alone."""
    told = [each for each in sentences(text) if len(each) >= _FEWEST_CHARACTERS and each[0] != "|"]
    return [sentence[:_SENTENCE_CHARACTERS] for sentence in (told or sentences(text))[:_SENTENCES]]


def _excerpt(told: Sequence[str], near: Sequence[float], room: int) -> str:
    chosen: list[int] = []
    for at in sorted(range(len(told)), key=lambda at: -near[at]):
        if chosen and len(told[at]) > room:
            break
        chosen.append(at)
        room -= len(told[at]) + len(_GAP)
    chosen.sort()
    text = ""
    for before, at in zip([-1, *chosen], chosen, strict=False):
        text += (" " if at == before + 1 and text else _GAP if at > before + 1 else "") + told[at]
    return text.strip()


def plausible_links(links: Sequence[MemoryLink], question: LinkQuestion) -> tuple[MemoryLink, ...]:
    """A model's links that the evidence does not speak against, strongest first, with a reason."""
    kept = [
        replace(link, reason=link.reason or question.plausible[link.target].reason)
        for link in links
        if link.target in question.plausible
    ]
    return tuple(sorted(kept, key=lambda link: (-link.strength, link.target)))


def link_request(
    note: Note,
    question: LinkQuestion,
    deadline: float,
    *,
    metadata: MetadataQuestion | None = None,
    refused: Sequence[str] = (),
) -> ModelRequest:
    """Ask within so many seconds which candidates a described note is linked with, and what it
    changes in them; and for `metadata`, which makes it the joint question.
    """
    shown = shown_notes(note, question)
    names = {one.path: name for name, one in shown.items()}
    title = f"{quote_line(note.title, TITLE_BYTES)}{_day(note.created)}"
    lines = [
        f"Older notes:\n{FENCE}",
        *(_candidate_line(name, one, question) for name, one in shown.items()),
        FENCE,
        *existing_lines(note, question.existing, names),
    ]
    if metadata is None:
        rules, tokens = ["links"], 0
        title += f": {quote_line(note.context, _CONTEXT_BYTES)}" if note.context else ""
        lines += [f"New note: {title}", fenced(note.body, _NOTE_BYTES)]
    else:
        rules, tokens = ["metadata", "links"], ANSWER_TOKENS
        lines += [*offered_tags(metadata), f"New note: {title}"]
        lines.append(fenced(metadata.text, _JOINT_BYTES))
    rules += ["changes"] if question.evolve else []
    kind = "links" if metadata is None else "joint"
    lines += closing_lines(kind, refused)
    return ModelRequest(
        instructions="\n".join(
            [prompt("task", "notes"), *(prompt("rules", each) for each in rules)]
        ),
        text="\n".join(lines),
        schema={
            "type": "object",
            "properties": {
                **(metadata_properties(metadata) if metadata else {}),
                **_link_properties([*shown], question),
                **existing_properties(question.existing),
            },
        },
        # Changes of older notes need room of their own.
        max_tokens=tokens + (640 if question.evolve else 260),
        deadline=deadline,
        shows=(
            *(f"{one.path} {_text_key(one)}" for one in shown.values()),
            *(f"{link.source} {link.target}" for link in question.existing),
        ),
    )


def shown_notes(note: Note, question: LinkQuestion) -> dict[str, LinkCandidate]:
    """The candidates that are shown, by the names that the model calls them by."""
    # No path reaches the model: it can only name what it is shown.
    others = [one for one in question.candidates if one.path != note.path]
    return numbered("n", others[:MOST_SHOWN])


def _text_key(candidate: LinkCandidate) -> str:
    text = f"{candidate.title}\n{candidate.text}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _candidate_line(name: str, candidate: LinkCandidate, question: LinkQuestion) -> str:
    in_full = int(name[1:]) <= _SHOWN_IN_FULL
    context_bytes, beside, alone = _LINE_BYTES[in_full]
    title = quote_line(candidate.title, LINE_TITLE_BYTES)
    line = f"{name} {title}{_day(candidate.created)}"
    # A context says more than the first words do, and every token costs time.
    size = beside if candidate.context else alone
    if candidate.context:
        line += f": {quote_opening(candidate.context, context_bytes)}"
    if size:
        excerpt = question.excerpts.get(candidate.path, candidate.text)
        line += f" | {quote_opening(excerpt, size)}"
    if question.evolve and in_full and candidate.tags:
        line += f" | {', '.join(quote_line(tag, _TAG_BYTES) for tag in candidate.tags[:4])}"
    return quote_line(line, sum(_LINE_BYTES[True]))


def _day(created: str) -> str:
    return f" ({created[:10]})" if created else ""


def _link_properties(names: list[str], question: LinkQuestion) -> dict[str, Any]:
    name, reason = choice_schema(names), text_schema(8, LONGEST_REASON)
    link = {
        "note": name,
        "reason": reason,
        "relation": choice_schema(RELATIONS),
        "strength": {"type": "number"},
    }
    properties = {}
    if question.max_links:
        properties["links"] = list_schema(link, min(question.max_links, len(names)))
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
    similarity: Similarity,
    vocabulary: Sequence[str] = (),
) -> Linking:
    """Keep of an answer, whose shape need not be right, what the notes bear out.

    The links come strongest first; one whose reason is not about both notes has an empty reason.
    Changes are of linked notes only, at most one a note.

    Args:
        similarity: cosine of two texts.
        vocabulary: the vault's tags, whose spelling is used.
    """
    shown = shown_notes(note, question)
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
        if (one.path in linked or question.mends) and one.private == note.private
    }
    found = checked_changes(
        answer.get("changes"), note, may_change, (*vocabulary, *note.tags), similarity
    )
    changes, odd = checked_existing(
        answer.get("standing"), note, question.existing, question.candidates
    )
    return replace(
        found,
        links=tuple(links),
        problems=(*faults, *found.problems, *odd),
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
        relation = _relation(entry.get("relation"))
        links.append(MemoryLink(candidate.path, relation, reason, _strength(entry.get("strength"))))
    return links, faults


def _relation(value: object) -> Relation:
    word = value.lower().replace(" ", "_") if isinstance(value, str) else ""
    known = next((one for one in RELATIONS if one == word), None)
    return known or _RELATIONS_MEANT.get(word, "related")


def _strength(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _USUAL_STRENGTH
    # An integer may be too long for a float, so it is compared before it is converted.
    if not abs(value) < math.inf:
        return _USUAL_STRENGTH
    return round(float(min(1, max(_WEAKEST, value))), 1)
