"""The phrases of the language files as regular expressions over folded text.

A phrase is plain words, where `*` at the end or the beginning of a word stands for any letters and
` … ` for up to 40 letters of a clause, or a regular expression between slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby

from amem_cli.language.lexicon import is_expression, phrases
from amem_cli.language.words import UNSPACED_RUN

# Matches nothing.
NOTHING = r"(?!)"
_LETTERS = r"\w{0,30}"
_GAP = r"[^.;,]{0,40}"


def is_written_unspaced(phrase: str) -> bool:
    """Whether a phrase is written without blanks: it has Chinese, Japanese or Korean characters."""
    return UNSPACED_RUN.search(phrase) is not None


def expression(phrase: str) -> str:
    """A phrase as a regular expression, without boundaries of words."""
    if is_expression(phrase):
        return phrase[1:-1]
    parts = []
    for word in phrase.split():
        if word == "…":
            parts.append(_GAP)
            continue
        bare = re.escape(word.strip("*"))
        head, tail = word.startswith("*"), word.endswith("*")
        parts.append(f"{_LETTERS * head}{bare}{_LETTERS * tail}")
    return " ".join(parts).replace(f" {_GAP} ", _GAP)


def alternatives(texts: Iterable[str]) -> str:
    """Phrases as one expression that matches any of them, in their order; words are whole."""
    rows = []
    for is_plain, group in groupby(texts, key=_is_plain):
        joined = "|".join(map(expression, group))
        rows.append(rf"\b(?:{joined})\b" if is_plain else joined)
    return f"(?:{'|'.join(rows)})" if rows else NOTHING


def _is_plain(text: str) -> bool:
    return not (is_expression(text) or is_written_unspaced(text))


def spaced(field: str) -> str:
    """The phrases of a field that are written with blanks, as alternatives without boundaries."""
    return _either(text for text in phrases(field) if not is_written_unspaced(text))


def unspaced(field: str) -> str:
    """The phrases of a field that are written without blanks, as alternatives."""
    return _either(text for text in phrases(field) if is_written_unspaced(text))


def _either(texts: Iterable[str]) -> str:
    rows = [expression(text) for text in texts]
    return f"(?:{'|'.join(rows)})" if rows else NOTHING


@cache
def field_pattern(field: str) -> re.Pattern[str]:
    """Any phrase of a field in any language, as a compiled expression."""
    return re.compile(alternatives(phrases(field)))
