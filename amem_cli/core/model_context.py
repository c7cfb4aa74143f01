"""Decides whether a model's sentence may stand as the context of a note."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from amem_cli.core.model_text import clean_line, numbers_in, repeats_itself, subject_stems
from amem_cli.core.words import detect_language, fold, sentences, words

Similarity = Callable[[str, str], float]

LONGEST_CONTEXT = 200
SHORTEST_CONTEXT = 20
_FEWEST_WORDS = 4
_ENDS = (".", "!", "?", "…", "。", "！", "？", ".”", ".“", ".»", '."', ".)")
_JUNK = frozenset("{}[]|\\^~#_=@\t")
_ECHO_WORDS = 5
_COPY_WORDS = 6


@dataclass(frozen=True)
class Source:
    """A note that a sentence must be about, read once for several checks.

    Attributes:
        title, text: of the note.
        said: further text that a sentence about the note may draw on, such as its metadata or
            the newer note that changes it.
    """

    title: str
    text: str
    said: str = ""

    @cached_property
    def whole(self) -> str:
        """Title and text."""
        return f"{self.title}\n{self.text}"

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of the subject words of title and text."""
        return subject_stems(self.whole)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers that a sentence about the note may name."""
        return numbers_in(f"{self.whole}\n{self.said}")

    @cached_property
    def spoken(self) -> str:
        """Words of everything that may be drawn on, in order, between blanks."""
        return f" {' '.join(words(self.whole))} | {' '.join(words(self.said))} "

    def shares(self, line: str) -> float:
        """Share of the line's subject words that the note has, 0..1."""
        own = subject_stems(line)
        return len(own & self.stems) / len(own) if own else 0.0
