"""Words of a text without blanks between them, found by what recurs in it and in the vault.

A run of characters is cut at words of grammar (的, 了, 因为). A piece of what lies between is taken
for a word if it recurs in the note or in others, or stands in brackets or alone in the title.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from amem_cli.data import word_set
from amem_cli.language.lexicon import word_list
from amem_cli.language.words import UNSPACED_RUN

_LONGEST = 6
_MOST_LOOKED_UP = 60
# What stands in them is a name: of a book, a place, a thing.
_BRACKETS = re.compile(r"[《〈「『]([^《〈「『》〉」』\n]{2,16})[》〉」』]")
_FOR_BRACKETS, _FOR_TITLE, _FOR_EVERYDAY = 2.5, 1.5, 0.3
_FOR_LENGTH = 0.2


class ScoredPhrase(NamedTuple):
    """A phrase as the text spells it most often.

    Attributes:
        firm: it has the shape of a keyword, and is hardly cut out of a longer word; a loose one
            (`callum drops`, a lone everyday word) is a last resort.
        opens: it begins a sentence, an item or the title.
    """

    text: str
    score: float
    firm: bool
    opens: bool


def unspaced_pieces(
    lines: Sequence[str], document_frequency: Callable[[str], int] | None = None
) -> list[ScoredPhrase]:
    """The pieces of two to six characters that the lines, the title first, may be about."""
    counts: Counter[str] = Counter()
    whole: set[str] = set()
    first: dict[str, int] = {}
    opening: set[str] = set()
    for number, line in enumerate(lines):
        for chunk, opens in _chunks(line):
            whole.add(chunk)
            opening |= {chunk} if opens else set()
            for start in range(len(chunk) - 1):
                for end in range(start + 2, min(start + _LONGEST, len(chunk)) + 1):
                    counts[chunk[start:end]] += 1
                    first.setdefault(chunk[start:end], number)
    named = {
        match[1] for line in lines for match in _BRACKETS.finditer(line) if _is_unspaced(match[1])
    }
    in_title = {chunk for chunk, _ in _chunks(lines[0])} if lines else set()
    recurring = _longest(counts)
    elsewhere = _known_elsewhere(whole, counts, document_frequency)
    pieces = []
    for text in {
        *named,
        *recurring,
        *elsewhere,
        *(each for each in whole if len(each) <= _LONGEST),
    }:
        count, is_everyday = max(1, counts[text]), text in word_list("everyday")
        is_bounded = text in whole or not (_is_weak(text[0]) or _is_weak(text[-1]))
        is_word = text in named or (
            not is_everyday
            and is_bounded
            and (
                text in recurring
                or text in elsewhere
                or (text in in_title and len(text) <= _LONGEST - 1)
            )
        )
        score = (0.4 + math.log(1 + count)) * (1 + _FOR_LENGTH * (min(len(text), 4) - 2))
        score *= _FOR_BRACKETS if text in named else 1.0
        score *= _FOR_TITLE if text in in_title else 1.0
        score *= _FOR_EVERYDAY if is_everyday else 1.0
        score /= 1 + 0.25 * math.log(1 + first.get(text, 0))
        pieces.append(ScoredPhrase(text, score, is_word, text in opening))
    return pieces


def _chunks(line: str) -> Iterator[tuple[str, bool]]:
    """What stands between words of grammar in a line, and whether it begins the line."""
    begins = _begin(line)
    for run in UNSPACED_RUN.finditer(line):
        start = run.start()
        for cut in (*_grammar().finditer(line, *run.span()), None):
            end = run.end() if cut is None else cut.start()
            if end - start > 1:
                yield line[start:end], start == begins
            start = run.end() if cut is None else cut.end()


def _begin(line: str) -> int:
    found = UNSPACED_RUN.search(line)
    return found.start() if found else 0


@cache
def _grammar() -> re.Pattern[str]:
    longest_first = sorted(word_list("particles"), key=lambda word: (-len(word), word))
    characters = "".join(sorted(word_list("particle_characters")))
    return re.compile("|".join((*map(re.escape, longest_first), f"[{re.escape(characters)}]")))


def _is_weak(character: str) -> bool:
    """Whether a character carries grammar, though it is part of many words too."""
    return character in word_set("stopwords/zh.txt")


def _is_unspaced(text: str) -> bool:
    return UNSPACED_RUN.fullmatch(text) is not None


def _longest(counts: Counter[str]) -> set[str]:
    """The pieces that recur, but for those that occur only within one longer piece that recurs."""
    recurring = {text for text, count in counts.items() if count > 1}
    within = {
        part
        for text in recurring
        for part in (text[1:], text[:-1])
        if len(part) > 1 and counts[part] == counts[text]
    }
    return recurring - within


def _known_elsewhere(
    chunks: set[str],
    counts: Counter[str],
    document_frequency: Callable[[str], int] | None,
) -> set[str]:
    """The longest pieces that other notes hold as well, none overlapping another."""
    if document_frequency is None:
        return set()
    left = _MOST_LOOKED_UP
    found: set[str] = set()
    for chunk in sorted(chunks, key=lambda each: (-counts[each[:_LONGEST]], each)):
        start = 0
        while start < len(chunk) - 1:
            for end in range(min(start + 4, len(chunk)), start + 1, -1):
                piece = chunk[start:end]
                left -= 1
                if left < 0:
                    return found
                # The note itself may be counted.
                if document_frequency(piece) > 1:
                    found.add(piece)
                    start = end - 1
                    break
            start += 1
    return found
