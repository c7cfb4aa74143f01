"""Scores how well texts answer a question, with a cross-encoder that was exported once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from amem_cli.adapters.cross_encoder_manifest import CrossEncoderManifest, read_cross_encoder
from amem_cli.adapters.encoder_manifest import GRAPH_FILE, TOKENIZER_FILE, BrokenExport
from amem_cli.core.errors import AmemError, EncoderError

EXPORTER = "amem_cli.adapters.cross_encoder_export"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_PROBE_CLOSE = 0.01
_BATCH = 8


class PreparedReranker:
    """The reranker port over a model's name or folder; prepared when it is first needed.

    Args:
        cache: folder of prepared models.
        notify: told when it is prepared, and once why it cannot be used.
        preparation: does what `prepared_encoder.prepare_apart` does.
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
        self._graph: CrossEncoderGraph | None = None
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

    def _opened(self) -> CrossEncoderGraph:
        from amem_cli.adapters.encoder_models import local_encoder, model_fingerprint
        from amem_cli.adapters.prepared_encoder import prepare_apart

        folder = local_encoder(self._model)
        model = str(folder or self._model)
        key = model_fingerprint(folder) if folder else hashlib.sha256(model.encode()).hexdigest()
        name = _UNSAFE.sub("_", Path(model).name)[:60]
        place = self._cache / f"{name}-{key[:16]}"
        broken = ""
        for attempt in range(2):
            try:
                manifest = read_cross_encoder(place)
                if attempt or manifest.stands:
                    return CrossEncoderGraph(place, manifest)
            except BrokenExport:
                if attempt:
                    raise
                broken = _stamp(place)
            if self._notify is not None:
                self._notify("preparing the reranker (once)")
            prepare = self._preparation or prepare_apart
            prepare(model, place, broken=broken, exporter=EXPORTER)
        raise AssertionError


class CrossEncoderGraph:
    """A loaded graph.

    Raises:
        BrokenExport: its files are damaged, or give other scores than they should.
        EncoderError: the model could not be exported.
    """

    def __init__(self, folder: Path, manifest: CrossEncoderManifest) -> None:
        from tokenizers import Tokenizer

        from amem_cli.adapters.onnx_encoder import open_graph

        if manifest.reason:
            raise EncoderError(
                f"{manifest.model} cannot be used as a reranker: {manifest.reason}",
                hint='amem config set search.reranker ""',
            )
        self._manifest = manifest
        # Both libraries raise plain `Exception` for a damaged file.
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
            self._tokenizer.enable_truncation(manifest.max_tokens, strategy="longest_first")
            self._tokenizer.no_padding()
            self._session: Any = open_graph(folder / GRAPH_FILE)
            (probe,) = self.scores(manifest.probe_pair[0], [manifest.probe_pair[1]])
        except Exception as error:
            raise BrokenExport(f"the prepared reranker in {folder} cannot be loaded") from error
        if not abs(probe - manifest.probe_score) < _PROBE_CLOSE:
            raise BrokenExport(f"the prepared reranker in {folder} gives wrong scores")

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A score of 0..1 for each text.

        Raises:
            EncoderError: the runtime failed, or gave what is no score.
        """
        from amem_cli.adapters.vector_checks import clean_text

        question = clean_text(query)
        pairs = [(question, clean_text(text)) for text in texts]
        read = self._tokenizer.encode_batch(pairs)
        order = sorted(range(len(read)), key=lambda place: len(read[place].ids))
        scores = [0.0] * len(read)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            for place, score in zip(places, self._run([read[i] for i in places]), strict=True):
                scores[place] = score
        return scores

    def _run(self, batch: Sequence[Any]) -> list[float]:
        import numpy as np

        width = max(1, *(len(each.ids) for each in batch), 1)
        ids = np.full((len(batch), width), self._manifest.pad_id, dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, each in enumerate(batch):
            count = len(each.ids)
            ids[row, :count] = each.ids
            mask[row, : max(1, count)] = 1
            types[row, :count] = each.type_ids
        feeds = {"input_ids": ids, "attention_mask": mask}
        if self._manifest.with_types:
            feeds["token_type_ids"] = types
        # The runtime has no exception class of its own that is part of its interface.
        try:
            scores = np.asarray(self._session.run(None, feeds)[0], dtype=np.float64)
        except Exception as error:
            raise EncoderError(f"the reranker failed: {type(error).__name__}") from error
        if scores.shape != (len(batch),) or not ((scores >= 0) & (scores <= 1)).all():
            raise EncoderError("the reranker gave what are no scores")
        return [float(score) for score in scores]


def _stamp(folder: Path) -> str:
    try:
        return read_cross_encoder(folder).stamp
    except BrokenExport:
        return ""
