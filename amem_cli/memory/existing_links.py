"""What a model is asked about links that the machine made earlier, and what of it is believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.journal.events import LinkRecord
from amem_cli.journal.link_decisions import LinkUpdate
from amem_cli.memory.evolve import LONGEST_REASON, checked_reason
from amem_cli.models.prompt_text import FENCE, MOST_READ, quote_line
from amem_cli.notes.note import Note

MOST_EXISTING = 3
_RELATION_BYTES = 20
_REASON_BYTES = 80
_STEP = 0.2
_WEAKEST, _STRONGEST = 0.1, 1.0
_RULE = (
    "Links so far; standing: those that the new note now makes stronger, weaker or wrong, and why."
    " Mostly none."
)
_CHANGES = ("stronger", "weaker", "wrong")


@dataclass(frozen=True, slots=True)
class ExistingLink:
    """A link that the machine made earlier, between two notes that a model is shown.

    Attributes:
        source, target: paths of the notes.
    """

    source: str
    target: str
    record: LinkRecord


def existing_lines(
    note: Note, links: Sequence[ExistingLink], names: Mapping[str, str]
) -> list[str]:
    """The lines that show the links; none without links.

    Args:
        names: by path, how the shown notes are called in the question.
    """
    if not links:
        return []
    called = {**names, note.path: "new note"}
    lines = [
        f"l{at} {called[each.source]} to {called[each.target]}:"
        f" {quote_line(each.record.relation, _RELATION_BYTES)},"
        f" {quote_line(each.record.reason, _REASON_BYTES)}"
        for at, each in enumerate(links, 1)
    ]
    return [f"{_RULE}\n{FENCE}", *lines, FENCE]


def existing_properties(links: Sequence[ExistingLink]) -> dict[str, Any]:
    """The part of an answer's schema for these links; empty without links."""
    if not links:
        return {}
    properties = {
        "link": {"type": "string", "enum": [f"l{at}" for at in range(1, len(links) + 1)]},
        "why": {"type": "string", "minLength": 8, "maxLength": LONGEST_REASON},
        "now": {"type": "string", "enum": list(_CHANGES)},
    }
    item = {"type": "object", "properties": properties}
    return {"standing": {"type": "array", "items": item, "minItems": 0, "maxItems": len(links)}}


def checked_existing(
    value: object,
    note: Note,
    links: Sequence[ExistingLink],
    candidates: Sequence[LinkCandidate],
    *,
    asked: str,
) -> tuple[list[LinkUpdate], list[str]]:
    """The changes of links that an answer makes plausible, each link once, and what was refused.

    A reason has to be about the notes; whether a change may be made is decided where it is made.

    Args:
        value: whatever the model said; its shape need not be right.
        asked: the instructions, which are no reason.
    """
    shown = {f"l{at}": each for at, each in enumerate(links, 1)}
    notes = {each.path: each for each in candidates}
    found: dict[ExistingLink, LinkUpdate] = {}
    faults: list[str] = []
    for entry in value[:MOST_READ] if isinstance(value, list) else []:
        name = entry.get("link") if isinstance(entry, dict) else None
        link = shown.get(name) if isinstance(name, str) else None
        if link is None or link in found or entry.get("now") not in _CHANGES:
            faults.append("standing: a link that was not shown, or twice")
            continue
        ends = [notes[path] for path in (link.source, link.target) if path in notes]
        reasons = (checked_reason(entry.get("why"), note, each, asked=asked) for each in ends)
        reason = next(filter(None, reasons), "")
        if reason:
            found[link] = _change(link, entry["now"], reason)
        else:
            faults.append(f"standing: the reason for {link.target} is not about the notes")
    return list(found.values()), faults


def _change(link: ExistingLink, now: str, reason: str) -> LinkUpdate:
    if now == "wrong":
        return LinkUpdate(link.source, link.target, removed=True, reason=reason)
    step = _STEP if now == "stronger" else -_STEP
    strength = round(min(_STRONGEST, max(_WEAKEST, link.record.strength + step)), 2)
    return LinkUpdate(link.source, link.target, strength, reason=reason)
