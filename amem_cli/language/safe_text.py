"""Text that is safe to show: secrets redacted, and nothing that steers a terminal."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Mapping
from typing import Any

BLOTTED = "***"
# A shorter value could be an ordinary word.
_SHORTEST_SECRET = 8

# The beginnings under which the services hand out keys.
_KEY = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|hf|nvapi|ghp|gho|github_pat|glpat|pplx|tgp|fw|r8)[-_]|AIza|AKIA)"
    r"(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{14,500}"
)
_BEARER = re.compile(r"(?i)\b(bearer[ \t]{1,8})[A-Za-z0-9._~+/=-]{8,2000}")
_PASSWORD_IN_ADDRESS = re.compile(r"(://)[^/\s@]{1,500}@")
_SECRET_NAME = re.compile(r"(?i)(?:^|_)(?:key|token|secret|password|passwd)$")


def holds_secret(text: str) -> bool:
    """Whether a text is likely to hold a key, or an address a password."""
    found = (_KEY.search(text), _BEARER.search(text), _PASSWORD_IN_ADDRESS.search(text))
    return any(found)


def redacted(text: str, environment: Mapping[str, str]) -> str:
    """The text without keys, without passwords, and without secrets of the environment.

    Args:
        environment: variables; those whose names end in `_KEY`, `_TOKEN`, `_SECRET` or `_PASSWORD`
            hold secrets.
    """
    for name, value in environment.items():
        if _SECRET_NAME.search(name) and len(value.strip()) >= _SHORTEST_SECRET:
            text = text.replace(value, BLOTTED).replace(value.strip(), BLOTTED)
    text = _BEARER.sub(rf"\1{BLOTTED}", _KEY.sub(BLOTTED, text))
    return _PASSWORD_IN_ADDRESS.sub(rf"\1{BLOTTED}@", text)


# What turns the direction of writing, and the line breaks that are not control characters.
_STEERING = frozenset(
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    "\u206a\u206b\u206c\u206d\u206e\u206f"
)
_NOT_PLAIN = re.compile(f"[{''.join(_STEERING)}\x7f-\x9f]")


def printable(text: str) -> str:
    """Text that cannot steer a terminal: control and direction characters are made visible."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char in "\n\t" or not (unicodedata.category(char) in ("Cc", "Cs") or char in _STEERING)
        else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


_FIRST_STRONG_ISOLATE, _END_OF_ISOLATE = "\u2068", "\u2069"


def isolated(text: str) -> str:
    """Printable text whose words written from right to left leave what stands beside it in place.

    A terminal that orders them by Unicode's rules would else take a date or path behind an Arabic
    title for a part of it. The signs have no width, and other terminals show nothing for them.
    """
    if text.isascii() or not any(unicodedata.bidirectional(each) in ("R", "AL") for each in text):
        return text
    lines = text.split("\n")
    isolates = (f"{_FIRST_STRONG_ISOLATE}{line}{_END_OF_ISOLATE}" for line in lines)
    return "\n".join(isolates)


_LINE_BREAKS = re.compile(r"\s*[\n\r\u2028\u2029]\s*")


def on_one_line(text: str) -> str:
    """Printable text in which a line break is made visible too, as in a file's name."""
    return printable(text).replace("\n", "\N{REPLACEMENT CHARACTER}")


def flowed(text: str) -> str:
    """Printable text on one line, its line breaks as blanks, as prose is read."""
    return printable(_LINE_BREAKS.sub(" ", text))


def json_text(document: Any, *, indent: int | None = None) -> str:
    """A JSON document for stdout, with what a terminal or encoding cannot hold escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    try:
        printed = _NOT_PLAIN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        printed.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Half a surrogate pair, or a terminal that is not UTF-8.
        return json.dumps(document, indent=indent)
    return printed
