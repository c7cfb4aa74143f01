"""Prepares an encoder as a graph, once, and proves that it gives the same numbers.

Most encoders need no torch for that (`models/encoder_build`); what is here exports the others.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from amem_cli.data import table
from amem_cli.errors import AmemError, EncoderError, extra_hint
from amem_cli.models.common_part import CommonPart
from amem_cli.models.encoder import OnnxEncoder, load_model
from amem_cli.models.encoder_build import PROBE, build_encoder, optimise
from amem_cli.models.encoder_config import chosen_prompts
from amem_cli.models.encoder_files import (
    GRAPH_FILE,
    TOKENIZER_FILE,
    Manifest,
    bundled_encoder,
    current_manifest,
    fetch_encoder,
    first_line,
    has_weights,
    new_manifest,
    present_versions,
    write_manifest,
)
from amem_cli.models.packed_e5 import DamagedWeights

_TRIALS: list[str] = table("export_trials.toml")["texts"]
# Longer than any model reads.
_LONG_TRIALS = [*_TRIALS, PROBE * 700]
_LEAST_COSINE = 0.9999
_OPSET = 17
# Raised by a fault of a program, whatever the model is.
_FAULTS = (AssertionError, AttributeError, ImportError, LookupError, NameError, TypeError)


class NotExportable(Exception):
    """The model runs, but no graph of it gives its numbers."""


class EncoderExporter:
    """Exports texts to unit vectors; raises `EncoderError` if the model cannot be loaded."""

    def __init__(self, model: str, source: Path) -> None:
        loaded = self._loaded = load_model(source, exportable=True)
        document_prompt, query_prompt = chosen_prompts(
            model, loaded.prompts or {}, loaded.default_prompt_name or ""
        )
        vector = self._vectors([PROBE], document_prompt)[0]
        self.manifest = new_manifest(
            model,
            source,
            dimension=len(vector),
            max_tokens=loaded.max_seq_length,
            lowercase=bool(getattr(loaded[0], "do_lower_case", False)),
            pad_id=getattr(loaded.tokenizer, "pad_token_id", None) or 0,
            document_prompt=document_prompt,
            query_prompt=query_prompt,
            probe=[document_prompt + PROBE],
            expected=[round(float(value), 6) for value in vector],
        )

    def export(self, folder: Path) -> Manifest:
        """Write graph and tokenizer; raises anything if the model cannot be a graph."""
        import torch

        if any(getattr(part, "include_prompt", True) is False for part in self._loaded):
            raise NotExportable("its pooling leaves the prompt out")
        _save_tokenizer(self._loaded, folder)
        # Version 6 of the library renamed the step.
        read = getattr(self._loaded, "preprocess", None) or self._loaded.tokenize
        # Two lengths, so that the traced graph honours the mask.
        example = read([PROBE, "ok"])

        def vectors(input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            if "token_type_ids" in example:
                features["token_type_ids"] = torch.zeros_like(input_ids)
            for part in self._loaded:
                features = part(features)
            return torch.nn.functional.normalize(features["sentence_embedding"], p=2, dim=-1)

        inputs = {name: example[name] for name in ("input_ids", "attention_mask")}
        _write_graph(self._loaded, vectors, inputs, "vectors", folder)
        return self.manifest

    def prove(self, folder: Path, manifest: Manifest) -> None:
        """Compare with the model's own library; raises `NotExportable` if the vectors differ."""
        encoder = OnnxEncoder(folder)
        kinds = {manifest.prompt(query=query): query for query in (False, True)}
        for prompt, query in kinds.items():
            expected = self._vectors(_LONG_TRIALS, prompt)
            cosines = (encoder.encode(_LONG_TRIALS, query=query) * expected).sum(axis=1)
            if not cosines.min() > _LEAST_COSINE:
                raise NotExportable(f"the exported graph gives other vectors ({cosines.min():.4f})")

    def _vectors(self, texts: list[str], prompt: str) -> Any:
        return self._loaded.encode(
            texts, prompt=prompt, normalize_embeddings=True, show_progress_bar=False
        )


