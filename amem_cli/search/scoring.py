"""Scores notes for one query: by words, by meaning, by what notes lend each other.

`QueryScorer` asks the index, the functions below it combine the answers. The shares were chosen by
experiment: docs/retrieval.md says on which data, and what each is worth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from amem_cli.index.text import loosened
from amem_cli.language.dates import seconds_between
from amem_cli.search.evidence import chance, gathered, rarity
from amem_cli.search.occasion import (
    TIME_REACH,
    TIME_SPAN_SECONDS,
    Turn,
    gained_by_speakers,
    lent_in_time,
    lost_by_turns,
)

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import Vectors
    from amem_cli.search.evidence import Evidence

# Share of the cosine in the fused score; a convex fusion of normalised scores loses less than
# rank fusion if one of the two legs knows nothing (Bruch et al. 2023, arXiv 2210.11934).
COSINE_SHARE = 0.55
# Words are trusted as far as the best note covers the query: of a query of which no note holds more
# than half the words, by weight, meaning gets half of this on top.
DOUBT_SHARE = 0.18
# That of an encoder whose vectors were spread: it knows more languages, and words fewer.
SPREAD_SHARE = 0.7
# BM25 forgives a missing word if another one is frequent, but a note with every word of the query
# is more likely meant. That holds for up to six terms; a query of twelve is a text to find similar
# notes for, and no note repeats all of it.
COVERAGE_POWER = 0.75
SHORT_QUERY = 6
LONG_QUERY = 12
# The best of many passages is near the query by chance: the expected maximum of n cosines, with
# the spread that passages of one note have, grows about as the logarithm of n.
PASSAGE_CHANCE = 0.04
# So many of the best are compared with the query word by word: what the mean cosine has above the
# least counts so much, less in a long query. In a script that the encoder never learned all words
# are alike.
REREAD = 20
TOKEN_SHARE = 5.0
LEAST_READABLE = 0.9
# Only the best candidates lend, and only what they have above the last one of them. Otherwise every
# note with neighbours would gain, most of all with an encoder that finds all texts alike (a script
# that it never learned).
LENDERS = 20
# So many of the best are looked at as turns of a conversation.
TURNS_JUDGED = 50
# Of its excess a note lends this share to those it links to and is linked from: links say what
# similarity does not.
LINK_SHARE = 0.5
# Times the probability that the link is right: as far as that, a person's decision makes no
# difference to what the notes have in common.
SUGGESTED_SHARE = 0.6
# A note that links to more notes than this says less about each of them.
SELECTIVE_LINKS = 8
MAX_CORRECTED = 8
# A hash and the like may be named by so many of its letters and digits. Digits alone are a number,
# unless they are as many as git shows of a hash: 100 does not mean 1000.
_SHORTEST_IDENTIFIER, _SHORTEST_NUMBER = 3, 7
MOST_TERMS = 64


class QueryScorer:
    """Scores the notes of an index for one query; `terms` are its words, corrected if misspelt."""

    def __init__(self, index: MemoryIndex, query: str, wide: int, allowed: set[str] | None) -> None:
        self.terms = with_identifiers_cut(index, index.text.search_terms(query))
        self.languages = index.text.languages()
        self._query = query
        self._index = index
        self._wide = wide
        self._allowed = allowed
        self._among = None if allowed is None else sorted(allowed)
        self._neighbours: dict[str, list[tuple[str, int]]] = {}

    def by_words(self) -> dict[str, float]:
        """Scores by words alone; if nothing matches, misspelt words are corrected."""
        words = self._bm25() or self._bm25(corrected(self._index, self.terms))
        return fused({}, covered(words, self._held(words), len(self.terms)))

    def by_meaning(self, vector: Vectors) -> dict[str, float]:
        """Cosines of the best passages, a little less for each further passage."""
        cosines = self._cosines(vector, self._wide, self._among)
        return {path: max(0.0, cosine) for path, cosine in cosines.items()}

    def by_both(
        self, vector: Vectors, tokens: Vectors, readable: float = 1.0, *, is_spread: bool = False
    ) -> dict[str, float]:
        """Words and meaning, with what notes of one occasion and linked notes lend each other.

        Args:
            tokens: the vectors of the query's tokens, of shape (count, dimension).
        """
        cosines = self._cosines(vector, self._wide, self._among)
        # Unknown words are not corrected here: the encoder may know their meaning.
        words = self._bm25() or self._bm25(loosened(self.terms))

        def fused_scores(candidates: Set[str]) -> dict[str, float]:
            # A candidate that one leg did not list still has a score there.
            if unscored := sorted(candidates - set(cosines)):
                cosines.update(self._cosines(vector, len(unscored), unscored))
            if unscored := sorted(candidates - set(words)):
                text = self._index.text
                words.update(text.keyword_scores(self.terms, len(unscored), unscored))
            held = self._held(words)
            doubt = 1 - max(held.values()) if held else 0.0
            covered_words = covered(words, held, len(self.terms))
            return fused(cosines, covered_words, readable, is_spread=is_spread, doubt=doubt)

        scores = fused_scores({*cosines, *words})
        if readable >= LEAST_READABLE:
            scores = self._reread(scores, vector, tokens)
        surplus = excess(scores)
        times = {path: self._written_next(path) for path in surplus}
        suggested = self._suggested(surplus)
        links = {path: suggested[path] | self._links(path) for path in surplus}
        near = {path for others in times.values() for path, _ in others}
        turns = self._turns([*surplus, *near]) if near else {}
        lent = [lent_in_time(surplus, times, turns), lent_by_links(surplus, links)]
        if newcomers := {path for gain in lent for path in gain} - set(scores):
            scores = fused_scores(newcomers)
        changed = with_gains(scores, *lent)
        if not near:
            return changed
        best = {path: scores[path] for path in list(changed)[:TURNS_JUDGED]}
        return with_gains(scores, *lent, *self._worth_as_turns(best))

    def _reread(
        self, scores: Mapping[str, float], vector: Vectors, tokens: Vectors
    ) -> dict[str, float]:
        """The scores, with what the best notes gain by the nearness of single words."""
        share = TOKEN_SHARE * _fading(len(self.terms))
        if not share or len(self.terms) < 2:
            return dict(scores)
        best = list(scores)[:REREAD]
        if self.are_turns(best):
            return dict(scores)
        near = self._index.vectors.token_scores(vector, tokens, best)
        least = min(near.values(), default=0.0)
        gained = {path: share * (mean - least) for path, mean in near.items()}
        return ranked({path: score + gained.get(path, 0.0) for path, score in scores.items()})

    def are_turns(self, paths: Sequence[str]) -> bool:
        """Whether most notes are turns of a conversation, whose matter stands around them."""
        return 2 * sum(bool(turn.speaker) for turn in self._turns(paths).values()) > len(paths)

    def _worth_as_turns(
        self, scores: Mapping[str, float]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """What notes gain and lose as turns of a conversation."""
        times = {path: self._written_next(path) for path in scores}
        near = {path for others in times.values() for path, _ in others}
        turns = self._turns([*scores, *near])
        return gained_by_speakers(self._query, scores, turns), lost_by_turns(times, turns)

    def _turns(self, paths: Sequence[str]) -> dict[str, Turn]:
        outlines = self._index.text.outlines(paths)
        return {path: Turn.of(*outline) for path, outline in outlines.items()}

    def evidence(self, paths: Sequence[str], vector: Vectors | None) -> dict[str, Evidence]:
        """What each of these notes has of the query; `vector` is the query's, if there is one."""
        text, total = self._index.text, self._index.notes.count()
        terms = self.terms[:MOST_TERMS]
        matches = text.term_matches(terms, paths)
        if not any(count for count, _ in matches):
            # A misspelt word was meant to be found.
            terms = corrected(self._index, terms)
            matches = text.term_matches(terms, paths)
        nearness = None
        if vector is not None:
            cosines = self._index.vectors.scores(vector, len(paths), paths)
            counts = text.passage_counts(list(cosines))
            nearness = {
                path: cosine - (_passage_chance(counts.get(path, 1)) + chance(total))
                for path, cosine in cosines.items()
            }
        return gathered(self._query, terms, matches, nearness, paths, total)

    def _bm25(self, terms: list[str] | None = None) -> dict[str, float]:
        """Scores of the terms, or of others, which replace them if they match."""
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

    def _held(self, words: Mapping[str, float]) -> dict[str, float]:
        """Which share of the query's words each note holds; none where that says little."""
        if not 2 <= len(self.terms) < LONG_QUERY or not words:
            return {}
        matches = self._index.text.term_matches(self.terms, list(words))
        return held_shares(words, matches, self._index.notes.count())

    def _written_next(self, path: str) -> list[tuple[str, int]]:
        """The notes of one occasion with their distance, negative for earlier ones."""
        if path not in self._neighbours:
            notes = self._index.notes
            created, before, after = notes.neighbours_in_time(path, TIME_REACH)
            self._neighbours[path] = [
                (other, direction * distance)
                for direction, side in ((-1, before), (1, after))
                for distance, (other, moment) in enumerate(side, 1)
                if self._is_allowed(other) and seconds_between(created, moment) <= TIME_SPAN_SECONDS
            ]
        return self._neighbours[path]

    def _links(self, path: str) -> dict[str, float]:
        others = filter(self._is_allowed, self._index.links.linked(path))
        return dict.fromkeys(others, LINK_SHARE)

    def _suggested(self, paths: Iterable[str]) -> dict[str, dict[str, float]]:
        """By path, the shares of the notes that amem suggests to link with it."""
        shares: dict[str, dict[str, float]] = {path: {} for path in paths}
        for link in self._index.link_history.suggested(shares):
            for path, other in ((link.source, link.target), (link.target, link.source)):
                if path in shares and self._is_allowed(other):
                    shares[path].setdefault(other, SUGGESTED_SHARE * link.strength)
        for path in [path for path, others in shares.items() if others]:
            for other in self._index.link_history.unlinked(path):
                shares[path].pop(other, None)
        return shares

    def _is_allowed(self, path: str) -> bool:
        return self._allowed is None or path in self._allowed


