"""Exports an encoder to a graph, once, and proves that it gives the same vectors."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from amem_cli.adapters.encoder_manifest import (
    GRAPH_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    BrokenExport,
    EncoderManifest,
    present_versions,
    read_manifest,
    verdict,
    write_manifest,
)
from amem_cli.adapters.onnx_runtime import load_onnxruntime
from amem_cli.core.errors import AmemError, EncoderError

_PROBE = "She moved the seedlings to the north window because the light there is softer."
_TRIALS = (
    _PROBE,
    "",
    "ok",
    "  Tabs\tand  spaces \n\n around ÜBER-long Straßennamen, naïve café.  ",
    "今天我们讨论了记忆网络。Обновить заметку завтра. ملاحظة قصيرة 🙂👩‍👩‍👧",
    "def area(radius: float) -> float:\n    return 3.14159 * radius ** 2  # see https://example.org/a?b=1",
    "- [ ] call Ana\n- [x] **buy** oat milk, 3 × 1.5 l (€ 4,47)\n\n> “Slow is smooth.”",
    "A note that is longer than the model reads goes on and on about the harbour. " * 700,
)
_LEAST_COSINE = 0.9999
_E5 = re.compile(r"(?:multilingual-)?e5-(?:small|base|large)(?:-v2)?")
_E5_PROMPTS = {"query": "query: ", "passage": "passage: "}
_OPSET = 17
# Bytes of a table of weights that goes into the file beside the graph.
_SMALLEST_APART = 1024


class NotExportable(Exception):
    """The model runs, but no graph of it gives its vectors."""


def main(arguments: list[str]) -> int:
    """Prepare `model` into `folder` unless that was done meanwhile; the body of the process.

    Args:
        arguments: model, folder, and the stamp of a preparation to replace, or an empty text.

    Returns:
        The process's exit status; where it is not 0, the last line on standard output is JSON
        with `error` and `hint`, where there was time to say it.
    """
    model, folder, broken = arguments
    # The libraries talk on standard output, which belongs to the answer.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            prepare(model, Path(folder), broken=broken)
            return 0
        except AmemError as error:
            said, status = {"error": error.message, "hint": error.hint}, error.exit_code
        except (OSError, MemoryError) as error:
            message = f"the encoder {model} could not be prepared: {error or 'out of memory'}"
            hint = f"Is there enough space in {Path(folder).parent}, and may amem write there?"
            said, status = {"error": message, "hint": hint}, EncoderError.exit_code
    sys.stdout.write(f"\n{json.dumps(said)}\n")
    return status


def prepare(
    model: str,
    folder: Path,
    *,
    broken: str = "",
    export: Callable[[Any, Path], None] | None = None,
) -> None:
    """Prepare a model into a folder that appears whole; a second process waits for the first.

    Args:
        export: writes the graph and the tokenizer of a loaded model into a folder.

    Raises:
        EncoderError: the model is missing or cannot be loaded.
        OSError: the folder cannot be written.
    """
    from amem_cli.adapters.encoder_models import fetch_encoder

    appear_whole(
        folder,
        lambda: _is_ready(folder, broken),
        lambda made: _fill(made, model, fetch_encoder(model), export or _export),
    )


def appear_whole(folder: Path, is_ready: Callable[[], bool], fill: Callable[[Path], None]) -> None:
    """Fill a folder beside its place and put it there whole; a second process waits for the first.

    Args:
        is_ready: whether another process has done it meanwhile.
        fill: fills an empty folder.

    Raises:
        OSError: the folder cannot be written.
    """
    from filelock import FileLock

    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if is_ready():
            return
        for left in folder.parent.glob(f".{folder.name}.*"):
            shutil.rmtree(left, ignore_errors=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            fill(made)
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _is_ready(folder: Path, broken: str) -> bool:
    try:
        manifest = read_manifest(folder)
    except BrokenExport:
        return False
    return manifest.stamp != broken and manifest.stands


def _fill(folder: Path, model: str, source: Path, export: Callable[[Any, Path], None]) -> None:
    from amem_cli.adapters.sentence_transformers_encoder import load_model

    loaded = load_model(source, exportable=True)
    manifest = _described(loaded, model, source)
    try:
        export(loaded, folder)
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
        manifest = replace(manifest, exported=True, sizes=sizes)
        write_manifest(folder, manifest)
        _prove(loaded, folder, manifest)
    except (OSError, MemoryError):
        raise
    # Whatever the exporter stumbles over, the model itself still works.
    except Exception as error:
        reason, versions = verdict(error)
        for path in folder.iterdir():
            path.unlink()
        write_manifest(
            folder, replace(manifest, exported=False, reason=reason, sizes={}, versions=versions)
        )


def _described(loaded: Any, model: str, source: Path) -> EncoderManifest:
    from amem_cli.adapters.encoder_models import model_fingerprint

    prompts = _prompts(loaded, model)
    default = prompts.get(loaded.default_prompt_name or "") or ""
    documents = [prompts[name] for name in ("document", "passage", "corpus") if prompts.get(name)]
    document_prompt = documents[0] if documents else default
    vector = _original(loaded, [_PROBE], document_prompt)[0]
    pooling = next((part for part in loaded if type(part).__name__ == "Pooling"), None)
    return EncoderManifest(
        stamp=secrets.token_hex(8),
        model=model,
        fingerprint=model_fingerprint(source),
        source=str(source),
        exported=False,
        reason="",
        dimension=len(vector),
        max_tokens=loaded.max_seq_length,
        pooling=_pooling_name(pooling),
        normalized=any(type(part).__name__ == "Normalize" for part in loaded),
        lowercase=bool(getattr(loaded[0], "do_lower_case", False)),
        pad_id=getattr(loaded.tokenizer, "pad_token_id", None) or 0,
        document_prompt=document_prompt,
        query_prompt=prompts.get("query") or default,
        probe_text=document_prompt + _PROBE,
        probe_vector=[round(float(value), 6) for value in vector],
        versions=present_versions(),
    )


def _prompts(loaded: Any, model: str) -> dict[str, str]:
    own = {name: prompt for name, prompt in (loaded.prompts or {}).items() if prompt}
    # These were trained with prompts that only their description tells.
    return own or (dict(_E5_PROMPTS) if _E5.fullmatch(Path(model).name) else {})


def _pooling_name(pooling: Any) -> str:
    if pooling is None:
        return ""
    # Version 6 of the library has the attribute, version 5 the method.
    mode = getattr(pooling, "pooling_mode", None) or pooling.get_pooling_mode_str()
    return mode if isinstance(mode, str) else "+".join(mode)


def _original(loaded: Any, texts: list[str], prompt: str) -> Any:
    return loaded.encode(texts, prompt=prompt, normalize_embeddings=True, show_progress_bar=False)


def _export(loaded: Any, folder: Path) -> None:
    import torch

    if any(getattr(part, "include_prompt", True) is False for part in loaded):
        raise NotExportable("its pooling leaves the prompt out")
    tokenizer = getattr(loaded.tokenizer, "backend_tokenizer", None)
    if tokenizer is None:
        raise NotExportable("its tokenizer has no fast form")
    tokenizer.save(str(folder / TOKENIZER_FILE))
    # Version 6 of the library renamed the step.
    read = getattr(loaded, "preprocess", None) or loaded.tokenize
    # Two lengths, so that the traced graph honours the mask.
    example = read([_PROBE, "ok"])
    names = ["input_ids", "attention_mask"]
    sequence = {0: "batch", 1: "tokens"}
    with (
        tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as raw,
        torch.no_grad(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _pipeline(loaded, with_types="token_type_ids" in example),
            tuple(example[name] for name in names),
            str(Path(raw) / GRAPH_FILE),
            input_names=names,
            output_names=["vectors"],
            dynamic_axes={**dict.fromkeys(names, sequence), "vectors": {0: "batch"}},
            opset_version=_OPSET,
            # The newer exporter needs another package and minutes instead of seconds.
            dynamo=False,
        )
        optimise(Path(raw) / GRAPH_FILE, folder)


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


def _pipeline(loaded: Any, *, with_types: bool) -> Any:
    """All modules of the model in one, from token ids and mask to unit vectors."""
    import torch

    class Pipeline(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList(loaded)

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            if with_types:
                features["token_type_ids"] = torch.zeros_like(input_ids)
            for part in self.parts:
                features = part(features)
            return torch.nn.functional.normalize(features["sentence_embedding"], p=2, dim=-1)

    return Pipeline().eval()


def _prove(loaded: Any, folder: Path, manifest: EncoderManifest) -> None:
    from amem_cli.adapters.onnx_encoder import OnnxEncoder

    encoder = OnnxEncoder(folder)
    kinds = {manifest.prompt(query=query): query for query in (False, True)}
    for prompt, query in kinds.items():
        expected = _original(loaded, list(_TRIALS), prompt)
        cosines = (encoder.encode(_TRIALS, query=query) * expected).sum(axis=1)
        if not cosines.min() > _LEAST_COSINE:
            raise NotExportable(f"the exported graph gives other vectors ({cosines.min():.4f})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
