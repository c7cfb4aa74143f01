"""The candidates for a note's links, and the evidence for each: words, titles, tags, vectors.

`near_notes` finds the candidates, `gather_evidence` weighs them; `link_choice` decides.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.analyzer.earlier_notes import EarlierNotes
from amem_cli.analyzer.keywords import candidate_phrases, is_everyday
from amem_cli.data import word_set
from amem_cli.index.records import NoteSummary
from amem_cli.index.text import search_terms
from amem_cli.language.dates import local_moment, moment_in
from amem_cli.language.detect import detect_language
from amem_cli.language.lexicon import without_unseen
from amem_cli.language.words import (
    TOKEN,
    cjk_bigrams,
    fold,
    is_generic,
    is_stopword,
    is_unspaced,
    stem,
    words,
)
from amem_cli.markdown.plain_text import prose
from amem_cli.notes.note import Note

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import Vectors

DocumentFrequency = Callable[[str], int]

_MAX_TEXT = 8_000
_WORDS_OF_A_QUOTATION = 4
# Only there does a capital say something; the first word of a sentence always has one.
_MID_SENTENCE = re.compile(r"(?<=[\w,;:)(&/„\"“+] )[A-ZÄÖÜ][\w'’-]{1,40}")


class Term(NamedTuple):
    """A word of a note: as it was written, and how much it says about the subject."""

    written: str
    word: str
    kind: str


# The candidates of one note are those of the next ones as well.
@lru_cache(maxsize=1024)
def note_terms(title: str, text: str, keywords: tuple[str, ...] = ()) -> Mapping[str, Term]:
    """The meaningful words of a note by stem, in the order of first use."""
    plain = prose(text[:_MAX_TEXT], with_code=True)
    language = detect_language(plain)
    capitalised = {match.group() for match in _MID_SENTENCE.finditer(plain)}
    terms: dict[str, Term] = {}
    for source in (title, *keywords, plain):
        for match in TOKEN.finditer(source):
            written = without_unseen(match.group())
            for term in _terms_of(written, language, written in capitalised):
                terms.setdefault(stem(term.word), term)
    return terms


@lru_cache(maxsize=1024)
def _language(text: str) -> str:
    return detect_language(prose(text[:_MAX_TEXT], with_code=True))


@lru_cache(maxsize=32_768)
def _terms_of(written: str, language: str, is_capitalised: bool) -> list[Term]:
    if is_unspaced(written):
        return [
            Term(pair, pair, "cjk")
            for pair in cjk_bigrams(written)
            if word_set("stopwords/zh.txt").isdisjoint(pair)
        ]
    folded = words(written)
    word = folded[0] if folded else ""
    if not 3 <= len(word) <= 60 or is_generic(word) or is_stopword(word, language):
        return []
    return [
        Term(
            written.removesuffix("'s").removesuffix("’s"),
            word,
            _kind(word, written, language, is_capitalised),
        )
    ]


def _kind(word: str, written: str, language: str, is_capitalised: bool) -> str:
    if "_" in word or (any(c.isdigit() for c in word) and any(c.isalpha() for c in word)):
        return "code"
    if is_everyday(word):
        return "everyday"
    if word[0].isdigit():
        return "word" if len(word) > 3 else "everyday"
    if is_capitalised:
        return "noun" if language == "de" else "name"
    return "everyday" if language == "de" and written.islower() else "word"


def searchable(text: str) -> str:
    """The text as `mentions_title` wants it: folded words between single blanks."""
    return f" {' '.join(words(_unjoined(text[:_MAX_TEXT])))} "


def mentions_title(
    title: str, searchable_text: str, document_frequency: DocumentFrequency, total: int
) -> bool:
    """Whether the text has the whole title, and hardly by chance.

    A title of one word must be rare in the vault and not an everyday word; one of four
    words is quoted.
    """
    wanted = words(_unjoined(title))
    # Scripts without blanks have no words to compare.
    if is_unspaced(wanted[0] if wanted else ""):
        return len(fold(title)) >= 3 and fold(title) in searchable_text
    if not wanted or f" {' '.join(wanted)} " not in searchable_text:
        return False
    if len(wanted) >= _WORDS_OF_A_QUOTATION and sum(not is_stopword(word) for word in wanted) > 1:
        return True
    telling = [
        word
        for word in wanted
        if len(word) > 2
        and not (is_stopword(word) or is_generic(word) or word.isdigit() or is_everyday(word))
    ]
    if not telling:
        return False
    usual = max(2.0, 0.02 * total)
    rarest = min(document_frequency(word) for word in telling)
    return rarest <= usual or (len(wanted) > 1 and len(telling) > 1 and rarest <= 3 * usual)


def _unjoined(text: str) -> str:
    return text.replace("-", " ").replace("_", " ")


_MAX_TERMS = 120
_LONG_TITLE, _LONG_UNSPACED_TITLE = 13, 4
_RELATIVES = 3
_DAYS_OF_RECENCY = 14.0
_USUAL_DAYS = 30.0
_MOST_FOR_TAGS = 6.0
_RAREST = 4.0
_KIND_WEIGHT = {"name": 1.25, "code": 1.2, "noun": 1.0, "word": 0.8, "cjk": 0.6, "everyday": 0.3}


# Letters of a quotation that is cut.
_LEAST_QUOTED = 40


def quotation(text: str) -> str:
    """A text as contexts quote it: in one line, without the marks of links."""
    return " ".join(text.replace("[[", "").replace("]]", "").split())


def is_quoted(sentence: str, context: str) -> bool:
    """Whether a context quotes a sentence, perhaps cut or without its full stop."""
    said = quotation(sentence).rstrip(" .。")
    is_cut = "…" in context and said[:_LEAST_QUOTED] in context
    return bool(said) and (is_cut or said in context)


@dataclass(frozen=True, slots=True)
class LinkCandidate:
    """An older note that a new note might be linked to.

    Attributes:
        similarity: cosine of the two notes' vectors.
        rank, reverse_rank: place of each among the other's nearest, 0 = nearest; None if it is not
            among those that were looked at.
        links: paths that the candidate links to.
        created: when it was made, as far as the index tells; see `moment_made`.
        key: its id, or its path if it has none.
        told: what its context, or one that waits for a person, was closed with by notes of the
            new one's day.
    """

    path: str
    title: str
    text: str
    similarity: float
    rank: int
    reverse_rank: int | None = None
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""
    created: str = ""
    links: frozenset[str] = frozenset()
    key: str = ""
    aliases: tuple[str, ...] = ()
    private: bool = False
    told: str = ""

    def quotes(self, sentence: str) -> bool:
        """Whether it was told a sentence of the new note already, perhaps cut."""
        return is_quoted(sentence, self.told)


class SharedTerm(NamedTuple):
    """A term that two notes share; its weight is its rarity times the weight of its kind."""

    term: Term
    weight: float


class Evidence(NamedTuple):
    """What speaks for one link.

    Attributes:
        shared: shared terms, the weightiest first.
        mentioned: the candidate's whole title, of two words or a long one, is in the note.
        features: what the strength of a link is computed from, by name.
    """

    shared: tuple[SharedTerm, ...]
    mentioned: bool
    features: Mapping[str, float]


def rarity(notes: int, total: int) -> float:
    """How telling a term of `notes` notes is: 0 if all have it, about 4 if only one has it.

    The inverse document frequency, scaled so that the rarest term counts the same in every vault.
    """
    if total < 1:
        return 0.0
    share = math.log((total + 1) / max(notes, 1)) / math.log(total + 1)
    return max(0.0, share * _RAREST)


def gather_evidence(
    note: Note,
    candidates: Sequence[LinkCandidate],
    *,
    document_frequency: DocumentFrequency,
    total: int,
) -> list[Evidence]:
    """The evidence for each candidate, in the candidates' order.

    `document_frequency` is the number of notes that hold a folded word, of `total` in the vault;
    the new note may be counted or not.
    """
    own = note_terms(note.title, note.body, note.keywords)
    theirs = [note_terms(c.title, c.text, c.keywords) for c in candidates]
    common = [key for key in own if any(key in other for other in theirs)][:_MAX_TERMS]
    weights = {}
    for key in common:
        # Two notes share it, even if the new one is not counted yet.
        rare = rarity(max(2, document_frequency(own[key].word)), total)
        weights[key] = SharedTerm(own[key], rare * _KIND_WEIGHT[own[key].kind])
    shared = [
        tuple(
            sorted(
                (entry for key, entry in weights.items() if key in other),
                key=lambda entry: (-entry.weight, entry.term.word),
            )
        )
        for other in theirs
    ]
    cosines = _standardised([candidate.similarity for candidate in candidates])
    overlaps = [
        sum(entry.weight**2 for entry in terms) / math.sqrt(max(len(own), 12) * max(len(other), 12))
        for terms, other in zip(shared, theirs, strict=True)
    ]
    supports = _supports(candidates, theirs, overlaps)
    body, language = searchable(note.body), _language(note.body)
    found = []
    for i, candidate in enumerate(candidates):
        first, second = [*(entry.weight for entry in shared[i][:2]), 0.0, 0.0][:2]
        days = _days_between(note.created, candidate.created)
        tags = _shared_tags(note, candidate, candidates)
        features = {
            "first_term": first,
            "second_term": second,
            "terms": math.log1p(len(shared[i])),
            # Of the words of both titles that the other note has.
            "title": min(_title_weight(note.title, candidate.title, own, theirs[i], weights), 6.0),
            # 1 if each note is the other's nearest.
            "mutual": 0.0
            if candidate.reverse_rank is None
            else 1 / math.sqrt((1 + candidate.rank) * (1 + candidate.reverse_rank)),
            # Against the other candidates, in standard deviations.
            "cosine": max(-2.0, min(cosines[i], 3.0)),
            "similarity": candidate.similarity,
            # How much the candidate's relatives among the candidates resemble the note too.
            "support": supports[i],
            "recency": math.exp(-(_USUAL_DAYS if days is None else days) / _DAYS_OF_RECENCY),
            "tags": min(max(0.0, tags), _MOST_FOR_TAGS),
            "no_common_tag": float(tags < 0),
            # Two languages share few words, whatever they speak of.
            "other_language": float(_language(candidate.text) != language),
        }
        mentioned = _is_long(candidate.title) and mentions_title(
            candidate.title, body, document_frequency, total
        )
        found.append(Evidence(shared[i], mentioned, features))
    return found


def _is_long(title: str) -> bool:
    """Whether a title is hardly in a text by chance: two words, or a long one."""
    shortest = _LONG_UNSPACED_TITLE if is_unspaced(title[:1]) else _LONG_TITLE
    return len(words(title)) > 1 or len(fold(title)) >= shortest


def _standardised(values: Sequence[float]) -> list[float]:
    if not values:
        return []
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    # A list of one or two says little about what is usual, hence the floor.
    return [(value - mean) / max(spread, 0.06) for value in values]


def _title_weight(
    title: str,
    other_title: str,
    own: Mapping[str, Term],
    other: Mapping[str, Term],
    weights: Mapping[str, SharedTerm],
) -> float:
    stems = _title_stems(other_title) & own.keys() | _title_stems(title) & other.keys()
    return sum(weights[key].weight for key in stems if key in weights)


def _title_stems(title: str) -> set[str]:
    """Stems of a title's words, as `note_terms` has them."""
    found = words(title)
    pairs = (pair for word in found if is_unspaced(word) for pair in cjk_bigrams(word))
    return {*map(stem, found), *pairs}