def main(arguments: list[str]) -> int:
    """Export a model into a folder unless that was done meanwhile; the body of the process.

    The arguments are the model, the folder, and the stamp of an export to replace, or an empty
    text. Unless 0 is returned, the last line written is JSON with `error` and `hint`.
    """
    model, folder, broken = arguments
    answer: AmemError
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
    sys.stdout.write(f"\n{json.dumps({'error': answer.message, 'hint': answer.hint})}\n")
    return answer.exit_code


def prepare(model: str, folder: Path, *, broken: str = "") -> None:
    """Export a model into a folder that appears whole; a second process waits for the first.

    A model that cannot be exported leaves a manifest that says why, so that it is not tried again
    before amem or a library is another version. `broken`: stamp of an export to replace.
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
    """Fill a new folder with what is needed to run a model.

    Raises:
        EncoderError: the model is not to be had, or it takes the extra `local`, which is missing.
    """
    has_library = find_spec("sentence_transformers") is not None
    reason = _build(folder, model, has_library=has_library)
    if not reason:
        return
    if not has_library:
        raise EncoderError(
            f"the encoder {model} takes sentence-transformers, which is not installed: {reason}",
            hint=extra_hint("local"),
        )
    _export(folder, EncoderExporter(model, fetch_encoder(model, with_weights=True)))


def _build(folder: Path, model: str, *, has_library: bool) -> str:
    """Prepare an encoder without torch; returns why that is not possible, if so.

    A graph of weights is compared with the library where that is there; that of the bundled
    encoder is compared with stored numbers, and its publisher answers for an official one.
    """
    source = fetch_encoder(model)
    try:
        manifest = _described(folder, build_encoder(model, source, folder))
        OnnxEncoder(folder).load()
        if has_library and has_weights(source) and not bundled_encoder(model):
            EncoderExporter(model, source).prove(folder, manifest)
        _spread(folder, manifest)
    except (OSError, MemoryError, DamagedWeights):
        raise
    # Whatever is wrong with the files, their own library says it best.
    except Exception as error:
        _empty(folder)
        return first_line(error)
    return ""


def _export(folder: Path, loaded: EncoderExporter) -> None:
    try:
        manifest = _described(folder, loaded.export(folder))
        loaded.prove(folder, manifest)
        _spread(folder, manifest)
    except (OSError, MemoryError):
        raise
    # Whatever the export stumbles over, the model itself still works; what is found of it holds
    # until one of the libraries has another version.
    except Exception as error:
        reason, versions = first_line(error), present_versions()
        if isinstance(error, _FAULTS):
            # A fault of a program says nothing of the model: no version, so it is tried again.
            reason, versions = f"{type(error).__name__}: {reason}", {}
        _empty(folder)
        failed = replace(loaded.manifest, reason=reason[:500], versions=versions)
        write_manifest(folder, failed)


def _spread(folder: Path, manifest: Manifest) -> None:
    """Keep beside the encoder what its vectors have in common."""
    if common := CommonPart.of(OnnxEncoder(folder)):
        sizes = {**manifest.sizes, **common.write(folder)}
        write_manifest(folder, replace(manifest, sizes=sizes))


def _described(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with the sizes of the files, written beside them."""
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    manifest = replace(manifest, sizes=sizes)
    write_manifest(folder, manifest)
    return manifest


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def _save_tokenizer(loaded: Any, folder: Path) -> None:
    tokenizer = getattr(loaded.tokenizer, "backend_tokenizer", None)
    if tokenizer is None:
        raise NotExportable("its tokenizer has no fast form")
    tokenizer.save(str(folder / TOKENIZER_FILE))


def _write_graph(
    model: Any, compute: Callable[..., Any], inputs: dict[str, Any], output: str, folder: Path
) -> None:
    """Write what a function of a model computes from such inputs."""
    import torch

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = compute(*given)
            return result

    names = list(inputs)
    sequence = {0: "batch", 1: "tokens"}
    with (
        tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as raw,
        torch.no_grad(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Traced().eval(),
            tuple(inputs.values()),
            str(Path(raw) / GRAPH_FILE),
            input_names=names,
            output_names=[output],
            dynamic_axes={**dict.fromkeys(names, sequence), output: {0: "batch"}},
            opset_version=_OPSET,
            # The newer exporter needs another package and minutes instead of seconds.
            dynamo=False,
        )
        optimise(Path(raw) / GRAPH_FILE, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
