"""Which models lie ready on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from amem_cli.config import Settings


@dataclass(frozen=True, slots=True)
class ShelvedModel:
    """A model that can be used without a download.

    Attributes:
        role: `encoder` or `language model`.
        size: bytes, 0 where unknown.
    """

    role: str
    name: str
    size: int
    in_use: bool


def models_at_hand(settings: Settings) -> list[ShelvedModel]:
    """The bundled models and the one that the settings name."""
    from amem_cli.adapters.encoder_models import DEFAULT_ENCODER, find_encoder
    from amem_cli.adapters.llama_cpp_model import bundled_model
    from amem_cli.core.errors import AmemError

    shelf = []
    for name in dict.fromkeys((DEFAULT_ENCODER, settings.encoder_model)):
        try:
            folder = find_encoder(name)
        except AmemError:
            continue
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        shelf.append(ShelvedModel("encoder", name, size, name == settings.encoder_model))
    local = settings.llm_backend == "llama.cpp"
    try:
        bundled = bundled_model()
        used = local and not settings.llm_model
        shelf.append(ShelvedModel("language model", bundled.name, bundled.stat().st_size, used))
    except AmemError:
        pass
    if local and settings.llm_model and Path(settings.llm_model).is_file():
        size = Path(settings.llm_model).stat().st_size
        shelf.append(ShelvedModel("language model", settings.llm_model, size, True))
    return shelf
