"""An encoder without a model: texts that share words are near each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import shake_128
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

_WORD = re.compile(r"\w+")


class FakeEncoder:
    """Sums a pseudo-random vector of each word, the same on every machine.

    Attributes:
        encoded: every text that was encoded, in order.
    """

    def __init__(
        self,
        *,
        dimension: int = 64,
        name: str = "fake",
        max_tokens: int = 256,
        reads: float = 1.0,
        is_spread: bool = False,
    ) -> None:
        self._dimension = dimension
        self._name = name
        self._max_tokens = max_tokens
        self._reads = reads
        self.is_spread = is_spread
        self.encoded: list[str] = []

    @property
    def model_id(self) -> str:
        return f"{self._name}@{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def readable(self, text: str) -> float:
        return self._reads

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        self.encoded.extend(texts)
        vectors = np.empty((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._vector(text)
        return vectors

    def encode_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        tokens = map(self._tokens, texts)
        return self.encode(texts), [np.packbits(each > 0, axis=1).tobytes() for each in tokens]

    def encode_question(self, text: str, *, plain: bool = False) -> tuple[Vectors, Vectors]:
        return self.encode([text], query=True)[0], self._tokens(text) / self._dimension**0.5

    def relevance(self, question: str, texts: Sequence[str]) -> Vectors:
        return np.empty(0, np.float32)

    def _tokens(self, text: str) -> Vectors:
        words = _WORD.findall(text.lower())[: self._max_tokens]
        signs = [_signs(word, self._dimension) for word in words]
        return np.array(signs, np.float32).reshape(-1, self._dimension)

    def _vector(self, text: str) -> Vectors:
        total = self._tokens(text).sum(axis=0)
        if not total.any():
            total = _signs("", self._dimension)
        unit: Vectors = total / np.linalg.norm(total)
        return unit


@lru_cache(maxsize=50_000)
def _signs(word: str, dimension: int) -> Vectors:
    """A vector of +1 and -1 that is nearly at right angles to that of any other word."""
    noise = shake_128(word.encode("utf-8", "surrogatepass")).digest(dimension)
    signs: Vectors = np.where(np.frombuffer(noise, np.uint8) < 128, np.float32(-1), np.float32(1))
    return signs


def unlike(one: str, other: str) -> float:
    """The cosine of two texts that have nothing to do with one another."""
    return 0.0
