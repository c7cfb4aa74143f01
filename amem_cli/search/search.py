"""Which notes a search or a list takes; searches, and puts the current note before an older one."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING, Literal

from amem_cli.errors import EncoderError, SettingsError, UsageError

if TYPE_CHECKING:
    from amem_cli.index.events import SupersedingLink
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteOutline, NoteSummary
    from amem_cli.journal.events import Event
    from amem_cli.models.ports import Encoder, Vectors

Mode = Literal["hybrid", "semantic", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
CANDIDATES = 100
# So many of the first notes are read together with the query; what a unit of the log odds that one
# answers it counts beside the rank score.
_READ_AGAIN, _READING = 4, 0.1
# The score of the first hit is that of the best evidence among so many.
JUDGED = 10
MAX_HITS = 1000
# How many notes one search follows to newer ones; a history of versions may be longer.
_MAX_FOLLOWED = 60
# Of the newer versions of a hit at most so many, the newest, are added to the hits.
_MAX_ADDED = 3


@dataclass(frozen=True, slots=True)
class Filters:
    """Which notes a search or a list may return.

    Attributes:
        tags: all of these, nested ones included (`inbox` finds `inbox/to-read`), also of what is
            written with accents (`lodka` finds `łódka`).
        since, until: bounds of the day a note was created; inclusive.
        path: a folder, a note, or a pattern of paths with `*`, `?` or `[…]`; `*` also matches
            several folders.
        hidden: paths of notes that the caller must not learn of.
        as_of: the day to look back from: neither notes of later days nor what they say of older
            ones count.
    """

    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    path: str = ""
    hidden: Collection[str] = ()
    as_of: datetime | None = None

    def __bool__(self) -> bool:
        conditions = (self.tags, self.since, self.until, self.path, self.hidden, self.as_of)
        return any(map(bool, conditions))

    def is_past(self, note: NoteOutline | NoteSummary) -> bool:
        """False for a note that was made after the day to look back from."""
        return self.as_of is None or day_of(note) <= self.as_of.date().isoformat()

    def admit(self, note: NoteOutline | NoteSummary) -> bool:
        """True if the note meets all conditions."""
        if note.path in self.hidden or not self.is_past(note):
            return False
        if self.path and not is_within(note.path, self.path):
            return False
        if self.since and day_of(note) < self.since.date().isoformat():
            return False
        if self.until and day_of(note) > self.until.date().isoformat():
            return False
        return all(has_tag(note.tags, tag) for tag in self.tags)


def has_tag(tags: Iterable[str], wanted: str) -> bool:
    """Whether one of the tags is the wanted one, or nested in it, as somebody types it."""
    from amem_cli.language.lexicon import as_typed, fold

    parent = f"{fold(wanted.removeprefix('#').strip('/'))}/"
    own = (each for tag in map(fold, tags) for each in (tag, *as_typed(tag)))
    return any(f"{each}/".startswith(parent) for each in own)


def day_of(note: NoteOutline | NoteSummary) -> str:
    """The local day on which a note was made, as far as the index tells."""
    return note.made[:10]


def as_then(index: MemoryIndex, note: NoteSummary, filters: Filters | None) -> NoteSummary:
    """The note without what notes of after the day to look back from say in its context."""
    if filters is None or filters.as_of is None or not note.context:
        return note
    from amem_cli.index.records import with_key
    from amem_cli.journal.link_decisions import before_closing

    day = filters.as_of.date().isoformat()

    def is_later(event: Event) -> bool:
        named = with_key(index.notes.find(event.trigger), event.trigger)
        # Of a note that is gone, when it was processed tells.
        return not any(map(filters.is_past, named)) if named else event.time[:10] > day

    events = index.events.read(note.key)
    return replace(note, context=before_closing(events, note.context, counts=is_later)[0])


def is_within(path: str, place: str) -> bool:
    """True for a note that is or lies in `place`: a note, a folder, or a pattern of either."""
    wanted, own = _plain_place(place), unicodedata.normalize("NFC", path)
    if wanted == ".":
        return True
    if own in (wanted, f"{wanted}.md") or own.startswith(f"{wanted}/"):
        return True
    is_pattern = any(sign in wanted for sign in "*?[")
    return is_pattern and (fnmatchcase(own, wanted) or fnmatchcase(own, f"{wanted}/*"))


@lru_cache(maxsize=8)
def _plain_place(place: str) -> str:
    return unicodedata.normalize("NFC", normpath(place.strip().strip("/") or "."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersession:
    """The notes whose links say of a note that it no longer holds, the newest first."""

    superseded_by: tuple[NoteSummary, ...] = ()
    contradicted_by: tuple[NoteSummary, ...] = ()

    @property
    def newer(self) -> tuple[NoteSummary, ...]:
        """All of them, those that supersede it first."""
        return self.superseded_by + self.contradicted_by

    @property
    def words(self) -> list[tuple[str, NoteSummary]]:
        """What a person reads of the older note, and because of which newer one."""
        superseded = [("superseded", each) for each in self.superseded_by]
        return [*superseded, *(("contradicted", each) for each in self.contradicted_by)]


@dataclass(frozen=True, slots=True)
class Hit(Supersession):
    """One search result.

    Attributes:
        score: 0..1, how likely it is that the note was wanted; the same scale in every search.
        close: False if the score is below the calibrated floor: the note is merely near.
        rank_score: 0..1, what the hits of this one search are ordered by.
        snippet: from the nearest passage for `semantic`, else from the one with the most words of
            the query.
        via: None, or the key of the hit whose link led here.
        marks: starts and ends of the query's words in the snippet.
    """

    note: NoteSummary
    score: float
    snippet: str
    close: bool = True
    rank_score: float = 0.0
    via: str | None = None
    marks: tuple[tuple[int, int], ...] = ()


def encoder_if_any(opened: Callable[[], Encoder], notify: Callable[[str], None]) -> Encoder | None:
    """The encoder from `opened`; None, with a notice, if it is not available."""
    try:
        return opened()
    except (EncoderError, SettingsError) as error:
        notify(f"! {error.message}; the notes are searched by words alone")
        return None


def search(
    index: MemoryIndex,
    query: str,
    *,
    encoder: Encoder | None,
    mode: Mode = "hybrid",
    limit: int = 5,
    neighbors: bool = True,
    filters: Filters | None = None,
    min_score: float | None = None,
) -> list[Hit]:
    """The best notes for a query, then notes linked to them.

    A note that supersedes another one comes right before it, whatever its own score, and is added
    if the search did not find it; it does not count towards `limit`. So does a later note that
    contradicts it, if the search found both.

    Args:
        encoder: not needed for `keyword`.
        limit: number of direct hits; at most as many neighbours follow them.
        min_score: leave out hits with a lower score. None keeps all; those below the calibrated
            floor are not `close`.

    Raises:
        UsageError: the query is empty, or a mode that needs an encoder has none.
    """
    if not query.strip():
        raise UsageError("the query is empty", hint='Say what to look for: amem search "…".')
    if mode != "keyword" and encoder is None:
        raise UsageError(f"{mode} search needs an encoder")

    from amem_cli.search.evidence import scale_for
    from amem_cli.search.scoring import LEAST_READABLE, LONG_QUERY, QueryScorer
    from amem_cli.search.snippet import marks, snippet

    limit = max(1, min(limit, MAX_HITS))
    allowed = None
    if filters:
        allowed = {note.path for note in index.notes.outlines() if filters.admit(note)}
    scorer = QueryScorer(index, query, max(CANDIDATES, limit * 2), allowed)
    vector: Vectors | None = None
    readable: float | None = None
    is_spread = False
    if mode == "keyword" or encoder is None:
        scores = scorer.by_words()
    else:
        (vector, tokens), readable = encoder.encode_question(query), encoder.readable(query)
        is_spread = encoder.is_spread
        if mode == "semantic":
            scores = scorer.by_meaning(vector)
        else:
            scores = scorer.by_both(vector, tokens, readable, is_spread=is_spread)
            first = list(scores)[:_READ_AGAIN]
            # It learned from single questions, and from notes that stand alone.
            is_question = len(scorer.terms) < LONG_QUERY and readable >= LEAST_READABLE
            if len(first) > 1 and is_question and not scorer.are_turns(first):
                texts = _passages_near(index, first, vector)
                scores = _reordered(scores, first, encoder.relevance(query, texts))
    # An id names its note, though it stands in no text.
    own = [note.path for note in index.notes.find(query.strip()) if note.id == query.strip()]
    named = {path: 1.0 for path in own if allowed is None or path in allowed}
    scores = {**named, **{path: score for path, score in scores.items() if path not in named}}

    def hit(path: str, score: float, via: str | None) -> Hit | None:
        note = index.notes.summary(path)
        if note is None:
            return None
        note = as_then(index, note, filters)
        passages = index.text.passages(path)
        if vector is not None and len(passages) > 1:
            order = index.vectors.nearest_passages(path, vector)
            if order and mode == "semantic":
                passages = [passages[order[0]]]
            else:
                # Of passages with as many words of the query the nearest one is shown.
                passages = [passages[i] for i in dict.fromkeys((*order, *range(len(passages))))]
        text = snippet(passages, scorer.terms, languages=scorer.languages)
        words = marks(text, scorer.terms, scorer.languages)
        return Hit(note, 0.0, text, rank_score=round(score, 4), via=via, marks=words)

    best = [(path, score, None) for path, score in list(scores.items())[:limit]]
    hits = [found for each in best if (found := hit(*each)) is not None]
    if neighbors:
        linked = _neighbors(index, hits, scores, allowed)[:limit]
        hits += [found for each in linked if (found := hit(*each)) is not None]
    ordered = with_current_first(index, hits, hit, allowed, filters or Filters())
    judged = list(scores)[:JUDGED]
    paths = dict.fromkeys((*judged, *(each.note.path for each in hits)))
    scale = scale_for(readable, is_spread=is_spread)
    evidence = scorer.evidence(list(paths), vector)
    likely = {path: named.get(path) or scale.score(each) for path, each in evidence.items()}
    # Who names a limit of their own gets all above it as what they want.
    floor = scale.floor if min_score is None else 0.0
    scored = _scored(ordered, _falling(likely, judged), floor)
    return [each for each in scored if min_score is None or each.score >= min_score]


def _passages_near(index: MemoryIndex, paths: Sequence[str], vector: Vectors) -> list[str]:
    """Of each note its title and the passage that is nearest to a vector."""
    titles, found = {path: note.title for path, note in index.notes.of_paths(paths).items()}, []
    for path in paths:
        passages = index.text.passages(path) or [""]
        nearest = index.vectors.nearest_passages(path, vector) if len(passages) > 1 else ()
        # Another process may have changed the note in between.
        place = nearest[0] if nearest and nearest[0] < len(passages) else 0
        found.append(f"{titles.get(path, '')}\n{passages[place]}")
    return found


def _reordered(
    scores: Mapping[str, float], first: Sequence[str], odds: Vectors
) -> dict[str, float]:
    """The scores, best first; the first notes by these and their odds, with the same scores in
    another order. Without odds they stay."""
    worth = {path: scores[path] + _READING * each for path, each in zip(first, odds, strict=False)}
    order = sorted(worth, key=lambda path: -worth[path])
    swapped = {path: scores[place] for path, place in zip(order, first, strict=False)}
    return {**swapped, **{path: score for path, score in scores.items() if path not in worth}}


def _falling(likely: Mapping[str, float], judged: Sequence[str]) -> dict[str, float]:
    """Scores that never rise from one note to the next; `likely` has the `judged` ones first.

    A note ranked above another one is at least as good as that one's evidence. The first notes are
    judged together, however many hits were asked for, so that this number changes no score.
    """
    best = 0.0
    falling: dict[str, float] = {}
    for path in reversed(judged):
        best = falling[path] = max(best, likely[path])
    falling = dict(reversed(falling.items()))
    lowest = falling[judged[-1]] if judged else 0.0
    for path in list(likely)[len(judged) :]:
        lowest = falling[path] = min(lowest, likely[path])
    return falling


def _scored(hits: Sequence[Hit], scores: Mapping[str, float], floor: float) -> list[Hit]:
    """The hits with their scores; a newer note has at least the score of those it supersedes."""
    best = 0.0
    scored: list[Hit] = []
    for hit in reversed(hits):
        best = max(best, scores.get(hit.note.path, 0.0))
        scored.append(replace(hit, score=round(best, 4), close=best >= floor))
    return scored[::-1]


def _neighbors(
    index: MemoryIndex,
    hits: Sequence[Hit],
    scores: Mapping[str, float],
    allowed: Collection[str] | None,
) -> list[tuple[str, float, str]]:
    """Paths one link away from a hit, by the mean of both rank scores, with the hit's id."""
    direct = {hit.note.path for hit in hits}
    floor = min((hit.rank_score for hit in hits), default=0.0)
    best: dict[str, tuple[float, str]] = {}
    for hit in hits:
        for path in index.links.linked(hit.note.path):
            if path in direct or (allowed is not None and path not in allowed):
                continue
            score = min(floor, (hit.rank_score + scores.get(path, 0.0)) / 2)
            if score > best.get(path, (-1.0, ""))[0]:
                best[path] = (score, hit.note.key)
    order = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    return [(path, score, via) for path, (score, via) in order]


