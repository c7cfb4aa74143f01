"""Exports a cross-encoder to a graph, once, and proves that it gives the same scores."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from amem_cli.adapters.cross_encoder_manifest import (
    CrossEncoderManifest,
    read_cross_encoder,
    write_cross_encoder,
)
from amem_cli.adapters.encoder_manifest import GRAPH_FILE, TOKENIZER_FILE, BrokenExport, verdict
from amem_cli.core.errors import AmemError, EncoderError

_PROBE = ("Where did she put the seedlings?", "She moved them to the north window.")
_TRIALS = (
    _PROBE,
    ("", ""),
    ("ok", "  Tabs\tand  spaces \n\n around ÜBER-long Straßennamen, naïve café.  "),
    ("记忆网络", "今天我们讨论了记忆网络。Обновить заметку завтра. 🙂"),
    ("What goes on?", "A note that is longer than the model reads goes on and on. " * 700),
    ("A question that is longer than the model reads? " * 300, "short"),
)
_MOST_TOKENS = 512
_CLOSE = 1e-3
_OPSET = 17


def main(arguments: list[str]) -> int:
    """Prepare `model` into `folder` unless that was done meanwhile; the body of the process.

    Args, Returns: as `onnx_export.main`.
    """
    model, folder, broken = arguments
    with contextlib.redirect_stdout(sys.stderr):
        try:
            prepare(model, Path(folder), broken=broken)
            return 0
        except AmemError as error:
            said, status = {"error": error.message, "hint": error.hint}, error.exit_code
        except (OSError, MemoryError) as error:
            message = f"the reranker {model} could not be prepared: {error or 'out of memory'}"
            hint = f"Is there enough space in {Path(folder).parent}, and may amem write there?"
            said, status = {"error": message, "hint": hint}, EncoderError.exit_code
    sys.stdout.write(f"\n{json.dumps(said)}\n")
    return status


def prepare(model: str, folder: Path, *, broken: str = "") -> None:
    """Prepare a model into a folder that appears whole; a second process waits for the first.

    A model that cannot be exported leaves a manifest that says why, so that it is not tried again
    before amem or a library is another version.

    Raises:
        EncoderError: the model is missing or cannot be loaded.
        OSError: the folder cannot be written.
    """
    from amem_cli.adapters.encoder_models import fetch_encoder
    from amem_cli.adapters.onnx_export import appear_whole

    appear_whole(
        folder,
        lambda: _is_ready(folder, broken),
        lambda made: _fill(made, model, fetch_encoder(model)),
    )


def _is_ready(folder: Path, broken: str) -> bool:
    try:
        manifest = read_cross_encoder(folder)
    except BrokenExport:
        return False
    return manifest.stamp != broken and manifest.stands


def _fill(folder: Path, model: str, source: Path) -> None:
    manifest = CrossEncoderManifest(stamp=secrets.token_hex(8), model=model)
    loaded = _load(source)
    try:
        manifest = _exported(loaded, folder, manifest)
        _prove(loaded, folder, manifest)
    except (OSError, MemoryError):
        raise
    # The exporter fails with errors of every kind.
    except Exception as error:
        reason, versions = verdict(error)
        for path in folder.iterdir():
            path.unlink()
        write_cross_encoder(
            folder, CrossEncoderManifest(manifest.stamp, model, reason=reason, versions=versions)
        )


def _load(folder: Path) -> Any:
    from sentence_transformers import CrossEncoder

    try:
        return CrossEncoder(
            str(folder),
            device="cpu",
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True, "attn_implementation": "eager"},
        )
    # What a model's files can be wrong in is told by errors of every kind.
    except Exception as error:
        why = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise EncoderError(
            f"the reranker in {folder} cannot be loaded: {why[:300]}",
            hint="Is it a sentence-transformers CrossEncoder, and complete?",
        ) from error


def original_scores(loaded: Any, pairs: list[tuple[str, str]]) -> list[float]:
    """What the library itself gives, 0..1."""
    import torch

    scores = loaded.predict(pairs, activation_fn=torch.nn.Sigmoid(), show_progress_bar=False)
    return [float(score) for score in scores]


def _exported(loaded: Any, folder: Path, manifest: CrossEncoderManifest) -> CrossEncoderManifest:
    import torch

    from amem_cli.adapters.onnx_export import optimise

    if loaded.num_labels != 1:
        raise ValueError(f"it gives {loaded.num_labels} numbers for a pair instead of one score")
    tokenizer = loaded.tokenizer
    # What the model's own library cuts texts at is what is read here too.
    # Version 6 renamed it.
    own = getattr(loaded, "max_seq_length", None) or loaded.max_length
    tokens = min(tokenizer.model_max_length or _MOST_TOKENS, own or _MOST_TOKENS)
    tokenizer.backend_tokenizer.save(str(folder / TOKENIZER_FILE))
    example = tokenizer([_PROBE[0], "ok"], [_PROBE[1], "so"], padding=True, return_tensors="pt")
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in example]
    sequence = {0: "batch", 1: "tokens"}
    with (
        tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as raw,
        torch.no_grad(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _scorer(loaded.model, names),
            tuple(example[name] for name in names),
            str(Path(raw) / GRAPH_FILE),
            input_names=names,
            output_names=["scores"],
            dynamic_axes={**dict.fromkeys(names, sequence), "scores": {0: "batch"}},
            opset_version=_OPSET,
            dynamo=False,
        )
        optimise(Path(raw) / GRAPH_FILE, folder)
    whole = replace(
        manifest,
        max_tokens=min(tokens, _MOST_TOKENS),
        pad_id=tokenizer.pad_token_id or 0,
        with_types="token_type_ids" in names,
        probe_pair=list(_PROBE),
        probe_score=original_scores(loaded, [_PROBE])[0],
        sizes={path.name: path.stat().st_size for path in folder.iterdir()},
    )
    write_cross_encoder(folder, whole)
    return whole


def _scorer(model: Any, names: list[str]) -> Any:
    import torch

    class Scorer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            logits = self.model(**dict(zip(names, inputs, strict=True))).logits
            return torch.sigmoid(logits[:, 0])

    return Scorer().eval()


def _prove(loaded: Any, folder: Path, manifest: CrossEncoderManifest) -> None:
    from amem_cli.adapters.cross_encoder import CrossEncoderGraph

    graph = CrossEncoderGraph(folder, manifest)
    expected = original_scores(loaded, list(_TRIALS))
    scores = [graph.scores(query, [text])[0] for query, text in _TRIALS]
    worst = max(abs(one - other) for one, other in zip(scores, expected, strict=True))
    if not worst < _CLOSE:
        raise ValueError(f"the exported graph gives other scores (by {worst:.4f})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
