"""Runs encoders: as graphs without torch, or else by their own library."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from amem_cli.errors import EncoderError
from amem_cli.models.common_part import COMMON_FILE, MEAN_FILE, CommonPart, unit_length
from amem_cli.models.encoder_config import MOST_TOKENS
from amem_cli.models.encoder_files import (
    GRAPH_FILE,
    PAIR_GRAPH,
    QUESTION_GRAPH,
    TOKENIZER_FILE,
    BrokenExport,
    Manifest,
    check_encoder_folder,
    first_line,
    read_manifest,
)

if TYPE_CHECKING:
    from amem_cli.models.pair_graph import PairGraph
    from amem_cli.models.ports import Vectors


# Small batches of texts of one length stay in the processor's cache; larger ones cost up to a
# fifth more and several times the memory.
_BATCH_TOKENS = 512
_BATCH_TEXTS = 64
# Texts are cut into tokens by the window, so that the tokens of a large vault never lie in memory.
_WINDOW_TEXTS = 2048
_LIBRARY_TEXTS = 512
# So many texts are encoded before the layout of weights for many would have paid.
_FEW_TEXTS = 4
# Of vectors with a cosine of 0.999.
_PROBE_DISTANCE = 0.0447
_NORM_TOLERANCE = 1e-3
# What exporters call the vectors of the tokens.
TOKEN_VECTORS = ("last_hidden_state", "token_embeddings")


class _PreparedFolder(ABC):
    """What both ways to run the encoder of a prepared folder share; raises `BrokenExport`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._manifest = manifest = read_manifest(folder)
        self.model_id = manifest.model_id
        self.dimension, self.max_tokens = manifest.dimension, manifest.max_tokens
        self.is_spread = COMMON_FILE in manifest.sizes
        self._common: CommonPart | None = None

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Encode texts, as the port says."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for places, rows, _ in self._encoded(texts, query=query):
            vectors[places] = rows
        return vectors

    def encode_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Encode texts and tell the signs of their tokens, as the port says."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        signs = [b""] * len(texts)
        for places, rows, tokens in self._encoded(texts, query=False):
            vectors[places] = rows
            for place, each in zip(places, tokens, strict=True):
                signs[place] = np.packbits(self._own_part(each) > 0, axis=1).tobytes()
        return vectors, signs

    def encode_question(self, text: str, *, plain: bool = False) -> tuple[Vectors, Vectors]:
        """Encode a query and its tokens, as the port says."""
        [(_, rows, [tokens])] = self._encoded([text], query=True, adapted=not plain)
        return rows[0], self._own_part(tokens)

    def _own_part(self, tokens: Vectors) -> Vectors:
        """Vectors of tokens as unit vectors, without what all of the encoder have in common."""
        common = self._common_part()
        unit = unit_length(tokens)
        return unit if common is None else common.taken_from(unit)

    def _encoded(
        self, texts: Sequence[str], *, query: bool, adapted: bool = False
    ) -> Iterator[tuple[list[int], Vectors, list[Vectors]]]:
        """Places of some of the texts, their vectors, and those of their tokens."""
        common = self._common_part()
        prompt = self._manifest.prompt(query=query)
        # Texts of one length waste nothing on padding, and characters tell the length well enough
        # to choose what goes into one window.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
        for start in range(0, len(order), _WINDOW_TEXTS):
            places = order[start : start + _WINDOW_TEXTS]
            window = [clean_text(texts[place]) for place in places]
            many = len(texts) > _FEW_TEXTS
            batches = self._batches(window, prompt, many=many, adapted=adapted)
            for batch, rows, tokens in batches:
                if common is not None:
                    rows = common.taken_from(rows, query=query)
                yield [places[position] for position in batch], rows, tokens

    def _common_part(self) -> CommonPart | None:
        name = next((each for each in (COMMON_FILE, MEAN_FILE) if each in self._manifest.sizes), "")
        if self._common is None and name:
            try:
                self._common = CommonPart.read(self._folder / name, self.dimension)
            except (OSError, ValueError) as error:
                raise _broken(self._folder, f"cannot be loaded: {first_line(error)}") from error
        return self._common

    def relevance(self, question: str, texts: Sequence[str]) -> Vectors:
        """Nothing: few models learned to read both, as the port says."""
        return np.empty(0, np.float32)

    def load(self) -> object:
        """Load what the first `encode_question` would load, if that is a matter of a moment."""
        return None

    @abstractmethod
    def _batches(
        self, window: list[str], prompt: str, *, many: bool, adapted: bool
    ) -> Iterator[tuple[Sequence[int], Vectors, list[Vectors]]]:
        """Positions in the window with their vectors and those of their tokens, batch by batch."""


