"""The exported models in the user's cache: what is known of each, and how one gets there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from amem_cli.errors import EncoderError
from amem_cli.models.encoder_files import (
    bundled_encoder,
    local_encoder,
    model_fingerprint,
    short_name,
)

GRAPH_FILE = "model.onnx"
WEIGHTS_FILE = "weights.bin"
TOKENIZER_FILE = "tokenizer.json"
_MANIFEST_FILE = "manifest.json"
# Format 1 was that of rerankers, 2 that of encoders.
_FORMAT = 3
_PACKAGES = (
    "amem-cli",
    "onnxruntime",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
)
_FIELD_TYPES = {"int": int, "str": str, "bool": bool, "dict": dict, "list": list}
_EXPORTER = "amem_cli.models.encoder_export"
# A large model over a slow line takes its time; a hanging one must still end.
_EXPORT_SECONDS = 3600
# A program that stays open asks with every search; each try takes seconds.
_RETRY_SECONDS = 60.0
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


class BrokenExport(EncoderError):
    """An export's files are damaged or give wrong numbers; exporting the model again helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is known of an export: the small file beside its graph.

    Attributes:
        stamp: random, new with each export.
        model: the name or folder that was exported.
        fingerprint, source: content hash and folder of the model's own files.
        reason: why the model could not be exported; empty if it was.
        dimension: numbers that it gives: the length of a vector, or 1 for a score.
        max_tokens: tokens that the model reads; the rest is cut.
        pad_id: token that fills up the shorter texts of a batch.
        lowercase: whether texts are lowercased before they are cut into tokens.
        with_types: whether the graph also reads which tokens are a question's.
        document_prompt, query_prompt: put before every text of that kind.
        probe: a text with its prompt, or a question and a text.
        expected: what the original library gives for the probe.
        sizes: bytes of each file beside the manifest.
        versions: of amem and the libraries that exported it; empty if they failed by a fault of
            their own, which says nothing of the model.
    """

    stamp: str
    model: str
    fingerprint: str
    source: str
    reason: str = ""
    dimension: int
    max_tokens: int
    pad_id: int
    lowercase: bool = False
    with_types: bool = False
    document_prompt: str = ""
    query_prompt: str = ""
    probe: list[str]
    expected: list[float]
    sizes: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def is_runnable(self) -> bool:
        """False if the files that the model is run from are gone."""
        return not self.reason or Path(self.source).is_dir()

    @property
    def is_current(self) -> bool:
        """False if the model is to be exported, or the export to be tried again."""
        return self.is_runnable and (not self.reason or self.versions == present_versions())

    @property
    def model_id(self) -> str:
        """Name and content hash of the model."""
        return model_id(self.model, self.fingerprint)

    def prompt(self, *, query: bool) -> str:
        """What is put before a text of that kind; often empty."""
        return self.query_prompt if query else self.document_prompt


class CachedExport:
    """The place of one model's export in the cache.

    Args:
        model: a model's name or folder.
        kind: `encoder` or `reranker`.
        cache: folder of exports, made if missing.
        notify: is told when the model is exported.
        preparation: exports a model as `export_apart(kind, ...)` does.

    Raises:
        EncoderError: a folder that is missing or not safe to load.
    """

    def __init__(
        self,
        model: str,
        kind: str,
        cache: Path,
        *,
        notify: Callable[[str], None] | None = None,
        preparation: Callable[..., None] | None = None,
    ) -> None:
        bundled = bundled_encoder(model)
        source = bundled or local_encoder(model)
        self.fingerprint = model_fingerprint(source) if source else ""
        self.model = str(source) if source and not bundled else short_name(model)
        # A model whose content is known without the network is exported again when that changes;
        # a model of the hub stays the one that was fetched.
        key = self.fingerprint or hashlib.sha256(self.model.encode()).hexdigest()
        self.folder = cache / f"{folder_prefix(self.model)}-{key[:16]}"
        self._kind = kind
        self._notify = notify
        self._preparation = preparation or partial(export_apart, kind)
        self._failed = "", "", 0.0

    def current(self) -> Manifest | None:
        """The manifest, or None if the model has to be exported."""
        manifest = find_manifest(self.folder)
        return manifest if manifest is not None and manifest.is_current else None

    def make(self, *, again: bool = False) -> Manifest:
        """Export the model.

        Args:
            again: replace an export that proved to be broken.

        Raises:
            EncoderError: the model cannot be had, or an export failed less than a minute ago.
            BrokenExport: nothing that can be read came out of it.
        """
        message, hint, moment = self._failed
        if message and time.monotonic() - moment < _RETRY_SECONDS:
            raise EncoderError(message, hint=hint)
        present = self.current() if again else None
        if self._notify is not None:
            self._notify(f"preparing the {self._kind} (once)")
        try:
            self._preparation(self.model, self.folder, broken=present.stamp if present else "")
        except EncoderError as error:
            self._failed = error.message, error.hint, time.monotonic()
            raise
        return read_manifest(self.folder)


def folder_prefix(model: str) -> str:
    """What the names of the folders of a model's exports begin with."""
    return _UNSAFE.sub("_", Path(model).name)[:60]