def _supports(
    candidates: Sequence[LinkCandidate],
    terms: Sequence[Mapping[str, Term]],
    overlaps: Sequence[float],
) -> list[float]:
    subjects = [
        {key for key, term in entry.items() if term.kind in ("name", "code", "noun", "word")}
        for entry in terms
    ]
    usual = _standardised(overlaps)
    supports: list[float] = []
    for i, candidate in enumerate(candidates):
        relatives = sorted(
            (
                (
                    _likeness(subjects[i], subjects[j])
                    + 0.3 * (other.path in candidate.links or candidate.path in other.links),
                    usual[j],
                )
                for j, other in enumerate(candidates)
                if j != i
            ),
            reverse=True,
        )[:_RELATIVES]
        supports.append(sum(score for _, score in relatives) / max(1, len(relatives)))
    return supports


def _likeness(one: set[str], other: set[str]) -> float:
    return len(one & other) / math.sqrt(max(len(one), 8) * max(len(other), 8))


def _days_between(one: str, other: str) -> float | None:
    first, second = moment_in(one), moment_in(other)
    if first is None or second is None:
        return None
    between = local_moment(first, None) - local_moment(second, None)
    return abs(between.total_seconds()) / 86_400


def _shared_tags(
    note: Note, candidate: LinkCandidate, candidates: Sequence[LinkCandidate]
) -> float:
    own, theirs = set(note.tags), set(candidate.tags)
    shared = own & theirs
    uses = Counter(tag for other in candidates for tag in other.tags)
    if not shared:
        # A tag that no other note carries cannot be shared, so it says nothing when it is not.
        both_usual = any(uses[tag] for tag in own) and any(uses[tag] > 1 for tag in theirs)
        return -1.0 if both_usual else 0.0
    return sum(rarity(uses[tag], len(candidates)) for tag in shared)