def _broken(folder: Path, fault: str) -> BrokenExport:
    return BrokenExport(
        f"the prepared model in {folder} {fault}", hint="Delete that folder; it is made again."
    )


class OnnxEncoder(_PreparedFolder):
    """The encoder port over a graph: little memory, a fast start.

    `threads`: batches encoded at the same time; by default one for each core.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        super().__init__(folder)
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
        self._threads = threads or len(cores) or os.cpu_count() or 1
        self._graph: EncoderGraph | None = None
        self._for_many = False
        self._of_questions: EncoderGraph | None = None
        self._of_pairs: PairGraph | None = None
        self._loading = Lock()

    def readable(self, text: str) -> float:
        """Share of a text's tokens that the vocabulary holds, as the port says."""
        return self.load().known_share(clean_text(text))

    def _batches(
        self, window: list[str], prompt: str, *, many: bool, adapted: bool
    ) -> Iterator[tuple[Sequence[int], Vectors, list[Vectors]]]:
        graph = self.load() if adapted else self._of_texts(many=many)
        tokens = graph.tokens([prompt + text for text in window])
        batches = _equal_batches(tokens)

        def run(batch: list[int]) -> tuple[Sequence[int], Vectors, list[Vectors]]:
            vectors, of_tokens = graph.run([tokens[position] for position in batch])
            return batch, _checked_vectors(vectors, (len(batch), self.dimension)), of_tokens

        if self._threads == 1 or len(batches) == 1:
            yield from map(run, batches)
            return
        # One thread for each batch keeps every core busy with less waiting than to share the
        # work inside of a batch: half of the processor time for short texts.
        workers = ThreadPoolExecutor(self._threads)
        try:
            yield from workers.map(run, batches)
        finally:
            workers.shutdown(cancel_futures=True)

    def load(self) -> EncoderGraph:
        """Load what reads a question; raises `BrokenExport`."""
        if QUESTION_GRAPH not in self._manifest.expected_of:
            return self._of_texts(many=False)
        with self._loading:
            if self._of_questions is None:
                self._of_questions = EncoderGraph(
                    self._folder, self._manifest, QUESTION_GRAPH, at_once=True
                )
            return self._of_questions

    def relevance(self, question: str, texts: Sequence[str]) -> Vectors:
        """How likely the texts answer a question, as the port says."""
        from amem_cli.models.pair_graph import PairGraph

        if PAIR_GRAPH not in self._manifest.expected_of:
            return np.empty(0, np.float32)
        with self._loading:
            self._of_pairs = self._of_pairs or PairGraph(self._folder, self._manifest)
        pairs = self._of_pairs.tokens_of_pairs(clean_text(question), list(map(clean_text, texts)))
        # Of about one length, each is computed by itself: nothing is padded, no core waits.
        with ThreadPoolExecutor(self._threads) as workers:
            return np.array(list(workers.map(self._of_pairs.odds, pairs)), np.float32)

    def _of_texts(self, *, many: bool) -> EncoderGraph:
        with self._loading:
            if self._graph is None or (many and not self._for_many):
                self._graph = EncoderGraph(
                    self._folder, self._manifest, GRAPH_FILE, at_once=not many
                )
                self._for_many = many
            return self._graph


