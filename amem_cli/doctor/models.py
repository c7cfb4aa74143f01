"""Checks the models that the settings name.

A model on this machine is tried with a fixed text. Nothing is sent to a server, nor of the vault.
"""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from amem_cli.doctor.finding import Finding
from amem_cli.doctor.settings import UsableSettings
from amem_cli.errors import AmemError, EncoderError, ModelError
from amem_cli.models.open import open_model, server_url
from amem_cli.models.ports import LanguageModel, ModelRequest, NoteText
from amem_cli.settings import Settings

SERVER_SECONDS = 2.0
_TRIAL_TEXT = "Is the sky blue?"
_TRIAL_SECONDS = 20.0


def encoder_findings(model: str, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the encoder is here, whole and safe, and runs.

    It is only run if it was prepared before: to prepare it takes time, and writes.
    """
    from amem_cli.models.encoder_files import EncoderMissing, find_encoder, model_fingerprint
    from amem_cli.models.prepared import PreparedEncoder, encoder_cache

    def refuse(*_: object, **__: object) -> None:
        raise EncoderError(
            f"the prepared copy of the encoder {model} cannot be run",
            hint="The next search prepares it again.",
        )

    try:
        cache = encoder_cache(environment)
        encoder = PreparedEncoder(model, cache=cache, preparation=refuse)
        if encoder.is_prepared:
            encoder.encode([_TRIAL_TEXT])
        else:
            model_fingerprint(find_encoder(model))
    except EncoderMissing as error:
        hint = (
            f"To download it when it is next used: amem config set encoder.model {model};"
            " or choose another: amem model list."
        )
        yield Finding("", error.message, hint)
    except EncoderError as error:
        yield Finding("", error.message, error.hint)


def language_model_findings(
    usable: UsableSettings, root: Path, environment: Mapping[str, str]
) -> Iterator[Finding]:
    """Whether the language model exists, may be used, and its server can be reached."""
    from amem_cli.models.llama_cpp import check_library

    settings = usable.settings
    try:
        model = open_model(settings, root, usable.origin, environment)
        if model is not None and settings.llm_backend == "llama.cpp":
            from amem_cli.models.llama_cpp import bundled_model, check_library, check_model_file

            check_library()
            file = settings.llm_model
            check_model_file(Path(file).expanduser() if file else bundled_model())
            _try_model(model)
            return
    except AmemError as error:
        # A server that the user of this machine did not choose is not contacted either.
        yield Finding("", error.message, error.hint)
        return
    try:
        check_library()
    except ModelError as error:
        hint = f"{error.hint}. Without it no judge of links runs; other models do not need it."
        yield Finding("", error.message, hint, severity="notice")
    else:
        yield from _judge_findings(settings, environment)
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


def _judge_findings(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    from amem_cli.models.judge import open_judge

    judge = open_judge(settings, environment)
    if judge is None:
        return
    note = NoteText("", "Sky", _TRIAL_TEXT)
    try:
        judge.relations(note, [note], most_tokens=20, seconds=_TRIAL_SECONDS)
    except ModelError as error:
        hint = "Links are decided without it. Not to ask it: amem config set llm.judge off."
        yield Finding("", error.message, hint, severity="notice")
    finally:
        judge.close()


def _try_model(model: LanguageModel) -> None:
    """Raise `ModelError` if the model on this machine gives no answer."""
    word = {"type": "string", "enum": ["yes"]}
    schema = {"type": "object", "properties": {"answer": word}}
    request = ModelRequest("Answer the question.", _TRIAL_TEXT, schema, 16, _TRIAL_SECONDS)
    try:
        model.answer(request)
    finally:
        model.close()


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
