"""Checks whether the models of a vault are there and can be used, without loading one."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from amem_cli.doctor.finding import Finding
from amem_cli.errors import AmemError, EncoderError
from amem_cli.models.ports import LanguageModel
from amem_cli.settings import Settings

SERVER_SECONDS = 2.0
_PACKAGES = ("numpy", "onnxruntime", "sqlite_vec", "tokenizers")


def encoder_findings(model: str) -> Iterator[Finding]:
    """Whether the encoder lies on this machine, is whole and safe, and can be run."""
    from amem_cli.models.encoder_files import EncoderMissing, find_encoder, model_fingerprint

    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        hint = "Install amem again; until then only `search --mode keyword` works."
        yield Finding("models", "", f"not installed: {', '.join(missing)}", hint)
    try:
        folder = find_encoder(model)
        model_fingerprint(folder)
        _check_weights(folder)
    except EncoderMissing as error:
        hint = (
            f"To have it fetched when it is next used: amem config set encoder.model {model};"
            " or choose another: amem model list."
        )
        yield Finding("models", "", error.message, hint)
    except EncoderError as error:
        yield Finding("models", "", error.message, error.hint)


def language_model_findings(
    settings: Settings, url: str, opened: Callable[[], LanguageModel | None]
) -> Iterator[Finding]:
    """Whether the language model is there, and may and can be asked.

    Args:
        url: address of the server, if the model is a server's.
        opened: opens the model of the settings, without loading it or sending anything.
    """
    if settings.llm_backend == "none":
        return
    try:
        model = opened()
        if settings.llm_backend == "llama.cpp":
            yield from _file_findings(settings)
            return
    except AmemError as error:
        # A server that the user of this machine did not choose is not contacted either.
        yield Finding("models", "", error.message, error.hint)
        return
    if model is not None:
        model.close()
    fault = _unreachable(url)
    if fault:
        hint = "Start the server, or choose another model: amem model use. Notes wait meanwhile."
        yield Finding("models", "", f"the server {url} cannot be reached: {fault}", hint)


def _file_findings(settings: Settings) -> Iterator[Finding]:
    from amem_cli.models.llama_cpp import bundled_model, check_model_file

    if find_spec("llama_cpp") is None:
        hint = "pip install llama-cpp-python, or: amem model use none"
        yield Finding("models", "", "llama-cpp-python is not installed", hint)
    path = Path(settings.llm_model).expanduser() if settings.llm_model else bundled_model()
    check_model_file(path)
    size = path.stat().st_size // 2**20
    if size > settings.llm_memory_mb:
        yield Finding(
            "models",
            str(path),
            f"the model has {size} MB, and llm.memory_mb allows {settings.llm_memory_mb}",
            f"amem config set llm.memory_mb {size * 2}",
        )


def _check_weights(folder: Path) -> None:
    """Refuse weights of which a part is missing, as after a copy that was cut off.

    Raises:
        EncoderError: a file is shorter than it says of itself.
    """
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


def _unreachable(url: str) -> str:
    """Why no connection can be made, within two seconds in all; empty if one can."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if urllib.request.getproxies() and not _is_local(host):
        return ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    faults: list[str] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=SERVER_SECONDS).close()
            faults.append("")
        except OSError as error:
            faults.append(error.strerror or str(error))

    # Looking up a name knows no time limit, so it is left behind when the time is up.
    worker = threading.Thread(target=connect, name="amem-doctor", daemon=True)
    worker.start()
    worker.join(SERVER_SECONDS)
    return faults[0] if faults else f"no answer within {SERVER_SECONDS:.0f} s"


def _is_local(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"
