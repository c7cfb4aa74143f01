"""Vectors of passages in the index: of which model they are, which are missing, which are near.

Searches see only the table `vectors`, of one model. `other_vectors` holds those of the model that
the index is to use next; when all passages have one, the two tables change places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, EncoderError, SettingsError
from amem_cli.index.file import CODES_PER_BLOCK
from amem_cli.index.records import NoteSummary, summaries_by_number

if TYPE_CHECKING:
    from amem_cli.index.bit_codes import BitCodes
    from amem_cli.index.connection import Database
    from amem_cli.models.ports import Encoder, Vectors

# Passages of one note that get vectors: about 140,000 characters; the rest is found by words.
_MAX_EMBEDDED = 200
# With fewer passages, to compare all vectors is as fast as to go by the bits.
_CODES_FROM = 4096
# How many passages the bits choose for the exact comparison: this many for each note asked for,
# and at least the number below; docs/performance.md has the recall.
_CANDIDATES_EACH = 24
_MIN_CANDIDATES = 800
# Shorter vectors have fewer bits, so more of them are compared.
_USUAL_DIMENSION = 384

_TRIAL_TEXT = "Is the sky blue?"

# Up to so many passages are embedded before a search, in seconds; more are left to `amem index`.
EMBEDDED_AT_ONCE = 200

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


@dataclass(frozen=True, slots=True)
class PassageJob:
    """A passage that has no vector yet."""

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

    def use_encoder(self, model_id: str, dimension: int) -> bool:
        """Prepare for vectors of this model; True if searches still use another model's."""
        self._model_id = model_id
        known = self.encoder()
        if known == model_id:
            return False
        prefix = "" if known is None else "other_"
        with self._file.changing():
            if self._file.meta(f"{prefix}encoder") != model_id:
                self._file.rows("DELETE FROM other_vectors")
                self._file.set_meta(f"{prefix}encoder", model_id)
                self._file.set_meta(f"{prefix}dimension", str(int(dimension)))
        return known is not None

    def count_to_embed(self, model_id: str | None) -> int:
        """How many passages have no vector of this model."""
        condition = self._missing(model_id)
        sql = f"SELECT count(*) FROM passages WHERE position < ? AND {condition}"  # noqa: S608
        return int(self._file.value(sql, _MAX_EMBEDDED))

    def count_passages(self) -> int:
        """How many passages have a vector once all are embedded."""
        sql = "SELECT count(*) FROM passages WHERE position < ?"
        return int(self._file.value(sql, _MAX_EMBEDDED))

    def passages_to_embed(self, limit: int | None = None, after: int = 0) -> list[PassageJob]:
        """The first `limit` passages without a vector of the model in use, in order of numbers.

        Args:
            after: only those with a greater number.
        """
        condition = self._missing(self._model_id or self.encoder())
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
            EncoderError: a vector has another shape or is not finite, or another process embeds
                by a third model meanwhile.
        """
        with self._file.changing():
            other = self.encoder() != self._model_id
            if other and not self._is_prepared():
                return
            self._refuse_odd(vectors, "other_dimension" if other else "dimension")
            # Meanwhile the passage may have been removed, and its number given to another text.
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
        """Let searches use the model in use; False while passages have no vector of it."""
        with self._file.changing():
            if self.encoder() == self._model_id:
                return True
            if not self._is_prepared() or self.count_to_embed(self._model_id):
                return False
            self._exchange_tables()
            sql = "UPDATE passages SET embedded = passage IN (SELECT passage FROM vectors)"
            self._file.rows(sql)
            self._code_if_many()
            return True

    def forget(self, passages: Sequence[int]) -> None:
        """Remove vectors together with their bits."""
        for passage in passages:
            for table in ("vectors", "other_vectors"):
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
        """Positions of a note's passages that have vectors, nearest to a vector first."""
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
        return self._means(f"{_VECTORS_OF_NOTES} AND n.path = ? ORDER BY position", path).get(path)

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

    def _is_prepared(self) -> bool:
        """True if the model in use is the next one; False in a new index."""
        if self.encoder() is None:
            return False
        if self._file.meta("other_encoder") == self._model_id:
            return True
        # Two processes that replaced each other's model would never end.
        raise EncoderError(
            "another command embeds the notes by another encoder at the same time",
            hint="Let both use one encoder, or wait for the other: then amem index goes on.",
        )

    def _missing(self, model_id: str | None) -> str:
        """The condition for passages without a vector of a model; all for an unknown model."""
        if self.encoder() == model_id:
            return _WAITING
        return _WAITING_FOR_OTHER if self._file.meta("other_encoder") == model_id else "TRUE"

    def _refuse_odd(self, vectors: Vectors, key: str = "dimension") -> None:
        """Refuse vectors that would disturb every search: of another dimension, or not finite."""
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
        codes = self._codes()
        if codes is not None:
            codes.store(passages, vectors)
        for passage in passages:
            self._file.rows("UPDATE passages SET embedded = 1 WHERE passage = ?", (passage,))
        if codes is None and not self.count_to_embed(self._model_id):
            self._code_if_many()

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

    def _exchange_tables(self) -> None:
        """Exchange the other model's vectors with those that searches see."""
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
        # The bits follow from the vectors that searches no longer see.
        for table in ("codes", "centre"):
            self._file.rows(f"DELETE FROM {table}")  # noqa: S608

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


