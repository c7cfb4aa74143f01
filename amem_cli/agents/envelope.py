"""Marks text of notes as data, with a mark that no note can know."""

from __future__ import annotations

import secrets

from amem_cli.agents.result_schemas import NOTICE

# Drawn anew by every process, so that no text can close the envelope it is in.
_MARK = secrets.token_hex(6)


def marked(text: str) -> str:
    """The text between two lines that say that it is data."""
    return f"{NOTICE}\n--- notes {_MARK} begin ---\n{text}\n--- notes {_MARK} end ---"
