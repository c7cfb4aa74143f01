"""Scores the notes of the index for one query, by words, by meaning or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amem_cli.index.full_text import loosened, search_terms
from amem_cli.language.dates import seconds_between
from amem_cli.search.ranking import (
    LONG_QUESTION,
    PROPERTY_LINK_SHARE,
    TEXT_LINK_SHARE,
    TIME_REACH,
    TIME_SPAN_SECONDS,
    asks,
    covered,
    excess,
    fused,
    lent_by_links,
    lent_in_time,
    less_chance,
    ranked,
    with_gains,
)

if TYPE_CHECKING:
    from amem_cli.index.port import MemoryIndex
    from amem_cli.index.records import NoteLink
    from amem_cli.models.ports import Vectors

MAX_CORRECTED = 8


class Question:
    """A query put to the index.

    Args:
        wide: how many candidates each leg names.
        allowed: paths that may be found; None for all.

    Attributes:
        terms: the words to look for, as they were understood.
    """

    def __init__(self, index: MemoryIndex, query: str, wide: int, allowed: set[str] | None) -> None:
        self.terms = search_terms(query)
        self._index = index
        self._wide = wide
        self._allowed = allowed
        self._among = None if allowed is None else sorted(allowed)

    def by_words(self) -> dict[str, float]:
        """Scores by words alone; a misspelt word is read as a known one where nothing matches."""
        words = self._said() or self._said(corrected(self._index, self.terms))
        return fused({}, self._covered(words))

    def by_meaning(self, vector: Vectors) -> dict[str, float]:
        """Cosines of the best passages, a little less for each further passage."""
        cosines = self._cosines(vector, self._wide, self._among)
        return ranked({path: max(0.0, cosine) for path, cosine in cosines.items()})

    def by_both(self, vector: Vectors, readable: float = 1.0) -> dict[str, float]:
        """Words and meaning, with what notes of one occasion and linked notes lend each other.

        Args:
            readable: share of the question that the encoder can read.
        """
        cosines = self._cosines(vector, self._wide, self._among)
        # A word that no note has is not read as another one here: the encoder may know its meaning.
        words = self._said() or self._said(loosened(self.terms))
        # A leg that did not list a candidate of the other still has a score for it.
        self._complete(vector, cosines, words, {*cosines, *words})
        scores = fused(cosines, self._covered(words), readable)
        surplus = excess(scores)
        times = {path: self._written_next(path) for path in surplus}
        links = {path: self._links(path) for path in surplus}
        asking = {path for path, others in times.items() if others and self._asks(path)}
        near = {other for others in times.values() for other, _ in others}
        lengths = self._index.text.lengths([*surplus, *near]) if near else {}
        lent = [lent_in_time(surplus, times, lengths, asking), lent_by_links(surplus, links)]
        newcomers = {path for gain in lent for path in gain} - set(scores)
        if newcomers:
            self._complete(vector, cosines, words, newcomers)
            scores = fused(cosines, self._covered(words), readable)
        return with_gains(scores, *lent)

    def _said(self, terms: list[str] | None = None) -> dict[str, float]:
        """Scores of the terms, or of others, which take their place where they are found."""
        if terms == self.terms:
            return {}
        words = self._index.text.keyword_scores(terms or self.terms, self._wide, self._among)
        if terms and words:
            self.terms = terms
        return words

    def _cosines(
        self, vector: Vectors, limit: int, among: Sequence[str] | None
    ) -> dict[str, float]:
        best = self._index.vectors.scores(vector, limit, among)
        return less_chance(best, self._index.text.passage_counts(list(best)))

    def _complete(
        self,
        vector: Vectors,
        cosines: dict[str, float],
        words: dict[str, float],
        paths: set[str],
    ) -> None:
        unheard = sorted(paths - set(cosines))
        unsaid = sorted(paths - set(words))
        if unheard:
            cosines.update(self._cosines(vector, len(unheard), unheard))
        if unsaid:
            words.update(self._index.text.keyword_scores(self.terms, len(unsaid), unsaid))

    def _covered(self, words: dict[str, float]) -> dict[str, float]:
        if not 2 <= len(self.terms) < LONG_QUESTION or not words:
            return words
        matches = self._index.text.term_matches(self.terms, list(words))
        return covered(words, matches, self._index.notes.count())

    def _written_next(self, path: str) -> list[tuple[str, int]]:
        note = self._index.notes.summary(path)
        if note is None:
            return []
        before, after = self._index.notes.neighbours_in_time(path, TIME_REACH)
        return [
            (other, direction * distance)
            for direction, side in ((-1, before), (1, after))
            for distance, (other, created) in enumerate(side, 1)
            if self._may_be_found(other)
            and seconds_between(note.created, created) <= TIME_SPAN_SECONDS
        ]

    def _asks(self, path: str) -> bool:
        passages = self._index.text.passages(path)
        return bool(passages) and asks(passages[-1])

    def _links(self, path: str) -> dict[str, float]:
        shares: dict[str, float] = {}
        for other, link in (*self._index.links.outgoing(path), *self._index.links.incoming(path)):
            shares[other] = max(shares.get(other, 0.0), _share(link))
        shares.pop(path, None)
        return {other: share for other, share in shares.items() if self._may_be_found(other)}

    def _may_be_found(self, path: str) -> bool:
        return self._allowed is None or path in self._allowed


def _share(link: NoteLink) -> float:
    return TEXT_LINK_SHARE if link.kind == "wikilink" else PROPERTY_LINK_SHARE


def corrected(index: MemoryIndex, terms: list[str]) -> list[str]:
    """The terms, with those that no note holds replaced by what they may have been meant to be.

    The words of a phrase, the words that begin so, or the known word nearest in spelling.
    """
    from amem_cli.language.spelling import mistakes_allowed, nearest_spelling

    words = []
    for term in loosened(terms)[:MAX_CORRECTED]:
        allowed = mistakes_allowed(term)
        meant = None
        if allowed and not index.text.document_frequency(term):
            if index.text.document_frequency(f"{term}*"):
                words.append(f"{term}*")
                continue
            # The first letter is seldom wrong, but it may have changed places with the second.
            known = [
                spelling
                for letter in dict.fromkeys(term[:2])
                for spelling in index.text.spellings(letter, len(term) - 5, len(term) + allowed)
            ]
            meant = nearest_spelling(term, known)
        words.append(meant or term)
    return words
