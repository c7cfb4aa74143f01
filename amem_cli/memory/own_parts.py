"""What of a shortened note the note itself says, part by part.

A small model that shortens a note joins words that do not belong together, and tells a guess as a
fact. So a part counts only if one sentence of the note has its words in their order, and leaves
nothing out that turns what is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from amem_cli.data import table
from amem_cli.language.words import is_unspaced, sentences, words

_BETWEEN = re.compile(r"([;,:] )")


def own_parts(line: str, title: str, text: str) -> str:
    """The parts of a line, between commas, colons and semicolons, that the note says; a line in a
    script without blanks as it is."""
    if any(map(is_unspaced, line)):
        return line
    told = [
        words(each) for each in (title, *sentences(text)) if not each.rstrip(")\"'” ").endswith("?")
    ]
    named = frozenset(words(title))
    kept, between = "", ""
    # Every second piece is what stands between two parts.
    pieces = [*_BETWEEN.split(line.rstrip(".")), ""]
    for part, after in zip(pieces[::2], pieces[1::2], strict=True):
        spoken = words(part)
        if any(_is_said(spoken, sentence, named) for sentence in told):
            kept += f"{between if kept else ''}{part}"
        between = after
    return kept


@cache
def _words(kind: str) -> frozenset[str]:
    return frozenset(table("prompts.toml")["summary"][kind].split())


def _is_said(part: Sequence[str], sentence: Sequence[str], named: frozenset[str]) -> bool:
    """Whether a sentence has the words of a part in their order; those of the title and those that
    only join others may stand anywhere."""
    free, turning = _words("joining"), _words("turning")
    last, used = -1, set[int]()
    for word in part:
        place = next((at for at in range(last + 1, len(sentence)) if sentence[at] == word), None)
        if place is None or (word in free and place > last + 2):
            if word not in free | named:
                return False
        else:
            last = place
            used.add(place)
    return bool(used) and not any(
        word in turning for at, word in enumerate(sentence[: last + 2]) if at not in used
    )
