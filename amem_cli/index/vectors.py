"""Vectors of passages in the index: which are missing, which are near; all are of one model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, TypeVar

from amem_cli.errors import EncoderError
from amem_cli.index.file import CODES_PER_BLOCK
from amem_cli.index.records import NoteSummary, summaries_by_number

if TYPE_CHECKING:
    from amem_cli.index.bit_codes import BitCodes
    from amem_cli.index.connection import Database
    from amem_cli.models.ports import Vectors

# Passages of one note that get vectors: about 140,000 characters; the rest is found by words.
_MAX_EMBEDDED = 200
# With fewer passages, to compare all vectors is as fast as to go by the bits.
_CODES_FROM = 4096
# How many passages the bits choose for the exact comparison: this many for each note asked for,
# and at least the number below; docs/performance.md has the recall.
_CANDIDATES_EACH = 24
_MIN_CANDIDATES = 800
# How many passages of a note are compared word by word with a query.
_REREAD = 3
# The best of many tokens is near by chance, as the best of many passages is.
_TOKEN_CHANCE = 0.02
# Shorter vectors have fewer bits, so more of them are compared.
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
_SIGNS_AMONG = """
SELECT path, signs FROM (
  SELECT n.path, p.passage, row_number() OVER (
    PARTITION BY n.note ORDER BY vec_distance_cosine(v.embedding, ?)) AS place
  FROM notes n JOIN passages p USING(note) JOIN vectors v USING(passage)
  WHERE n.path IN (SELECT value FROM json_each(?)) AND p.embedded = 1)
