"""Encodes with a graph that was exported once: no torch, little memory, a fast start."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from amem_cli.adapters.encoder_manifest import (
    GRAPH_FILE,
    TOKENIZER_FILE,
    BrokenExport,
    EncoderManifest,
    read_manifest,
)
from amem_cli.adapters.onnx_runtime import load_onnxruntime
from amem_cli.adapters.vector_checks import checked_vectors, clean_text
from amem_cli.core.errors import EncoderError

if TYPE_CHECKING:
    import numpy.typing as npt

    from amem_cli.core.ports import Vectors

    Tokens = npt.NDArray[np.int64]

# Small batches of texts of one length stay in the processor's cache; larger ones cost up to a
# fifth more and several times the memory.
_BATCH_TOKENS = 512
_BATCH_TEXTS = 64
# Texts are cut into tokens by the window, so that the tokens of a large vault never lie in memory.
_WINDOW_TEXTS = 2048
# So many texts are encoded before the layout of weights for many would have paid.
_FEW_TEXTS = 4
_PROBE_COSINE = 0.999


class Session(Protocol):
    """A loaded graph."""

    def run(self, outputs: None, feeds: dict[str, Tokens]) -> Sequence[Any]:
        """Give the unit vectors of a batch: (batch, tokens) ids and mask to [(batch, dim)]."""


class OnnxEncoder:
    """The encoder port over a prepared folder.

    Args:
        folder: a prepared encoder.
        threads: batches encoded at the same time; by default one for each core.
        open_session: loads the graph of a file.

    Raises:
        BrokenExport: the folder's files are damaged; also from the first `encode`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        threads: int | None = None,
        open_session: Callable[[Path], Session] | None = None,
    ) -> None:
        self._folder = folder
        self._manifest = read_manifest(folder)
        self._threads = threads or _core_count()
        self._open_session = open_session or open_graph
        self._open_at_once = open_session or open_graph_at_once
        self._graph: _Graph | None = None
        self._for_many = False
        self._loading = Lock()

    @property
    def model_id(self) -> str:
        return self._manifest.model_id

    @property
    def dimension(self) -> int:
        return self._manifest.dimension

    @property
    def max_tokens(self) -> int:
        return self._manifest.max_tokens

    def readable(self, text: str) -> float:
        """Share of a text's tokens that the vocabulary holds, as the port says."""
        return self._loaded().known_share(clean_text(text))

    def encode(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Vectors:
        """Encode texts, as the port says.

        Args:
            query: the texts are questions; some models put another prompt before those.
            progress: told how many more texts are done.
        """
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if not len(texts):
            return vectors
        graph = self._loaded(many=len(texts) > _FEW_TEXTS)
        prompt = self._manifest.prompt(query=query)
        # Texts of one length waste nothing on padding, and characters tell the length well enough
        # to choose what goes into one window.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
        for start in range(0, len(order), _WINDOW_TEXTS):
            places = order[start : start + _WINDOW_TEXTS]
            window = graph.tokens([prompt + clean_text(texts[place]) for place in places])
            for batch, rows in self._encoded(graph, window):
                vectors[[places[position] for position in batch]] = rows
                if progress is not None:
                    progress(len(batch))
        return vectors

    def _encoded(
        self, graph: _Graph, window: list[list[int]]
    ) -> Iterator[tuple[list[int], Vectors]]:
        batches = _batches(window)
        if self._threads == 1 or len(batches) == 1:
            for batch in batches:
                yield batch, graph.run([window[position] for position in batch])
            return
        # One thread for each batch keeps every core busy with less waiting than to share the
        # work inside of a batch: half of the processor time for short texts.
        workers = ThreadPoolExecutor(self._threads)
        try:
            results = workers.map(
                lambda batch: graph.run([window[position] for position in batch]), batches
            )
            yield from zip(batches, results, strict=True)
        finally:
            workers.shutdown(cancel_futures=True)

    def load(self) -> None:
        """Load what the first `encode` would load.

        Raises:
            BrokenExport: the folder's files are damaged.
        """
        self._loaded()

    def _loaded(self, *, many: bool = False) -> _Graph:
        with self._loading:
            if self._graph is None or (many and not self._for_many):
                opening = self._open_session if many else self._open_at_once
                self._graph = _load(self._folder, self._manifest, opening)
                self._for_many = opening is self._open_session
            return self._graph


class _Graph:
    """A loaded graph with its tokenizer; may be used by many threads at a time."""

    def __init__(self, session: Session, tokenizer: Any, manifest: EncoderManifest) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._manifest = manifest

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """Token ids of each text, cut at what the model reads."""
        if self._manifest.lowercase:
            texts = [text.lower() for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)]

    def known_share(self, text: str) -> float:
        """Share of a text's tokens that are in the vocabulary, 0..1; 1 without an unknown token."""
        mark = getattr(self._tokenizer.model, "unk_token", None)
        unknown = self._tokenizer.token_to_id(mark) if mark else None
        text = text.lower() if self._manifest.lowercase else text
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        if unknown is None or not ids:
            return 1.0
        known: int = len(ids) - ids.count(unknown)
        return known / len(ids)

    def run(self, batch: list[list[int]]) -> Vectors:
        """Vectors of one batch of token ids.

        Raises:
            EncoderError: the runtime failed, or what it gave are no unit vectors.
        """
        # A tokenizer without special tokens gives none for an empty text.
        width = max(1, *map(len, batch)) if len(batch) > 1 else max(1, len(batch[0]))
        ids = np.full((len(batch), width), self._manifest.pad_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : max(1, len(tokens))] = 1
        try:
            vectors = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        # The runtime has no exception class of its own that is part of its interface.
        except Exception as error:
            raise EncoderError(f"the encoder failed: {_first_line(error)}") from error
        return checked_vectors(vectors, (len(batch), self._manifest.dimension))


