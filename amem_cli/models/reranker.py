"""Scores how well texts answer a question, with a cross-encoder that was exported once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from amem_cli.errors import AmemError, EncoderError
from amem_cli.models.encoder import Graph, clean_text, open_graph
from amem_cli.models.exports import BrokenExport, CachedExport, Manifest

_BATCH = 8


class PreparedReranker:
    """The reranker port over a model's name or folder; exported when it is first needed.

    Args:
        cache: folder of exports, made if missing.
        notify: is told when the model is exported, and once why it cannot be used.
        preparation: does what `model_exports.export_apart` does.
    """

    def __init__(
        self,
        model: str,
        *,
        cache: Path,
        notify: Callable[[str], None] | None = None,
        preparation: Callable[..., None] | None = None,
    ) -> None:
        self._model = model
        self._cache = cache
        self._notify = notify
        self._preparation = preparation
        self._graph: RerankerGraph | None = None
        self._failed = False

    def scores(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """How well each text answers, as the port says."""
        if self._failed or not texts:
            return None if self._failed else []
        try:
            if self._graph is None:
                self._graph = self._opened()
            return self._graph.scores(query, texts)
        except AmemError as error:
            self._failed = True
            if self._notify is not None:
                self._notify(f"! not reranked: {error.message}")
            return None

    def _opened(self) -> RerankerGraph:
        export = CachedExport(
            self._model,
            "reranker",
            self._cache,
            notify=self._notify,
            preparation=self._preparation,
        )
        manifest = export.current() or export.make()
        try:
            return RerankerGraph(export.folder, manifest)
        except BrokenExport:
            return RerankerGraph(export.folder, export.make(again=True))


class RerankerGraph:
    """A loaded export.

    Raises:
        BrokenExport: its files are damaged, or give other scores than they should.
        EncoderError: the model could not be exported.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        if manifest.reason:
            raise EncoderError(
                f"{manifest.model} cannot be used as a reranker: {manifest.reason}",
                hint='amem config set search.reranker ""',
            )
        self._graph = Graph(folder, manifest, open_graph)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A score of 0..1 for each text.

        Raises:
            EncoderError: the runtime failed, or gave what is no score.
        """
        question = clean_text(query)
        pairs = [(question, clean_text(text)) for text in texts]
        read = self._graph.tokenizer.encode_batch(pairs)
        order = sorted(range(len(read)), key=lambda place: len(read[place].ids))
        scores = np.empty(len(read))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            batch = [read[place] for place in places]
            given = self._graph.run([pair.ids for pair in batch], [pair.type_ids for pair in batch])
            if given.shape != (len(batch),) or not ((given >= 0) & (given <= 1)).all():
                raise EncoderError("the reranker gave what are no scores")
            scores[places] = given
        return [float(score) for score in scores]
