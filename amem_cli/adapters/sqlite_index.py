"""The index in one SQLite file: words by FTS5, vectors by sqlite-vec."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.adapters.index_journal import JournalTables
from amem_cli.adapters.index_notes import NoteTables
from amem_cli.adapters.index_schema import VECTOR_TABLE
from amem_cli.core.errors import EncoderError
from amem_cli.core.index_port import PassageJob

if TYPE_CHECKING:
    from amem_cli.core.ports import Vectors

# Title, body, keywords, tags, context.
_COLUMN_WEIGHTS = "3.0, 1.0, 2.0, 1.0, 1.0"
_MAX_NEAREST = 4096
# Passages of one note that get vectors: about 140,000 characters; the rest is found by its words.
_MAX_EMBEDDED = 200


class SqliteIndex(NoteTables, JournalTables):
    """The index file; see `amem_cli.core.index_port.MemoryIndex` for what each call promises."""

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
        """Prepare for vectors of this model; True where vectors of another model were dropped."""
        self._model_id = model_id
        known = self.encoder()
        if known == model_id:
            return False
        self.load_vector_extension()
        with self.changing():
            self.rows("DROP TABLE IF EXISTS vectors")
            self.rows(VECTOR_TABLE.format(dimension=int(dimension)))
            self.rows("UPDATE passages SET embedded = 0")
            self.set_meta("encoder", model_id)
            self.set_meta("dimension", str(int(dimension)))
        return known is not None

    def encoder(self) -> str | None:
        """Id of the model whose vectors are stored."""
        return self.meta("encoder")

    def passages_to_embed(self) -> list[PassageJob]:
        """Passages without a vector."""
        sql = (
            "SELECT passage, path, text, embed_key FROM passages JOIN notes USING(note)"
            " WHERE embedded = 0 AND position < ? ORDER BY passage"
        )
        jobs, summaries = [], {}
        for passage, path, text, embed_key in self.rows(sql, (_MAX_EMBEDDED,)).fetchall():
            self._embed_keys[passage] = embed_key
            if path not in summaries:
                summaries[path] = self.summary(path)
            summary = summaries[path]
            if summary is not None:
                jobs.append(PassageJob(passage, summary, text))
        return jobs

    def store_vectors(self, passages: Sequence[int], vectors: Vectors) -> None:
        """Add vectors; shape (len(passages), dimension).

        Where another process went over to another model meanwhile, none of them is kept.

        Raises:
            EncoderError: a vector is of another shape, or not finite: it would come first in every
                search.
        """
        if self.encoder() != self._model_id:
            return
        self._refuse_odd(vectors)
        self.load_vector_extension()
        for passage, vector in zip(passages, vectors, strict=True):
            # It may have been re-cut or removed while its vector was computed, and its number may
            # stand for another text by now.
            sql = "SELECT 1 FROM passages WHERE passage = ? AND embed_key = ?"
            if self.rows(sql, (passage, self._embed_keys.pop(passage, None))).fetchone() is None:
                continue
            self.rows("DELETE FROM vectors WHERE passage = ?", (passage,))
            self.rows("INSERT INTO vectors VALUES(?, ?)", (passage, _blob(vector)))
            self.rows("UPDATE passages SET embedded = 1 WHERE passage = ?", (passage,))

    def _refuse_odd(self, vectors: Vectors) -> None:
        import numpy as np

        if str(vectors.shape[-1]) != self.meta("dimension"):
            raise EncoderError(
                f"a vector of {vectors.shape[-1]} numbers is not of the model of the index",
                hint="amem index brings the index up to date.",
            )
        if not np.isfinite(vectors).all():
            raise EncoderError(
                "the encoder gave a vector that is not finite", hint="amem model test"
            )

    def keyword_scores(
        self, terms: Sequence[str], limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """BM25 by path, higher is better, best first; `among` restricts to these paths."""
        words = [term.replace('"', "").replace("\0", "") for term in terms[:64]]
        query = " OR ".join(f'"{word}"' for word in words if word.strip())
        if not query or limit < 1:
            return {}
        restriction = ""
        bindings: tuple[str, ...] = ()
        if among is not None:
            restriction = " AND n.path IN (SELECT value FROM json_each(?))"
            bindings = (_json(among),)
        sql = (
            f"SELECT n.path, -bm25(words, {_COLUMN_WEIGHTS}) AS score FROM words"  # noqa: S608
            " JOIN notes n ON n.note = words.rowid"
            f" WHERE words MATCH ?{restriction} ORDER BY score DESC, n.path LIMIT ?"
        )
        return dict(self.rows(sql, (query, *bindings, limit)).fetchall())

    def vector_scores(
        self, vector: Vectors, limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """Best cosine of any passage by path, best first; shape of `vector`: (dimension,).

        Raises:
            EncoderError: the vector is of another model, or not finite.
        """
        if self.encoder() is None or limit < 1:
            return {}
        self._refuse_odd(vector)
        self.load_vector_extension()
        if among is None:
            # Long notes fill several places with their passages; ask for more than notes wanted.
            nearest = min(limit * 4, _MAX_NEAREST)
            sql = (
                "SELECT n.path, 1.0 - v.distance FROM"
                " (SELECT passage, distance FROM vectors WHERE embedding MATCH ? AND k = ?) v"
                " JOIN passages p USING(passage) JOIN notes n USING(note)"
            )
            bindings: tuple[object, ...] = (_blob(vector), nearest)
        else:
            sql = (
                "SELECT n.path, 1.0 - vec_distance_cosine(v.embedding, ?) FROM notes n"
                " JOIN passages p USING(note) JOIN vectors v USING(passage)"
                " WHERE n.path IN (SELECT value FROM json_each(?)) AND p.embedded = 1"
            )
            bindings = (_blob(vector), _json(among))
        best: dict[str, float] = {}
        for path, cosine in self.rows(sql, bindings):
            if cosine is not None:
                best[path] = max(cosine, best.get(path, -1.0))
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        return dict(ranked[:limit])

    def note_vector(self, path: str) -> Vectors | None:
        """Mean of a note's passage vectors, unit length, shape (dimension,)."""
        if self.encoder() is None:
            return None
        import numpy as np

        self.load_vector_extension()
        sql = (
            "SELECT v.embedding FROM notes n JOIN passages p USING(note)"
            " JOIN vectors v USING(passage) WHERE n.path = ? AND p.embedded = 1 ORDER BY position"
        )
        blobs = [row[0] for row in self.rows(sql, (path,))]
        if not blobs:
            return None
        mean = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), -1).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return (mean / length).astype(np.float32) if length > 0 else None

    def document_frequency(self, term: str) -> int:
        """In how many notes a word occurs."""
        word = term.replace('"', "").replace("\0", "")
        if not word.strip():
            return 0
        sql = "SELECT count(*) FROM words WHERE words MATCH ?"
        row = self.rows(sql, (f'"{word}"',)).fetchone()
        return int(row[0]) if row else 0

    def canonical_dump(self) -> Mapping[str, list[tuple[object, ...]]]:
        """Everything that follows from the vault alone, in an order free of history.

        Two indexes of the same vault are equal here; usage and attempts are left out.
        """
        self.load_vector_extension()
        paths = dict(self.rows("SELECT note, path FROM notes").fetchall())
        dump: dict[str, list[tuple[object, ...]]] = {
            "encoder": [(self.encoder(),)],
            "notes": self.rows(
                "SELECT path, id, title, created, modified, keywords, tags, context, aliases,"
                " private, refused, text_hash, size, sha FROM notes ORDER BY path"
            ).fetchall(),
            "words": self._dump_words(paths),
            "events": self.rows("SELECT event, note, kind, record FROM events").fetchall(),
            "processed": self.rows("SELECT text_hash, note FROM processed").fetchall(),
        }
        for table, columns in (
            ("names", "key, alias"),
            ("links", "position, target, kind, relative"),
            ("passages", "position, text, embed_key, embedded"),
            ("problems", "line, message, hint"),
        ):
            sql = f"SELECT path, {columns} FROM {table} JOIN notes USING(note) ORDER BY 1, 2, 3"  # noqa: S608
            dump[table] = self.rows(sql).fetchall()
        if self.encoder() is not None:
            dump["vectors"] = self.rows(
                "SELECT n.path, p.position, v.embedding FROM vectors v JOIN passages p"
                " USING(passage) JOIN notes n USING(note) ORDER BY 1, 2"
            ).fetchall()
        return dump

    def _dump_words(self, paths: Mapping[int, str]) -> list[tuple[object, ...]]:
        self.rows(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, words, instance)"
        )
        sql = "SELECT doc, term, col, offset FROM temp.places"
        return sorted((paths[doc], *rest) for doc, *rest in self.rows(sql))


def _blob(vector: Vectors) -> bytes:
    return vector.astype("<f4").tobytes()


def _json(values: Sequence[str]) -> str:
    return json.dumps(list(values))
