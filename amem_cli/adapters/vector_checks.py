"""What every encoder holds its input and output against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from amem_cli.core.errors import EncoderError

if TYPE_CHECKING:
    from amem_cli.core.ports import Vectors

_NORM_TOLERANCE = 1e-3


def clean_text(text: str) -> str:
    """The text with `?` for lone surrogates, which no tokenizer takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def checked_vectors(vectors: Any, shape: tuple[int, int]) -> Vectors:
    """The vectors as float32 of that shape.

    Raises:
        EncoderError: another shape, a value that is not finite, or a length that is not 1.
    """
    rows: Vectors = np.asarray(vectors, dtype=np.float32)
    if rows.shape != shape:
        raise EncoderError(f"the encoder gave {rows.shape} numbers instead of {shape}")
    if not np.isfinite(rows).all():
        raise EncoderError(
            "the encoder gave numbers that are not finite",
            hint="The model's files may be damaged; install or download them again.",
        )
    # Computed in float64 so that huge values do not overflow into a length of infinity.
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    if (abs(lengths - 1) > _NORM_TOLERANCE).any():
        raise EncoderError("the encoder gave vectors that are not of unit length")
    return rows
