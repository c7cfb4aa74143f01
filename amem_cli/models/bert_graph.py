"""Builds the graph of an encoder of the BERT family from its safetensors weights, without torch.

The model is that of Devlin et al., "BERT" (arXiv 1810.04805), with layer norm after each sum;
RoBERTa's descendants differ only in where they begin to count positions. The steps are those into
which onnxruntime's optimiser joins the standard operators of such a model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from amem_cli.models.encoder_config import EncoderConfig, NotReadable, first_position
from amem_cli.models.encoder_files import GRAPH_FILE, WEIGHTS_FILE
from amem_cli.models.onnx_file import INT32, GraphWriter

Table = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

_FAMILY = frozenset({"bert", "roberta", "xlm-roberta", "camembert"})
# Parts of a trained model that no vector depends on.
_UNUSED = ("pooler.", "cls.", "lm_head.", "embeddings.position_ids", "embeddings.token_type_ids")
_INPUTS = ("input_ids", "attention_mask")


def write_bert_graph(
    config: EncoderConfig, folder: Path, adapters: Mapping[str, Path] | None = None
) -> None:
    """Write a graph from token ids and mask to the tokens' vectors, and the file of its weights.

    Args:
        adapters: files of low-rank changes of the weights, by the file of the graph that has them.

    Raises:
        NotReadable: the model is of another family, or has weights of unknown use.
        OSError, ValueError: its files cannot be read.
    """
    _check_family(config.model)
    tensors = _Tensors(config.transformer)
    writer = GraphWriter(folder / WEIGHTS_FILE)
    hidden = _layers(writer, tensors, config.model)
    tensors.check_all_used()
    writer.write(folder / GRAPH_FILE, _INPUTS, hidden)
    for graph, adapter in (adapters or {}).items():
        tensors.adapter = Safetensors([adapter])
        writer = GraphWriter(writer.weights, writer.places)
        writer.write(folder / graph, _INPUTS, _layers(writer, tensors, config.model))


def _check_family(model: Mapping[str, Any]) -> None:
    kind = model.get("model_type")
    if kind not in _FAMILY:
        raise NotReadable(f"its architecture is {kind}")
    if model.get("hidden_act") != "gelu":
        raise NotReadable(f"its activation is {model.get('hidden_act')}")
    if model.get("position_embedding_type", "absolute") != "absolute":
        raise NotReadable("its positions are not absolute")
    if model.get("is_decoder") or model.get("add_cross_attention"):
        raise NotReadable("it is a decoder")


def _layers(writer: GraphWriter, tensors: _Tensors, model: Mapping[str, Any]) -> str:
    """Steps from token ids to the vectors of the tokens; returns the name of these."""
    epsilon = float(model.get("layer_norm_eps", 1e-12))
    heads, size = int(model["num_attention_heads"]), int(model["hidden_size"])
    if size % heads:
        raise NotReadable(f"{heads} heads do not share {size} numbers")

    def table(name: str) -> str:
        return writer.table(name, tensors[name])

    def turned(name: str) -> str:
        # The library stores weights by output, the graph takes them by input.
        return writer.table(name, tensors[name].T)

    mask = writer.step("Cast", ["attention_mask"], to=INT32)
    ids = writer.step("Cast", ["input_ids"], to=INT32)
    positions = tensors["embeddings.position_embeddings.weight"][first_position(model) :]
    # All tokens of a text are of the first type, which is added to the positions once.
    types = tensors["embeddings.token_type_embeddings.weight"][0]
    hidden = writer.fused(
        "EmbedLayerNormalization",
        [
            *(ids, "", table("embeddings.word_embeddings.weight")),
            *(writer.table("embeddings.positions", positions + types), ""),
            *(table(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")),
        ],
        unused_outputs=1,
        epsilon=epsilon,
    )
    for number in range(int(model["num_hidden_layers"])):
        layer = f"encoder.layer.{number}."
        own = f"{layer}attention.self."
        parts = ("query", "key", "value")
        joined = np.concatenate([tensors[f"{own}{part}.weight"].T for part in parts], axis=1)
        offsets = np.concatenate([tensors[f"{own}{part}.bias"] for part in parts])
        tables = [
            writer.table(f"{own}weight", joined),
            writer.table(f"{own}bias", offsets),
        ]
        read = writer.fused("Attention", [hidden, *tables, mask], num_heads=heads)

        def add_and_normalise(branch: str, before: str, output: str, layer: str = layer) -> str:
            product = writer.step("MatMul", [branch, turned(f"{layer}{output}.dense.weight")])
            norm = [table(f"{layer}{output}.LayerNorm.{part}") for part in ("weight", "bias")]
            bias = table(f"{layer}{output}.dense.bias")
            # In two steps: the runtime's joined one takes twice the time of these.
            total = writer.step("Add", [writer.step("Add", [product, bias]), before])
            return writer.step("LayerNormalization", [total, *norm], axis=-1, epsilon=epsilon)

        hidden = add_and_normalise(read, hidden, "attention.output")
        grown = writer.step("MatMul", [hidden, turned(f"{layer}intermediate.dense.weight")])
        active = writer.fused("BiasGelu", [grown, table(f"{layer}intermediate.dense.bias")])
        hidden = add_and_normalise(active, hidden, "output")
    return hidden


class Safetensors:
    """The tables of safetensors files by name, mapped into memory, as float32.

    The format: eight bytes with the length of a header in JSON, that header, and the numbers.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._places: dict[str, tuple[Path, int, dict[str, Any]]] = {}
        for path in files:
            with path.open("rb") as stream:
                length = int.from_bytes(stream.read(8), "little")
                header = json.loads(stream.read(length))
            for name, facts in header.items():
                if name != "__metadata__":
                    self._places[name] = (path, 8 + length, facts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __getitem__(self, name: str) -> Table:
        path, data, facts = self._places[name]
        start, end = facts["data_offsets"]
        kind = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}.get(facts["dtype"])
        if kind is None:
            raise NotReadable(f"its weights are of the type {facts['dtype']}")
        shape = tuple(facts["shape"])
        if math.prod(shape) * np.dtype(kind).itemsize != end - start:
            raise ValueError(f"{path.name} is damaged at {name}")
        read = np.memmap(path, kind, "r", offset=data + start, shape=shape)
        if facts["dtype"] == "BF16":
            # The upper half of a float32.
            return (read.astype("<u4") << 16).view("<f4")
        return read.astype("<f4", copy=False)


