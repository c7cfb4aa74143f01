"""An encoder whose vectors are kept in a file between runs of a benchmark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, Vectors

_AT_ONCE = 512


class PassingEncoder:
    """An encoder that is the one it was given, but for what a kind of its own does otherwise."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.model_id, self.dimension = encoder.model_id, encoder.dimension
        self.max_tokens, self.is_spread = encoder.max_tokens, encoder.is_spread
        self.readable = encoder.readable
        self.encode_question, self.relevance = encoder.encode_question, encoder.relevance

    def encode_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        return self._encoder.encode_passages(texts)


class RememberingEncoder(PassingEncoder):
    """An encoder that keeps its vectors in a file, for the next run on the same texts.

    Args:
        file: an .npz file that may be missing; vectors of another encoder in it are not used, and
            go with the next save. None to keep the vectors in memory only.
    """

    def __init__(self, encoder: Encoder, file: Path | None) -> None:
        super().__init__(encoder)
        self._file = file
        self._known: dict[str, Any] = {}
        self._signs: dict[str, bytes] = {}
        self._asked: dict[str, Vectors] = {}
        self._saved = 0
        if file is not None and file.exists():
            with np.load(file) as stored:
                # Vectors of another encoder would be compared with those of this one.
                if str(stored.get("model", "")) == encoder.model_id:
                    texts = json.loads(stored["texts"].tobytes())
                    self._known = dict(zip(texts, stored["vectors"], strict=True))
            self._saved = len(self._known)

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Unit vectors, shape (len(texts), dimension); a query is one text."""
        if query:
            (text,) = texts
            if text not in self._asked:
                self._asked[text] = self._encoder.encode(texts, query=True)
            return self._asked[text]
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for start in range(0, len(new), _AT_ONCE):
            chunk = new[start : start + _AT_ONCE]
            self._known.update(zip(chunk, self._encoder.encode(chunk), strict=True))
        return np.array([self._known[text] for text in texts], dtype=np.float32)

    def encode_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """What `encode` gives, and the signs of the tokens, which are not kept in the file."""
        if new := list(dict.fromkeys(text for text in texts if text not in self._signs)):
            vectors, signs = self._encoder.encode_passages(new)
            self._known.update(zip(new, vectors, strict=True))
            self._signs.update(zip(new, signs, strict=True))
        return self.encode(texts), [self._signs[text] for text in texts]

    def save(self) -> None:
        """Write the file, if there is one and something new to keep."""
        if self._file is None or len(self._known) == self._saved:
            return
        texts = np.frombuffer(json.dumps(list(self._known)).encode(), dtype=np.uint8)
        vectors = np.array(list(self._known.values()))
        np.savez(self._file, model=self.model_id, texts=texts, vectors=vectors)
        self._saved = len(self._known)