def with_identifiers_cut(index: MemoryIndex, terms: list[str]) -> list[str]:
    """The terms, with `*` behind those that are only the beginning of a hash or the like.

    No encoder knows what that means, so it is done whatever else of the query is found.
    """

    def is_cut(term: str) -> bool:
        return (
            any(map(str.isdigit, term))
            and term.isalnum()
            and len(term) >= (_SHORTEST_NUMBER if term.isdigit() else _SHORTEST_IDENTIFIER)
            and not index.text.document_frequency(term)
            and index.text.document_frequency(f"{term}*") > 0
        )

    return [f"{term}*" if is_cut(term) else term for term in terms]


def corrected(index: MemoryIndex, terms: list[str]) -> list[str]:
    """The terms, with those that no note holds replaced by what was probably meant.

    That is the words of a phrase, words that begin so, or the known word nearest in spelling.
    """
    from amem_cli.language.words import (
        may_be_cut,
        mistakes_allowed,
        nearest_spelling,
        without_accents,
    )

    words = []
    for term in loosened(terms)[:MAX_CORRECTED]:
        meant = None
        if may_be_cut(term) and not index.text.document_frequency(term):
            if index.text.document_frequency(f"{term}*"):
                words.append(f"{term}*")
                continue
            allowed = mistakes_allowed(term)
            # The first letter is seldom wrong, but may have changed places with the second.
            spellings = [
                spelling
                for letter in dict.fromkeys(without_accents(term)[:2] if allowed else "")
                for spelling in index.text.spellings(letter, len(term) - 5, len(term) + allowed)
            ]
            meant = nearest_spelling(term, spellings)
        words.append(meant or term)
    return words


