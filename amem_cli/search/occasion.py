"""Notes of one occasion: what they lend each other, and what a turn of a conversation is worth.

Notes of one folder written within an hour belong together: a talk, a meeting, a lecture. Each leans
on the others, so a good hit lends them a share of its score. A turn of a conversation is a note
that begins with who says it ("Ann: …"); of such the search also knows who speaks, who asks, and
who says next to nothing. The shares were fitted conversation by conversation: docs/retrieval.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amem_cli.language.words import fold, words

# Of its excess a note lends this share to the one written next, and to the one before.
TIME_SHARE = 0.4
# Turns lend more to those of the same speaker, who goes on with the matter.
SAME_SPEAKER_SHARE = 0.85
OTHER_SPEAKER_SHARE = 0.5
# What the second, third and fourth note away get, as a share of what the nearer one got.
TIME_DECAY = 0.8
TIME_REACH = 4
# A person's notes of different days lend each other nothing.
TIME_SPAN_SECONDS = 3600
# A note that ends with a question has the words of the query, but the next note has the answer: it
# gets this much on top, and ends up a little above the question.
ANSWER_SHARE = 0.75
# A turn of a conversation depends on those around it, a note of several paragraphs does not: at
# twice this length, in characters, a note gives and gets a quarter.
LEANING_LENGTH = 250
# A turn of whom the query speaks gains this share of its score.
SPEAKER_SHARE = 0.2
# Among short turns, one that only asks says nothing, and the shorter one is the less it says: of
# half the length below `TELLING_LENGTH` a turn is worth `BREVITY_COST * ln 2` less.
QUESTION_COST = 0.16
BREVITY_COST = 0.13
TELLING_LENGTH = 300
# Two letters of filler ("Oh!") or ten make no difference.
_LEAST_LENGTH = 20
_ENDS_ASKING = re.compile(r"[?？؟][\s\"'”’»)\]*_]{0,8}\Z")
_SPEAKER = re.compile(r"\s{0,8}([^\n:]{1,40}): ")


@dataclass(frozen=True, slots=True)
class Turn:
    """A note among the others of its occasion.

    Attributes:
        speaker: who says it, folded; empty if the note does not begin with a name and a colon.
        length: characters of its first passages; a long note need not be read whole.
    """

    speaker: str = ""
    asks: bool = False
    length: int = 0

    @classmethod
    def of(cls, beginning: str, ending: str, length: int) -> Turn:
        """From a few characters of the beginning and the end of a text."""
        match = _SPEAKER.match(beginning)
        return cls(fold(match.group(1)) if match else "", bool(_ENDS_ASKING.search(ending)), length)


_UNKNOWN = Turn()


def lent_in_time(
    surplus: Mapping[str, float],
    neighbours: Mapping[str, Iterable[tuple[str, int]]],
    turns: Mapping[str, Turn],
) -> dict[str, float]:
    """What notes get from those written next to them, summed.

    Args:
        surplus: what each note has to lend.
        neighbours: for a note the others with their distance in notes: 1 for the next one, -1 for
            the one before.
        turns: of all of them; a note without one counts as short.
    """
    gains: dict[str, float] = {}
    for source, amount in surplus.items():
        lender = turns.get(source, _UNKNOWN)
        for key, distance in neighbours.get(source, ()):
            borrower = turns.get(key, _UNKNOWN)
            share = _share(lender.speaker, borrower.speaker) * TIME_DECAY ** (abs(distance) - 1)
            if distance == 1 and lender.asks:
                share += ANSWER_SHARE
            longer = max(lender.length, borrower.length, LEANING_LENGTH)
            gains[key] = gains.get(key, 0.0) + share * (LEANING_LENGTH / longer) ** 2 * amount
    return gains


def _share(lender: str, borrower: str) -> float:
    if not lender or not borrower:
        return TIME_SHARE
    return SAME_SPEAKER_SHARE if lender == borrower else OTHER_SPEAKER_SHARE


def gained_by_speakers(
    query: str, scores: Mapping[str, float], turns: Mapping[str, Turn]
) -> dict[str, float]:
    """What turns gain because the query names who speaks."""
    asked = frozenset(words(query))
    return {
        key: SPEAKER_SHARE * score
        for key, score in scores.items()
        if (said_by := words(turns.get(key, _UNKNOWN).speaker)) and asked.issuperset(said_by)
    }


def lost_by_turns(
    neighbours: Mapping[str, Iterable[tuple[str, int]]], turns: Mapping[str, Turn]
) -> dict[str, float]:
    """What turns of a talk of short turns lose for asking, and for saying little; negative."""
    lost: dict[str, float] = {}
    for key, others in neighbours.items():
        own = turns.get(key, _UNKNOWN)
        lengths = [turns.get(other, _UNKNOWN).length for other, _ in others]
        # The turns of an assistant are long: there the short ones are a person's, and tell most.
        if not own.speaker or not lengths or sum(lengths) >= TELLING_LENGTH * len(lengths):
            continue
        told = (min(own.length, TELLING_LENGTH) + _LEAST_LENGTH) / (TELLING_LENGTH + _LEAST_LENGTH)
        lost[key] = BREVITY_COST * math.log(told) - QUESTION_COST * own.asks
    return lost
