"""Vectors as the signs of their numbers, with which a large index is searched fast.

The bits follow from the vectors and the `centre`, the mean at the time when the bits were first
made. They only choose which vectors are compared; scores always come from whole vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amem_cli.index.file import CODES_PER_BLOCK
from amem_cli.models.common_part import unit_length

if TYPE_CHECKING:
    from amem_cli.index.connection import Database
    from amem_cli.models.ports import Vectors

_WORD_BITS = 64
# Small enough for the memory of one portion to serve for the next.
_BLOCKS_AT_ONCE = 12

Codes = NDArray[np.uint64]


class BitCodes:
    """The bits of the vectors that searches see."""

    def __init__(self, file: Database, centre: bytes) -> None:
        self._file = file
        self._centre = np.frombuffer(centre, dtype="<f4")

    def store(self, passages: Sequence[int], vectors: Vectors) -> None:
        """Store the bits of passages; shape (len(passages), dimension)."""
        codes = sign_codes(vectors, self._centre)
        numbers = np.asarray(passages, dtype=np.int64)
        for block in np.unique(numbers // CODES_PER_BLOCK).tolist():
            mine = numbers // CODES_PER_BLOCK == block
            places = numbers[mine] % CODES_PER_BLOCK
            held = np.zeros(CODES_PER_BLOCK, dtype=bool)
            bits = np.zeros((codes.shape[1], CODES_PER_BLOCK), dtype="<u8")
            for row in self._file.rows("SELECT held, bits FROM codes WHERE block = ?", (block,)):
                held = np.frombuffer(row[0], dtype=bool).copy()
                bits = np.frombuffer(row[1], dtype="<u8").reshape(bits.shape).copy()
            held[places] = True
            bits[:, places] = codes[mine].T
            sql = "INSERT OR REPLACE INTO codes VALUES(?, ?, ?)"
            self._file.rows(sql, (block, held.tobytes(), bits.tobytes()))

    def nearest(self, vector: Vectors, wanted: int) -> list[int]:
        """Passages whose codes differ least from a vector's, ascending, at most `wanted`."""
        code = sign_codes(vector[np.newaxis], self._centre)[0]
        nowhere = len(code) * _WORD_BITS + 1
        numbers: list[int] = []
        portions = [np.empty(0, dtype=np.uint16)]
        sql = "SELECT block, held, bits FROM codes ORDER BY block"
        for rows in self._file.portions(sql, size=_BLOCKS_AT_ONCE):
            blocks, held, bits = zip(*rows, strict=True)
            codes = np.frombuffer(b"".join(bits), dtype="<u8").reshape(
                -1, len(code), CODES_PER_BLOCK
            )
            differences = sign_differences(codes, code).reshape(-1)
            differences[~np.frombuffer(b"".join(held), dtype=bool)] = nowhere
            portions.append(differences)
            numbers.extend(blocks)
        differences = np.concatenate(portions)
        # Differences are small numbers, and to count them is faster than to sort all passages.
        reached = np.bincount(differences, minlength=nowhere)[:nowhere].cumsum()
        limit = min(int(np.searchsorted(reached, wanted)), nowhere - 1)
        near = np.flatnonzero(differences <= limit)
        if len(near) > wanted:
            near = near[np.argsort(differences[near], kind="stable")[:wanted]]
        firsts = np.array(numbers, dtype=np.int64) * CODES_PER_BLOCK
        passages = np.sort(firsts[near // CODES_PER_BLOCK] + near % CODES_PER_BLOCK)
        return [int(passage) for passage in passages]


def code_all(file: Database) -> None:
    """Make the centre and the bits of all vectors in the index."""
    sql = "SELECT passage, embedding FROM vectors ORDER BY passage"

    def portions() -> Iterator[tuple[list[int], Vectors]]:
        for rows in file.portions(sql, size=CODES_PER_BLOCK):
            flat = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4")
            yield [row[0] for row in rows], flat.reshape(len(rows), -1)

    total, count = 0.0, 0
    for _, vectors in portions():
        total = total + unit_length(vectors).sum(axis=0, dtype="f8")
        count += len(vectors)
    centre = np.asarray(total / count, dtype="<f4").tobytes()
    file.rows("INSERT INTO centre VALUES(?)", (centre,))
    codes = BitCodes(file, centre)
    for passages, vectors in portions():
        codes.store(passages, vectors)


def sign_codes(vectors: Vectors, centre: Vectors) -> Codes:
    """On which side of the centre each number is.

    Models put all texts into one corner of their space; seen from its centre half the signs are
    positive, and they tell texts apart. Shapes: (count, dimension) and (dimension,) give
    (count, words).
    """
    bits = np.packbits(unit_length(vectors) > centre, axis=1)
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % (_WORD_BITS // 8)))).view("<u8")


def sign_differences(blocks: Codes, code: Codes) -> NDArray[np.uint16]:
    """In how many signs codes differ from one.

    Shapes: (blocks, words, codes of a block) and (words,) give (blocks, codes of a block).
    """
    differing = np.bitwise_count(blocks ^ code[:, np.newaxis])
    total: NDArray[np.uint16] = differing.sum(axis=1, dtype=np.uint16)
    return total
