"""Prepares an encoder, once, in a process of its own that gives its memory back.

It becomes a graph where that works without torch: from its safetensors weights, or as its publisher
offers it. Any other one is left to its own library.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from amem_cli.data import file_path, table
from amem_cli.errors import AmemError, EncoderError, extra_hint
from amem_cli.models.bert_graph import write_bert_graph
from amem_cli.models.common_part import CommonPart
from amem_cli.models.encoder import (
    TOKEN_VECTORS,
    EncoderGraph,
    OnnxEncoder,
    SentenceTransformersEncoder,
    load_model,
    load_onnxruntime,
)
from amem_cli.models.encoder_config import NotReadable, chosen_prompts, read_encoder_config
from amem_cli.models.encoder_files import (
    GRAPH_FILE,
    OFFICIAL_GRAPH,
    OFFICIAL_WEIGHTS,
    PACKED_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    Manifest,
    current_manifest,
    fetch_encoder,
    first_line,
    new_manifest,
    write_manifest,
)
from amem_cli.models.packed_e5 import DamagedWeights, build_packed

# A text by which every later start is tried.
_PROBE = "She moved the seedlings to the north window because the light there is softer."
# Bytes of a table of weights that goes into the file beside the graph.
_SMALLEST_APART = 1024


def main(arguments: list[str]) -> int:
    """`prepare` a model: its name, the folder, and the stamp of a preparation to replace, or "".

    Unless 0 is returned, the last line written is JSON: what is wrong, and what helps.
    """
    model, folder, broken = arguments
    # The libraries write to standard output, which belongs to the answer.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            prepare(model, Path(folder), broken=broken)
            return 0
        except AmemError as error:
            answer = error
        except (OSError, MemoryError) as error:
            message = f"the encoder {model} could not be prepared: {error or 'out of memory'}"
            hint = f"Is there enough space in {Path(folder).parent}, and may amem write there?"
            answer = EncoderError(message, hint=hint)
    sys.stdout.write(f"\n{json.dumps([answer.message, answer.hint])}\n")
    return answer.exit_code


def prepare(model: str, folder: Path, *, broken: str = "") -> None:
    """Prepare a model in a folder that appears whole; a second process waits for the first.

    `broken`: stamp of a preparation to replace.
    """
    from filelock import FileLock

    with FileLock(folder.with_name(f"{folder.name}.lock")):
        manifest = current_manifest(folder)
        if manifest and manifest.stamp != broken:
            return
        for left in folder.parent.glob(f".{folder.name}.*"):
            shutil.rmtree(left, ignore_errors=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _fill(made, model)
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _fill(folder: Path, model: str) -> None:
    """Fill a new folder with what is needed to run a model."""
    source = fetch_encoder(model)
    try:
        _complete(folder, build_encoder(model, source, folder))
    except (OSError, MemoryError, DamagedWeights):
        raise
    # Whatever is wrong with the files, their own library says it best.
    except Exception as error:
        for path in folder.iterdir():
            path.unlink()
        _complete(folder, _left_to_library(model, first_line(error)))


def _complete(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, and what the encoder's vectors have in common."""
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    write_manifest(folder, replace(manifest, sizes=sizes))
    kind = SentenceTransformersEncoder if manifest.reason else OnnxEncoder
    if common := CommonPart.of(kind(folder)):
        write_manifest(folder, replace(manifest, sizes={**sizes, **common.write(folder)}))


def _left_to_library(model: str, reason: str) -> Manifest:
    if find_spec("sentence_transformers") is None:
        raise EncoderError(
            f"the encoder {model} takes sentence-transformers, which is not installed: {reason}",
            hint=extra_hint("local"),
        )
    source = fetch_encoder(model, with_weights=True)
    loaded = load_model(source)
    document, query = chosen_prompts(model, loaded.prompts or {}, loaded.default_prompt_name or "")
    return new_manifest(
        model,
        source,
        reason=reason,
        dimension=len(loaded.encode([_PROBE], show_progress_bar=False)[0]),
        max_tokens=loaded.max_seq_length,
        document_prompt=document,
        query_prompt=query,
    )


def build_encoder(model: str, source: Path, folder: Path) -> Manifest:
    """Write graph, weights and tokenizer of an encoder; returns a manifest without their sizes.

    Raises:
        NotReadable: only the model's own library can run it.
        DamagedWeights: the file of the extra `multilingual`, or an adapter, is another.
    """
    if (source / PACKED_FILE).is_file():
        return _with_probe(folder, build_packed(source, folder))
    config = read_encoder_config(model, source)
    manifest = new_manifest(model, source, dimension=0, **config.facts)
    official = source / OFFICIAL_GRAPH
    if official.is_file() and not any(config.transformer.glob("*.safetensors")):
        _write_official(official, folder)
    else:
        try:
            write_bert_graph(config, folder, _adapters_for(manifest.fingerprint))
        except NotReadable:
            if not official.is_file():
                raise
            (folder / WEIGHTS_FILE).unlink(missing_ok=True)
            _write_official(official, folder)
    shutil.copyfile(config.transformer / TOKENIZER_FILE, folder / TOKENIZER_FILE)
    return _with_probe(folder, manifest)


def _adapters_for(fingerprint: str) -> dict[str, Path]:
    """The files of an encoder's adapters, by the graph of each: the bundled one has two."""
    known = table("bundled_encoder.toml")
    adapters = known["adapters"] if fingerprint == known["fingerprint"] else {}
    paths = {graph: file_path(each["file"]) for graph, each in adapters.items()}
    for graph, path in paths.items():
        content = path.read_bytes() if path.exists() else b""
        if hashlib.sha256(content).hexdigest() != adapters[graph]["sha256"]:
            raise DamagedWeights(f"{path} is missing or damaged", hint="Install amem-cli again.")
    return paths


def _with_probe(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with a probe, and what it has to give."""
    known = table("bundled_encoder.toml")
    manifest = replace(manifest, probe=[manifest.document_prompt + _PROBE])
    if manifest.fingerprint == known["fingerprint"]:
        expected = known["vector"]
    else:
        expected = _probed(folder, manifest, GRAPH_FILE)
    manifest = replace(manifest, dimension=len(expected), expected=expected)
    adapted = [path.name for path in folder.glob("*.onnx") if path.name != GRAPH_FILE]
    return replace(
        manifest, expected_of={each: _probed(folder, manifest, each) for each in adapted}
    )


def _probed(folder: Path, manifest: Manifest, graph: str) -> list[float]:
    vector = EncoderGraph(folder, manifest, graph).probed()
    return [round(float(value), 6) for value in vector]


def _write_official(graph: Path, folder: Path) -> None:
    """Write a publisher's graph so that it is opened fast."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as raw:
        _place(graph, Path(raw))
        _place(graph.with_name(Path(OFFICIAL_WEIGHTS).name), Path(raw))
        outputs = _optimise(Path(raw) / graph.name, folder)
    if not outputs & {*TOKEN_VECTORS}:
        raise NotReadable("the graph of its publisher gives no vectors of tokens")


def _place(file: Path, folder: Path) -> None:
    """Put a file into a folder, if it is there: the runtime follows no link to another folder."""
    if not file.exists():
        return
    try:
        os.link(file.resolve(), folder / file.name)
    except OSError:
        shutil.copyfile(file, folder / file.name)


def _optimise(graph: Path, folder: Path) -> set[str]:
    """Write a graph so that it is opened fast: steps joined once, weights in a file of their own.

    Such weights are mapped into memory, and only what a text needs of them is read from the disk.
    Returns the names of the graph's outputs.
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
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    return {each.name for each in session.get_outputs()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
