"""Checks the settings, uses as many of them as are valid, and checks the models they name.

A model on this machine is tried with a fixed text. Nothing is sent to a server, nor of the vault.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from amem_cli.doctor.finding import Finding, from_error
from amem_cli.errors import AmemError, EncoderError, ModelError
from amem_cli.models.open import open_model, server_url
from amem_cli.models.ports import LanguageModel, ModelRequest
from amem_cli.settings import (
    CONFIG_NAME,
    ENVIRONMENT_PREFIX,
    Settings,
    load_settings,
    setting_keys,
)

if TYPE_CHECKING:
    from amem_cli.index.vectors import IndexVectors

SERVER_SECONDS = 2.0
_TRIAL_TEXT = "Is the sky blue?"
_TRIAL_SECONDS = 20.0
_PACKAGES = ("numpy", "onnxruntime", "sqlite_vec", "tokenizers")
_LINE = re.compile(r"\bline ([0-9]+)")


@dataclass(frozen=True, slots=True)
class UsableSettings:
    """The valid settings.

    Attributes:
        origin: the layer of each by dotted key.
        trusted: every setting is valid, so notes are read as their owner configured.
    """

    settings: Settings
    origin: Mapping[str, str]
    findings: tuple[Finding, ...]
    trusted: bool


def read_settings(
    vault_file: Path | None, user_file: Path, environment: Mapping[str, str]
) -> UsableSettings:
    """Every layer's valid settings; each invalid one is a finding.

    Args:
        vault_file: None if the vault's own must not be read.
    """
    files = {"user": (user_file, str(user_file)), "vault": (vault_file, f".amem/{CONFIG_NAME}")}
    findings: list[Finding] = []

    def report(layer: str, key: str, error: AmemError) -> None:
        file, shown = files.get(layer, (None, ""))
        message, hint, line = error.message, error.hint, 0
        if file is not None and key:
            hint = hint or "Correct the value, or remove the line to use the default."
            line = _line_of(file, key)
        elif file is not None:
            hint = "Correct the file; until then none of its settings is used."
            found = _LINE.search(message)
            line = int(found[1]) if found else 0
        elif key:
            message = f"the variable {ENVIRONMENT_PREFIX}{setting_keys()[key].upper()}: {message}"
            hint = hint or "Unset or correct it."
        findings.append(Finding(shown, message, hint, line))

    settings, origin = load_settings(vault_file, user_file, environment, report=report)
    return UsableSettings(settings, origin, tuple(findings), not findings)


def _line_of(path: Path, key: str) -> int:
    """The 1-based line of a setting; 0 if it cannot be determined."""
    section, _, name = key.rpartition(".")
    current = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            current = stripped.strip("[] ")
        elif current == section and stripped.partition("=")[0].strip(" \"'") == name:
            return number
    return 0


def encoder_findings(model: str, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the encoder is on this machine, complete and safe, and can be run.

    It is only run if it was prepared before: to prepare it takes time, and writes.
    """
    from amem_cli.models.encoder_files import EncoderMissing, find_encoder, model_fingerprint

    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        hint = "Install amem again; until then only `search --mode keyword` works."
        yield Finding("", f"not installed: {', '.join(missing)}", hint)
    try:
        folder = find_encoder(model)
        model_fingerprint(folder)
        _check_weights(folder)
    except EncoderMissing as error:
        hint = (
            f"To download it when it is next used: amem config set encoder.model {model};"
            " or choose another: amem model list."
        )
        yield Finding("", error.message, hint)
        if not missing:
            _try_encoder(model, environment)
    except EncoderError as error:
        yield from_error(error)


def languages_finding(languages: Mapping[str, float], settings: Settings) -> Iterator[Finding]:
    """Whether another encoder fits the notes' languages better; shares as `language_shares`."""
    from amem_cli.workspace.languages import encoder_proposal

    proposed = encoder_proposal(languages, settings)
    if proposed is not None:
        yield Finding("", proposed.message, proposed.hint, severity="notice")


