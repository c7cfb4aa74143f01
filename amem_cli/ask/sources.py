"""Finds the passages that a question is answered from: those of the hits and of linked notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from amem_cli.index.memory_index import MemoryIndex
from amem_cli.markdown.plain_text import plain_text, with_boxes
from amem_cli.markdown.sentences import only_sentences
from amem_cli.models.ports import Encoder
from amem_cli.models.prompt_text import estimated_tokens, quote_as_data, quote_line
from amem_cli.search.scoring import MOST_TERMS, QueryScorer, corrected
from amem_cli.search.search import Filters, Hit, Supersession, search

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

# Passages of one note that are compared; the others hold fewer of the question's words.
_MOST_PASSAGES = 8
_TITLE_BYTES = 160
_GAP = "\n…\n"
_LEAST_TOKENS = 24
_ITEM = re.compile(r"(?m)^(?=[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t])")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage of a note that was found, as a reader sees it, without markup.

    `place` is its number within its note, `value` how much it promises, `rank` the place of its
    note among the hits, which decides between equals. `quotable` is what of it may be quoted.
    """

    path: str
    place: int
    text: str
    value: float
    rank: int = 0
    quotable: str = ""


@dataclass(frozen=True, slots=True)
class QuotedNote(Supersession):
    """A note to answer from, with the passages that were chosen.

    `label` is its name in the prompt, such as `n1`; `texts` are in the note's order, `quotable` is
    what of them may be quoted.
    """

    label: str
    path: str
    id: str | None
    title: str
    created: str
    via: str | None
    private: bool
    texts: tuple[str, ...]
    quotable: str = ""
    context: str = ""

    @property
    def text(self) -> str:
        """The passages, with a mark if something between them is left out."""
        return _GAP.join(self.texts)

    @property
    def evidence(self) -> str:
        """All that an answer may take from this note."""
        return f"{self.title}\n{self.created[:10]}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Sources:
    """What was found: hits with linked notes last, notes that fitted the budget, best first.

    `terms` are words of the question as they were understood, `vector` is the question's, shape
    (dimension,), or None without an encoder, `tokens` are those of its tokens, shape (count,
    dimension).
    """

    hits: tuple[Hit, ...]
    notes: tuple[QuotedNote, ...]
    terms: tuple[str, ...]
    vector: Vectors | None
    tokens: Vectors | None


def find_sources(
    index: MemoryIndex,
    question: str,
    *,
    encoder: Encoder | None,
    limit: int,
    budget: int,
    filters: Filters | None,
) -> Sources:
    """Search, and choose passages of the hits."""
    hits = search(
        index,
        question,
        encoder=encoder,
        mode="keyword" if encoder is None else "hybrid",
        limit=limit,
        filters=filters,
    )
    vector, tokens = (None, None) if encoder is None else encoder.encode_question(question)
    terms = understood(index, question)
    excerpts = [
        excerpt
        for rank, hit in enumerate(hits)
        for excerpt in _excerpts(index, hit, rank, terms, encoder, vector)
    ]
    chosen: dict[str, list[Excerpt]] = {}
    for excerpt in chosen_excerpts(excerpts, budget):
        chosen.setdefault(excerpt.path, []).append(excerpt)
    by_path = {hit.note.path: hit for hit in hits}
    hidden = filters.hidden if filters else ()
    notes = [
        QuotedNote(
            label="",
            path=path,
            id=hit.note.id,
            title=hit.note.title,
            created=hit.note.created,
            via=hit.via,
            private=hit.note.private,
            texts=tuple(each.text for each in excerpts),
            quotable=_GAP.join(each.quotable for each in excerpts if each.quotable),
            context=hit.note.context,
            superseded_by=tuple(each for each in hit.superseded_by if each.path not in hidden),
            contradicted_by=tuple(each for each in hit.contradicted_by if each.path not in hidden),
        )
        for path, hit, excerpts in (
            (path, by_path[path], sorted(own, key=lambda each: each.place))
            for path, own in chosen.items()
        )
    ]
    return Sources(tuple(hits), tuple(labelled(notes)), tuple(terms), vector, tokens)