def _batches(window: list[list[int]]) -> list[list[int]]:
    """Positions of the window's texts, the longest first, in batches of about equal work."""
    batches: list[list[int]] = []
    width = 1
    for position in sorted(range(len(window)), key=lambda place: len(window[place]), reverse=True):
        last = batches[-1] if batches else None
        if last and len(last) < _BATCH_TEXTS and width * (len(last) + 1) <= _BATCH_TOKENS:
            last.append(position)
        else:
            batches.append([position])
            width = max(1, len(window[position]))
    return batches


def _load(
    folder: Path, manifest: EncoderManifest, open_session: Callable[[Path], Session]
) -> _Graph:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        tokenizer.enable_truncation(manifest.max_tokens)
        tokenizer.no_padding()
        graph = _Graph(open_session(folder / GRAPH_FILE), tokenizer, manifest)
        vector = graph.run(graph.tokens([manifest.probe_text]))[0]
    # Both libraries raise plain `Exception` for a damaged file.
    except Exception as error:
        raise BrokenExport(
            f"the prepared encoder in {folder} cannot be loaded: {_first_line(error)}",
            hint="Delete that folder; it is made again.",
        ) from error
    # A damaged weight or a runtime that computes wrongly shows here and not in the search results.
    if not float(vector @ np.asarray(manifest.probe_vector, np.float32)) > _PROBE_COSINE:
        raise BrokenExport(
            f"the prepared encoder in {folder} gives wrong vectors",
            hint="Delete that folder; it is made again.",
        )
    return graph


def open_graph(path: Path) -> Session:
    """Load a graph for one thread a run, and lay its weights out for many texts."""
    return _opened(path)


def open_graph_at_once(path: Path) -> Session:
    """The same in half of the time, for a few texts that then take twice as long."""
    return _opened(path, **{"session.disable_prepacking": "1"})


def _opened(path: Path, **entries: str) -> Session:
    try:
        onnxruntime = load_onnxruntime()
    except ImportError as error:
        # Its native code makes this of an interruption, which says nothing against the file.
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise

    options = onnxruntime.SessionOptions()
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Patterns are kept for each shape of a batch, and there are hundreds of those.
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    session: Session = onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    return session


def _core_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