class EncoderChoice:
    """Chooses between the encoder of the settings and that of the vectors in the index.

    Args:
        chosen: opens the encoder of the settings.
        name: what the settings call it.
        notify: receives one line if the former encoder is used.
    """

    def __init__(
        self,
        vectors: IndexVectors,
        chosen: Callable[[], Encoder],
        name: str,
        *,
        cache: Path,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self.name = name
        self._vectors = vectors
        self._chosen = chosen
        self._cache = cache
        self._notify = notify
        # The encoder of the index at the first look, then the chosen one once the index has it.
        self._expected: str | None = None
        self._former: Encoder | None = None

    def current(self) -> Encoder:
        """The encoder to search and to add with.

        The former one, if it still runs on this machine, while many passages have no vector of the
        chosen one; also if the chosen one is not available. If another command has chosen another
        encoder since and the index went over to it: that one.
        """
        known = self._vectors.encoder()
        try:
            chosen = self._chosen()
            if self._fits(known, chosen):
                return chosen
            if later := self._chosen_later(known):
                return later
            waiting = self._vectors.count_to_embed(chosen.model_id)
            few = waiting <= EMBEDDED_AT_ONCE
            if few or self._vectors.count_to_embed(known) > EMBEDDED_AT_ONCE:
                _try(chosen)
                return chosen
        except (EncoderError, SettingsError) as error:
            return self._instead(known, error)
        why = f"{waiting} passages have no vectors of {self.name} yet; amem index makes them"
        return self._made_with(known, why) or chosen

    def preferred(self) -> Encoder:
        """The encoder of the settings; the former one only if that is not available.

        Or the one that another command has chosen since, as in `current`.
        """
        known = self._vectors.encoder()
        try:
            chosen = self._chosen()
            if self._fits(known, chosen):
                return chosen
            if later := self._chosen_later(known):
                return later
            _try(chosen)
        except (EncoderError, SettingsError) as error:
            return self._instead(known, error)
        return chosen

    def _fits(self, known: str | None, chosen: Encoder) -> bool:
        """Whether searches use the vectors of the chosen encoder, or of none yet."""
        if known is not None and known != chosen.model_id:
            self._expected = self._expected or known
            return False
        self._expected = known
        return True

    def _chosen_later(self, known: str | None) -> Encoder | None:
        """The encoder of the index if it is neither the chosen nor the former one.

        To go back to the chosen one would undo what the user has decided since these settings were
        read, and two programs would take turns at it.
        """
        return self._made_with(known) if known != self._expected else None

    def _instead(self, known: str | None, error: AmemError) -> Encoder:
        former = self._made_with(known, error.message)
        if former is None:
            raise error
        return former

    def _made_with(self, known: str | None, why: str = "") -> Encoder | None:
        """The encoder that made the vectors in the index, if it still runs; tells why, if given."""
        from amem_cli.models.prepared import prepared_encoder

        if not known:
            return None
        if self._former is None or self._former.model_id != known:
            self._former = prepared_encoder(known, self._cache)
        if why and self._former is not None and self._notify is not None:
            self._notify(f"! {known.partition('@')[0]} still answers: {why}")
            self._notify = None
        return self._former


def _try(encoder: Encoder) -> None:
    """Raise `EncoderError` if it cannot be run; what is known of it does not show that."""
    encoder.encode([_TRIAL_TEXT])


def _blob(vector: Vectors) -> bytes:
    return vector.astype("<f4").tobytes()
