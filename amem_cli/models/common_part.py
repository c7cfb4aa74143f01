"""Takes from vectors what all of an encoder's vectors have in common.

Some encoders find all texts alike: the cosines of multilingual-e5-small are between 0.7 and 1.
Without their mean and first principal components, vectors tell texts apart as those of other
encoders do, and one text in two languages is found more alike than two in one language (Mu and
Viswanath 2018, "All-but-the-Top", arXiv 1702.01417).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from amem_cli.data import table

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, Vectors

COMMON_FILE = "common_part.f32"

# The length of the mean of unit vectors: 0.46 for all-MiniLM-L6-v2, 0.90 for the family of E5.
_ALIKE = 0.6
# The share of the components that the paper recommends.
_NUMBERS_A_COMPONENT = 100
# The least share of a text's tokens that an encoder has to know for its vector to mean anything.
_LEAST_READABLE = 0.9


class CommonPart:
    """The mean, of shape (n,), and components, of shape (k, n), of an encoder's vectors."""

    def __init__(self, mean: Vectors, components: Vectors) -> None:
        self._mean, self._components = mean, components

    @classmethod
    def of(cls, encoder: Encoder) -> CommonPart | None:
        """What the encoder's vectors have in common; None if that is little."""
        texts = [
            text
            for text in table("unrelated_texts.toml")["texts"]
            if encoder.readable(text) >= _LEAST_READABLE
        ]
        if not texts:
            return None
        vectors = encoder.encode(texts)
        mean = vectors.mean(axis=0)
        if np.linalg.norm(mean) < _ALIKE:
            return None
        _, _, components = np.linalg.svd(vectors - mean, full_matrices=False)
        return cls(mean, components[: -(-len(mean) // _NUMBERS_A_COMPONENT)])

    @classmethod
    def read(cls, folder: Path, dimension: int) -> CommonPart:
        """That of the encoder in an export's folder; raises `OSError` or `ValueError`."""
        content = (folder / COMMON_FILE).read_bytes()
        # `reshape` raises ValueError for a file of another length.
        rows = np.frombuffer(content, "<f4").reshape(-1, dimension)
        if not len(rows) or not np.isfinite(rows).all():
            raise ValueError(f"{COMMON_FILE} has no rows of {dimension} numbers")
        return cls(rows[0], rows[1:])

    def write(self, folder: Path) -> int:
        """Write it beside the export; returns how many bytes; raises `OSError`."""
        rows = np.vstack([self._mean, self._components]).astype("<f4")
        return (folder / COMMON_FILE).write_bytes(rows.tobytes())

    def taken_from(self, vectors: Vectors) -> Vectors:
        """The unit vectors, of shape (count, n), without it, as unit vectors."""
        rest = vectors - self._mean
        rest -= (rest @ self._components.T) @ self._components
        lengths = np.linalg.norm(rest, axis=1, keepdims=True)
        return np.asarray(rest / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)