REVERSE_DEPTH = 12
PHRASES = 12
_MOST_NAMED = 16


def near_notes(
    index: MemoryIndex,
    path: str,
    text: str,
    vector: Vectors,
    limit: int,
    earlier: EarlierNotes | None = None,
    named: Collection[str] = (),
) -> list[LinkCandidate]:
    """The notes nearest to one by meaning and by words, the nearest first.

    `vector` is the note's enhanced embedding, shape (dimension,). `earlier` are the notes that
    count, by default all, and `named` the paths of those that are among the candidates however far
    they are.
    """
    earlier = earlier or EarlierNotes(index)
    # Notes that share rare words may be far apart in meaning, so both kinds of search count.
    near = earlier.nearest(vector, limit + 1)
    terms = [term for phrase in candidate_phrases(text, PHRASES) for term in search_terms(phrase)]
    wanted = list(dict.fromkeys(terms))
    said = earlier.with_words(wanted, limit + 1)
    near.update(index.vectors.scores(vector, len(said), sorted(set(said) - set(near))))
    further = sorted(set(named) - set(near) - earlier.absent)
    near.update(index.vectors.scores(vector, len(further), further) if further else {})
    near.pop(path, None)
    order = sorted(near, key=lambda other: (-near[other], other))
    vectors = index.vectors.of_notes(order[:limit])
    ranks = {
        other: (rank, _reverse_rank(vectors.get(other), other, path, near[other], earlier))
        for rank, other in enumerate(order)
    }
    return _candidates(index, near, ranks, earlier)