JOIN tokens USING(passage) WHERE place <= ?
"""
_VECTORS_OF_NOTES = """
SELECT n.path, v.embedding FROM notes n JOIN passages p USING(note) JOIN vectors v USING(passage)
WHERE p.embedded = 1
"""
_VECTORS_OF_SOME = (
    _VECTORS_OF_NOTES + "AND n.path IN (SELECT value FROM json_each(?)) ORDER BY position"  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class PassageJob:
    passage: int
    summary: NoteSummary
    text: str


class IndexVectors:
    """Stores vectors and finds those near one."""

    def __init__(self, file: Database) -> None:
        self._file = file
        # Keys of the texts to embed, so that a vector is never stored for another text.
        self._embed_keys: dict[int, bytes] = {}
        self._model_id: str | None = None

    def encoder(self) -> str | None:
        """Id of the model whose vectors searches see."""
        return self._file.meta("encoder")

    def use_encoder(self, model_id: str, dimension: int) -> None:
        """Prepare for vectors of this model; those of another one are deleted.

        Raises:
            EncoderError: the index had vectors of this model, and another command went over to
                another one meanwhile: two programs would take turns at it.
        """
        known = self.encoder()
        if known != model_id:
            if known is not None and self._model_id == model_id:
                raise EncoderError(
                    "another command embeds the notes by another encoder",
                    hint="Let both use one encoder; `amem config get encoder.model` names it.",
                )
            with self._file.changing():
                for table in ("vectors", "tokens", "codes", "centre"):
                    self._file.rows(f"DELETE FROM {table}")  # noqa: S608
                self._file.rows("UPDATE passages SET embedded = 0")
                self._file.set_meta("encoder", model_id)
                self._file.set_meta("dimension", str(int(dimension)))
        self._model_id = model_id

    def count_to_embed(self, model_id: str) -> int:
        """How many passages have no vector of this model."""
        if is_known := self.encoder() == model_id:
            # From now on this process refuses to go over to another one, see `use_encoder`.
            self._model_id = model_id
        condition = "embedded = 0" if is_known else "TRUE"
        sql = f"SELECT count(*) FROM passages WHERE position < ? AND {condition}"  # noqa: S608
        return int(self._file.value(sql, _MAX_EMBEDDED))

    def passages_to_embed(self, limit: int | None = None, after: int = 0) -> list[PassageJob]:
        """The first `limit` passages without a vector and with a number greater than `after`."""
        sql = (
            "SELECT passage, note, text, embed_key FROM passages WHERE position < ?"
            " AND embedded = 0 AND passage > ? ORDER BY passage LIMIT ?"
        )
        rows = self._file.rows(sql, (_MAX_EMBEDDED, after, -1 if limit is None else limit))
        summaries = summaries_by_number(self._file, {row[1] for row in rows})
        self._embed_keys |= {passage: key for passage, _, _, key in rows}
        return [
            PassageJob(passage, summaries[note], text)
            for passage, note, text, _ in rows
            if note in summaries
        ]

    def store(self, passages: Sequence[int], vectors: Vectors, signs: Sequence[bytes] = ()) -> None:
        """Add vectors; shape (len(passages), dimension); none if the index was made anew.

        Args:
            signs: of the tokens of each passage, see `Encoder.encode_passages`; empty if unknown.

        Raises:
            EncoderError: a vector has another shape or is not finite.
        """
        with self._file.changing():
            if self.encoder() != self._model_id:
                return
            self._has_dimension(vectors)
            # Meanwhile the passage may have been removed, and its number given to another text.
            numbers = json.dumps(list(passages))
            sql = "SELECT passage, embed_key FROM passages JOIN json_each(?) ON passage = value"
            keys = dict(self._file.rows(sql, (numbers,)))
            current = [
                place
                for place, passage in enumerate(passages)
                if self._embed_keys.pop(passage, None) == keys.get(passage, b"")
            ]
            if not current:
                return
            stored = [passages[place] for place in current]
            for place in current:
                sql = "INSERT OR REPLACE INTO vectors VALUES(?, ?)"
                self._file.rows(sql, (passages[place], _blob(vectors[place])))
                if signs:
                    sql = "INSERT OR REPLACE INTO tokens VALUES(?, ?)"
                    self._file.rows(sql, (passages[place], signs[place]))
            sql = (
                "UPDATE passages SET embedded = 1 WHERE passage IN (SELECT value FROM json_each(?))"
            )
            self._file.rows(sql, (json.dumps(stored),))
            if (codes := self._codes()) is not None:
                codes.store(stored, vectors[current])
            elif not self._file.value(
                "SELECT 1 FROM passages WHERE embedded = 0 AND position < ?", _MAX_EMBEDDED
            ):
                self._code_if_many()

    def forget(self, passages: Sequence[int]) -> None:
        """Remove vectors together with their bits."""
        for passage in passages:
            for table in ("vectors", "tokens"):
                self._file.rows(f"DELETE FROM {table} WHERE passage = ?", (passage,))  # noqa: S608
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
            if not self._has_dimension(vector):
                return {}
            if among is None:
                best = self._nearest_notes(vector, limit)
            else:
                paths = json.dumps(list(among))
                best = self._best(_SCORES_AMONG, (_blob(vector), paths))[0]
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        return dict(ranked[:limit])

    def token_scores(
        self, vector: Vectors, tokens: Vectors, paths: Sequence[str]
    ) -> dict[str, float]:
        """The `token_nearness` of notes by path; of each, the nearest passages count."""
        with self._file.reading_vectors():
            if not len(tokens) or not paths or not self._has_dimension(tokens):
                return {}
            found = self._file.rows(_SIGNS_AMONG, (_blob(vector), json.dumps(paths), _REREAD))
        signs: dict[str, bytes] = {}
        for path, of_passage in found:
            signs[path] = signs.get(path, b"") + of_passage
        return token_nearness(tokens, signs)

    def nearest_passages(self, path: str, vector: Vectors) -> list[int]:
        """Positions of a note's passages that have vectors, nearest to a vector first."""
        sql = (
            "SELECT position FROM notes JOIN passages USING(note) JOIN vectors USING(passage)"
            " WHERE path = ? ORDER BY vec_distance_cosine(embedding, ?) NULLS LAST, position"
        )
        with self._file.reading_vectors():
            if not self._has_dimension(vector):
                return []
            return [position for (position,) in self._file.rows(sql, (path, _blob(vector)))]

    def of_note(self, path: str) -> Vectors | None:
        """Mean of a note's passage vectors, unit length, shape (dimension,)."""
        return self.of_notes([path]).get(path)

    def of_notes(self, paths: Sequence[str]) -> dict[str, Vectors]:
        """The mean vectors of those of these notes that have one, by path."""
        return self._means(_VECTORS_OF_SOME, json.dumps(list(paths)))

    def of_all_notes(self) -> dict[str, Vectors]:
        """The mean vector of every note that has one, by path."""
        return self._means(_VECTORS_OF_NOTES)

    def _means(self, sql: str, *bindings: str) -> dict[str, Vectors]:
        import numpy as np

        sums: dict[str, Vectors] = {}
        for path, blob in self._file.stream(sql, bindings):
            vector = np.frombuffer(blob, dtype="<f4")
            sums[path] = sums[path] + vector if path in sums else vector
        lengths = {path: float(np.linalg.norm(total)) for path, total in sums.items()}
        return {path: total / lengths[path] for path, total in sums.items() if lengths[path] > 0}

    def _has_dimension(self, vectors: Vectors) -> bool:
        """Whether there is an encoder; refuses vectors that would disturb every search: of another
        dimension than its vectors, or not finite."""
        import numpy as np

        dimension = self._file.meta("dimension")
        if dimension is None:
            return False
        if str(vectors.shape[-1]) != dimension:
            raise EncoderError(
                f"a vector of {vectors.shape[-1]} numbers is not of the model of the index",
                hint="amem index brings the index up to date.",
            )
        if not np.isfinite(vectors).all():
            raise EncoderError(
                "the encoder gave a vector that is not finite", hint="amem model test"
            )
        return True

    def _codes(self) -> BitCodes | None:
        """The bits of the vectors; None if there are none yet."""
        mean = self._file.value("SELECT mean FROM centre")
        if mean is None:
            return None
        from amem_cli.index.bit_codes import BitCodes

        return BitCodes(self._file, mean)

    def _code_if_many(self) -> None:
        """Make the bits of all vectors, if there are enough to need them."""
        # Passages are counted by their small index, vectors only by reading them all.
        for table in ("passages", "vectors"):
            if self._file.value(f"SELECT count(*) FROM {table}") < _CODES_FROM:  # noqa: S608
                return
        from amem_cli.index.bit_codes import code_all

        code_all(self._file)

    def _nearest_notes(self, vector: Vectors, limit: int) -> dict[str, float]:
        """Best cosine by path of at least `limit` notes, if there are as many."""
        codes = self._codes()
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


