"""How much an agent may send and is given at once."""

from __future__ import annotations

# A message of that many bytes is still read, so that the refusal names the call.
MESSAGE_BYTES = 32 * 1024 * 1024
WAITING_CALLS = 2_000

TEXT_CHARACTERS = 500_000
QUERY_CHARACTERS = 2_000
NAME_CHARACTERS = 500
SENTENCE_CHARACTERS = 1_000
WORD_CHARACTERS = 100
WORDS = 50

HITS = 50
LISTED = 100
LINKED = 100
EVENTS = 100
READ_CHARACTERS = 20_000
MOST_READ_CHARACTERS = 100_000
SHOWN_CHARACTERS = 1_000
SHOWN_WORDS = 30
RESOURCES_ON_A_PAGE = 100


def cut(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """A text that ends in `…` where it is longer than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
