"""How the scores of words and of vectors become one ranking, and what notes lend each other.

The shares were chosen by experiment; `docs/retrieval.md` tells on what, and what each is worth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

# Share of the cosine in the fused score; a convex fusion of normalised scores loses less than
# rank fusion where one of the two legs knows nothing (Bruch et al. 2023, arXiv 2210.11934).
COSINE_SHARE = 0.55
# BM25 forgives a missing word where another one is frequent; a note that holds every word of the
# question is more likely meant. So for a question of up to six terms; one of twelve is a text to
# find the like of, and no note repeats all of it.
COVERAGE_POWER = 0.75
SHORT_QUESTION = 6
LONG_QUESTION = 12

# Half each: the reranker knows only the text, the search also what stands beside it; see the page.
RERANKER_SHARE = 0.5

# The best of many passages is near the question by chance: the expected maximum of n cosines with
# the spread that passages of one note have grows about as the logarithm of n.
PASSAGE_CHANCE = 0.04

# Only the best candidates lend, and only what they have above the last one of them: else every
# note with neighbours would gain, and most where an encoder finds all texts alike (a script that
# it never learned).
LENDERS = 20

# Of its excess a note lends this share to the one written next, and to the one before.
TIME_SHARE = 0.4
# What the second, third and fourth note away get, each of what the nearer one got.
TIME_DECAY = 0.8
TIME_REACH = 4
# Written within this span of one another in one folder, notes belong to one occasion: a
# conversation, a meeting, a lecture. A person's notes of different days lend each other nothing.
TIME_SPAN_SECONDS = 3600
# A note that ends with a question has the words that are asked for, the next note has what is
# wanted: that one gets this much on top, and with it a little more than the question has.
ANSWER_SHARE = 0.7
# A turn of a conversation leans on those around it, a note of several paragraphs stands by itself:
# of twice this length, in characters, it gives and gets a quarter.
LEANING_LENGTH = 250
_ENDS_ASKING = re.compile(r"[?？؟][\s\"'”’»)\]*_]{0,8}\Z")
# A link in the text is a person's; it says what similarity does not. One in the front matter may
# come from the machine, which had looked at similarity already.
TEXT_LINK_SHARE = 0.5
PROPERTY_LINK_SHARE = 0.3
# A note that links to more notes than this says less about each of them.
SELECTIVE_LINKS = 8
# Of a note's history of newer versions so many, the newest, are brought in where it is found.
MOST_BROUGHT_IN = 3


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores divided by the best one; what is not above zero is zero."""
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict.fromkeys(scores, 0.0)
    return {key: max(0.0, score) / best for key, score in scores.items()}


def fused(
    cosines: Mapping[str, float], words: Mapping[str, float], readable: float = 1.0
) -> dict[str, float]:
    """Convex fusion over the union of both legs, best first.

    Args:
        cosines, words: both should know every candidate; a missing score counts as nothing.
        readable: share of the question that the encoder can read, 0..1. Of a script that it never
            learned it sees little more than the punctuation, and the words count for more.
    """
    near, said = normalised(cosines), normalised(words)
    share = COSINE_SHARE * math.sqrt(readable) if said and near else float(bool(near))
    scores = {
        key: share * near.get(key, 0.0) + (1 - share) * said.get(key, 0.0) for key in {*near, *said}
    }
    return ranked(scores)


def less_chance(cosines: Mapping[str, float], passages: Mapping[str, int]) -> dict[str, float]:
    """Cosines of notes' best passages, less what the best of so many has by chance, best first."""
    return ranked(
        {
            key: cosine - PASSAGE_CHANCE * math.log(max(1, passages.get(key, 1)))
            for key, cosine in cosines.items()
        }
    )