class EncoderGraph:
    """A loaded graph with its tokenizer, for many threads; raises `BrokenExport` for bad files.

    `at_once`: see `open_graph`.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, graph: str, *, at_once: bool = False
    ) -> None:
        from tokenizers import Tokenizer

        self._manifest = manifest
        # Both libraries raise plain `Exception` for a damaged file.
        try:
            self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
            self.tokenizer.enable_truncation(manifest.max_tokens)
            self.tokenizer.no_padding()
            self._session = open_graph(folder / graph, at_once=at_once)
            self._inputs = {each.name for each in self._session.get_inputs()}
            names = [each.name for each in self._session.get_outputs()]
            self._output = next((each for each in TOKEN_VECTORS if each in names), names[0])
            given = self.probed()
            # A damaged weight or a runtime that computes wrongly shows here, not in search results.
            known = {GRAPH_FILE: manifest.expected, **manifest.expected_of}
            wanted = np.asarray(known.get(graph) or given, np.float32)
            distance = np.linalg.norm(given - wanted)
            fault = "" if distance < _PROBE_DISTANCE else "gives wrong numbers"
        except Exception as error:
            fault = f"cannot be loaded: {first_line(error)}"
        if fault:
            raise _broken(folder, fault)

    def probed(self) -> Vectors:
        """What the graph gives for the manifest's probe."""
        [vector], _ = self.run(self.tokens(self._manifest.probe))
        return np.asarray(vector, np.float32)

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """Token ids of each text, cut at what the model reads."""
        texts = [self.cased(text) for text in texts]
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]

    def known_share(self, text: str) -> float:
        """Share of a text's tokens that are in the vocabulary, 0..1; 1 without an unknown token."""
        token = getattr(self.tokenizer.model, "unk_token", None)
        unknown = self.tokenizer.token_to_id(token) if token else None
        ids = self.tokenizer.encode(self.cased(text), add_special_tokens=False).ids
        if unknown is None or not ids:
            return 1.0
        return float(len(ids) - ids.count(unknown)) / len(ids)

    def run(self, batch: list[list[int]]) -> tuple[Vectors, list[Vectors]]:
        """Unit vectors of a batch of token ids, of shape (batch, n), and vectors of the tokens of
        each text, without the marks of its beginning and end."""
        vectors, mask = self.read(batch)
        # The sum points where the mean does, and its length is made one anyway.
        sums = np.einsum("bt,btn->bn", mask.astype(np.float32), vectors)
        pooled = vectors[:, 0] if self._manifest.pooling == "cls" else sums
        of_tokens = [row[1 : len(ids) - 1] for row, ids in zip(vectors, batch, strict=True)]
        return unit_length(pooled), of_tokens

    def read(self, batch: list[list[int]]) -> tuple[Vectors, Any]:
        """Vectors of all tokens of a batch, of shape (batch, tokens, n), and which there are."""
        # A tokenizer without special tokens gives none for an empty text.
        ids = np.full((len(batch), max(1, *map(len, batch), 1)), self._manifest.pad_id, np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : max(1, len(tokens))] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feeds = {name: given[name] for name in self._inputs}
        try:
            output = self._session.run([self._output], feeds)[0]
        # The runtime has no exception class of its own that is part of its interface.
        except Exception as error:
            raise EncoderError(f"the model failed: {first_line(error)}") from error
        return np.asarray(output, dtype=np.float32), mask

    def cased(self, text: str) -> str:
        return text.lower() if self._manifest.lowercase else text