def named_notes(
    index: MemoryIndex, path: str, days: Collection[str], earlier: EarlierNotes
) -> list[str]:
    """Paths of the notes that a note links to in its text, or that were made on one of the days
    (`2026-03-04`) that it names; at most 16."""
    linked = {target for target, _ in index.links.outgoing(path)}
    made_then = (each.path for each in index.notes.outlines() if earlier.made(each)[:10] in days)
    return sorted({*linked, *(made_then if days else ())} - {path})[:_MOST_NAMED]


def at_best(
    index: MemoryIndex,
    summaries: Sequence[NoteSummary],
    vector: Vectors,
    earlier: EarlierNotes | None = None,
) -> list[LinkCandidate]:
    """Notes with what speaks for a link to each, as if it and the other were the nearest to each
    other; which notes are that depends on the rest of the vault. `vector` is the other note's
    enhanced embedding, shape (dimension,)."""
    earlier = earlier or EarlierNotes(index)
    paths = [summary.path for summary in summaries]
    near = index.vectors.scores(vector, len(paths), paths)
    return _candidates(index, near, dict.fromkeys(paths, (0, 0)), earlier)


def _reverse_rank(
    vector: Vectors | None, other: str, path: str, similarity: float, earlier: EarlierNotes
) -> int | None:
    """The place of the note among the nearest of the other one, which has this vector."""
    if vector is None:
        return None
    nearest = earlier.nearest(vector, REVERSE_DEPTH)
    closer = sum(
        cosine > similarity for each, cosine in nearest.items() if each not in (other, path)
    )
    # Two places of the list may be the notes' own, so it tells no ranks beyond these.
    return closer if closer < REVERSE_DEPTH - 2 else None


def _candidates(
    index: MemoryIndex,
    near: Mapping[str, float],
    ranks: Mapping[str, tuple[int, int | None]],
    earlier: EarlierNotes,
) -> list[LinkCandidate]:
    """The notes with these ranks, in their order; `near` are the similarities by path."""
    texts, notes = index.text.passages_of(ranks), index.notes.of_paths(ranks)
    return [
        LinkCandidate(
            path=path,
            title=notes[path].title,
            text="\n\n".join(texts.get(path, ())),
            similarity=near.get(path, 0.0),
            rank=rank,
            reverse_rank=reverse,
            keywords=notes[path].keywords,
            tags=notes[path].tags,
            context=notes[path].context,
            created=earlier.made(notes[path]),
            links=frozenset(target for target, _ in index.links.outgoing(path)),
            key=notes[path].key,
            aliases=notes[path].aliases,
            private=notes[path].private,
        )
        for path, (rank, reverse) in ranks.items()
        if path in notes
    ]