def understood(index: MemoryIndex, question: str) -> list[str]:
    """The terms of a question, the first 64; if no note holds any, the known words nearest."""
    terms = QueryScorer(index, question, 1, None).terms[:MOST_TERMS]
    if any(index.text.document_frequency(term) for term in terms):
        return terms
    return corrected(index, terms)


def _excerpts(
    index: MemoryIndex,
    hit: Hit,
    rank: int,
    terms: Sequence[str],
    encoder: Encoder | None,
    vector: Vectors | None,
) -> list[Excerpt]:
    passages = [with_boxes(each) for each in index.text.passages(hit.note.path)]
    texts = {at: text for at, text in enumerate(map(plain_text, passages)) if text.strip()}
    worth = {
        place: sum(term in text.casefold() for term in terms) / max(1, len(terms))
        for place, text in texts.items()
    }
    places = sorted(texts, key=lambda place: (-worth[place], place))[:_MOST_PASSAGES]
    if len(places) > 1 and encoder is not None and vector is not None:
        cosines = encoder.encode([texts[place] for place in places]) @ vector
        for place, cosine in zip(places, cosines, strict=True):
            worth[place] += max(0.0, float(cosine))
    best = max((worth[place] for place in places), default=0.0) or 1.0
    # Of the whole text: code may begin in one passage and end in another.
    lines = iter(only_sentences("\n\n".join(passages)).split("\n"))
    quotable = ["\n".join(islice(lines, each.count("\n") + 2)) for each in passages]
    return [
        # The best passage of a note counts as much as the note, another one up to half less.
        Excerpt(
            hit.note.path,
            place,
            texts[place],
            hit.rank_score * (1 + worth[place] / best) / 2,
            rank,
            # A blank line parts the items of a list, whose marks go.
            plain_text(_ITEM.sub("\n", quotable[place])),
        )
        for place in places
    ]


def chosen_excerpts(excerpts: Iterable[Excerpt], budget: int) -> list[Excerpt]:
    """The most promising passages that fit a budget of tokens, best first; the best one always,
    cut to it. A line for each note's title counts, too."""
    chosen: list[Excerpt] = []
    paths: set[str] = set()
    left = budget
    for excerpt in sorted(excerpts, key=lambda e: (-e.value, e.rank, e.path, e.place)):
        head = 0 if excerpt.path in paths else _LEAST_TOKENS
        cost = estimated_tokens(excerpt.text) + head
        if cost > left and not chosen:
            share = max(1, left - head) / max(1, cost - head)
            size = max(_LEAST_TOKENS, int(len(excerpt.text.encode("utf-8", "ignore")) * share))
            excerpt = replace(excerpt, text=quote_as_data(excerpt.text, size))
            cost = left
        if cost <= left:
            chosen.append(excerpt)
            paths.add(excerpt.path)
            left -= cost
        if left < _LEAST_TOKENS:
            break
    return chosen


def heading(source: QuotedNote, labels: dict[str, str]) -> str:
    """One line with a source's label, title, day, and the notes by which it no longer holds."""
    day = f" ({source.created[:10]})" if source.created else ""
    relations = [
        f"{kind} by {labels.get(note.path) or f'“{quote_line(note.title, _TITLE_BYTES)}”'}"
        for kind, note in source.words
    ]
    linked = f" [{'; '.join(relations)}]" if relations else ""
    return f"{source.label} {quote_line(source.title, _TITLE_BYTES)}{day}{linked}"


def labelled(sources: Sequence[QuotedNote]) -> list[QuotedNote]:
    """The sources, labelled `n1`, `n2`, … in their order."""
    return [replace(source, label=f"n{at}") for at, source in enumerate(sources, 1)]
