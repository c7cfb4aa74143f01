"""What is known of a prepared encoder: the small file beside its exported graph."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from amem_cli.core.errors import EncoderError

FORMAT = 2
GRAPH_FILE = "model.onnx"
WEIGHTS_FILE = "weights.bin"
TOKENIZER_FILE = "tokenizer.json"
_MANIFEST_FILE = "manifest.json"
_PACKAGES = (
    "amem-cli",
    "onnxruntime",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
)
# What a fault of a program raises, whatever the model is.
_FAULTS = (AssertionError, AttributeError, ImportError, LookupError, NameError, TypeError)


class BrokenExport(EncoderError):
    """A prepared encoder's files are damaged or give wrong vectors; preparing it again helps."""


@dataclass(frozen=True, slots=True)
class EncoderManifest:
    """A prepared encoder.

    Attributes:
        stamp: random, new with each preparation.
        model: the name or folder that was prepared.
        fingerprint: content hash of the model's own files.
        source: folder of the model's own files.
        exported: False where the graph could not be exported, so that the original library runs it.
        reason: why it was not exported.
        dimension: length of a vector.
        max_tokens: tokens of a text that the model reads.
        pooling: how token vectors become one, as the original library calls it.
        normalized: whether the model itself scales its vectors; the graph always does.
        lowercase: whether texts are lowercased before they are cut into tokens.
        pad_id: token that fills up the shorter texts of a batch.
        document_prompt, query_prompt: put before every text of that kind.
        probe_text, probe_vector: a text and its vector by the original library.
        sizes: bytes of each file beside the manifest.
        versions: of amem and the libraries that prepared it; empty where they failed by a fault of
            their own, which says nothing of the model.
    """

    stamp: str
    model: str
    fingerprint: str
    source: str
    exported: bool
    reason: str
    dimension: int
    max_tokens: int
    pooling: str
    normalized: bool
    lowercase: bool
    pad_id: int
    document_prompt: str
    query_prompt: str
    probe_text: str
    probe_vector: list[float]
    sizes: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def model_id(self) -> str:
        """Name and content hash of the model."""
        return model_id(self.model, self.fingerprint)

    @property
    def stands(self) -> bool:
        """False where a model that was not exported is to be tried again."""
        return self.exported or self.versions == present_versions()

    def prompt(self, *, query: bool) -> str:
        """What is put before a text of that kind; often empty."""
        return self.query_prompt if query else self.document_prompt


def model_id(model: str, fingerprint: str) -> str:
    """Name that vectors are stored under: two ways to name one model give one id."""
    return f"{Path(model).name}@{fingerprint[:16]}"


def present_versions() -> dict[str, str]:
    """Versions of amem and of the libraries that prepare a model, those that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def verdict(error: Exception) -> tuple[str, dict[str, str]]:
    """Why a model was not exported, and by which versions that was found.

    No version is named for a fault of the program's, so that it is tried again each time; what was
    found of the model stands until one of the versions is another.
    """
    reason = next(iter(str(error).strip().splitlines()), "")
    kind = type(error).__name__
    if isinstance(error, _FAULTS):
        return f"{kind}: {reason}"[:500], {}
    return (reason or kind)[:500], present_versions()


def read_manifest(folder: Path) -> EncoderManifest:
    """Read a prepared encoder's manifest and look whether its files are whole.

    Raises:
        BrokenExport: there is none, it is damaged or of another format, or a file is missing or
            has another size.
    """
    try:
        manifest = _parsed(json.loads((folder / _MANIFEST_FILE).read_text(encoding="utf-8")))
        sizes = {name: (folder / name).stat().st_size for name in manifest.sizes}
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise BrokenExport(f"the prepared encoder in {folder} cannot be read: {error}") from error
    if sizes != manifest.sizes:
        raise BrokenExport(f"the prepared encoder in {folder} is damaged")
    return manifest


def write_manifest(folder: Path, manifest: EncoderManifest) -> None:
    """Write the manifest, as the last file of a preparation.

    Raises:
        OSError: the file cannot be written.
    """
    text = json.dumps(asdict(manifest), indent=1, ensure_ascii=False)
    (folder / _MANIFEST_FILE).write_text(text, encoding="utf-8")


def _parsed(data: Any) -> EncoderManifest:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError("not of this format")
    kinds = {"int": int, "str": str, "bool": bool, "list[float]": list}
    for known in fields(EncoderManifest):
        if not isinstance(data.get(known.name), kinds.get(str(known.type), dict)):
            raise ValueError(f"{known.name} is missing or odd")
    return EncoderManifest(**data)