def ranked(scores: Mapping[str, float]) -> dict[str, float]:
    """Best first; ties by key, so that an answer never depends on chance."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def covered(
    words: Mapping[str, float], matches: Sequence[tuple[int, Set[str]]], total: int
) -> dict[str, float]:
    """Scores of words, less for a note that holds only a part of what was asked.

    Args:
        words: BM25 by note.
        matches: for each term in how many notes it occurs, and which of the scored notes hold it.
        total: number of notes.
    """
    weights = [math.log(1 + total / (count + 0.5)) if count else 0.0 for count, _ in matches]
    whole = sum(weights)
    if whole <= 0:
        return dict(words)
    fading = (LONG_QUESTION - len(matches)) / (LONG_QUESTION - SHORT_QUESTION)
    power = COVERAGE_POWER * min(1.0, max(0.0, fading))
    scores = {}
    for key, score in words.items():
        held = sum(w for w, (_, keys) in zip(weights, matches, strict=True) if key in keys)
        scores[key] = score * (held / whole) ** power
    return scores


def excess(scores: Mapping[str, float]) -> dict[str, float]:
    """What the `LENDERS` best notes have above the last of them."""
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:LENDERS]
    floor = best[-1][1] if best else 0.0
    return {key: score - floor for key, score in best if score > floor}


def asks(text: str) -> bool:
    """True for a text that ends with a question."""
    return _ENDS_ASKING.search(text[-9:]) is not None


def lent_in_time(
    surplus: Mapping[str, float],
    neighbours: Mapping[str, Iterable[tuple[str, int]]],
    lengths: Mapping[str, int],
    asking: Set[str] = frozenset(),
) -> dict[str, float]:
    """What notes get from those written next to them, summed.

    Args:
        surplus: what each note has to lend.
        neighbours: for a note the others with their distance in notes: 1 for the next one, -1 for
            the one before.
        lengths: characters of the notes; none for one that counts as short.
        asking: notes that end with a question.
    """
    gains: dict[str, float] = {}
    for source, spare in surplus.items():
        for key, distance in neighbours.get(source, ()):
            share = TIME_SHARE * TIME_DECAY ** (abs(distance) - 1)
            if distance == 1 and source in asking:
                share += ANSWER_SHARE
            longer = max(lengths.get(source, 0), lengths.get(key, 0), LEANING_LENGTH)
            leaning = (LEANING_LENGTH / longer) ** 2
            gains[key] = gains.get(key, 0.0) + share * leaning * spare
    return gains


def lent_by_links(
    surplus: Mapping[str, float], links: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """What notes get from the best note that is linked with them.

    Args:
        surplus: what each note has to lend.
        links: for a note the linked ones with the share that the link passes on.
    """
    gains: dict[str, float] = {}
    for source, spare in surplus.items():
        linked = links.get(source, {})
        selective = min(1.0, SELECTIVE_LINKS / len(linked)) if linked else 0.0
        for key, share in linked.items():
            gains[key] = max(gains.get(key, 0.0), share * selective * spare)
    return gains


def reranked(scores: Mapping[str, float], told: Mapping[str, float]) -> dict[str, float]:
    """Scores of 0..1 mixed with what a reranker told of the best of them, best first.

    What it was not told of stays below all that it was told of.
    """
    return ranked(
        {
            key: (1 - RERANKER_SHARE) * score + RERANKER_SHARE * told.get(key, 0.0)
            for key, score in scores.items()
        }
    )


def with_gains(scores: Mapping[str, float], *gains: Mapping[str, float]) -> dict[str, float]:
    """Scores and what was lent, best first, within 0..1."""
    total = dict(scores)
    for gain in gains:
        for key, amount in gain.items():
            total[key] = total.get(key, 0.0) + amount
    best = max(1.0, *total.values()) if total else 1.0
    return ranked({key: score / best for key, score in total.items()})


def current_first(
    order: Sequence[str], newer: Mapping[str, Sequence[str]], enters: Callable[[str], bool]
) -> list[tuple[str, str | None]]:
    """Puts the notes that supersede another one right before it.

    Notes that supersede one another in a circle stay as they are: none of them is the current one.

    Args:
        order: the notes found, best first.
        newer: for a note the ones that supersede it, the newest first.
        enters: whether a note that was not found may be brought in.

    Returns:
        The notes found, and those brought in, each with the note that it was brought in for, else
        None. Of a long history only the newest notes come in, `MOST_BROUGHT_IN` for each hit.
    """
    found = set(order)
    later = {key: _all_later(key, newer) for key in newer}
    placed: dict[str, None] = {}
    older: dict[str, str] = {}
    seen: set[str] = set()

    def place(key: str) -> int:
        """Place a note behind its newer ones; returns how many came in."""
        seen.add(key)
        came = 0
        for other in newer.get(key, ()):
            if other not in seen and key not in later.get(other, ()):
                older[other] = key
                came += place(other)
        if key in found:
            placed[key] = None
        elif came < MOST_BROUGHT_IN and enters(key):
            placed[key] = None
            came += 1
        return came

    for each in order:
        if each not in seen:
            place(each)
    return [(key, None if key in found else _first_in(key, older, placed)) for key in placed]


def _first_in(key: str, older: Mapping[str, str], placed: Mapping[str, None]) -> str:
    """The nearest note behind a newer one that is shown."""
    before = older[key]
    while before not in placed:
        before = older[before]
    return before


def _all_later(key: str, newer: Mapping[str, Sequence[str]]) -> set[str]:
    """All notes that supersede a note, at whatever distance; itself too where they go round."""
    reached: set[str] = set()
    waiting = list(newer.get(key, ()))
    while waiting:
        other = waiting.pop()
        if other not in reached:
            reached.add(other)
            waiting += newer.get(other, ())
    return reached
