"""What is believed of a model's answer about links, and about what they change in older notes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from amem_cli.core.construction import texts_of
from amem_cli.core.link_evidence import LinkCandidate
from amem_cli.core.linking import MOST_CHANGES, MOST_SHOWN, Evolution, LinkingPlan
from amem_cli.core.model_context import Similarity, Source, checked_context
from amem_cli.core.model_labels import checked_keywords, checked_tags
from amem_cli.core.model_text import clean_line, repeats_itself, subject_stems
from amem_cli.core.note import RELATIONS, MemoryLink, Note, Relation

_MOST_ADDED = 3
_LONGEST_REASON = 160


def check_linking(
    answer: Mapping[str, Any],
    note: Note,
    text: str,
    candidates: Sequence[LinkCandidate],
    *,
    vocabulary: Collection[str],
    similarity: Similarity | None,
    max_links: int,
    asked: str,
) -> LinkingPlan:
    """Keep of an answer what the notes bear out.

    Args:
        answer: whatever the model said; its shape need not be right.
        vocabulary: the vault's tags, whose spelling counts.
        similarity: cosine of two texts, or None where there is no encoder.
        asked: the instructions, which must not come back as an answer.
    """
    shown = {f"n{at}": each for at, each in enumerate(candidates[:MOST_SHOWN], 1)}
    problems: list[str] = []
    links: dict[str, MemoryLink] = {}
    for item in _objects(answer.get("links")):
        older = shown.get(str(item.get("note")))
        relation = item.get("relation")
        if older is None or older.path in links or relation not in RELATIONS:
            problems.append("links: a link to nothing, a repeated one or one without a relation")
        elif len(links) < max_links:
            links[older.path] = _link(item, relation, note, text, older)
    evolutions: list[Evolution] = []
    for item in _objects(answer.get("changes"))[:MOST_CHANGES]:
        older = shown.get(str(item.get("note")))
        if older is None or older.path not in links:
            problems.append("changes: a change of a note that is not linked")
            continue
        change, faults = _evolution(item, note, text, older, vocabulary, similarity, asked)
        problems += [f"changes: {fault}" for fault in faults]
        if change is not None and change.path not in {each.path for each in evolutions}:
            evolutions.append(change)
    return LinkingPlan(tuple(links.values()), tuple(evolutions), tuple(problems))


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _link(
    item: Mapping[str, Any], relation: Relation, note: Note, text: str, older: LinkCandidate
) -> MemoryLink:
    said = item.get("strength")
    strength = float(said) if isinstance(said, (int, float)) and 0 <= said <= 1 else 0.5
    reason = _reason(item.get("reason"), note, text, older)
    return MemoryLink(older.path, relation, reason, round(strength, 2))


def _reason(value: object, note: Note, text: str, older: LinkCandidate) -> str:
    """The model's reason if it speaks of both notes and does not run in circles, else nothing."""
    line = clean_line(value, _LONGEST_REASON) if isinstance(value, str) else None
    if line is None or repeats_itself(line):
        return ""
    said = subject_stems(line)
    new = subject_stems(f"{note.title}\n{text}")
    old = subject_stems(f"{older.title}\n{older.text}\n{older.context}")
    return line if said & new and said & old and len(said & (new | old)) * 2 >= len(said) else ""


def _evolution(
    item: Mapping[str, Any],
    note: Note,
    text: str,
    older: LinkCandidate,
    vocabulary: Collection[str],
    similarity: Similarity | None,
    asked: str,
) -> tuple[Evolution | None, list[str]]:
    new = f"{note.title}\n{text}\n{note.context}"
    old = Source(older.title, f"{older.text}\n{older.context}", said=new)
    faults: list[str] = []
    context = None
    if item.get("context"):
        line, fault = checked_context(item["context"], old, asked=asked, similarity=similarity)
        fault = fault or _no_news(line, older, new)
        faults += [f"context {fault}"] if fault else []
        context = None if fault else line
    both = Source(older.title, f"{older.text}\n{new}")
    keywords, odd = checked_keywords(texts_of(item.get("keywords"))[:_MOST_ADDED], both, similarity)
    tags, odder = checked_tags(
        texts_of(item.get("tags"))[:_MOST_ADDED], both, sorted(vocabulary), similarity
    )
    faults += [*odd, *odder]
    dropped_keywords = _held(item.get("drop"), older.keywords)
    dropped_tags = _held(item.get("drop"), older.tags)
    reason = _reason(item.get("why"), note, text, older)
    if not reason:
        return None, [*faults, "a change without a reason about the two notes"]
    if not (context or keywords or tags or dropped_keywords or dropped_tags):
        return None, faults
    return (
        Evolution(older.path, context, keywords, dropped_keywords, tags, dropped_tags, reason),
        faults,
    )


def _no_news(line: str, older: LinkCandidate, new: str) -> str:
    """Why a context for an older note says nothing new, or an empty text."""
    if line.casefold() == older.context.casefold():
        return "is the old one"
    added = subject_stems(line) - subject_stems(f"{older.title}\n{older.text}\n{older.context}")
    return "" if added & subject_stems(new) else "says nothing of the new note"


def _held(value: object, present: Sequence[str]) -> tuple[str, ...]:
    wanted = {text.casefold().removeprefix("#") for text in texts_of(value)}
    return tuple(item for item in present if item.casefold() in wanted)