def supersessions(
    index: MemoryIndex, paths: Sequence[str] | None = None, filters: Filters | None = None
) -> dict[str, Supersession]:
    """By path, those of the notes at `paths` (None: all) that others supersede or contradict."""
    return _by_path(index, index.link_history.superseded(paths), filters or Filters())


def _by_path(
    index: MemoryIndex, links: Iterable[SupersedingLink], filters: Filters
) -> dict[str, Supersession]:
    newer: dict[tuple[str, str], list[NoteSummary]] = {}
    for link in links:
        note = index.notes.summary(link.newer)
        if note is not None and filters.is_past(note):
            newer.setdefault((link.older, link.relation), []).append(note)
    for notes in newer.values():
        notes.sort(key=lambda note: note.path)
        notes.sort(key=lambda note: note.created, reverse=True)
    return {
        older: Supersession(
            superseded_by=tuple(newer.get((older, "supersedes"), ())),
            contradicted_by=tuple(newer.get((older, "contradicts"), ())),
        )
        for older, _ in newer
    }


def with_current_first(
    index: MemoryIndex,
    hits: Sequence[Hit],
    new_hit: Callable[[str, float, str | None], Hit | None],
    allowed: Collection[str] | None,
    filters: Filters,
) -> list[Hit]:
    """Hits with what supersedes or contradicts each, the current note right before an older one.

    A note that supersedes a hit and is none is added, with the older one's rank score, and its id
    as `via`. No hit is dropped for it.

    Args:
        new_hit: makes a hit of a path, a score and a `via`.
        allowed: paths that may be added; None for all.
    """
    links = index.link_history.superseded([hit.note.path for hit in hits])
    if not links:
        return list(hits)
    links += _further(index, links)
    known = _by_path(index, links, filters)
    by_path = {hit.note.path: hit for hit in hits}
    # What contradicts an older note may be about something else beside: it is not brought in.
    newer = {
        path: [note.path for note in each.superseded_by]
        + [note.path for note in each.contradicted_by if note.path in by_path]
        for path, each in known.items()
    }
    ordered: list[Hit] = []
    score = 0.0
    keys: dict[str, str] = {}
    # From the end, so that a note placed before another has at least its score.
    for path, older in reversed(current_first(by_path, newer, allowed)):
        score = max(score, by_path[path].rank_score if path in by_path else 0.0)
        hit = by_path.get(path) or new_hit(path, score, keys.get(older or "", older))
        if hit is not None:
            keys[path] = hit.note.key
            said = known.get(path, Supersession())
            own = {name: getattr(said, name) for name in Supersession.__slots__}
            ordered.append(replace(hit, rank_score=score, **own))
    return ordered[::-1]


