"""Vectors of passages in the index: of which model they are, who has none yet, and which are near.

`vectors` holds those of one model, which alone searches see. `other_vectors` holds those of the
model that the index is to use next, or after that of the one before: when all passages have one,
the two tables change places.

Vectors as the signs of their numbers, which lead fast to those that are near one. The bits
follow from the vectors and the `centre`, which is the mean at the time when the bits were first
made; they only choose what is compared, scores always come from whole vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from amem_cli.errors import EncoderError
from amem_cli.index.file import CODES_PER_BLOCK
from amem_cli.index.notes import summaries_by_number
from amem_cli.index.records import PassageJob

if TYPE_CHECKING:
    from amem_cli.index.connection import IndexConnection
    from amem_cli.models.ports import Vectors

# Passages of one note that get vectors: about 140,000 characters; the rest is found by its words.
_MAX_EMBEDDED = 200
# Below this many passages comparing with each vector is as fast as going by the bits.
_CODES_FROM = 4096
# How many passages the bits lead to, which are then compared exactly: this many for each note
# wanted, and at least as many as follow; docs/performance.md shows what they find.
_CANDIDATES_EACH = 24
_MIN_CANDIDATES = 800
# Shorter vectors have fewer bits, which say less; more are compared then.
_USUAL_DIMENSION = 384

_WAITING = "embedded = 0"
_WAITING_FOR_OTHER = "passage NOT IN (SELECT passage FROM other_vectors)"
_SCORES = """
SELECT n.path, 1.0 - near.distance FROM (
  SELECT passage, vec_distance_cosine(embedding, ?) AS distance FROM {source}
  ORDER BY distance NULLS LAST, passage LIMIT ?) near
