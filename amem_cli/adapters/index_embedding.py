"""Which passages have vectors, of which model, and how the index goes over to another one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.adapters.index_notes import NoteTables
from amem_cli.core.errors import EncoderError
from amem_cli.core.index_records import PassageJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from amem_cli.core.ports import Vectors

# Passages of one note that get vectors: about 140,000 characters; the rest is found by its words.
_MAX_EMBEDDED = 200
_WAITING = "embedded = 0"
_WAITING_FOR_OTHER = "passage NOT IN (SELECT passage FROM other_vectors)"


class EmbeddingTables(NoteTables):
    """Stores the vectors of one model in `vectors`, and of another beside it in `other_vectors`.

    A search sees the first alone. Those of the other are the model's that the index goes over to,
    or after that of the one it came from: the two tables change places when all is embedded.
    """

    def __init__(
        self,
        path: Path,
        *,
        notify: Callable[[str], None] | None = None,
        refill: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(path, notify=notify, refill=refill)
        # What was to be embedded, by passage, so that a vector never goes to another text.
        self._embed_keys: dict[int, bytes] = {}
        self._model_id: str | None = None

    def use_encoder(self, model_id: str, dimension: int) -> bool:
        """Prepare for vectors of this model; True where a search still uses another model's."""
        self._model_id = model_id
        known = self.encoder()
        if known == model_id:
            return False
        with self.changing():
            if known is None:
                self.set_meta("encoder", model_id)
                self.set_meta("dimension", str(int(dimension)))
            elif self.meta("other_encoder") != model_id:
                self.rows("DELETE FROM other_vectors")
                self.set_meta("other_encoder", model_id)
                self.set_meta("other_dimension", str(int(dimension)))
        return known is not None

    def count_to_embed(self, model_id: str) -> int:
        """How many passages have no vector of this model."""
        return int(self._waiting("count(*)", self._missing(model_id) or "TRUE").fetchone()[0])

    def passages_to_embed(self, limit: int | None = None, after: int = 0) -> list[PassageJob]:
        """Passages without a vector of the model in use, by number.

        Args:
            limit: at most so many.
            after: only those with a greater number.
        """
        condition = self._missing(self._model_id or self.encoder() or "") or _WAITING
        found = self._waiting(
            "passage, note, text, embed_key",
            f"{condition} AND passage > ?",
            f"ORDER BY passage LIMIT {-1 if limit is None else int(limit)}",
            after,
        ).fetchall()
        summaries = self.summaries_of({row[1] for row in found})
        self._embed_keys |= {passage: key for passage, _, _, key in found}
        return [
            PassageJob(passage, summaries[note], text)
            for passage, note, text, _ in found
            if note in summaries
        ]

    def store_vectors(self, passages: Sequence[int], vectors: Vectors) -> None:
        """Add vectors; shape (len(passages), dimension); none where the index was made anew.

        Raises:
            EncoderError: a vector is of another shape, or not finite: it would come first in every
                search; or another process embeds by a third model meanwhile.
        """
        with self.changing():
            other = self.encoder() != self._model_id
            if other and not self._is_prepared():
                return
            self.refuse_odd(vectors, "other_dimension" if other else "dimension")
            # A passage may have been re-cut or removed while its vector was computed, and its
            # number may stand for another text by now.
            sql = "SELECT 1 FROM passages WHERE passage = ? AND embed_key = ?"
            current = [
                place
                for place, passage in enumerate(passages)
                if self.rows(sql, (passage, self._embed_keys.pop(passage, None))).fetchone()
            ]
            there = [passages[place] for place in current]
            if other:
                self.put_other_vectors(there, vectors[current])
                return
            self.put_vectors(there, vectors[current])
            for passage in there:
                self.rows("UPDATE passages SET embedded = 1 WHERE passage = ?", (passage,))
            if not self.coded() and not self._any_waiting(_WAITING):
                self.code_if_many()

    def go_over(self) -> bool:
        """Let searches use the model in use; False while passages have no vector of it.

        Raises:
            EncoderError: another process embeds by a third model meanwhile.
        """
        with self.changing():
            if self.encoder() == self._model_id:
                return True
            if not self._is_prepared() or self._any_waiting(_WAITING_FOR_OTHER):
                return False
            self.exchange_vectors()
            self.rows("UPDATE passages SET embedded = passage IN (SELECT passage FROM vectors)")
            self.code_if_many()
            return True

    def _is_prepared(self) -> bool:
        """True where the model in use is gone over to; False in an index that was made anew.

        Raises:
            EncoderError: another process took its place. Two that take it from one another would
                never end.
        """
        if self.encoder() is None:
            return False
        if self.meta("other_encoder") == self._model_id:
            return True
        raise EncoderError(
            "another command embeds the notes by another encoder at the same time",
            hint="Let both use one encoder, or wait for the other: then amem index goes on.",
        )

    def _missing(self, model_id: str) -> str:
        """The condition for passages without a vector of a model; empty for an unknown model."""
        if self.encoder() == model_id:
            return _WAITING
        return _WAITING_FOR_OTHER if self.meta("other_encoder") == model_id else ""

    def _any_waiting(self, condition: str) -> bool:
        return self._waiting("1", condition, "LIMIT 1").fetchone() is not None

    def _waiting(self, columns: str, condition: str, rest: str = "", *bindings: int) -> Any:
        sql = f"SELECT {columns} FROM passages WHERE position < ? AND {condition} {rest}"  # noqa: S608
        return self.rows(sql, (_MAX_EMBEDDED, *bindings))
