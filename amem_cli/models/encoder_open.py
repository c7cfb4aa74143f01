"""Opens encoders: exports one when it is first needed, and runs what came out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING

from amem_cli.models.exports import (
    BrokenExport,
    CachedExport,
    Manifest,
    find_manifest,
    folder_prefix,
    model_id,
)

if TYPE_CHECKING:
    from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder
    from amem_cli.models.ports import Vectors


class PreparedEncoder:
    """The encoder port over a model's name or folder; exported when it is first needed.

    Torch is never imported into this process, except for a model that cannot be exported.

    Args:
        model: name of a sentence-transformers model, or a folder of one.
        cache: folder of exports, made if missing.
        notify: is told, in a few words, when something slow begins.
        preparation: does what `model_exports.export_apart` does.

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
        self._export = CachedExport(model, "encoder", cache, notify=notify, preparation=preparation)
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
        """Encode texts, as the port says; see `OnnxEncoder.encode`."""
        encoder = self._opened()
        try:
            return encoder.encode(texts, query=query, progress=progress)
        except BrokenExport:
            pass
        return self._opened(instead_of=encoder).encode(texts, query=query, progress=progress)

    def load_ahead(self) -> Thread:
        """Begin to load what was exported, beside other work; what fails is told by `encode`.

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
                    self._tell_if_slow(manifest)
                self._encoder = _open(self._export.folder, manifest)
            return self._encoder

    def _tell_if_slow(self, manifest: Manifest) -> None:
        if self._notify is not None and not manifest.is_current:
            self._notify(
                f"! {manifest.model} could not be exported ({manifest.reason}); its own library"
                " runs it, which takes longer, and the export is tried again"
            )


def prepared_encoder(wanted: str, cache: Path) -> OnnxEncoder | SentenceTransformersEncoder | None:
    """The encoder with this `model_id`, if it was exported here before and can still be run."""
    for folder in sorted(cache.glob(f"{folder_prefix(wanted.rpartition('@')[0])}-*")):
        manifest = find_manifest(folder)
        if manifest is not None and manifest.model_id == wanted:
            return _open(folder, manifest)
    return None


def _open(folder: Path, manifest: Manifest) -> OnnxEncoder | SentenceTransformersEncoder:
    from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder

    return SentenceTransformersEncoder(folder) if manifest.reason else OnnxEncoder(folder)
