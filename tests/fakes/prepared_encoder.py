"""A prepared encoder with a graph of one step: the mean of its words' random vectors."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from amem_cli.models.encoder_files import GRAPH_FILE, TOKENIZER_FILE, Manifest, write_manifest

DIMENSION = 16
_WORDS = [
    *(
        "[PAD]",
        "[UNK]",
        "the",
        "sourdough",
        "bread",
        "rose",
        "slowly",
        "in",
        "warm",
        "kitchen",
        "a",
    ),
    *("quarterly", "invoices", "must", "reach", "our", "accountant", "before", "friday"),
    *("query:", "lone", "line", "one", "two"),
]
_PROBE = "bread before friday"


def embeddings(seed: int = 5) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """The random vector of each word."""
    return np.random.default_rng(seed).normal(size=(len(_WORDS), DIMENSION)).astype(np.float32)


def write_prepared_encoder(folder: Path, manifest: Manifest | None = None) -> Path:
    """Write the folder as a preparation would."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: number for number, word in enumerate(_WORDS)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / TOKENIZER_FILE))
    write_graph(folder / GRAPH_FILE, embeddings())
    sizes = {name: (folder / name).stat().st_size for name in (TOKENIZER_FILE, GRAPH_FILE)}
    write_manifest(folder, replace(manifest or describe(), sizes=sizes))
    return folder


def prepare_hub_model(cache: Path, name: str) -> None:
    """Let a model of the hub be one that was fetched and prepared before."""
    key = hashlib.sha256(name.encode()).hexdigest()
    folder = cache / "encoders" / f"{Path(name).name}-{key[:16]}"
    write_prepared_encoder(folder, replace(describe(), model=name, fingerprint=key))


def with_quick_encoder(cache: Path, name: str = "nobody/first") -> dict[str, str]:
    """The variables of a program whose encoder takes no time."""
    prepare_hub_model(cache, name)
    return {"AMEM_CACHE_DIR": str(cache), "AMEM_ENCODER_MODEL": name, "HF_HUB_OFFLINE": "1"}


def describe(*, query_prompt: str = "", max_tokens: int = 12) -> Manifest:
    """The manifest, but for the sizes of its files."""
    total = sum(embeddings()[_WORDS.index(word)] for word in _PROBE.split())
    return Manifest(
        stamp="first",
        model="tiny",
        fingerprint="f" * 64,
        source="nowhere",
        dimension=DIMENSION,
        max_tokens=max_tokens,
        lowercase=True,
        pad_id=0,
        document_prompt="",
        query_prompt=query_prompt,
        probe=[_PROBE],
        expected=[float(value) for value in total / np.linalg.norm(total)],
    )


def write_graph(path: Path, weights: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    """Write a graph that looks the words up."""
    node = helper.make_node("Gather", ["weights", "input_ids"], ["vectors"])
    places = ["batch", "tokens"]
    tokens = helper.make_tensor_value_info("input_ids", TensorProto.INT64, places)
    vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, [*places, DIMENSION])
    constants = [numpy_helper.from_array(weights, "weights")]
    graph = helper.make_graph([node], "tiny", [tokens], [vectors], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