Key = TypeVar("Key")


def token_nearness(tokens: Vectors, signs: Mapping[Key, bytes]) -> dict[Key, float]:
    """How near the tokens of a query are to those of texts: the mean of the best cosines, less what
    the best of so many has by chance; nothing of a text without tokens, or with damaged signs.

    The sum of the best matches is ColBERT's (Khattab and Zaharia 2020, arXiv 2004.12832); of a
    text's tokens only the signs are known.

    Args:
        tokens: of the query, of shape (count, dimension).
        signs: of the texts' tokens, see `Encoder.encode_passages`.
    """
    import numpy as np

    dimension = tokens.shape[1]
    width = -(-dimension // 8)
    counts = {key: len(each) // width for key, each in signs.items() if each}
    counts = {key: count for key, count in counts.items() if count * width == len(signs[key])}
    if not counts or not len(tokens):
        return {}
    packed = np.frombuffer(b"".join(signs[key] for key in counts), np.uint8).reshape(-1, width)
    bits = np.unpackbits(packed, axis=1, count=dimension).astype(np.float32)
    starts = np.cumsum([0, *counts.values()])[:-1]
    best = np.maximum.reduceat(tokens @ bits.T, starts, axis=1)
    # The cosines with vectors of -1 and 1.
    means = (2 * best - tokens.sum(axis=1, keepdims=True)).mean(axis=0) / dimension**0.5
    return {
        key: float(mean) - _TOKEN_CHANCE * log(count)
        for (key, count), mean in zip(counts.items(), means, strict=True)
    }


def _blob(vector: Vectors) -> bytes:
    return vector.astype("<f4").tobytes()
