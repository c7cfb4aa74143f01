"""Finds what a question is answered from: passages of the hits and of the notes linked to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amem_cli.core.index_port import MemoryIndex
from amem_cli.core.index_records import (
    SUPERSEDING,
    NoteSummary,
)
from amem_cli.core.ports import Encoder
from amem_cli.core.resolution import resolve
from amem_cli.core.sources import Excerpt, Source, Tie, chosen_excerpts, labelled
from amem_cli.core.wikilinks import plain_text
from amem_cli.services.query import Filters, Hit, Mode, search
from amem_cli.services.question import Question, corrected

if TYPE_CHECKING:
    from amem_cli.core.ports import Vectors

# Passages of one note that are compared; the others hold fewer of the question's words.
MOST_PASSAGES = 8
MOST_TIES = 3
MOST_TERMS = 64


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a question.

    Attributes:
        hits: as the search gave them, linked notes last.
        sources: the notes of which something fitted the budget, best first.
        terms: words of the question as they were understood.
        vector: of the question, shape (dimension,), or None without an encoder.
    """

    hits: tuple[Hit, ...]
    sources: tuple[Source, ...]
    terms: tuple[str, ...]
    vector: Vectors | None


def find_sources(
    index: MemoryIndex,
    question: str,
    *,
    encoder: Encoder | None,
    limit: int,
    budget: int,
    filters: Filters,
) -> Found:
    """Search, and choose passages of what was found.

    Args:
        encoder: None searches by words alone.
        limit: how many direct hits; linked notes come beside them.
        budget: tokens that the passages may take.

    Raises:
        UsageError: the question is empty.
        EncoderError: the encoder cannot be run.
    """
    mode: Mode = "keyword" if encoder is None else "hybrid"
    hits = search(index, question, encoder=encoder, mode=mode, limit=limit, filters=filters)
    vector = None if encoder is None else encoder.encode([question], query=True)[0]
    terms = understood(index, question)
    excerpts = [
        replace(each, rank=rank)
        for rank, hit in enumerate(hits)
        for each in _excerpts(index, hit, terms, encoder, vector)
    ]
    chosen = chosen_excerpts(excerpts, budget)
    return Found(tuple(hits), tuple(_sources(index, hits, chosen)), tuple(terms), vector)


def understood(index: MemoryIndex, question: str) -> list[str]:
    """The terms of a question, the first 64; where no note holds any, the known words nearest."""
    terms = Question(index, question, 1, None).terms[:MOST_TERMS]
    if any(index.text.document_frequency(term) for term in terms):
        return terms
    return corrected(index, terms)


def _excerpts(
    index: MemoryIndex,
    hit: Hit,
    terms: Sequence[str],
    encoder: Encoder | None,
    vector: Vectors | None,
) -> list[Excerpt]:
    texts = [(at, plain_text(text)) for at, text in enumerate(index.text.passages(hit.note.path))]
    held = {at: _share(text, terms) for at, text in texts}
    texts.sort(key=lambda item: (-held[item[0]], item[0]))
    texts = [(at, text) for at, text in texts if text.strip()][:MOST_PASSAGES]
    if len(texts) > 1 and encoder is not None and vector is not None:
        cosines = encoder.encode([text for _, text in texts]) @ vector
        worth = {
            at: held[at] + max(0.0, float(cosine))
            for (at, _), cosine in zip(texts, cosines, strict=True)
        }
    else:
        worth = held
    best = max((worth[at] for at, _ in texts), default=0.0) or 1.0
    return [
        # The best passage of a note counts as much as the note, another one up to half less.
        Excerpt(hit.note.path, at, text, hit.score * (1 + worth[at] / best) / 2)
        for at, text in texts
    ]


def _share(text: str, terms: Sequence[str]) -> float:
    folded = text.casefold()
    return sum(term in folded for term in terms) / max(1, len(terms))


def _sources(index: MemoryIndex, hits: Sequence[Hit], chosen: Sequence[Excerpt]) -> list[Source]:
    by_path = {hit.note.path: hit for hit in hits}
    pieces: dict[str, list[Excerpt]] = {}
    for excerpt in chosen:
        pieces.setdefault(excerpt.path, []).append(excerpt)
    ties = _ties(index, [by_path[path].note for path in pieces])
    sources = []
    for path, excerpts in pieces.items():
        note = by_path[path].note
        texts = tuple(each.text for each in sorted(excerpts, key=lambda each: each.place))
        sources.append(
            Source(
                label="",
                path=path,
                id=note.id,
                title=note.title,
                created=note.created,
                via=by_path[path].via,
                private=note.private,
                texts=texts,
                ties=ties.get(path, ()),
            )
        )
    return labelled(sources)


def _ties(index: MemoryIndex, notes: Sequence[NoteSummary]) -> dict[str, tuple[Tie, ...]]:
    """Links among the shown notes, by path, those first that say which note holds."""
    shown = {note.path: note for note in notes}
    found: dict[str, list[Tie]] = {}
    for path in shown:
        records = index.link_history.records(path)
        for link in index.links.written(path):
            target = resolve(link.target, path, index.names)
            if target is None or target == path or target not in shown:
                continue
            record = records.get((path, shown[target].key)) or records.get((path, target))
            relation = record.relation if record is not None else ""
            found.setdefault(path, []).append(Tie(target, relation))
            found.setdefault(target, []).append(Tie(path, relation, outward=False))
    return {
        path: tuple(sorted(dict.fromkeys(ties), key=_is_telling, reverse=True)[:MOST_TIES])
        for path, ties in found.items()
    }


def _is_telling(tie: Tie) -> bool:
    return tie.relation in SUPERSEDING