def change_of_encoder_findings(
    vectors: IndexVectors, model: str, environment: Mapping[str, str]
) -> Iterator[Finding]:
    """How far the index has gone over to the encoder of the settings, if it has not yet."""
    from amem_cli.models.prepared import PreparedEncoder, encoder_cache

    former = vectors.encoder()
    if former is None:
        return
    chosen = None
    # What speaks against the encoder is a finding of its own.
    with contextlib.suppress(EncoderError):
        encoder = PreparedEncoder(model, cache=encoder_cache(environment))
        # To prepare it would write.
        chosen = encoder.model_id if encoder.is_prepared else None
    if chosen == former:
        return
    total = vectors.count_passages()
    done = 0 if chosen is None else total - vectors.count_to_embed(chosen)
    yield Finding(
        "",
        f"{done} of {total} passages have vectors of the encoder {model};"
        f" {former.partition('@')[0]} answers until all have one",
        "`amem index` makes the rest, and so does a running watcher.",
        severity="notice",
    )


def _try_encoder(model: str, environment: Mapping[str, str]) -> None:
    from amem_cli.models.prepared import PreparedEncoder, encoder_cache

    def refuse(*_: object, **__: object) -> None:
        raise EncoderError(
            f"the prepared copy of the encoder {model} cannot be run",
            hint="The next search prepares it again.",
        )

    encoder = PreparedEncoder(model, cache=encoder_cache(environment), preparation=refuse)
    if encoder.is_prepared:
        encoder.encode([_TRIAL_TEXT])


def _check_weights(folder: Path) -> None:
    """Refuse truncated weights, as an interrupted copy leaves them."""
    for path in folder.rglob("*.safetensors"):
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            with path.open("rb") as stream:
                length = int.from_bytes(stream.read(8), "little")
                header = json.loads(stream.read(min(length, 100_000_000)))
            header.pop("__metadata__", None)
            end = max(tensor["data_offsets"][1] for tensor in header.values())
            if path.stat().st_size < 8 + length + end:
                raise EncoderError(
                    f"the encoder's weights in {path} are not whole", hint="Copy them again."
                )


def language_model_findings(
    usable: UsableSettings, root: Path, environment: Mapping[str, str]
) -> Iterator[Finding]:
    """Whether the language model exists, may be used, and its server can be reached."""
    settings = usable.settings
    try:
        model = open_model(settings, root, usable.origin, environment)
        if model is not None and settings.llm_backend == "llama.cpp":
            faults = list(_model_file_findings(settings))
            yield from faults
            if not faults:
                _try_model(model)
            return
    except AmemError as error:
        # A server that the user of this machine did not choose is not contacted either.
        yield from_error(error)
        return
    yield from _unused_library_findings()
    if model is None:
        return
    # Opening it has only checked the user's consent, and that a command's program is there; no
    # server was contacted and no program run.
    model.close()
    if settings.llm_backend == "command":
        return
    url = server_url(settings, environment)
    fault = _unreachable(url)
    if fault:
        hint = "Start the server, or choose another model: amem model use."
        yield Finding("", f"the server {url} cannot be reached: {fault}", hint)


def _try_model(model: LanguageModel) -> None:
    """Raise `ModelError` if the model on this machine gives no answer."""
    word = {"type": "string", "enum": ["yes"]}
    schema = {"type": "object", "properties": {"answer": word}}
    request = ModelRequest("Answer the question.", _TRIAL_TEXT, schema, 16, _TRIAL_SECONDS)
    try:
        model.answer(request)
    finally:
        model.close()


def _model_file_findings(settings: Settings) -> Iterator[Finding]:
    from amem_cli.models.llama_cpp import bundled_model, check_library, check_model_file

    try:
        check_library()
    except ModelError as error:
        yield Finding("", error.message, f"{error.hint}, or: amem model use none")
        return
    path = Path(settings.llm_model).expanduser() if settings.llm_model else bundled_model()
    check_model_file(path)
    size = path.stat().st_size // 2**20
    if size > settings.llm_memory_mb:
        yield Finding(
            str(path),
            f"the model has {size} MB, but llm.memory_mb allows only {settings.llm_memory_mb}",
            f"amem config set llm.memory_mb {size * 2}",
        )


def _unused_library_findings() -> Iterator[Finding]:
    from amem_cli.models.llama_cpp import check_library

    try:
        check_library()
    except ModelError as error:
        hint = f"{error.hint}. Servers and programs as models do not need it."
        yield Finding("", error.message, hint, severity="notice")


def _unreachable(url: str) -> str:
    """Why no connection can be made; empty if one can."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    if urllib.request.getproxies() and not is_local:
        return ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), timeout=SERVER_SECONDS).close()
    except TimeoutError:
        return f"no answer within {SERVER_SECONDS:.0f} s"
    except OSError as error:
        return error.strerror or str(error)
    return ""
