"""Examples of a person's decisions about links, as they are shown to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amem_cli.core.model_text import FENCE, quote_line
from amem_cli.core.sources import estimated_tokens

_TITLE_BYTES = 80
_RELATION_BYTES = 20
_REASON_BYTES = 120
# Tokens of a question beside which there is room for examples.
_LONGEST_QUESTION = 1_000


@dataclass(frozen=True, slots=True)
class LinkExample:
    """A pair of notes of which a person decided whether they belong together.

    Attributes:
        newer, older: titles of the note that has or had the link, and of the other.
    """

    newer: str
    older: str
    kept: bool
    relation: str = "related"
    reason: str = ""


def with_examples(examples: Sequence[LinkExample], question: str) -> str:
    """A question with the examples before it, as data in a fence of their own.

    They are left out where the question is long, so that nothing of it is cut for them.
    """
    if not examples or estimated_tokens(question) > _LONGEST_QUESTION:
        return question
    lines = [f"The owner's decisions on other notes:\n{FENCE}", *map(_line, examples), FENCE]
    return "\n".join([*lines, question])


def _line(example: LinkExample) -> str:
    newer, older = (quote_line(title, _TITLE_BYTES) for title in (example.newer, example.older))
    if not example.kept:
        return f"not linked: {newer} | {older}"
    relation = quote_line(example.relation, _RELATION_BYTES)
    reason = quote_line(example.reason, _REASON_BYTES)
    return f"linked: {newer} | {older} | {relation}{reason and f': {reason}'}"
