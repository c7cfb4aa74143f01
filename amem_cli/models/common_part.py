"""Takes from vectors what all of an encoder's vectors have in common.

A query loses a part of their mean: without it, a note of everyday talk is not near to every query.
Some encoders find all texts alike: the cosines of multilingual-e5-small are between 0.7 and 1.
Their vectors lose the mean and the directions in which one language differs from another, so that
a text is as near to its translation as to a paraphrase (as in Libovický et al. 2019, arXiv
1911.03310, and Yang et al. 2021, arXiv 2109.07306). An encoder of one language loses the first
principal components instead (Mu and Viswanath 2018, "All-but-the-Top", arXiv 1702.01417).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from amem_cli.data import table

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, Vectors

# Of an encoder that finds all texts alike: what is taken from all its vectors.
COMMON_FILE = "common_part.f32"
# Of any other one: what is taken from queries.
MEAN_FILE = "mean.f32"

# The length of the mean of unit vectors: 0.46 for all-MiniLM-L6-v2, 0.90 for the family of E5.
_ALIKE = 0.6
# The share of the mean that a query loses; a half or a whole one finds as much.
_QUERY_SHARE = 1 / 3
# The share of the components that the paper recommends.
_NUMBERS_A_COMPONENT = 100
# The least share of a text's tokens that an encoder has to know for its vector to mean anything.
_LEAST_READABLE = 0.9
_LEAST_LENGTH = 1e-12


class CommonPart:
    """The mean, of shape (n,), and components, of shape (k, n), of an encoder's vectors."""

    def __init__(self, mean: Vectors, components: Vectors) -> None:
        self._mean, self._components = mean, components

    @property
    def is_large(self) -> bool:
        """Whether the encoder finds all texts alike."""
        return len(self._components) > 0

    @classmethod
    def of(cls, encoder: Encoder) -> CommonPart | None:
        """What the encoder's vectors have in common; None if it knows too few of the texts."""
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
            return cls(mean, vectors[:0])
        languages = _means_of_languages(encoder)
        if len(languages) > 1:
            count, vectors = len(languages) - 1, languages
        else:
            count = -(-len(mean) // _NUMBERS_A_COMPONENT)
        _, _, components = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        return cls(mean, components[:count])

    @classmethod
    def read(cls, file: Path, dimension: int) -> CommonPart:
        """That of an encoder from its file; raises `OSError` or `ValueError`."""
        content = file.read_bytes()
        # `reshape` raises ValueError for a file of another length.
        rows = np.frombuffer(content, "<f4").reshape(-1, dimension)
        if not len(rows) or not np.isfinite(rows).all():
            raise ValueError(f"{file.name} has no rows of {dimension} numbers")
        return cls(rows[0], rows[1:])

    def write(self, folder: Path) -> dict[str, int]:
        """Write it beside the export; returns the file's size by its name; raises `OSError`."""
        name = COMMON_FILE if self.is_large else MEAN_FILE
        rows = np.vstack([self._mean, self._components]).astype("<f4")
        return {name: (folder / name).write_bytes(rows.tobytes())}

    def taken_from(self, vectors: Vectors, *, query: bool = False) -> Vectors:
        """The unit vectors, of shape (count, n), without it, as unit vectors.

        Without components only those of queries lose something, a part of the mean.
        """
        if self.is_large:
            rest = vectors - self._mean
            rest -= (rest @ self._components.T) @ self._components
            return unit_length(rest)
        return unit_length(vectors - _QUERY_SHARE * self._mean) if query else vectors


def _means_of_languages(encoder: Encoder) -> Vectors:
    """The means of the same texts' vectors in each language that the encoder knows, of shape
    (languages, n)."""
    means = [
        encoder.encode(texts).mean(axis=0)
        for texts in table("parallel_texts.toml").values()
        if min(map(encoder.readable, texts)) >= _LEAST_READABLE
    ]
    return np.array(means, np.float32)


def unit_length(rows: Vectors) -> Vectors:
    """The rows, each divided by its length; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = rows / np.maximum(lengths, _LEAST_LENGTH)
    return unit
