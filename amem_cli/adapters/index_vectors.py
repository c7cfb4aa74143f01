"""Vectors of passages: kept whole for exact scores, and as bits that lead to the near ones."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from amem_cli.adapters.index_connection import IndexConnection
from amem_cli.core.errors import EncoderError

if TYPE_CHECKING:
    from amem_cli.adapters.bit_codes import Codes
    from amem_cli.core.ports import Vectors

# Below this many passages comparing with each vector is as fast as going by the bits.
_CODES_FROM = 4096
# The code of a passage stands at `passage % _BLOCK` in block `passage // _BLOCK`: one row of
# SQLite for many codes is read fast, and written fast where one of them changes.
_BLOCK = 256
# Small enough for the memory of one portion to serve for the next.
_BLOCKS_AT_ONCE = 12
# How many passages the bits lead to, which are then compared exactly: this many for each note
# wanted, and at least as many as follow; docs/performance.md shows what they find.
_CANDIDATES_EACH = 24
_MIN_CANDIDATES = 800
# Shorter vectors have fewer bits, which say less; more are compared then.
_USUAL_DIMENSION = 384

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


class VectorTables(IndexConnection):
    """Stores vectors and finds those near one.

    The bits follow from the vectors and the `centre`, which is the mean at the time when the bits
    were first made; they only choose what is compared, scores always come from whole vectors.
    """

    def encoder(self) -> str | None:
        """Id of the model whose vectors are stored."""
        return self.meta("encoder")

    def vector_scores(
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
        self.load_vector_extension()
        with self._one_state():
            if self.encoder() is None:
                return {}
            self.refuse_odd(vector)
            if among is None:
                best = self._nearest(vector, limit)
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
        self.load_vector_extension()
        sql = (
            "SELECT position FROM notes JOIN passages USING(note) JOIN vectors USING(passage)"
            " WHERE path = ? ORDER BY vec_distance_cosine(embedding, ?) NULLS LAST, position"
        )
        with self._one_state():
            if self.encoder() is None:
                return []
            self.refuse_odd(vector)
            return [row[0] for row in self.rows(sql, (path, _blob(vector))).fetchall()]

    def note_vector(self, path: str) -> Vectors | None:
        """Mean of a note's passage vectors, unit length, shape (dimension,)."""
        sql = (
            "SELECT v.embedding FROM notes n JOIN passages p USING(note)"
            " JOIN vectors v USING(passage) WHERE n.path = ? AND p.embedded = 1 ORDER BY position"
        )
        blobs = [row[0] for row in self.rows(sql, (path,))]
        if not blobs:
            return None
        import numpy as np

        mean = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), -1).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return (mean / length).astype(np.float32) if length > 0 else None

    def note_vectors(self) -> dict[str, Vectors]:
        """The same for every note that has a vector, by path."""
        import numpy as np

        sql = (
            "SELECT n.path, v.embedding FROM notes n JOIN passages p USING(note)"
            " JOIN vectors v USING(passage) WHERE p.embedded = 1"
        )
        sums: dict[str, Vectors] = {}
        for path, blob in self.rows(sql):
            vector = np.frombuffer(blob, dtype="<f4")
            sums[path] = sums[path] + vector if path in sums else vector
        lengths = {path: float(np.linalg.norm(total)) for path, total in sums.items()}
        return {path: total / lengths[path] for path, total in sums.items() if lengths[path] > 0}

    def refuse_odd(self, vectors: Vectors, known: str = "dimension") -> None:
        """Let no vector pass that would disturb every search.

        Args:
            known: key of the index's own record under which the dimension stands.

        Raises:
            EncoderError: one has another dimension than the index, or is not finite.
        """
        import numpy as np

        if str(vectors.shape[-1]) != self.meta(known):
            raise EncoderError(
                f"a vector of {vectors.shape[-1]} numbers is not of the model of the index",
                hint="amem index brings the index up to date.",
            )
        if not np.isfinite(vectors).all():
            raise EncoderError(
                "the encoder gave a vector that is not finite", hint="amem model test"
            )

    def put_vectors(self, passages: Sequence[int], vectors: Vectors) -> None:
        """Store vectors of passages that are in the index; shape (len(passages), dimension)."""
        if not passages:
            return
        for passage, vector in zip(passages, vectors, strict=True):
            self.rows("INSERT OR REPLACE INTO vectors VALUES(?, ?)", (passage, _blob(vector)))
        centre = self._centre()
        if centre is not None:
            from amem_cli.adapters.bit_codes import sign_codes

            self._put_codes(passages, sign_codes(vectors, centre))

    def forget_vectors(self, passages: Sequence[int]) -> None:
        """Remove vectors together with their bits."""
        for passage in passages:
            self.rows("DELETE FROM vectors WHERE passage = ?", (passage,))
            self.rows("DELETE FROM other_vectors WHERE passage = ?", (passage,))
            block, place = divmod(passage, _BLOCK)
            row = self.rows("SELECT held FROM codes WHERE block = ?", (block,)).fetchone()
            if row is not None:
                held = bytearray(row[0])
                held[place] = 0
                self.rows("UPDATE codes SET held = ? WHERE block = ?", (bytes(held), block))

    def put_other_vectors(self, passages: Sequence[int], vectors: Vectors) -> None:
        """Store vectors that no search sees yet; shape (len(passages), dimension)."""
        for passage, vector in zip(passages, vectors, strict=True):
            sql = "INSERT OR REPLACE INTO other_vectors VALUES(?, ?)"
            self.rows(sql, (passage, _blob(vector)))

    def exchange_vectors(self) -> None:
        """Let the other model's vectors change places with those that searches see, unread."""
        for old, new in (
            ("vectors", "former_vectors"),
            ("other_vectors", "vectors"),
            ("former_vectors", "other_vectors"),
        ):
            self.rows(f"ALTER TABLE {old} RENAME TO {new}")
        for key in ("encoder", "dimension"):
            former, coming = self.meta(key), self.meta(f"other_{key}")
            self.set_meta(key, coming or "")
            self.set_meta(f"other_{key}", former or "")
        for table in ("codes", "centre"):
            self.rows(f"DELETE FROM {table}")  # noqa: S608

    def coded(self) -> bool:
        """True where vectors get bits as they are stored."""
        return self.rows("SELECT 1 FROM centre").fetchone() is not None

    def code_if_many(self) -> None:
        """Make the bits of all vectors, where there are enough to need them."""
        # Passages are counted by a small index of theirs, vectors only by reading them all.
        for table in ("passages", "vectors"):
            if self.rows(f"SELECT count(*) FROM {table}").fetchone()[0] < _CODES_FROM:  # noqa: S608
                return
        from amem_cli.adapters.bit_codes import sign_codes, unit_length

        total, count = 0.0, 0
        for _, vectors in self._stored():
            total = total + unit_length(vectors).sum(axis=0, dtype="f8")
            count += len(vectors)
        self.rows("INSERT INTO centre VALUES(?)", (_blob(total / count),))  # type: ignore[arg-type]
        centre = self._centre()
        assert centre is not None
        for passages, vectors in self._stored():
            self._put_codes(passages, sign_codes(vectors, centre))

    def _stored(self) -> Iterator[tuple[list[int], Vectors]]:
        """All vectors in portions, a block's worth of passages in each."""
        import numpy as np

        sql = "SELECT passage, embedding FROM vectors WHERE passage >= ? ORDER BY passage LIMIT ?"
        start = 0
        while rows := self.rows(sql, (start, _BLOCK)).fetchall():
            flat = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4")
            yield [row[0] for row in rows], flat.reshape(len(rows), -1)
            start = rows[-1][0] + 1

    @contextlib.contextmanager
    def _one_state(self) -> Iterator[None]:
        """Statements inside see one state of the index, whatever other processes write."""
        with self._lock, self._db:
            yield

    def _nearest(self, vector: Vectors, limit: int) -> dict[str, float]:
        """Best cosine by path of at least `limit` notes, if there are as many."""
        centre = self._centre()
        # Long notes fill several places with their passages; ask for more than notes wanted.
        depth = limit * 4
        wanted = max(limit * _CANDIDATES_EACH, _MIN_CANDIDATES)
        wanted = wanted * max(_USUAL_DIMENSION // len(vector), 1)
        while True:
            if centre is None:
                best, found = self._best(_SCORES_OF_ALL, (_blob(vector), depth))
            else:
                near = self._candidates(vector, centre, max(depth * 2, wanted))
                bindings = (_blob(vector), json.dumps(near), depth)
                best, found = self._best(_SCORES_OF_SOME, bindings)
            if len(best) >= limit or found < depth:
                return best
            depth *= 4

    def _best(self, sql: str, bindings: tuple[object, ...]) -> tuple[dict[str, float], int]:
        """Best cosine by path, and how many passages there were."""
        best: dict[str, float] = {}
        rows = self.rows(sql, bindings).fetchall()
        for path, cosine in rows:
            if cosine is not None:
                best[path] = max(cosine, best.get(path, -1.0))
        return best, len(rows)

    def _candidates(self, vector: Vectors, centre: Vectors, wanted: int) -> list[int]:
        """Passages whose codes differ least from a vector's, ascending."""
        import numpy as np

        from amem_cli.adapters.bit_codes import sign_codes, sign_differences

        code = sign_codes(vector[np.newaxis], centre)[0]
        nowhere = len(code) * 64 + 1
        numbers: list[int] = []
        portions = [np.empty(0, dtype=np.uint16)]
        cursor = self.rows("SELECT block, held, bits FROM codes ORDER BY block")
        while rows := list(islice(cursor, _BLOCKS_AT_ONCE)):
            blocks, held, bits = zip(*rows, strict=True)
            codes = np.frombuffer(b"".join(bits), dtype="<u8").reshape(-1, len(code), _BLOCK)
            found = sign_differences(codes, code).reshape(-1)
            found[~np.frombuffer(b"".join(held), dtype=bool)] = nowhere
            portions.append(found)
            numbers.extend(blocks)
        differences = np.concatenate(portions)
        reached = np.bincount(differences, minlength=nowhere)[:nowhere].cumsum()
        limit = min(int(np.searchsorted(reached, wanted)), nowhere - 1)
        near = np.flatnonzero(differences <= limit)
        if len(near) > wanted:
            near = near[np.argsort(differences[near], kind="stable")[:wanted]]
        firsts = np.array(numbers, dtype=np.int64) * _BLOCK
        passages: list[int] = np.sort(firsts[near // _BLOCK] + near % _BLOCK).tolist()
        return passages

    def _centre(self) -> Vectors | None:
        row = self.rows("SELECT mean FROM centre").fetchone()
        if row is None:
            return None
        import numpy as np

        return np.frombuffer(row[0], dtype="<f4")

    def _put_codes(self, passages: Sequence[int], codes: Codes) -> None:
        import numpy as np

        numbers = np.asarray(passages, dtype=np.int64)
        for block in np.unique(numbers // _BLOCK).tolist():
            mine = numbers // _BLOCK == block
            places = numbers[mine] % _BLOCK
            held = np.zeros(_BLOCK, dtype=bool)
            bits = np.zeros((codes.shape[1], _BLOCK), dtype="<u8")
            sql = "SELECT held, bits FROM codes WHERE block = ?"
            row = self.rows(sql, (block,)).fetchone()
            if row is not None:
                held = np.frombuffer(row[0], dtype=bool).copy()
                bits = np.frombuffer(row[1], dtype="<u8").reshape(bits.shape).copy()
            held[places] = True
            bits[:, places] = codes[mine].T
            sql = "INSERT OR REPLACE INTO codes VALUES(?, ?, ?)"
            self.rows(sql, (block, held.tobytes(), bits.tobytes()))


def _blob(vector: Vectors) -> bytes:
    return vector.astype("<f4").tobytes()
