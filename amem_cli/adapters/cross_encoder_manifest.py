"""What is known of a prepared cross-encoder: the small file beside its exported graph."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from amem_cli.adapters.encoder_manifest import BrokenExport, present_versions

FORMAT = 1
MANIFEST_FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class CrossEncoderManifest:
    """A prepared cross-encoder, or why there is none.

    Attributes:
        stamp: random, new with each preparation.
        model: the name or folder that was prepared.
        reason: why it could not be exported; empty where it was.
        max_tokens: tokens of question and text together that the model reads.
        pad_id: token that fills up the shorter pairs of a batch.
        with_types: the graph is also told which token is the question's.
        probe_pair, probe_score: a question with a text, and its score by the original library.
        sizes: bytes of each file beside the manifest.
        versions: by which versions it was found that it cannot be exported; empty for a fault of
            theirs.
    """

    stamp: str
    model: str
    reason: str = ""
    max_tokens: int = 0
    pad_id: int = 0
    with_types: bool = False
    probe_pair: list[str] = field(default_factory=list)
    probe_score: float = 0.0
    sizes: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def stands(self) -> bool:
        """False where a model that was not exported is to be tried again."""
        return not self.reason or self.versions == present_versions()


def read_cross_encoder(folder: Path) -> CrossEncoderManifest:
    """Read a prepared cross-encoder's manifest and look whether its files are whole.

    Raises:
        BrokenExport: there is none, it is damaged or of another format, or a file has another size.
    """
    try:
        data = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        manifest = _parsed(data)
        sizes = {name: (folder / name).stat().st_size for name in manifest.sizes}
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise BrokenExport(f"the prepared reranker in {folder} cannot be read: {error}") from error
    if sizes != manifest.sizes:
        raise BrokenExport(f"the prepared reranker in {folder} is damaged")
    return manifest


def write_cross_encoder(folder: Path, manifest: CrossEncoderManifest) -> None:
    """Write the manifest, as the last file of a preparation.

    Raises:
        OSError: the file cannot be written.
    """
    text = json.dumps(asdict(manifest), indent=1, ensure_ascii=False)
    (folder / MANIFEST_FILE).write_text(text, encoding="utf-8")


def _parsed(data: Any) -> CrossEncoderManifest:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError("not of this format")
    kinds = {"int": int, "str": str, "bool": bool, "float": float, "list[str]": list}
    for known in fields(CrossEncoderManifest):
        if not isinstance(data.get(known.name), kinds.get(str(known.type), dict)):
            raise ValueError(f"{known.name} is missing or odd")
    return CrossEncoderManifest(**data)
