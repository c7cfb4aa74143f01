"""Keys and passwords in text: told apart from other words, and blotted out."""

from __future__ import annotations

import re
from collections.abc import Mapping

BLOTTED = "***"
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