class _Tensors:
    """The weights of a model's folder, by their names without the prefix of the whole model.

    `adapter`: has `up` and `down` of some weights, whose product is added.
    """

    def __init__(self, folder: Path) -> None:
        self._files = Safetensors(sorted(folder.glob("*.safetensors")))
        self.adapter: Safetensors | None = None
        words = "embeddings.word_embeddings.weight"
        found = [name for name in self._files if name.endswith(words)]
        if len(found) != 1:
            raise NotReadable("it has no table of words, or several")
        # A model that was trained for a task has its own name before all of its parts.
        self._prefix = found[0].removesuffix(words)
        self._used: set[str] = set()

    def __getitem__(self, name: str) -> Table:
        try:
            table = self._files[self._prefix + name]
        except KeyError:
            raise NotReadable(f"it has no weights {name}") from None
        self._used.add(self._prefix + name)
        layer, _, part = name.rpartition(".")
        if part == "weight" and self.adapter and f"{layer}.up" in self.adapter:
            return table + self.adapter[f"{layer}.up"] @ self.adapter[f"{layer}.down"]
        return table

    def check_all_used(self) -> None:
        """Raise `NotReadable` for weights that the graph leaves out, as those of an adapter."""
        for name in self._files:
            left = name.removeprefix(self._prefix)
            if name not in self._used and not left.startswith(_UNUSED):
                raise NotReadable(f"it has weights of unknown use: {name}")
