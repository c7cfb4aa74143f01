"""Encodes with sentence-transformers itself, for a model whose graph cannot be exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from amem_cli.adapters.encoder_manifest import read_manifest
from amem_cli.adapters.encoder_models import check_encoder_folder
from amem_cli.adapters.vector_checks import checked_vectors, clean_text
from amem_cli.core.errors import EncoderError

if TYPE_CHECKING:
    from amem_cli.core.ports import Vectors

_WINDOW_TEXTS = 512
# Attention over a text needs memory by the square of its length: 50 MB here, 3 GB for the 8,192
# tokens of some models. Notes are embedded in shorter passages anyway.
_MOST_TOKENS = 1024


class SentenceTransformersEncoder:
    """The encoder port over a prepared folder whose manifest names the model's own files.

    Args:
        folder: a prepared encoder.
        threads: cores to use; by default as many as torch chooses.

    Raises:
        BrokenExport: the manifest is damaged.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._manifest = read_manifest(folder)
        self._threads = threads
        self._model: Any = None
        self._running = Lock()

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
        """1: these models differ too much in how they mark what they do not know."""
        return 1.0

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
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
        prompt = self._manifest.prompt(query=query)
        for start in range(0, len(order), _WINDOW_TEXTS):
            places = order[start : start + _WINDOW_TEXTS]
            vectors[places] = self._run([clean_text(texts[place]) for place in places], prompt)
            if progress is not None:
                progress(len(places))
        return vectors

    def _run(self, texts: list[str], prompt: str) -> Vectors:
        # The library's models are not meant for several threads at a time.
        with self._running:
            if self._model is None:
                self._model = load_model(Path(self._manifest.source), threads=self._threads)
            try:
                vectors = self._model.encode(
                    texts, prompt=prompt, normalize_embeddings=True, show_progress_bar=False
                )
            except (RuntimeError, ValueError, IndexError, TypeError) as error:
                raise EncoderError(f"the encoder failed: {error}") from error
        return checked_vectors(vectors, (len(texts), self.dimension))


def _loading_hint(folder: Path) -> str:
    pieces = any(folder.rglob("*.model")) and not any(folder.rglob("tokenizer.json"))
    if pieces and find_spec("sentencepiece") is None:
        return "Its tokenizer needs one more package: pip install sentencepiece"
    return "Is it a sentence-transformers model, and complete?"


def load_model(folder: Path, *, threads: int | None = None, exportable: bool = False) -> Any:
    """A `SentenceTransformer` in float32, from safetensors, that runs no code of the model's own.

    Args:
        exportable: on the processor, with attention written in plain operations.

    Raises:
        EncoderError: the folder is gone, not safe to load, or not a model.
    """
    check_encoder_folder(folder)
    import torch
    from sentence_transformers import SentenceTransformer

    # The function has no types.
    talk: Any = import_module("transformers.utils.logging")
    talk.disable_progress_bar()
    if threads:
        torch.set_num_threads(threads)
    options: dict[str, Any] = {"use_safetensors": True}
    if exportable:
        options["attn_implementation"] = "eager"
    try:
        model = SentenceTransformer(
            str(folder),
            device="cpu" if exportable else None,
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs=options,
        )
    # What a model's files can be wrong in is told by errors of every kind.
    except Exception as error:
        why = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise EncoderError(
            f"the encoder in {folder} cannot be loaded: {why[:300]}",
            hint=_loading_hint(folder),
        ) from error
    model.max_seq_length = min(model.max_seq_length or _MOST_TOKENS, _MOST_TOKENS)
    return model.float().eval()
