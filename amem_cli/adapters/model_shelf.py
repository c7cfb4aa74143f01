"""Which models lie ready on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from amem_cli.config import Settings


@dataclass(frozen=True, slots=True)
class ShelvedModel:
    """A model that can be used without a download.

    Attributes:
        role: `encoder` or `language model`.
        origin: `bundled`, `pulled`, or `file` for what lies elsewhere.
        size: bytes, 0 where unknown.
        memory: bytes that it takes at work, 0 where unknown.
        sha256: as remembered from fetching it, hexadecimal; empty where it was not fetched.
    """

    role: str
    name: str
    origin: str
    size: int
    in_use: bool
    memory: int = 0
    sha256: str = ""


def models_at_hand(settings: Settings, environment: Mapping[str, str]) -> list[ShelvedModel]:
    """The bundled models, the pulled ones, and the one that the settings name."""
    return [*_encoders(settings), *_language_models(settings, environment)]


def _encoders(settings: Settings) -> list[ShelvedModel]:
    from amem_cli.adapters.encoder_models import DEFAULT_ENCODER, bundled_encoder, find_encoder
    from amem_cli.core.errors import AmemError

    shelf = []
    for name in dict.fromkeys((DEFAULT_ENCODER, settings.encoder_model)):
        try:
            folder = find_encoder(name)
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        except (AmemError, OSError):
            continue
        origin = "bundled" if bundled_encoder(name) else "file"
        shelf.append(ShelvedModel("encoder", name, origin, size, name == settings.encoder_model))
    return shelf


def _language_models(settings: Settings, environment: Mapping[str, str]) -> list[ShelvedModel]:
    from amem_cli.adapters.llama_cpp_model import bundled_model
    from amem_cli.adapters.model_store import ModelStore
    from amem_cli.core.errors import AmemError

    local = settings.llm_backend == "llama.cpp"
    used = Path(settings.llm_model).expanduser() if local and settings.llm_model else None
    shelf = []
    with suppress(AmemError):
        path = bundled_model()
        shelf.append(_shelved(path, path.name, "bundled", local and used is None, settings))
    pulled = ModelStore(environment).models()
    for one in pulled:
        in_use = used == one.path
        shelf.append(_shelved(one.path, one.name, "pulled", in_use, settings, one.sha256))
    if used is not None and used.is_file() and all(one.path != used for one in pulled):
        shelf.append(_shelved(used, str(used), "file", True, settings))
    return shelf


def _shelved(
    path: Path, name: str, origin: str, in_use: bool, settings: Settings, sha256: str = ""
) -> ShelvedModel:
    from amem_cli.adapters.gguf_file import NotGguf, memory_needed

    try:
        size = path.stat().st_size
        memory = memory_needed(path, settings.llm_context_tokens)
    except (NotGguf, OSError):
        size = memory = 0
    return ShelvedModel("language model", name, origin, size, in_use, memory, sha256)