def ranked(scores: Mapping[str, float]) -> dict[str, float]:
    """Best first; ties by key, so that a result never depends on chance."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def fused(
    cosines: Mapping[str, float],
    words: Mapping[str, float],
    readable: float = 1.0,
    *,
    is_spread: bool = False,
    doubt: float = 0.0,
) -> dict[str, float]:
    """Convex fusion over the union of both legs, best first.

    Args:
        cosines, words: both should know every candidate; a missing score counts as zero.
        readable: share of the query that the encoder can read, 0..1. Of a script that it never
            learned it sees little more than the punctuation, and the words count for more.
        is_spread: whether the encoder's vectors were: then the cosines of texts that have nothing
            in common are still above zero, and count from the least one.
        doubt: the share of the query that even the best note does not hold, 0..1.
    """
    least = min(cosines.values(), default=0.0) if is_spread else 0.0
    if least == max(cosines.values(), default=0.0):
        least = 0.0
    near = _normalised({key: cosine - least for key, cosine in cosines.items()})
    matching = _normalised(words)
    share = SPREAD_SHARE if is_spread else COSINE_SHARE + DOUBT_SHARE * doubt
    share = share * math.sqrt(readable) if matching and near else float(bool(near))
    total = {key: share * score for key, score in near.items()}
    for key, score in matching.items():
        total[key] = total.get(key, 0.0) + (1 - share) * score
    return ranked(total)


def _normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores divided by the best one; negative scores become zero."""
    best = max(scores.values(), default=0.0)
    return {key: max(0.0, score) / best if best > 0 else 0.0 for key, score in scores.items()}


