"""What a person means by a model to use, and what the settings become by it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from amem_cli.cli.transfer_progress import Transferred, size
from amem_cli.core.errors import UsageError

BACKENDS = ("llama.cpp", "openai", "ollama", "none")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """New values of the settings.

    Attributes:
        file: the model's file, where it is one that was named.
    """

    backend: str
    model: str = ""
    base_url: str = ""
    sha256: str = ""
    file: Path | None = field(default=None)

    @property
    def settings(self) -> dict[str, str]:
        """By dotted key; what another model had is emptied."""
        return {
            "llm.backend": self.backend,
            "llm.model": self.model,
            "llm.base_url": self.base_url,
            "llm.sha256": self.sha256,
        }


def chosen_model(
    name: str, backend: str | None, base_url: str, progress: Transferred
) -> ModelChoice:
    """Find the model of a name: bundled, a file, a fetched one, or one of a server.

    Raises:
        UsageError: there is none, or more than one.
        ModelError: the file is no GGUF model.
        SettingsError: no server can be asked at that address.
    """
    if backend is not None and backend not in BACKENDS:
        raise UsageError(f"no backend {backend!r}", hint=f"One of: {', '.join(BACKENDS)}.")
    if name == "none" or backend == "none":
        return ModelChoice("none")
    if name == "bundled":
        return ModelChoice("llama.cpp")
    if backend in ("openai", "ollama") or base_url:
        _check_server(name, base_url)
        kind = backend or "openai"
        return ModelChoice(kind, name, base_url or (_ollama_here() if kind == "ollama" else ""))
    local = _local(name, progress)
    if local is not None:
        return local
    if backend == "llama.cpp" or name.lower().endswith(".gguf"):
        raise UsageError(f"there is no file {name}", hint="Name a GGUF file, or amem model pull.")
    return _of_a_server(name)


def _check_server(name: str, base_url: str) -> None:
    from amem_cli.adapters.openai_server import check_address

    if not name.strip():
        raise UsageError("a server's model has a name", hint="amem model list shows some.")
    if base_url:
        check_address(base_url)


def _local(name: str, progress: Transferred) -> ModelChoice | None:
    from amem_cli.adapters.gguf_file import sha256_of
    from amem_cli.adapters.llama_cpp_model import check_model_file
    from amem_cli.adapters.model_store import ModelStore
    from amem_cli.core.model_source import GGUF_ENDING

    store = ModelStore(os.environ)
    path = Path(name).expanduser()
    pulled = store.find(name) if path.name == name else None
    # The list tells names without their ending; a file of such a name may be anybody's.
    if path.is_file() and (pulled is None or path.suffix.lower() == GGUF_ENDING):
        path, known = path.resolve(), ""
    elif pulled is not None:
        path, known = pulled.path, pulled.sha256
    else:
        return None
    check_model_file(path)
    digest = known or sha256_of(path, partial(progress, "checking"))
    return ModelChoice("llama.cpp", str(path), "", digest, path)


def _ollama_here() -> str:
    """The address to set where Ollama listens elsewhere than usual on this machine."""
    from amem_cli.adapters.server_discovery import USUAL_PLACES, places_of

    place = places_of(os.environ)[0]
    return "" if place == USUAL_PLACES[0] else place.url


def _of_a_server(name: str) -> ModelChoice:
    from amem_cli.adapters.server_discovery import places_of, servers_here
    from amem_cli.core.model_source import HubModel, source_of
    from amem_cli.core.recommended_models import recommended

    servers = [one for one in servers_here(places_of(os.environ)) if name in one.models]
    if len(servers) == 1:
        return ModelChoice(servers[0].backend, name, servers[0].url)
    if servers:
        urls = ", ".join(one.url for one in servers)
        raise UsageError(f"{name} is on more than one server", hint=f"Name one: --base-url {urls}")
    if recommended(name) is not None or isinstance(source_of(name), HubModel):
        raise UsageError(f"{name} is not on this machine", hint=f"amem model pull {name}")
    raise UsageError(
        f"{name!r} was not fetched, and no server on this machine has it",
        hint="amem model list shows what there is; --base-url URL names a server.",
    )


def what_follows(
    choice: ModelChoice, url: str, verdict: str, memory_mb: int, context_tokens: int
) -> list[str]:
    """What a person should know after choosing a model, one line each.

    Args:
        url: of the server, where the model is a server's.
        verdict: what the test said of it, or an empty text.
        memory_mb, context_tokens: settings that the model has to do with.
    """
    if choice.backend == "none":
        return ["amem's own analyzer does the work."]
    told = []
    if choice.file is not None:
        told += _memory(choice.file, memory_mb, context_tokens)
    if choice.backend in ("openai", "ollama"):
        told += _where(choice, url)
    if verdict:
        told.append(f"tested before: {verdict}")
    elif choice.model:
        told.append(
            "next: amem model test, which tells within a minute whether it is fit for this work"
        )
    return told


def _where(choice: ModelChoice, url: str) -> list[str]:
    from amem_cli.adapters.addresses import host_of, is_loopback
    from amem_cli.adapters.openai_server import runs_elsewhere

    host = host_of(url)
    if is_loopback(host) and not runs_elsewhere(choice.model):
        return [f"It is asked at {url}; the texts of your notes stay on this machine."]
    where = "another machine" if is_loopback(host) else host
    return [
        f"The texts of your notes go to {where}, but for those with private: true."
        " amem config set llm.daily_tokens N bounds what is spent."
    ]


def _memory(file: Path, memory_mb: int, context_tokens: int) -> list[str]:
    import psutil

    from amem_cli.adapters.gguf_file import NotGguf, memory_needed

    try:
        needed = memory_needed(file, context_tokens)
    except (NotGguf, OSError):
        return []
    memory = psutil.virtual_memory()
    told = [f"It takes about {size(needed)} of memory; {size(memory.available)} are free."]
    if needed > memory.total:
        told.append("That is more than this machine has. A smaller model is better.")
    elif needed > memory.available:
        told.append("Other programs have to make room for it, or it will be slow.")
    if needed > memory_mb * 2**20:
        told.append(
            f"llm.memory_mb allows {memory_mb} MB: amem config set llm.memory_mb"
            f" {-(-needed * 5 // 4 // 2**20)}"
        )
    return told


def verdict_line(settings_of: Mapping[str, str]) -> str:
    """What `amem model test` said of the model that the given settings name; empty if nothing."""
    from dataclasses import replace

    from amem_cli import config
    from amem_cli.adapters.model_verdicts import model_subject, stored_verdict
    from amem_cli.model_opening import server_url

    names = config.keys()
    values: dict[str, Any] = {names[key]: value for key, value in settings_of.items()}
    settings = replace(config.Settings(), **values)
    found = stored_verdict(model_subject(settings, server_url(settings)), os.environ)
    return f"{found.line} ({found.day})" if found is not None else ""
