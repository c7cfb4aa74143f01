"""An encoder for tests: unit vectors of letter trigrams, so that like texts are near."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

DIMENSION = 64


def encode(texts: Sequence[str]) -> Vectors:
    """Vectors of shape (len(texts), 64), each of unit length."""
    vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
    for row, text in enumerate(texts):
        padded = f"  {text.casefold()} "
        for start in range(len(padded) - 2):
            piece = padded[start : start + 3].encode("utf-8", "surrogatepass")
            vectors[row, zlib.crc32(piece) % DIMENSION] += 1
        vectors[row, 0] += 0.01
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / norms, dtype=np.float32)