JOIN passages p USING(passage) JOIN notes n USING(note)
"""
_SCORES_OF_ALL = _SCORES.format(source="vectors")
_SCORES_OF_SOME = _SCORES.format(source="json_each(?) CROSS JOIN vectors ON passage = value")
_SCORES_AMONG = """
SELECT n.path, 1.0 - vec_distance_cosine(v.embedding, ?) FROM notes n
JOIN passages p USING(note) JOIN vectors v USING(passage)
WHERE n.path IN (SELECT value FROM json_each(?)) AND p.embedded = 1
"""
_VECTORS_OF_NOTES = """
SELECT n.path, v.embedding FROM notes n JOIN passages p USING(note) JOIN vectors v USING(passage)
WHERE p.embedded = 1
"""


class IndexVectors:
    """Stores vectors and finds those near one."""

    def __init__(self, file: IndexConnection) -> None:
        self._file = file
        # What was to be embedded, by passage, so that a vector never goes to another text.
        self._embed_keys: dict[int, bytes] = {}
        self._model_id: str | None = None

    def encoder(self) -> str | None:
        """Id of the model whose vectors searches see."""
        return self._file.meta("encoder")

    def use_encoder(self, model_id: str, dimension: int) -> bool:
        """Prepare for vectors of this model; True if searches still use another model's."""
        self._model_id = model_id
        known = self.encoder()
        if known == model_id:
            return False
        with self._file.changing():
            if known is None:
                self._file.set_meta("encoder", model_id)
                self._file.set_meta("dimension", str(int(dimension)))
            elif self._file.meta("other_encoder") != model_id:
                self._file.rows("DELETE FROM other_vectors")
                self._file.set_meta("other_encoder", model_id)
                self._file.set_meta("other_dimension", str(int(dimension)))
        return known is not None

    def count_to_embed(self, model_id: str) -> int:
        """How many passages have no vector of this model."""
        condition = self._missing(model_id) or "TRUE"
        sql = f"SELECT count(*) FROM passages WHERE position < ? AND {condition}"  # noqa: S608
        return int(self._file.value(sql, _MAX_EMBEDDED))

    def passages_to_embed(self, limit: int | None = None, after: int = 0) -> list[PassageJob]:
        """Passages without a vector of the model in use, by number.

        Args:
            limit: at most so many.
            after: only those with a greater number.
        """
        condition = self._missing(self._model_id or self.encoder() or "") or _WAITING
        sql = (
            "SELECT passage, note, text, embed_key FROM passages WHERE position < ?"  # noqa: S608
            f" AND {condition} AND passage > ? ORDER BY passage LIMIT ?"
        )
        rows = self._file.rows(sql, (_MAX_EMBEDDED, after, -1 if limit is None else limit))
        summaries = summaries_by_number(self._file, {row[1] for row in rows})
        self._embed_keys |= {passage: key for passage, _, _, key in rows}
        return [
            PassageJob(passage, summaries[note], text)
            for passage, note, text, _ in rows
            if note in summaries
        ]

    def store(self, passages: Sequence[int], vectors: Vectors) -> None:
        """Add vectors; shape (len(passages), dimension); none if the index was made anew.

        Raises:
            EncoderError: a vector is of another shape, or not finite: it would come first in every
                search; or another process embeds by a third model meanwhile.
        """
        with self._file.changing():
            other = self.encoder() != self._model_id
            if other and not self._is_prepared():
                return
            self._refuse_odd(vectors, "other_dimension" if other else "dimension")
            # A passage may have been re-cut or removed while its vector was computed, and its
            # number may stand for another text by now.
            sql = "SELECT 1 FROM passages WHERE passage = ? AND embed_key = ?"
            current = [
                place
                for place, passage in enumerate(passages)
                if self._file.rows(sql, (passage, self._embed_keys.pop(passage, None)))
            ]
            stored = [passages[place] for place in current]
            table = "other_vectors" if other else "vectors"
            for passage, vector in zip(stored, vectors[current], strict=True):
                sql = f"INSERT OR REPLACE INTO {table} VALUES(?, ?)"
                self._file.rows(sql, (passage, _blob(vector)))
            if not other and stored:
                self._make_visible(stored, vectors[current])

    def switch_encoder(self) -> bool:
        """Let searches use the model in use; False while passages have no vector of it.

        Raises:
            EncoderError: another process embeds by a third model meanwhile.
        """
        with self._file.changing():
            if self.encoder() == self._model_id:
                return True
            if not self._is_prepared() or self._any_waiting(_WAITING_FOR_OTHER):
                return False
            self._exchange_tables()
            self._file.rows(
                "UPDATE passages SET embedded = passage IN (SELECT passage FROM vectors)"
            )
            self._code_if_many()
            return True

    def forget(self, passages: Sequence[int]) -> None:
        """Remove vectors together with their bits."""
        for passage in passages:
            self._file.rows("DELETE FROM vectors WHERE passage = ?", (passage,))
            self._file.rows("DELETE FROM other_vectors WHERE passage = ?", (passage,))
            block, place = divmod(passage, CODES_PER_BLOCK)
            held = self._file.value("SELECT held FROM codes WHERE block = ?", block)
            if held is not None:
                held = held[:place] + b"\0" + held[place + 1 :]
                self._file.rows("UPDATE codes SET held = ? WHERE block = ?", (held, block))

    def scores(
        self, vector: Vectors, limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """Best cosine of any passage by path, best first; shape of `vector`: (dimension,).

        Scores are exact, and so is the choice among given paths or in a small index; in a larger
        one at least 99 in 100 of the nearest are found.

        Raises:
            EncoderError: the vector is of another model, or not finite.
        """
        if limit < 1:
            return {}
        with self._file.reading_vectors():
            if self.encoder() is None:
                return {}
            self._refuse_odd(vector)
            if among is None:
                best = self._nearest_notes(vector, limit)
            else:
                paths = json.dumps(list(among))
                best = self._best(_SCORES_AMONG, (_blob(vector), paths))[0]
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        return dict(ranked[:limit])

    def nearest_passages(self, path: str, vector: Vectors) -> list[int]:
        """Positions of a note's passages that have vectors, nearest to a vector first.

        Raises:
            EncoderError: the vector is of another model, or not finite.
        """
        sql = (
            "SELECT position FROM notes JOIN passages USING(note) JOIN vectors USING(passage)"
            " WHERE path = ? ORDER BY vec_distance_cosine(embedding, ?) NULLS LAST, position"
        )
        with self._file.reading_vectors():
            if self.encoder() is None:
                return []
            self._refuse_odd(vector)
            return [position for (position,) in self._file.rows(sql, (path, _blob(vector)))]

    def of_note(self, path: str) -> Vectors | None:
        """Mean of a note's passage vectors, unit length, shape (dimension,)."""
        sql = f"{_VECTORS_OF_NOTES} AND n.path = ? ORDER BY position"
        blobs = [blob for _, blob in self._file.rows(sql, (path,))]
        if not blobs:
            return None
        import numpy as np

        mean = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), -1).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return (mean / length).astype(np.float32) if length > 0 else None

    def of_all_notes(self) -> dict[str, Vectors]:
        """The same for every note that has a vector, by path."""
        import numpy as np

        sums: dict[str, Vectors] = {}
        for path, blob in self._file.stream(_VECTORS_OF_NOTES):
            vector = np.frombuffer(blob, dtype="<f4")
            sums[path] = sums[path] + vector if path in sums else vector
        lengths = {path: float(np.linalg.norm(total)) for path, total in sums.items()}
        return {path: total / lengths[path] for path, total in sums.items() if lengths[path] > 0}

    def _is_prepared(self) -> bool:
        """True if the model in use is the next one; False in an index that was made anew.

        Raises:
            EncoderError: another process took its place. Two that take it from one another would
                never end.
        """
        if self.encoder() is None:
            return False
        if self._file.meta("other_encoder") == self._model_id:
            return True
        raise EncoderError(
            "another command embeds the notes by another encoder at the same time",
            hint="Let both use one encoder, or wait for the other: then amem index goes on.",
        )

    def _missing(self, model_id: str) -> str:
        """The condition for passages without a vector of a model; empty for an unknown model."""
        if self.encoder() == model_id:
            return _WAITING
        return _WAITING_FOR_OTHER if self._file.meta("other_encoder") == model_id else ""

    def _any_waiting(self, condition: str) -> bool:
        sql = f"SELECT 1 FROM passages WHERE position < ? AND {condition} LIMIT 1"  # noqa: S608
        return bool(self._file.rows(sql, (_MAX_EMBEDDED,)))

    def _refuse_odd(self, vectors: Vectors, key: str = "dimension") -> None:
        """Let no vector pass that would disturb every search.

        Args:
            key: under which the index has the dimension that it has to have.

        Raises:
            EncoderError: one has another dimension, or is not finite.
        """
        import numpy as np

        if str(vectors.shape[-1]) != self._file.meta(key):
            raise EncoderError(
                f"a vector of {vectors.shape[-1]} numbers is not of the model of the index",
                hint="amem index brings the index up to date.",
            )
        if not np.isfinite(vectors).all():
            raise EncoderError(
                "the encoder gave a vector that is not finite", hint="amem model test"
            )

    def _make_visible(self, passages: Sequence[int], vectors: Vectors) -> None:

        codes = BitCodes.stored(self._file)
        if codes is not None:
            codes.store(passages, vectors)
        for passage in passages:
            self._file.rows("UPDATE passages SET embedded = 1 WHERE passage = ?", (passage,))
        if codes is None and not self._any_waiting(_WAITING):
            self._code_if_many()

    def _code_if_many(self) -> None:
        """Make the bits of all vectors, if there are enough to need them."""
        # Passages are counted by a small index of theirs, vectors only by reading them all.
        for table in ("passages", "vectors"):
            if self._file.value(f"SELECT count(*) FROM {table}") < _CODES_FROM:  # noqa: S608
                return

        BitCodes.of_all(self._file)

    def _exchange_tables(self) -> None:
        """Let the other model's vectors change places with those that searches see, unread."""
        for old, new in (
            ("vectors", "former_vectors"),
            ("other_vectors", "vectors"),
            ("former_vectors", "other_vectors"),
        ):
            self._file.rows(f"ALTER TABLE {old} RENAME TO {new}")
        for key in ("encoder", "dimension"):
            former, coming = self._file.meta(key), self._file.meta(f"other_{key}")
            self._file.set_meta(key, coming or "")
            self._file.set_meta(f"other_{key}", former or "")
        for table in ("codes", "centre"):
            self._file.rows(f"DELETE FROM {table}")  # noqa: S608

    def _nearest_notes(self, vector: Vectors, limit: int) -> dict[str, float]:
        """Best cosine by path of at least `limit` notes, if there are as many."""

        codes = BitCodes.stored(self._file)
        # Long notes fill several places with their passages; ask for more than notes wanted.
        depth = limit * 4
        wanted = max(limit * _CANDIDATES_EACH, _MIN_CANDIDATES)
        wanted = wanted * max(_USUAL_DIMENSION // len(vector), 1)
        while True:
            if codes is None:
                best, count = self._best(_SCORES_OF_ALL, (_blob(vector), depth))
            else:
                near = json.dumps(codes.nearest(vector, max(depth * 2, wanted)))
                best, count = self._best(_SCORES_OF_SOME, (_blob(vector), near, depth))
            if len(best) >= limit or count < depth:
                return best
            depth *= 4

    def _best(self, sql: str, bindings: tuple[object, ...]) -> tuple[dict[str, float], int]:
        """Best cosine by path, and how many passages there were."""
        best: dict[str, float] = {}
        rows = self._file.rows(sql, bindings)
        for path, cosine in rows:
            if cosine is not None:
                best[path] = max(cosine, best.get(path, -1.0))
        return best, len(rows)


def _blob(vector: Vectors) -> bytes:
    return vector.astype("<f4").tobytes()


_WORD_BITS = 64
# Small enough for the memory of one portion to serve for the next.
_BLOCKS_AT_ONCE = 12

Codes = NDArray[np.uint64]


class BitCodes:
    """The bits of the vectors that searches see.

    Args:
        centre: mean of unit vectors, shape (dimension,).
    """

    def __init__(self, file: IndexConnection, centre: Vectors) -> None:
        self._file = file
        self._centre = centre

    @classmethod
    def of_all(cls, file: IndexConnection) -> BitCodes:
        """Make the bits of all vectors in the index."""
        total, count = 0.0, 0
        for _, vectors in _all_vectors(file):
            total = total + unit_length(vectors).sum(axis=0, dtype="f8")
            count += len(vectors)
        centre = np.asarray(total / count, dtype="<f4")
        file.rows("INSERT INTO centre VALUES(?)", (centre.tobytes(),))
        codes = cls(file, centre)
        for passages, vectors in _all_vectors(file):
            codes.store(passages, vectors)
        return codes

    @classmethod
    def stored(cls, file: IndexConnection) -> BitCodes | None:
        """The bits in the index; None if it has none yet."""
        mean = file.value("SELECT mean FROM centre")
        return None if mean is None else cls(file, np.frombuffer(mean, dtype="<f4"))

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
        reached = np.bincount(differences, minlength=nowhere)[:nowhere].cumsum()
        limit = min(int(np.searchsorted(reached, wanted)), nowhere - 1)
        near = np.flatnonzero(differences <= limit)
        if len(near) > wanted:
            near = near[np.argsort(differences[near], kind="stable")[:wanted]]
        firsts = np.array(numbers, dtype=np.int64) * CODES_PER_BLOCK
        passages: list[int] = np.sort(
            firsts[near // CODES_PER_BLOCK] + near % CODES_PER_BLOCK
        ).tolist()
        return passages


def _all_vectors(file: IndexConnection) -> Iterator[tuple[list[int], Vectors]]:
    """All vectors in portions, a block's worth of passages in each."""
    sql = "SELECT passage, embedding FROM vectors WHERE passage >= ? ORDER BY passage LIMIT ?"
    start = 0
    while rows := file.rows(sql, (start, CODES_PER_BLOCK)):
        flat = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4")
        yield [row[0] for row in rows], flat.reshape(len(rows), -1)
        start = rows[-1][0] + 1


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
    words = -(-centre.shape[0] // _WORD_BITS)
    padded = np.zeros((len(vectors), words * _WORD_BITS // 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view("<u8")


def sign_differences(blocks: Codes, code: Codes) -> NDArray[np.uint16]:
    """In how many signs codes differ from one.

    Args:
        blocks: shape (blocks, words, codes of a block); code: shape (words,).

    Returns:
        Shape (blocks, codes of a block).
    """
    words = blocks ^ code[:, np.newaxis]
    # Looked up by name: NumPy 1 has no such function.
    count: Any = getattr(np, "bitwise_count", None)
    if count is None:
        return count_by_table(words)
    total: NDArray[np.uint16] = count(words).sum(axis=1, dtype=np.uint16)
    return total


def count_by_table(words: Codes) -> NDArray[np.uint16]:
    """Bits that are set, summed over axis 1 of shape (blocks, words, codes); for NumPy 1."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
    table = np.unpackbits(halves, axis=1).sum(axis=1, dtype=np.uint8)
    quarters = table[words.view(np.uint16)].reshape(*words.shape, -1)
    total: NDArray[np.uint16] = quarters.sum(axis=(1, 3), dtype=np.uint16)
    return total
