"""Writes strings and lists as YAML that every reader takes for the same strings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

Form = Literal["free", "quoted", "moment"]
"""How a string is written: plain where that is clearly safe, always quoted, or as a bare date."""

_PUNCTUATION = frozenset(" _/-.,;()'+&%?!’–—")
_NOT_IN_FLOW = frozenset(",?")
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"])
# What cannot be seen or printed, and what a template engine would take for its own.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\\{(?=\\{)|<(?=%)")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?)"
    r"(?:(?<=:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,6})?(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?)?\Z"
)


def scalar(text: str, form: Form = "free", *, in_flow: bool = False) -> str:
    """One string on one line; a date only where `form` asks for it and the text is a real one."""
    if form == "moment" and _is_moment(text):
        return text
    if form != "quoted" and _is_plain(text, in_flow=in_flow):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def property_text(
    name: str, value: str | Sequence[str], line_ending: str, *, indent: str = "", form: Form
) -> str:
    """A whole property with its line ending; a list stands in block style, indented by two."""
    start = f"{indent}{scalar(name)}:"
    if isinstance(value, str):
        return f"{start} {scalar(value, form)}{line_ending}"
    return start + block_items(value, line_ending, indent) + line_ending


def block_items(texts: Sequence[str], line_ending: str, indent: str) -> str:
    """What follows the colon of a list in block style, without its last line ending."""
    if not texts:
        return " []"
    return "".join(f"{line_ending}{indent}  - {scalar(text)}" for text in texts)


def _is_plain(text: str, *, in_flow: bool) -> bool:
    # Beginning with a letter excludes numbers, dates, times and every indicator of YAML.
    return (
        text[:1].isalpha()
        and not text.endswith(" ")
        and "  " not in text
        and text.lower() not in _RESERVED
        and all(letter.isalnum() or letter in _PUNCTUATION for letter in text)
        and not (in_flow and not _NOT_IN_FLOW.isdisjoint(text))
    )


def _is_moment(text: str) -> bool:
    found = _MOMENT.match(text)
    if found is None:
        return False
    try:
        datetime.fromisoformat(found[1])
    except ValueError:
        return False
    return True
