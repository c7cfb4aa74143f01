"""Opens the models that the settings name, as far as they may be opened on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.errors import SettingsError
from amem_cli.locations import user_cache_folder
from amem_cli.settings import Settings

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, LanguageModel, Reranker

OLLAMA_URL = "http://127.0.0.1:11434/v1"
OPENAI_URL = "https://api.openai.com/v1"
# Settings files and options of the person at this machine, who alone may send notes elsewhere.
OWN_LAYERS = frozenset({"user", "environment", "option"})


def open_model(
    settings: Settings,
    root: Path,
    origin: Mapping[str, str],
    environment: Mapping[str, str],
) -> LanguageModel | None:
    """The language model that the settings name.

    Raises:
        SettingsError: the settings are incomplete, would send notes to another machine without
            the user's own choice on this one, or would run a model that the vault itself brings.
        ModelError: there is no such model.
    """
    if settings.llm_backend == "none":
        return None
    if settings.llm_backend == "llama.cpp":
        from amem_cli.models.llama_cpp import LlamaCppModel, bundled_model

        if settings.llm_model and origin.get("llm.model") not in OWN_LAYERS:
            _refuse_model_of_the_vault(settings.llm_model, root)
        path = Path(settings.llm_model).expanduser() if settings.llm_model else bundled_model()
        return LlamaCppModel(
            path,
            threads=settings.llm_threads,
            context_tokens=settings.llm_context_tokens,
            memory_limit_mb=settings.llm_memory_mb,
            sha256=settings.llm_sha256 or None,
        )
    from amem_cli.models.http import host_of
    from amem_cli.models.openai_server import OpenAIServerModel
    from amem_cli.models.permission import api_key_for, consent_subject, consented

    url = server_url(settings)
    if not settings.llm_model:
        raise SettingsError(
            f"no model named for {url}", hint="amem model use NAME --backend openai"
        )
    chosen = _server_chosen_here(settings, origin) or consented(
        root, consent_subject(url, settings.llm_model), environment
    )
    # A key is for the servers that its owner chose, and for no other on this machine either.
    key = api_key_for(host_of(url), environment) if chosen else None
    window = settings.llm_context_tokens if settings.llm_backend == "ollama" else 0
    model = OpenAIServerModel(url, settings.llm_model, api_key=key, ollama_window=window)
    if model.is_remote and not chosen:
        raise SettingsError(
            f"this vault's settings would send notes to {model.name}",
            hint="If you want that on this machine: amem model use, naming the model again.",
        )
    return model


def server_url(settings: Settings) -> str:
    """Address of the language model's server; of no meaning where it is a file."""
    return settings.llm_base_url or default_url(settings.llm_backend)


def default_url(backend: str) -> str:
    """The server of a backend where the settings name none."""
    return OLLAMA_URL if backend == "ollama" else OPENAI_URL


def _server_chosen_here(settings: Settings, origin: Mapping[str, str]) -> bool:
    """True where no part of the choice comes from the vault, which others may have written."""
    backend, address = origin.get("llm.backend"), origin.get("llm.base_url")
    if backend not in OWN_LAYERS or origin.get("llm.model") not in OWN_LAYERS:
        return False
    # The empty address of a new vault's settings does not take back what a command was told.
    unset = not settings.llm_base_url and backend != "user"
    return unset or address in OWN_LAYERS | {"built-in"}


def _refuse_model_of_the_vault(model: str, root: Path) -> None:
    path = Path(model).expanduser()
    inside = path.absolute().is_relative_to(root) or path.resolve().is_relative_to(root)
    if inside or not path.is_absolute():
        raise SettingsError(
            f"this vault's settings name a model of the vault's own: {model}",
            hint="If you trust it, move it out of the vault, then: amem model use FILE.",
        )


def open_chosen_encoder(
    settings: Settings,
    root: Path,
    origin: Mapping[str, str],
    environment: Mapping[str, str],
    notify: Callable[[str], None] | None,
) -> Encoder:
    """The encoder of the settings, loaded with the first text.

    Raises:
        SettingsError: the vault names one that would be downloaded, and nobody here agreed.
    """
    from amem_cli.models.encoder_open import PreparedEncoder
    from amem_cli.models.permission import refuse_unasked_download

    if origin.get("encoder.model") == "vault":
        refuse_unasked_download(settings.encoder_model, root, environment)
    return PreparedEncoder(settings.encoder_model, cache=encoder_cache(environment), notify=notify)


def encoder_cache(environment: Mapping[str, str]) -> Path:
    """Where exported encoders lie."""
    return user_cache_folder(environment) / "encoders"


def open_reranker(
    settings: Settings,
    root: Path,
    origin: Mapping[str, str],
    environment: Mapping[str, str],
    notify: Callable[[str], None] | None,
) -> Reranker | None:
    """The reranker of the settings, loaded with the first search; None where none is named.

    Raises:
        SettingsError: the vault names one that would be downloaded, and nobody here agreed.
    """
    from amem_cli.models.permission import refuse_unasked_download

    model = settings.search_reranker
    if not model:
        return None
    if origin.get("search.reranker") == "vault":
        refuse_unasked_download(model, root, environment, key="search.reranker")
    from amem_cli.models.reranker import PreparedReranker

    cache = user_cache_folder(environment) / "rerankers"
    return PreparedReranker(model, cache=cache, notify=notify)
