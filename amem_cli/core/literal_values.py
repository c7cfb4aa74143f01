"""Reads lists and mappings stored as text, as JSON or as Python writes them; runs nothing."""

from __future__ import annotations

import ast
import json
import re

MAX_TEXT = 256 * 1024
MAX_DEPTH = 20

# One that is not closed matches too, so that no text is gone over twice.
_STRING = re.compile(r"'(?:[^'\\]|\\.)*(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)", re.DOTALL)
_PLAIN_DATA = re.compile(
    r"(?:[\[\](){},:.\s0-9]|(?:True|False|None)\b|-(?=[0-9])|[eE][+-]?(?=[0-9]))*"
)


def literal_value(text: str) -> object:
    """The list or mapping that a text writes out; the text itself where it is none.

    Strings, numbers, truth values, None, lists, tuples and mappings are read, at most 256 KiB of
    them and 20 deep.
    """
    trimmed = text.strip()
    if not trimmed.startswith(("[", "{", "(")) or len(trimmed) > MAX_TEXT:
        return text
    bare = _STRING.sub("", trimmed)
    if _is_too_deep(bare):
        return text
    try:
        return json.loads(trimmed)
    except (ValueError, RecursionError):
        pass
    if not _PLAIN_DATA.fullmatch(bare):
        return text
    try:
        return ast.literal_eval(trimmed)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text


def texts_in(value: object) -> tuple[str, ...]:
    """The texts and numbers of a stored list, each once; of one text, those between commas."""
    if isinstance(value, str):
        value = literal_value(value)
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, (list, tuple)):
        return ()
    texts = (
        " ".join(str(item).split())
        for item in value
        if isinstance(item, (str, int, float)) and not isinstance(item, bool)
    )
    return tuple(dict.fromkeys(text for text in texts if text and text != "None"))


def _is_too_deep(text: str) -> bool:
    depth = 0
    for letter in text:
        if letter in "[{(":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif letter in "]})":
            depth -= 1
    return False
