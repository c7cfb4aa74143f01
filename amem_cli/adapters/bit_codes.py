"""Vectors as the signs of their numbers, and in how many signs two of them differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from amem_cli.core.ports import Vectors

_WORD_BITS = 64

Codes = NDArray[np.uint64]


def words_of(dimension: int) -> int:
    """How many 64-bit words the signs of one vector take."""
    return -(-dimension // _WORD_BITS)


def unit_length(vectors: Vectors) -> Vectors:
    """Vectors of length one, shape (count, dimension); a zero vector stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled


def sign_codes(vectors: Vectors, centre: Vectors) -> Codes:
    """On which side of the centre each number is.

    Models put all texts into one corner of their space; seen from its centre half the signs are
    positive, and they tell texts apart.

    Args:
        vectors: shape (count, dimension); centre: mean of unit vectors, shape (dimension,).

    Returns:
        Shape (count, words).
    """
    bits = np.packbits(unit_length(vectors) > centre, axis=1)
    padded = np.zeros((len(vectors), words_of(centre.shape[0]) * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view("<u8")


def sign_differences(blocks: Codes, code: Codes) -> NDArray[np.uint16]:
    """In how many signs codes differ from one.

    Args:
        blocks: shape (blocks, words, codes of a block); code: shape (words,).

    Returns:
        Shape (blocks, codes of a block).
    """
    return _ones(blocks ^ code[:, np.newaxis])


def _ones(words: Codes) -> NDArray[np.uint16]:
    # Looked up by name: NumPy 1 has no such function.
    count: Any = getattr(np, "bitwise_count", None)
    if count is None:
        return count_by_table(words)
    counts = count(words)
    total: NDArray[np.uint16] = counts.sum(axis=1, dtype=np.uint16)
    return total


def count_by_table(words: Codes) -> NDArray[np.uint16]:
    """Bits that are set, summed over axis 1 of shape (blocks, words, codes); for NumPy 1."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
    table = np.unpackbits(halves, axis=1).sum(axis=1, dtype=np.uint8)
    quarters = table[words.view(np.uint16)].reshape(*words.shape, -1)
    total: NDArray[np.uint16] = quarters.sum(axis=(1, 3), dtype=np.uint16)
    return total