def less_chance(cosines: Mapping[str, float], passages: Mapping[str, int]) -> dict[str, float]:
    """Cosines of notes' best passages, less what the best of so many has by chance, best first."""
    return ranked(
        {key: cosine - _passage_chance(passages.get(key, 1)) for key, cosine in cosines.items()}
    )


def _passage_chance(passages: int) -> float:
    return PASSAGE_CHANCE * math.log(max(1, passages))


def held_shares(
    paths: Iterable[str], matches: Sequence[tuple[int, Set[str]]], total: int
) -> dict[str, float]:
    """The share of a query's words that each note holds, weighted by rarity, 0..1."""
    weights = [rarity(count, total) if count else 0.0 for count, _ in matches]
    whole = sum(weights)
    if whole <= 0:
        return {}
    held = {
        path: sum(w for w, (_, keys) in zip(weights, matches, strict=True) if path in keys)
        for path in paths
    }
    return {path: weight / whole for path, weight in held.items()}


def covered(words: Mapping[str, float], held: Mapping[str, float], terms: int) -> dict[str, float]:
    """BM25 by note, less for a note that holds only some of the terms."""
    power = COVERAGE_POWER * _fading(terms)
    return {key: score * held[key] ** power if held else score for key, score in words.items()}


def _fading(terms: int) -> float:
    """1 for a short query, 0 for a long one."""
    return min(1.0, max(0.0, (LONG_QUERY - terms) / (LONG_QUERY - SHORT_QUERY)))


def excess(scores: Mapping[str, float]) -> dict[str, float]:
    """By how much the `LENDERS` best notes exceed the last of them."""
    best = list(ranked(scores).items())[:LENDERS]
    floor = best[-1][1] if best else 0.0
    return {key: score - floor for key, score in best if score > floor}


def lent_by_links(
    surplus: Mapping[str, float], links: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """What notes get from the best note that is linked with them; `links` holds their shares."""
    gains: dict[str, float] = {}
    for source, amount in surplus.items():
        linked = links.get(source, {})
        selective = min(1.0, SELECTIVE_LINKS / len(linked)) if linked else 0.0
        for key, share in linked.items():
            gains[key] = max(gains.get(key, 0.0), share * selective * amount)
    return gains


def with_gains(scores: Mapping[str, float], *gains: Mapping[str, float]) -> dict[str, float]:
    """Scores and what was lent or lost, best first, within 0..1."""
    total = dict(scores)
    for gain in gains:
        for key, amount in gain.items():
            total[key] = total.get(key, 0.0) + amount
    best = max(1.0, *total.values()) if total else 1.0
    return ranked({key: max(0.0, score / best) for key, score in total.items()})
