"""GGUF models of a few kilobytes with random weights: the worst speakers there are."""

from __future__ import annotations

import random
import struct
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

Value = str | int | float | Sequence[str] | Sequence[int] | Sequence[float]

WIDTH = 32
HIDDEN = 64
HEADS = 2
WINDOW = 4096
ALIGNMENT = 32
CONTROL = ("<|im_start|>", "<|im_end|>")
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_UINT32, _INT32, _FLOAT32, _STRING, _ARRAY = 4, 5, 6, 8, 9
_F32 = 0


def write_tiny_gguf(path: Path, *, template: str | None = None, seed: int = 7) -> Path:
    """Write a llama of one layer that is asked in ChatML.

    Args:
        template: the chat template that the file claims to need.
    """
    tokens, scores, kinds = _vocabulary()
    metadata: dict[str, Value] = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.block_count": 1,
        "llama.context_length": WINDOW,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": HIDDEN,
        "llama.attention.head_count": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": tokens.index(CONTROL[1]),
        "tokenizer.ggml.unknown_token_id": 0,
    }
    if template is not None:
        metadata["tokenizer.chat_template"] = template
    path.write_bytes(_gguf(metadata, _tensors(len(tokens)), random.Random(seed)))
    return path


def _vocabulary() -> tuple[list[str], list[float], list[int]]:
    letters = [chr(code) for code in range(0x21, 0x7F)]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{code:02X}>" for code in range(256))]
    tokens += ["\u2581", *letters, *CONTROL]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256]
    kinds += [_NORMAL] * (1 + len(letters)) + [_CONTROL] * len(CONTROL)
    return tokens, [0.0] * len(tokens), kinds


def _tensors(tokens: int) -> dict[str, tuple[int, ...]]:
    """Shapes by name, the fastest dimension first."""
    square = (WIDTH, WIDTH)
    block = {
        **{f"attn_{name}": square for name in ("q", "k", "v", "output")},
        "attn_norm": (WIDTH,),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (WIDTH, HIDDEN),
        "ffn_up": (WIDTH, HIDDEN),
        "ffn_down": (HIDDEN, WIDTH),
    }
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (WIDTH, tokens)}
    shapes |= {f"blk.0.{name}.weight": shape for name, shape in block.items()}
    return shapes | {"output_norm.weight": (WIDTH,), "output.weight": (WIDTH, tokens)}


def _gguf(
    metadata: Mapping[str, Value], shapes: Mapping[str, tuple[int, ...]], chance: random.Random
) -> bytes:
    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(metadata)))
    for key, value in metadata.items():
        head += _text(key) + _typed(value)
    data = bytearray()
    for name, shape in shapes.items():
        head += _text(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", _F32, len(data))
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        flat = len(shape) == 1
        data += array("f", (1.0 if flat else chance.gauss(0, 0.3) for _ in range(count))).tobytes()
        data += bytes(-len(data) % ALIGNMENT)
    return bytes(head) + bytes(-len(head) % ALIGNMENT) + bytes(data)


def _text(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _typed(value: Value) -> bytes:
    if isinstance(value, (str, int, float)):
        kind, body = _scalar(value)
        return struct.pack("<I", kind) + body
    kind = _scalar(value[0])[0] if not isinstance(value[0], int) else _INT32
    items = b"".join(
        struct.pack("<i", item) if isinstance(item, int) else _scalar(item)[1] for item in value
    )
    return struct.pack("<IIQ", _ARRAY, kind, len(value)) + items


def _scalar(value: str | int | float) -> tuple[int, bytes]:
    if isinstance(value, str):
        return _STRING, _text(value)
    if isinstance(value, int):
        return _UINT32, struct.pack("<I", value)
    return _FLOAT32, struct.pack("<f", value)
