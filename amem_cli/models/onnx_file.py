"""Writes ONNX files without the package `onnx`.

An ONNX file is a protobuf message (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto): fields,
each a number and a value, and a value may be a message again. The numbers here are from there.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Attribute = int | float

_OPSET = 17
_IR_VERSION = 8
_RUNTIME_DOMAIN = "com.microsoft"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FLOAT_TYPE, _INT_TYPE = 1, 2
# Types of numbers, as a `Cast` names them.
FLOAT, INT32, _INT64 = 1, 6, 7
_ELEMENTS = {"float32": FLOAT, "int64": _INT64, "uint8": 2, "int8": 3}
_EXTERNAL = 1
# Fields of a model and of its graph.
_MODEL_GRAPH, _MODEL_OPSET = 7, 8
_GRAPH_NODE, _GRAPH_NAME, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 2, 5, 11, 12
# Weights are mapped into memory, which works by pages.
_PAGE = 4096


@dataclass
class GraphWriter:
    """Collects the steps and weights of a graph.

    Weights go to a file beside the graph, `weights`: mapped into memory, only what a text needs of
    them is read from the disk. Graphs that share that file also share `places`, by the digest of a
    table, so that none is there twice.
    """

    weights: Path
    places: dict[bytes, int] = field(default_factory=dict)
    _nodes: list[bytes] = field(default_factory=list)
    _tensors: list[bytes] = field(default_factory=list)
    _count: int = 0

    def step(
        self,
        operator: str,
        inputs: Sequence[str],
        *,
        domain: str = "",
        unused_outputs: int = 0,
        **attributes: Attribute,
    ) -> str:
        """Add one step; returns the name of its first output."""
        self._count += 1
        output = f"amem.{operator}.{self._count}"
        message = b"".join(_bytes(1, name.encode()) for name in inputs)
        message += _bytes(2, output.encode())
        for number in range(unused_outputs):
            message += _bytes(2, f"{output}.{number}".encode())
        message += _bytes(3, output.encode()) + _bytes(4, operator.encode())
        for name, value in attributes.items():
            message += _bytes(5, _attribute(name, value))
        if domain:
            message += _bytes(7, domain.encode())
        self._nodes.append(message)
        return output

    def fused(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add one of the operators that onnxruntime itself puts in the place of several."""
        return self.step(operator, inputs, domain=_RUNTIME_DOMAIN, **attributes)

    def table(self, name: str, values: np.ndarray[tuple[int, ...], np.dtype[Any]]) -> str:
        """Add weights, in the file beside the graph: 8-bit integers, all others as float32.

        Returns their name.
        """
        is_small = values.dtype in (np.uint8, np.int8)
        content = np.ascontiguousarray(values, dtype=values.dtype if is_small else "<f4")
        digest = hashlib.sha256(content.data).digest()
        if digest not in self.places:
            with self.weights.open("ab") as stream:
                self.places[digest] = -(-stream.tell() // _PAGE) * _PAGE
                stream.write(bytes(self.places[digest] - stream.tell()))
                stream.write(content.data)
        message = _tensor_head(name, content.shape, _ELEMENTS[content.dtype.name])
        place = {
            "location": self.weights.name,
            "offset": self.places[digest],
            "length": content.nbytes,
        }
        for key, value in place.items():
            message += _bytes(13, _bytes(1, key.encode()) + _bytes(2, str(value).encode()))
        self._tensors.append(message + _number(14, _EXTERNAL))
        return name

    def constant(self, name: str, values: Sequence[int] | Sequence[float] | float) -> str:
        """Add a few numbers, in the graph itself: int64 or float32; returns their name."""
        given = np.asarray(values)
        content = given.astype("<i8" if given.dtype.kind == "i" else "<f4")
        message = _tensor_head(name, content.shape, _ELEMENTS[content.dtype.name])
        self._tensors.append(message + _bytes(9, content.tobytes()))
        return name

    def write(self, path: Path, inputs: Sequence[str], output: str) -> None:
        """Write a model whose inputs are int64 of (batch, tokens), and whose output are the vectors
        of the tokens, float32."""
        nodes = b"".join(_bytes(_GRAPH_NODE, node) for node in self._nodes)
        graph = nodes + b"".join(_bytes(_GRAPH_INITIALIZER, tensor) for tensor in self._tensors)
        graph += _bytes(_GRAPH_NAME, b"encoder") + _ends(inputs, output)
        model = _number(1, _IR_VERSION) + _bytes(2, b"amem") + _bytes(_MODEL_GRAPH, graph)
        for domain, version in (("", _OPSET), (_RUNTIME_DOMAIN, 1)):
            opset = _bytes(1, domain.encode()) + _number(2, version)
            model += _bytes(_MODEL_OPSET, opset)
        path.write_bytes(model)


def _ends(inputs: Sequence[str], output: str) -> bytes:
    texts = ("batch", "tokens")
    given = (_bytes(_GRAPH_INPUT, _value_info(name, "int64", texts)) for name in inputs)
    wanted = _value_info(output, "float32", (*texts, "numbers"))
    return b"".join(given) + _bytes(_GRAPH_OUTPUT, wanted)


def _tensor_head(name: str, shape: Sequence[int], element: int) -> bytes:
    sizes = b"".join(_number(1, size) for size in shape)
    return sizes + _number(2, element) + _bytes(8, name.encode())


def _value_info(name: str, element: str, dimensions: Sequence[str]) -> bytes:
    shape = b"".join(_bytes(1, _bytes(2, one.encode())) for one in dimensions)
    tensor = _number(1, _ELEMENTS[element]) + _bytes(2, shape)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _attribute(name: str, value: Attribute) -> bytes:
    head = _bytes(1, name.encode())
    if isinstance(value, float):
        fixed = _varint(2 << 3 | _FIXED32) + struct.pack("<f", value)
        return head + fixed + _number(20, _FLOAT_TYPE)
    return head + _number(3, value) + _number(20, _INT_TYPE)


def _varint(number: int) -> bytes:
    # Negative numbers are written as if they had 64 bits.
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _number(field_number: int, value: int) -> bytes:
    return _varint(field_number << 3 | _VARINT) + _varint(value)


def _bytes(field_number: int, value: bytes) -> bytes:
    return _varint(field_number << 3 | _BYTES) + _varint(len(value)) + value
