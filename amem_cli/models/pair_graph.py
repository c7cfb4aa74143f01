"""Reads a question and a text together, and tells whether the one answers the other.

A cross-encoder (Nogueira and Cho, "Passage re-ranking with BERT", arXiv 1901.04085): the bundled
encoder with an adapter of its own and a small head over what it makes of the pair.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from amem_cli.data import file_path, table
from amem_cli.models.bert_graph import Safetensors
from amem_cli.models.encoder import EncoderGraph
from amem_cli.models.encoder_files import PAIR_GRAPH, BrokenExport, Manifest, first_line

# What the adapter learned to read (training/pair_adapter.py).
_MOST_TOKENS = 160


class PairGraph(EncoderGraph):
    """The graph of pairs, with its head; raises `BrokenExport` for bad files."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        super().__init__(folder, manifest, PAIR_GRAPH, at_once=True)
        self.tokenizer.enable_truncation(_MOST_TOKENS)
        file = file_path(table("bundled_encoder.toml")["adapters"][PAIR_GRAPH]["file"])
        try:
            head = Safetensors([file])
            self._inner, self._outer = (
                (head[f"head.{layer}.weight"], head[f"head.{layer}.bias"])
                for layer in ("inner", "outer")
            )
        except (OSError, KeyError, ValueError, OverflowError, MemoryError) as error:
            raise BrokenExport(f"{file} cannot be read: {first_line(error)}") from error

    def tokens_of_pairs(self, question: str, texts: list[str]) -> list[Any]:
        """Tokens of a question and each text behind it."""
        pairs = [(self.cased(question), self.cased(text)) for text in texts]
        return list(self.tokenizer.encode_batch_fast(pairs))

    def odds(self, pair: Any) -> float:
        """Log odds that the text of a pair answers its question."""
        [vectors], _ = self.read([pair.ids])
        is_text = np.array(pair.type_ids, bool)
        parts = vectors[0], vectors[~is_text].mean(axis=0), vectors[is_text].mean(axis=0)
        inner = self._inner[0] @ np.concatenate(parts) + self._inner[1]
        # The usual approximation of GELU.
        active = 0.5 * inner * (1 + np.tanh(0.7978846 * (inner + 0.044715 * inner**3)))
        odds = float(self._outer[0][0] @ active + self._outer[1][0])
        if not math.isfinite(odds):
            raise BrokenExport("what reads questions with notes gave a number that is not finite")
        return odds