def model_id(model: str, fingerprint: str) -> str:
    """Name that vectors are stored under: two ways to name one model give one id."""
    return f"{Path(model).name}@{fingerprint[:16]}"


def present_versions() -> dict[str, str]:
    """Versions of amem and of the libraries that export a model, those that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def read_manifest(folder: Path) -> Manifest:
    """Read an export's manifest and check that its files are whole.

    Raises:
        BrokenExport: there is none, it is damaged or of another format, or a file is missing or
            has another size.
    """
    try:
        data = json.loads((folder / _MANIFEST_FILE).read_text(encoding="utf-8"))
        manifest = Manifest(**_checked_fields(_upgraded(data)))
        sizes = {name: (folder / name).stat().st_size for name in manifest.sizes}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BrokenExport(f"the prepared model in {folder} cannot be read: {error}") from error
    if sizes != manifest.sizes:
        raise BrokenExport(f"the prepared model in {folder} is damaged")
    return manifest


def find_manifest(folder: Path) -> Manifest | None:
    """The manifest of a model that can be run, otherwise None."""
    try:
        manifest = read_manifest(folder)
    except BrokenExport:
        return None
    return manifest if manifest.is_runnable else None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, as the last file of an export.

    Raises:
        OSError: the file cannot be written.
    """
    data = {"format": _FORMAT, **asdict(manifest)}
    text = json.dumps(data, indent=1, ensure_ascii=False)
    (folder / _MANIFEST_FILE).write_text(text, encoding="utf-8")


def _upgraded(data: Any) -> dict[str, Any]:
    """A manifest in the format of today, from that or from one of the two before."""
    if not isinstance(data, dict) or data.get("format") not in (1, 2, _FORMAT):
        raise ValueError("not of this format")
    if data["format"] == 1:
        probe = {"probe": data["probe_pair"], "expected": [data["probe_score"]]}
        return {"fingerprint": "", "source": "", "dimension": 1, **data, **probe}
    if data["format"] == 2:
        return {**data, "probe": [data["probe_text"]], "expected": data["probe_vector"]}
    return data


def _checked_fields(data: dict[str, Any]) -> dict[str, Any]:
    values = {each.name: data[each.name] for each in fields(Manifest) if each.name in data}
    for each in fields(Manifest):
        kind = _FIELD_TYPES[str(each.type).partition("[")[0]]
        if not isinstance(values.get(each.name, kind()), kind):
            raise ValueError(f"{each.name} is odd")
    return values


def export_apart(kind: str, model: str, folder: Path, *, broken: str = "") -> None:
    """Export a model in a process that gives its memory back.

    Args:
        kind: `encoder` or `reranker`.

    Raises:
        EncoderError: the process failed, took too long, or could not be started.
    """
    environment = dict(os.environ)
    if local_encoder(model):
        # A folder's own files say all; nothing of them is looked up on the hub.
        environment["HF_HUB_OFFLINE"] = "1"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", _EXPORTER, kind, model, str(folder.resolve()), broken],
            # Python looks for modules in the folder it starts in; a vault must not be that.
            cwd=folder.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_EXPORT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EncoderError(
            f"the {kind} {model} could not be prepared: {error}",
            hint=f"May amem write to {folder.parent}?",
        ) from error
    if done.returncode:
        raise _failure(f"the {kind} {model}", done)


def _failure(what: str, done: subprocess.CompletedProcess[bytes]) -> EncoderError:
    """What the process answered, or how it ended if it had no time to answer."""
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    try:
        answer = json.loads(lines[-1])
        return EncoderError(str(answer["error"]), hint=str(answer["hint"]))
    except (IndexError, ValueError, KeyError, TypeError):
        complaint = done.stderr.decode("utf-8", "replace").strip().splitlines()
        last = complaint[-1][:300] if complaint else "no message"
    return EncoderError(
        f"{what} could not be prepared (status {done.returncode}): {last}",
        hint="Was it stopped, or is there too little memory?",
    )
