"""Networks of made-up notes, the same in every run, for drawings and their measurements."""

from __future__ import annotations

import random

from amem_cli.graph.graph import Edge, Graph
from amem_cli.index.records import NoteSummary
from amem_cli.notes.note import RELATIONS

_SUBJECTS = (
    "Attention", "Bread", "Climate", "Databases", "Economics", "Film", "Gardens", "Habits",
    "Interviews", "Jazz", "Kitchen", "Learning", "Memory", "Networks", "Optics", "Photography",
    "Questions", "Reading", "Sailing", "Teaching", "Urban walks", "Vaccines", "Writing", "Yoga",
)  # fmt: skip
_ASPECTS = (
    "a first principle of", "what surprised me about", "how to begin with", "an argument against",
    "the history of", "a checklist for", "three sources on", "open questions in", "why I return to",
    "a counterexample in", "the vocabulary of", "mistakes in", "a conversation about",
)  # fmt: skip


def made_up_note(path: str, title: str, **fields: object) -> NoteSummary:
    """A note that has nothing but a title, save what is given."""
    values: dict[str, object] = {
        "path": path, "id": path, "title": title, "created": "2026-03-02T15:00:00Z",
        "modified": "2026-03-02T15:00:00Z", "keywords": (), "tags": (), "context": "",
        "aliases": (), "private": False, "text_hash": "", "sha": "", "refused": "",
    }  # fmt: skip
    return NoteSummary(**{**values, **fields})  # type: ignore[arg-type]


def made_up_network(notes: int, links: int, *, seed: int = 7) -> Graph:
    """Notes on some subjects, most links within a subject, few notes with many links.

    A twentieth of the notes has no link.
    """
    draw = random.Random(seed)
    subjects = _SUBJECTS[: max(3, min(len(_SUBJECTS), notes // 25))]
    made = [_note(number, subjects[_skewed(draw, len(subjects))], draw) for number in range(notes)]
    linked = made[: notes - notes // 20]
    by_subject: dict[str, list[NoteSummary]] = {}
    for note in linked:
        by_subject.setdefault(note.tags[0], []).append(note)
    pairs: dict[tuple[str, str], Edge] = {}
    for at, note in enumerate(linked):
        near = by_subject[note.tags[0]]
        _link(pairs, note, near[_skewed(draw, len(near))], draw)
        if at % 9 == 0:
            _link(pairs, note, linked[_skewed(draw, len(linked))], draw)
    while len(pairs) < links:
        note = draw.choice(linked)
        near = linked if draw.random() < 0.06 else by_subject[note.tags[0]]
        _link(pairs, note, near[_skewed(draw, len(near))], draw)
    edges = tuple(pairs[key] for key in sorted(pairs))
    return Graph({note.path: note for note in sorted(made, key=lambda note: note.path)}, edges, ())


def _skewed(draw: random.Random, count: int) -> int:
    return min(count - 1, int(count * draw.random() ** 2.2))


def _note(number: int, subject: str, draw: random.Random) -> NoteSummary:
    aspect = draw.choice(_ASPECTS)
    title = f"{aspect[0].upper()}{aspect[1:]} {subject.lower()} {number}"
    tag = subject.lower().replace(" ", "-")
    return made_up_note(
        f"notes/{title}.md",
        title,
        created=f"20{20 + number % 7}-{1 + number % 12:02}-{1 + number % 28:02}T09:00:00Z",
        tags=(tag, draw.choice(("idea", "source", "question", "method"))),
        keywords=(tag, "note", f"part {number % 40}"),
        context=f"What was learned about {subject.lower()} on one of {number % 90 + 2} days.",
    )


def _link(
    pairs: dict[tuple[str, str], Edge],
    source: NoteSummary,
    target: NoteSummary,
    draw: random.Random,
) -> None:
    if source.path == target.path or (source.path, target.path) in pairs:
        return
    if draw.random() < 0.4:
        edge = Edge(source.path, target.path, "wikilink", "person")
    else:
        reason = f"Both speak of {target.tags[0]}; the second gives the case that the first lacks."
        relation = draw.choice((*RELATIONS, "related", "related"))
        strength = round(0.5 + draw.random() / 2, 2)
        edge = Edge(source.path, target.path, "property", "machine", relation, strength, reason)
    pairs[source.path, target.path] = edge
