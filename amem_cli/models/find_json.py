"""Finds the JSON object that a program wrote among fences, prose, thoughts and terminal codes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

# An answer is shorter by far, and stands at the end.
MOST_READ = 131_072
# How often, on average, a character may be read: nested braces that are never closed would
# otherwise be read once for each of them.
READS_OF_A_CHARACTER = 32
# Properties in which programs put the answer when they are asked for a report of the whole run.
ENVELOPES = ("result", "response")

_TERMINAL_CODE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_THOUGHTS = re.compile(r"\s*<(think(?:ing)?)>")
_OBJECT_START = re.compile(r'\{\s*["}]')
_DECODER = json.JSONDecoder()


def without_terminal_codes(text: str) -> str:
    """The text without what colours it or moves the cursor."""
    return _TERMINAL_CODE.sub("", text)


def find_answer(text: str, names: Collection[str]) -> str | None:
    """The part of a text that is the answer.

    It is the last JSON object that has all the named properties, or else the last one. An object
    whose `result` or `response` is a text with such an object stands for that.

    Args:
        text: what a program wrote, of any length and shape.

    Returns:
        The object as it is written there, or None if the text holds none.
    """
    return _answer_in(without_terminal_codes(text.lstrip("\ufeff")), names, is_envelope=False)


def _answer_in(text: str, names: Collection[str], *, is_envelope: bool) -> str | None:
    spoken = _without_thoughts(text)[-MOST_READ:]
    last: tuple[dict[str, Any], str] | None = None
    answer: str | None = None
    for value, start, end in _objects(spoken):
        last = (value, spoken[start:end])
        if all(name in value for name in names):
            answer = last[1]
    if answer is not None or last is None:
        return answer
    value, written = last
    for name in () if is_envelope else ENVELOPES:
        inner = value.get(name)
        found = _answer_in(inner, names, is_envelope=True) if isinstance(inner, str) else None
        if found is not None:
            return found
    return written


def _without_thoughts(text: str) -> str:
    """What follows the thoughts at the beginning: nothing if they were never finished."""
    opened = _THOUGHTS.match(text)
    return text.partition(f"</{opened[1]}>")[2] if opened else text


def _objects(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The outermost complete JSON objects, from left to right, each with its place."""
    at, reads = 0, READS_OF_A_CHARACTER * len(text)
    while reads > 0 and (found := _OBJECT_START.search(text, at)):
        start = found.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        # A number of thousands of digits is a ValueError without a place.
        except (ValueError, RecursionError) as error:
            reads -= getattr(error, "pos", len(text)) - start
            at = start + 1
            continue
        yield value, start, end
        at = end
