"""Encoders and rerankers by name: each is exported when it is first needed, and run from there.

Torch is never imported into this process, except for an encoder that cannot be exported.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, EncoderError
from amem_cli.models.encoder_files import (
    BrokenExport,
    Manifest,
    bundled_encoder,
    find_manifest,
    folder_prefix,
    local_encoder,
    model_fingerprint,
    model_id,
    read_manifest,
    short_name,
)

if TYPE_CHECKING:
    from amem_cli.models.encoder import OnnxEncoder, RerankerGraph, SentenceTransformersEncoder
    from amem_cli.models.ports import Vectors

_EXPORTER = "amem_cli.models.encoder_export"
# A large model over a slow line takes its time; a hanging one must still end.
_EXPORT_SECONDS = 3600
# A program that stays open asks with every search; each try takes seconds.
_RETRY_SECONDS = 60.0


class PreparedEncoder:
    """The encoder port over a model's name or folder.

    Args:
        model: name of a sentence-transformers model, or a folder of one.
        cache: folder of exports, made if missing.
        notify: receives a few words when something slow begins.
        preparation: a replacement for `export_apart("encoder", ...)`.

    Raises:
        EncoderError: a folder that is missing or not safe to load.
    """

    def __init__(
        self,
        model: str,
        *,
        cache: Path,
        notify: Callable[[str], None] | None = None,
        preparation: Callable[..., None] | None = None,
    ) -> None:
        self._export = _CachedExport("encoder", model, cache, notify, preparation)
        self._notify = notify
        self._encoder: OnnxEncoder | SentenceTransformersEncoder | None = None
        self._opening = RLock()

    @property
    def model_id(self) -> str:
        if self._export.fingerprint:
            return model_id(self._export.model, self._export.fingerprint)
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
        """Encode texts, as the port says; `progress` receives how many more texts are done."""
        encoder = self._opened()
        try:
            return encoder.encode(texts, query=query, progress=progress)
        except BrokenExport:
            pass
        return self._opened(instead_of=encoder).encode(texts, query=query, progress=progress)

    def load_ahead(self) -> Thread:
        """Begin to load an existing export beside other work; `encode` reports what fails.

        Returns:
            The thread that loads. It imports: an exception that a signal raises beside it, or the
            interpreter's end, may leave it waiting for a lock without end.
        """
        # No daemon: a thread in native code must not outlive the interpreter.
        loading = Thread(target=self._load_exported)
        loading.start()
        return loading

    def _load_exported(self) -> None:
        # Also what a damaged library raises; nobody would catch it here.
        with suppress(Exception):
            from amem_cli.models.encoder import OnnxEncoder

            encoder = self._opened() if self._export.current() else None
            if isinstance(encoder, OnnxEncoder):
                encoder.load()

    def _opened(
        self, *, instead_of: OnnxEncoder | SentenceTransformersEncoder | None = None
    ) -> OnnxEncoder | SentenceTransformersEncoder:
        with self._opening:
            if self._encoder is None or self._encoder is instead_of:
                again = instead_of is not None
                manifest = None if again else self._export.current()
                if manifest is None:
                    manifest = self._export.make(again=again)
                    if self._notify is not None and not manifest.is_current:
                        self._notify(
                            f"! {manifest.model} could not be exported ({manifest.reason}); its"
                            " own library runs it, which takes longer, and the export is tried"
                            " again"
                        )
                self._encoder = _open(self._export.folder, manifest)
            return self._encoder


def prepared_encoder(wanted: str, cache: Path) -> OnnxEncoder | SentenceTransformersEncoder | None:
    """The encoder with this `model_id`, if it was exported here before and can still be run."""
    for folder in sorted(cache.glob(f"{folder_prefix(wanted.rpartition('@')[0])}-*")):
        manifest = find_manifest(folder)
        if manifest is not None and manifest.model_id == wanted:
            return _open(folder, manifest)
    return None


def _open(folder: Path, manifest: Manifest) -> OnnxEncoder | SentenceTransformersEncoder:
    # Loads numpy, which a command that embeds nothing can do without.
    from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder

    return SentenceTransformersEncoder(folder) if manifest.reason else OnnxEncoder(folder)


class PreparedReranker:
    """The reranker port over a model's name or folder; see `PreparedEncoder`.

    A model that fails is reported once and left alone from then on: search works without it.
    """

    def __init__(
        self,
        model: str,
        *,
        cache: Path,
        notify: Callable[[str], None] | None = None,
        preparation: Callable[..., None] | None = None,
    ) -> None:
        self._model = model
        self._cache = cache
        self._notify = notify
        self._preparation = preparation
        self._graph: RerankerGraph | None = None
        self._failed = False

    def scores(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """How well each text answers, as the port says."""
        if self._failed or not texts:
            return None if self._failed else []
        try:
            if self._graph is None:
                self._graph = self._load()
            return self._graph.scores(query, texts)
        except AmemError as error:
            self._failed = True
            if self._notify is not None:
                self._notify(f"! not reranked: {error.message}")
            return None

    def _load(self) -> RerankerGraph:
        from amem_cli.models.encoder import RerankerGraph

        export = _CachedExport(
            "reranker", self._model, self._cache, self._notify, self._preparation
        )
        manifest = export.current() or export.make()
        try:
            return RerankerGraph(export.folder, manifest)
        except BrokenExport:
            return RerankerGraph(export.folder, export.make(again=True))


class _CachedExport:
    """The place of one model's export in the cache; `kind` is `encoder` or `reranker`."""

    def __init__(
        self,
        kind: str,
        model: str,
        cache: Path,
        notify: Callable[[str], None] | None,
        preparation: Callable[..., None] | None,
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
        self._failure: EncoderError | None = None
        self._failed_at = 0.0

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
        if self._failure and time.monotonic() - self._failed_at < _RETRY_SECONDS:
            raise EncoderError(self._failure.message, hint=self._failure.hint)
        broken = self.current() if again else None
        if self._notify is not None:
            self._notify(f"preparing the {self._kind} (once)")
        try:
            self._preparation(self.model, self.folder, broken=broken.stamp if broken else "")
        except EncoderError as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        return read_manifest(self.folder)


def export_apart(kind: str, model: str, folder: Path, *, broken: str = "") -> None:
    """Export a model in a process that gives its memory back; see `encoder_export.main`.

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
    if not done.returncode:
        return
    try:
        answer = json.loads(done.stdout.decode("utf-8", "replace").strip().splitlines()[-1])
        raise EncoderError(str(answer["error"]), hint=str(answer["hint"]))
    except (IndexError, ValueError, KeyError, TypeError):
        # The process had no time to answer: its last words are all there is.
        complaint = done.stderr.decode("utf-8", "replace").strip().splitlines()
    last = complaint[-1][:300] if complaint else "no message"
    raise EncoderError(
        f"the {kind} {model} could not be prepared (status {done.returncode}): {last}",
        hint="Was it stopped, or is there too little memory?",
    )
