"""Prepares an encoder without torch: from its safetensors weights or its publisher's graph."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from amem_cli.data import table
from amem_cli.models.bert_graph import write_bert_graph
from amem_cli.models.encoder import (
    INPUTS,
    TOKEN_VECTORS,
    ExportedGraph,
    load_onnxruntime,
    open_graph,
)
from amem_cli.models.encoder_config import NotReadable, read_encoder_config
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
from amem_cli.models.packed_e5 import build_packed

PROBE: str = table("export_trials.toml")["texts"][0]
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
    with_types = False
    if (source / OFFICIAL_GRAPH).is_file() and not any(config.transformer.glob("*.safetensors")):
        with_types = _write_official(source / OFFICIAL_GRAPH, folder)
    else:
        try:
            write_bert_graph(config, folder / GRAPH_FILE, folder / WEIGHTS_FILE)
        except NotReadable:
            if not (source / OFFICIAL_GRAPH).is_file():
                raise
            (folder / WEIGHTS_FILE).unlink(missing_ok=True)
            with_types = _write_official(source / OFFICIAL_GRAPH, folder)
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
        pooling=config.pooling,
        with_types=with_types,
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


def _write_official(graph: Path, folder: Path) -> bool:
    """Write a publisher's graph so that it is opened fast; returns whether it takes types."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as raw:
        _place(graph, Path(raw))
        _place(graph.with_name(Path(OFFICIAL_WEIGHTS).name), Path(raw))
        session = optimise(Path(raw) / graph.name, folder)
    inputs = {each.name for each in session.get_inputs()}
    if unknown := inputs - {*INPUTS}:
        raise NotReadable(f"the graph of its publisher takes {', '.join(sorted(unknown))}")
    if not {each.name for each in session.get_outputs()} & {*TOKEN_VECTORS}:
        raise NotReadable("the graph of its publisher gives no vectors of tokens")
    return INPUTS[-1] in inputs


def _place(file: Path, folder: Path) -> None:
    """Put a file into a folder, if it is there: the runtime follows no link to another folder."""
    if not file.exists():
        return
    try:
        os.link(file.resolve(), folder / file.name)
    except OSError:
        shutil.copyfile(file, folder / file.name)


def optimise(graph: Path, folder: Path) -> Any:
    """Write a graph so that it is opened fast: steps joined once, weights in a file of their own.

    Such weights are mapped into memory, and only what a text needs of them is read from the disk.
    Returns the session in which the graph was opened.
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
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
