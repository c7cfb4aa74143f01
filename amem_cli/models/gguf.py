"""Reads a GGUF file's header, within bounds, before native code sees the file.

A header from anywhere can claim any size: nothing is allocated by its word alone.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

from amem_cli.data import table

MAGIC = b"GGUF"
_VERSIONS = frozenset({2, 3})
_MOST_ENTRIES = 100_000
_MOST_ITEMS = 20_000_000
_MOST_DIMENSIONS = 8
_MOST_ALIGNMENT = 2**20
_LONGEST_TEXT = 16 * 2**20
_LONGEST_KEPT = 256
# How `struct` reads the kinds of values; fractions as whole numbers, for no use is made of them.
_FORMS = dict(enumerate("BbHhIiI?")) | {10: "Q", 11: "q", 12: "Q"}
_TEXT, _LIST = 8, 9
# What llama.cpp computes in beside weights and window.
_WORKSPACE = 300 * 2**20


class NotGguf(ValueError):
    """The file is no whole GGUF model; the text says why."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """A model's description of itself; of a text only the beginning is kept, of a list nothing."""

    values: dict[str, int | str]

    @property
    def architecture(self) -> str:
        """Such as `llama` or `qwen3`."""
        return str(self.values.get("general.architecture", ""))

    def window_bytes(self, tokens: int) -> int:
        """Memory of a context window in 16 bits; 0 if the model does not say enough."""
        layers = self._number("block_count")
        heads = self._number("attention.head_count")
        if not (layers and heads):
            return 0
        width = self._number("embedding_length") // heads
        key = self._number("attention.key_length") or width
        value = self._number("attention.value_length") or width
        shared = self._number("attention.head_count_kv") or heads
        return 2 * tokens * layers * shared * (key + value)

    def _number(self, name: str) -> int:
        value = self.values.get(f"{self.architecture}.{name}")
        return value if isinstance(value, int) else 0


def read_header(path: Path) -> GgufHeader:
    """The header of a model whose tensors fit into the file; else raises `NotGguf` or `OSError`."""
    with path.open("rb") as stream:
        return _Reader(stream, path.stat().st_size).header()


def memory_needed(path: Path, context_tokens: int) -> int:
    """Bytes of memory that a model takes with a window of so many tokens, roughly."""
    return path.stat().st_size + read_header(path).window_bytes(context_tokens) + _WORKSPACE


def sha256_of(path: Path, progress: Callable[[int, int], None]) -> str:
    """The digest of a file, hexadecimal."""
    digest, done, size = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
            done += len(block)
            progress(done, size)
    return digest.hexdigest()


class _Reader:
    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size

    def header(self) -> GgufHeader:
        if self._read(4) != MAGIC:
            raise NotGguf("it does not begin as a GGUF file does")
        version = self._number("I")
        if version not in _VERSIONS:
            raise NotGguf(f"it is GGUF of version {version}, which is not known")
        tensors, entries = self._number("Q"), self._number("Q")
        if not 0 < tensors <= _MOST_ENTRIES or entries > _MOST_ENTRIES:
            raise NotGguf(f"it claims {tensors} tensors and {entries} entries")
        values = {self._text(): self._value(self._number("I")) for _ in range(entries)}
        furthest = max(self._tensor_end() for _ in range(tensors))
        alignment = values.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= _MOST_ALIGNMENT:
            raise NotGguf("its tensors are aligned in an impossible way")
        end = -(-self._stream.tell() // alignment) * alignment + furthest
        if self._size < end:
            raise NotGguf(f"it is cut off: {self._size} bytes of at least {end}")
        return GgufHeader(values)

    def _tensor_end(self) -> int:
        """Where a tensor ends at least, from the beginning of all tensors."""
        self._text()
        dimensions = self._number("I")
        if dimensions > _MOST_DIMENSIONS:
            raise NotGguf(f"it claims a tensor of {dimensions} dimensions")
        count = prod(self._number("Q") for _ in range(dimensions))
        block, size = table("ggml_kinds.toml")["blocks"].get(str(self._number("I")), (1, 0))
        return self._number("Q") + int(count // block * size)

    def _value(self, kind: int) -> int | str:
        if kind == _TEXT:
            return self._text()
        if kind == _LIST:
            return self._skip_list(self._number("I"), self._number("Q"))
        if kind not in _FORMS:
            raise NotGguf(f"it holds a value of the unknown kind {kind}")
        return self._number(_FORMS[kind])

    def _skip_list(self, kind: int, count: int) -> str:
        if count > _MOST_ITEMS or (kind != _TEXT and kind not in _FORMS):
            raise NotGguf("it holds an impossible list")
        if kind != _TEXT:
            self._read(struct.calcsize(_FORMS[kind]) * count)
            return ""
        # Hundreds of thousands of words: no call more than is needed.
        read, number = self._stream.read, int.from_bytes
        for _ in range(count):
            head = read(8)
            length = number(head, "little") if len(head) == 8 else _LONGEST_TEXT + 1
            if length > _LONGEST_TEXT or len(read(length)) < length:
                raise NotGguf("it ends in the middle of a list")
        return ""

    def _text(self) -> str:
        length = self._number("Q")
        if length > _LONGEST_TEXT:
            raise NotGguf("it holds an impossibly long text")
        return self._read(length)[:_LONGEST_KEPT].decode("utf-8", "replace")

    def _number(self, form: str) -> int:
        return int(struct.unpack("<" + form, self._read(struct.calcsize(form)))[0])

    def _read(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) < count:
            raise NotGguf("it ends in the middle of its header")
        return data