def _further(index: MemoryIndex, links: Sequence[SupersedingLink]) -> list[SupersedingLink]:
    """The links that lead from the newer notes to what is newer still."""
    further: list[SupersedingLink] = []
    seen = {link.older for link in links}
    ahead = {link.newer for link in links if link.relation == "supersedes"} - seen
    while ahead and len(seen) < _MAX_FOLLOWED:
        seen |= ahead
        links = index.link_history.superseded(sorted(ahead))
        further += links
        ahead = {link.newer for link in links if link.relation == "supersedes"} - seen
    return further


def current_first(
    hits: Collection[str], newer: Mapping[str, Sequence[str]], allowed: Collection[str] | None
) -> list[tuple[str, str | None]]:
    """Hits, best first, each after the notes that supersede it; those come with its path.

    Notes that supersede one another in a circle stay in place: none of them is the current one.

    Args:
        newer: what supersedes a note.
        allowed: what may be added; None for all.
    """
    later = {path: _all_later(path, newer) for path in newer}
    placed: dict[str, None] = {}
    older: dict[str, str] = {}
    seen: set[str] = set()

    def place(path: str) -> int:
        """Place a note behind its newer ones; returns how many were added."""
        seen.add(path)
        added = 0
        for other in newer.get(path, ()):
            if other not in seen and path not in later.get(other, ()):
                older[other] = path
                added += place(other)
        is_new = path not in hits
        if not is_new or (added < _MAX_ADDED and (allowed is None or path in allowed)):
            placed[path] = None
            added += is_new
        return added

    def nearest_placed(path: str) -> str:
        # Notes between the two may be left out.
        before = older[path]
        while before not in placed:
            before = older[before]
        return before

    for path in hits:
        if path not in seen:
            place(path)
    return [(path, None if path in hits else nearest_placed(path)) for path in placed]


def _all_later(path: str, newer: Mapping[str, Sequence[str]]) -> set[str]:
    """All notes that supersede a note, however indirectly; itself too if they go in a circle."""
    reached: set[str] = set()
    waiting = list(newer.get(path, ()))
    while waiting:
        other = waiting.pop()
        if other not in reached:
            reached.add(other)
            waiting += newer.get(other, ())
    return reached
