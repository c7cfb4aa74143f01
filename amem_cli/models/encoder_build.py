"""Prepares an encoder without torch: from its safetensors weights or its publisher's graph."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from amem_cli.data import table
from amem_cli.models.bert_graph import finish_vectors, write_bert_graph
from amem_cli.models.encoder import ExportedGraph, load_onnxruntime, open_graph
from amem_cli.models.encoder_config import EncoderConfig, NotReadable, read_encoder_config
from amem_cli.models.encoder_files import (
    GRAPH_FILE,
    OFFICIAL_GRAPH,
    OFFICIAL_WEIGHTS,
    PACKED_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    Manifest,
    new_manifest,
)
from amem_cli.models.onnx_file import ForeignGraph, GraphWriter
from amem_cli.models.packed_e5 import build_packed

PROBE: str = table("export_trials.toml")["texts"][0]
_TYPES = "token_type_ids"
_INPUTS = ("input_ids", "attention_mask")
# What publishers' exporters call the vectors of the tokens.
_HIDDEN = ("last_hidden_state", "token_embeddings")
# Bytes of a table of weights that goes into the file beside the graph.
_SMALLEST_APART = 1024


def build_encoder(model: str, source: Path, folder: Path) -> Manifest:
    """Write graph, weights and tokenizer of an encoder; returns a manifest without their sizes.

    Raises:
        NotReadable: only the model's own library can run it.
        DamagedWeights: the file of the extra `multilingual` is another.
    """
    if (source / PACKED_FILE).is_file():
        manifest = build_packed(source, folder)
        return _with_probe(folder, replace(manifest, probe=[manifest.document_prompt + PROBE]))
    config = read_encoder_config(model, source)
    if (source / OFFICIAL_GRAPH).is_file() and not any(config.transformer.glob("*.safetensors")):
        _write_official(source / OFFICIAL_GRAPH, config, folder)
    else:
        try:
            write_bert_graph(config, folder / GRAPH_FILE, folder / WEIGHTS_FILE)
        except NotReadable:
            if not (source / OFFICIAL_GRAPH).is_file():
                raise
            (folder / WEIGHTS_FILE).unlink(missing_ok=True)
            _write_official(source / OFFICIAL_GRAPH, config, folder)
    shutil.copyfile(config.transformer / TOKENIZER_FILE, folder / TOKENIZER_FILE)
    manifest = new_manifest(
        model,
        source,
        dimension=2,
        max_tokens=config.max_tokens,
        pad_id=config.pad_id,
        lowercase=config.lowercase,
        document_prompt=config.document_prompt,
        query_prompt=config.query_prompt,
        probe=[config.document_prompt + PROBE],
        expected=[],
    )
    known = table("bundled_encoder.toml")
    if manifest.fingerprint == known["fingerprint"]:
        return replace(manifest, dimension=len(known["vector"]), expected=known["vector"])
    return _with_probe(folder, manifest)


def _with_probe(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with what the new graph gives for its probe."""
    vector = ExportedGraph(folder, manifest, open_graph, expecting=False).probed()
    expected = [round(float(value), 6) for value in vector]
    return replace(manifest, dimension=len(expected), expected=expected)


def _write_official(graph: Path, config: EncoderConfig, folder: Path) -> None:
    """Write a publisher's graph with the steps from the vectors of the tokens to a text's."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as raw:
        extended = Path(raw) / GRAPH_FILE
        _extend(graph, config.pooling, extended)
        _place(graph.with_name(Path(OFFICIAL_WEIGHTS).name), Path(raw))
        optimise(extended, folder)


def _extend(graph: Path, pooling: str, extended: Path) -> None:
    foreign = ForeignGraph.read(memoryview(graph.read_bytes()))
    hidden = next((name for name in _HIDDEN if name in foreign.outputs), "")
    unknown = foreign.inputs - {*_INPUTS, _TYPES}
    if unknown or not hidden:
        what = f"takes {', '.join(sorted(unknown))}" if unknown else "gives no vectors of tokens"
        raise NotReadable(f"the graph of its publisher {what}")
    before, after = GraphWriter(), GraphWriter()
    if _TYPES in foreign.inputs:
        # All tokens of a text are of the first type, 0.
        before.step("Sub", [_INPUTS[0], _INPUTS[0]], output=_TYPES)
    finish_vectors(after, hidden, pooling)
    foreign.write_extended(extended, before=before, after=after, inputs=_INPUTS)


def _place(weights: Path, folder: Path) -> None:
    """Put a graph's weights beside it: the runtime follows no link to another folder."""
    if not weights.exists():
        return
    try:
        os.link(weights.resolve(), folder / weights.name)
    except OSError:
        shutil.copyfile(weights, folder / weights.name)


def optimise(graph: Path, folder: Path) -> None:
    """Write a graph so that it is opened fast: steps joined once, weights in a file of their own.

    Such weights are mapped into memory, and only what a text needs of them is read from the disk.
    """
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # What goes beyond this level depends on the processor.
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(folder / GRAPH_FILE)
    weights = "session.optimized_model_external_initializers_"
    options.add_session_config_entry(f"{weights}file_name", WEIGHTS_FILE)
    options.add_session_config_entry(f"{weights}min_size_in_bytes", str(_SMALLEST_APART))
    onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