class SentenceTransformersEncoder(_PreparedFolder):
    """The encoder port over the model's own files and library, for a model that is no graph."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._model: Any = None
        self._running = Lock()

    def readable(self, text: str) -> float:
        """1: these models differ too much in how they mark what they do not know."""
        return 1.0

    def _batches(
        self, window: list[str], prompt: str, *, many: bool, adapted: bool
    ) -> Iterator[tuple[Sequence[int], Vectors, list[Vectors]]]:
        # What these models tell of their tokens is not known to be comparable.
        none = np.empty((0, self.dimension), np.float32)
        for start in range(0, len(window), _LIBRARY_TEXTS):
            texts = window[start : start + _LIBRARY_TEXTS]
            # The library's models are not meant for several threads at a time.
            with self._running:
                if self._model is None:
                    self._model = load_model(Path(self._manifest.source))
                try:
                    vectors = self._model.encode(
                        texts, prompt=prompt, normalize_embeddings=True, show_progress_bar=False
                    )
                except (RuntimeError, ValueError, IndexError, TypeError) as error:
                    raise EncoderError(f"the model failed: {first_line(error)}") from error
            places = range(start, start + len(texts))
            rows = _checked_vectors(vectors, (len(texts), self.dimension))
            yield places, rows, [none] * len(texts)


def load_model(folder: Path) -> Any:
    """A model by its own library, from safetensors, that runs no code of the model's own."""
    check_encoder_folder(folder)
    import sentence_transformers

    # The function has no types.
    messages: Any = import_module("transformers.utils.logging")
    messages.disable_progress_bar()
    try:
        model = sentence_transformers.SentenceTransformer(
            str(folder),
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    # What a model's files can be wrong in shows as errors of every kind.
    except Exception as error:
        hint = "Is it a SentenceTransformer of sentence-transformers, and complete?"
        pieces = any(folder.rglob("*.model")) and not any(folder.rglob("tokenizer.json"))
        if pieces and find_spec("sentencepiece") is None:
            hint = "Its tokenizer needs one more package: pip install sentencepiece"
        raise EncoderError(
            f"the encoder in {folder} cannot be loaded: {first_line(error)}", hint=hint
        ) from error
    model.max_seq_length = min(model.max_seq_length or MOST_TOKENS, MOST_TOKENS)
    return model.float().eval()


def clean_text(text: str) -> str:
    """The text with `?` for lone surrogates, which no tokenizer takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _equal_batches(window: list[list[int]]) -> list[list[int]]:
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


def _checked_vectors(vectors: Any, shape: tuple[int, int]) -> Vectors:
    rows: Vectors = np.asarray(vectors, dtype=np.float32)
    if rows.shape != shape:
        raise EncoderError(f"the encoder gave {rows.shape} numbers instead of {shape}")
    if not np.isfinite(rows).all():
        raise EncoderError(
            "the encoder gave numbers that are not finite",
            hint="The model's files may be damaged; install or download them again.",
        )
    # Computed in float64 so that huge values do not overflow into a length of infinity.
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    if (abs(lengths - 1) > _NORM_TOLERANCE).any():
        raise EncoderError("the encoder gave vectors that are not of unit length")
    return rows


def open_graph(path: Path, *, at_once: bool = False) -> Any:
    """Load a graph for one thread a run; `at_once`: in half the time, for a few slower texts."""
    try:
        onnxruntime = load_onnxruntime()
    except ImportError as error:
        # Its native code makes this of an interruption, which says nothing against the file.
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    options = onnxruntime.SessionOptions()
    if at_once:
        # Weights are not laid out for many texts.
        options.add_session_config_entry("session.disable_prepacking", "1")
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Patterns are kept for each shape of a batch, and there are hundreds of those.
    # What is prepared is optimised; another round would join what is faster apart.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def load_onnxruntime() -> Any:
    """The only way to the module: with its telemetry off, it reports to nobody what it runs.

    From 1.29 on the published builds send names, sizes and times of models to Microsoft and keep
    an identifier of the machine, unless this variable is there before they are loaded; on Windows
    they ask the system to, unless the call forbids it.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
