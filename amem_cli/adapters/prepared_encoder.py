"""Prepares an encoder once, in a process of its own, and runs what came out of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING, Protocol

from amem_cli.adapters.encoder_manifest import (
    BrokenExport,
    EncoderManifest,
    model_id,
    read_manifest,
)
from amem_cli.adapters.encoder_models import (
    bundled_encoder,
    local_encoder,
    model_fingerprint,
    short_name,
)
from amem_cli.core.errors import EncoderError

if TYPE_CHECKING:
    from amem_cli.adapters.onnx_encoder import OnnxEncoder
    from amem_cli.adapters.sentence_transformers_encoder import SentenceTransformersEncoder
    from amem_cli.core.ports import Vectors

# A large model over a slow line takes its time; a hanging one must still end.
_PREPARATION_SECONDS = 3600
# A program that stays open asks with every search; each try takes seconds.
_RETRY_SECONDS = 60.0
_EXPORTER = "amem_cli.adapters.onnx_export"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


class Preparation(Protocol):
    """Prepares a model into a folder, unless another process did so meanwhile."""

    def __call__(self, model: str, folder: Path, *, broken: str = "") -> None:
        """Fill the folder; a preparation with the stamp `broken` is replaced."""


class PreparedEncoder:
    """The encoder port over a model's name or folder; prepared when it is first needed.

    Torch is never imported into this process, except for a model that cannot be exported.
    """

    def __init__(
        self,
        model: str,
        *,
        cache: Path,
        notify: Callable[[str], None] | None = None,
        threads: int | None = None,
        preparation: Preparation | None = None,
    ) -> None:
        """See `encoder_models.open_encoder`; `preparation` does what `prepare_apart` does."""
        bundled = bundled_encoder(model)
        folder = bundled or local_encoder(model)
        self._fingerprint = model_fingerprint(folder) if folder else ""
        self._model = str(folder) if folder and not bundled else short_name(model)
        # What is known without the network is prepared anew when it changes; a model of the hub
        # stays the one that was fetched.
        key = self._fingerprint or hashlib.sha256(self._model.encode()).hexdigest()
        readable = _UNSAFE.sub("_", Path(self._model).name)[:60]
        self._folder = cache / f"{readable}-{key[:16]}"
        self._notify = notify
        self._threads = threads
        self._preparation = preparation or prepare_apart
        self._encoder: OnnxEncoder | SentenceTransformersEncoder | None = None
        self._opening = RLock()
        self._failed = "", "", 0.0

    @property
    def model_id(self) -> str:
        if self._fingerprint:
            return model_id(self._model, self._fingerprint)
        return self._opened().model_id

    @property
    def dimension(self) -> int:
        return self._opened().dimension

    @property
    def max_tokens(self) -> int:
        return self._opened().max_tokens

    def readable(self, text: str) -> float:
        """Share of a text's tokens that the model knows, as the port says."""
        return self._opened().readable(text)

    def encode(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Vectors:
        """Encode texts, as the port says; see `OnnxEncoder.encode`."""
        encoder = self._opened()
        try:
            return encoder.encode(texts, query=query, progress=progress)
        except BrokenExport:
            pass
        return self._opened(instead_of=encoder).encode(texts, query=query, progress=progress)

    def load_ahead(self) -> Thread:
        """Begin to load what was prepared, beside other work; what fails is told by `encode`.

        Returns:
            The thread that loads. It imports: an exception that a signal raises beside it, or the
            interpreter's end, may leave it waiting for a lock without end.
        """
        # No daemon: a thread in native code must not outlive the interpreter.
        loading = Thread(target=self._load_prepared)
        loading.start()
        return loading

    def _load_prepared(self) -> None:
        # Also what a damaged library raises; nobody would catch it here.
        with suppress(Exception):
            from amem_cli.adapters.onnx_encoder import OnnxEncoder

            encoder = self._opened() if _usable(self._folder) else None
            if isinstance(encoder, OnnxEncoder):
                encoder.load()

    def _opened(
        self, *, instead_of: OnnxEncoder | SentenceTransformersEncoder | None = None
    ) -> OnnxEncoder | SentenceTransformersEncoder:
        with self._opening:
            if self._encoder is None:
                self._encoder = self._open(_usable(self._folder) or self._prepare())
            elif self._encoder is instead_of:
                found = _usable(self._folder)
                self._encoder = self._open(self._prepare(broken=found.stamp if found else ""))
            return self._encoder

    def _open(self, manifest: EncoderManifest) -> OnnxEncoder | SentenceTransformersEncoder:
        return _open(self._folder, manifest, self._threads)

    def _prepare(self, *, broken: str = "") -> EncoderManifest:
        message, hint, moment = self._failed
        if message and time.monotonic() - moment < _RETRY_SECONDS:
            raise EncoderError(message, hint=hint)
        if self._notify is not None:
            self._notify("preparing the encoder (once)")
        try:
            self._preparation(self._model, self._folder, broken=broken)
        except EncoderError as error:
            self._failed = error.message, error.hint, time.monotonic()
            raise
        manifest = read_manifest(self._folder)
        if self._notify is not None and not manifest.stands:
            self._notify(
                f"! {self._model} could not be exported ({manifest.reason}); its own library runs"
                " it, which takes longer, and the export is tried again"
            )
        return manifest


def _usable(folder: Path) -> EncoderManifest | None:
    """What was prepared, where it need not be done again."""
    manifest = _runnable(folder)
    return manifest if manifest is not None and manifest.stands else None


def _runnable(folder: Path) -> EncoderManifest | None:
    try:
        manifest = read_manifest(folder)
    except BrokenExport:
        return None
    return manifest if manifest.exported or Path(manifest.source).is_dir() else None


def _open(
    folder: Path, manifest: EncoderManifest, threads: int | None
) -> OnnxEncoder | SentenceTransformersEncoder:
    if manifest.exported:
        from amem_cli.adapters.onnx_encoder import OnnxEncoder

        return OnnxEncoder(folder, threads=threads)
    from amem_cli.adapters.sentence_transformers_encoder import SentenceTransformersEncoder

    return SentenceTransformersEncoder(folder, threads=threads)


def prepared_encoder(
    wanted: str, cache: Path, *, threads: int | None = None
) -> OnnxEncoder | SentenceTransformersEncoder | None:
    """The encoder with this `model_id`, if it was prepared here before and can still be run."""
    readable = _UNSAFE.sub("_", wanted.rpartition("@")[0])[:60]
    for folder in sorted(cache.glob(f"{readable}-*")):
        manifest = _runnable(folder)
        if manifest is not None and manifest.model_id == wanted:
            return _open(folder, manifest, threads)
    return None


def prepare_apart(model: str, folder: Path, *, broken: str = "", exporter: str = _EXPORTER) -> None:
    """Run the `prepare` of an exporter's module in a process that gives its memory back.

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
            [sys.executable, "-m", exporter, model, str(folder.resolve()), broken],
            # Python looks for modules in the folder it starts in; a vault must not be that.
            cwd=folder.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PREPARATION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EncoderError(
            f"the encoder {model} could not be prepared: {error}",
            hint=f"May amem write to {folder.parent}?",
        ) from error
    if done.returncode:
        raise _failure(model, done)


def _failure(model: str, done: subprocess.CompletedProcess[bytes]) -> EncoderError:
    """What the process said, or how it ended where it had no time to speak."""
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    try:
        said = json.loads(lines[-1])
        return EncoderError(str(said["error"]), hint=str(said["hint"]))
    except (IndexError, ValueError, KeyError, TypeError):
        complaint = done.stderr.decode("utf-8", "replace").strip().splitlines()
        last = complaint[-1][:300] if complaint else "no message"
    return EncoderError(
        f"the encoder {model} could not be prepared (status {done.returncode}): {last}",
        hint="Was it stopped, or is there too little memory?",
    )
