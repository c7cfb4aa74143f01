"""The language model that a person names: found on this machine, or fetched to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from amem_cli.errors import ModelError, UsageError
from amem_cli.models.download import DownloadRequest
from amem_cli.models.gguf import sha256_of
from amem_cli.models.sources import (
    GGUF_ENDING,
    HubModel,
    checked_sha256,
    chosen_file,
    file_name_of,
    hub_download,
    hub_files,
    kept_name,
    recommended,
    refuse_format,
    source_of,
)
from amem_cli.models.store import ModelStore, PulledModel

Transferred = Callable[[str, int, int], None]

_BACKENDS = ("llama.cpp", "openai", "ollama", "command")
_ADDRESS = re.compile(r"@(?=https?://)")


def split_name(text: str) -> tuple[str, str | None, str]:
    """A model's name, its backend (None if it is not said) and its server's address, from
    `[BACKEND:]NAME[@ADDRESS]`, such as `ollama:qwen3:4b`, `m@http://host/v1`, `command:llm -m m`.
    """
    backend, _, rest = text.partition(":")
    if backend == "command" and rest:
        # A command line may hold an address of its own.
        return rest, backend, ""
    name, *url = _ADDRESS.split(rest if backend in _BACKENDS else text, maxsplit=1)
    return name, backend if backend in _BACKENDS else None, "".join(url)


def settings_of_model(
    name: str,
    backend: str | None,
    base_url: str,
    environment: Mapping[str, str],
    progress: Transferred,
) -> dict[str, str]:
    """The settings, by dotted key, of a model that is bundled, a file, pulled, or of a server.

    A command line is taken as it is; `choose` checks it.

    Args:
        name: may hold the others, if neither is given: see `split_name`.

    Raises:
        UsageError: there is none of this name, or more than one.
        ModelError: the file is not a GGUF model, or what runs it is not installed.
        SettingsError: the server's address is not valid.
    """
    if backend is None and not base_url:
        name, backend, base_url = split_name(name)
    if name == "none" or backend == "none":
        return _settings("none")
    if backend == "command":
        if base_url:
            raise UsageError("a command has no address", hint="Leave --base-url out.")
        return _settings("command", name)
    if name == "bundled":
        from amem_cli.models.llama_cpp import bundled_model, check_library_loads

        check_library_loads()
        bundled_model()
        return _settings("llama.cpp")
    if backend in ("openai", "ollama") or base_url:
        from amem_cli.models.open import OLLAMA_URL, OPENAI_URL, usual_url
        from amem_cli.models.openai_server import check_address

        if not name.strip():
            raise UsageError("the model's name is empty", hint="amem model list shows some.")
        backend = backend or "openai"
        url = base_url or usual_url(backend, environment)
        check_address(url)
        # An address of a variable is kept: without it, texts would go elsewhere one day.
        return _settings(backend, name, base_url if url in (OLLAMA_URL, OPENAI_URL) else url)
    local = _local(name, ModelStore(environment), progress)
    if local is not None:
        return local
    if backend == "llama.cpp" or name.lower().endswith(".gguf"):
        raise UsageError(
            f"there is no file {name}", hint="Name a GGUF file, or download one: amem model pull."
        )
    return _of_a_server(name, environment)


def _settings(backend: str, model: str = "", url: str = "", sha256: str = "") -> dict[str, str]:
    # All four: what is left of the former model must not be taken for this one's.
    keys = ("llm.backend", "llm.model", "llm.base_url", "llm.sha256")
    return dict(zip(keys, (backend, model, url, sha256), strict=True))


def _local(name: str, store: ModelStore, progress: Transferred) -> dict[str, str] | None:
    from amem_cli.models.llama_cpp import check_library_loads, check_model_file

    path = Path(name).expanduser()
    pulled = store.find(name) if path.name == name else None
    # `model list` shows names without .gguf; a file without it may be anything.
    if path.is_file() and (pulled is None or path.suffix.lower() == GGUF_ENDING):
        # A link of a cache leads to a file without an ending.
        real = path.resolve()
        path, known = real if real.suffix.lower() == GGUF_ENDING else path.absolute(), ""
    elif pulled is not None:
        path, known = pulled.path, pulled.sha256
    else:
        return None
    check_library_loads()
    check_model_file(path)
    digest = known or sha256_of(path, partial(progress, "checking"))
    return _settings("llama.cpp", str(path), "", digest)


def _of_a_server(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    from amem_cli.models.command import names_program
    from amem_cli.models.discovery import expected_servers, running_servers

    running = running_servers(expected_servers(environment))
    servers = [server for server in running if name in server.models]
    if len(servers) == 1:
        return _settings(servers[0].backend, name, servers[0].url)
    if servers:
        urls = ", ".join(server.url for server in servers)
        raise UsageError(f"{name} is on more than one server", hint=f"Name one: --base-url {urls}")
    if recommended(name) is not None or isinstance(source_of(name), HubModel):
        raise UsageError(f"{name} is not on this machine", hint=f"amem model pull {name}")
    hint = "amem model list shows all; --base-url URL names a server."
    if names_program(name, environment):
        hint = "If that is a program to run, add --backend command."
    raise UsageError(
        f"no downloaded model and no server on this machine has the name {name!r}", hint=hint
    )


def pull(
    store: ModelStore, source: str, sha256: str, name: str, progress: Transferred
) -> tuple[PulledModel, str]:
    """Download or copy a model into the store.

    Args:
        source: a recommended model, a repository of the hub, an address, or a file.
        sha256: the expected digest; empty for any.
        name: to store it under; empty for its own.

    Returns:
        The model, and what its digest was checked against: `--sha256`, `the hub` or an empty text.
    """
    given = checked_sha256(sha256)
    own_name = kept_name(name.removesuffix(GGUF_ENDING) + GGUF_ENDING) if name else ""
    known = "--sha256" if given else ""
    path = Path(source).expanduser()
    if path.is_file() and path.suffix:
        refuse_format(path.name)
        kept = own_name or kept_name(path.name)
        return store.copy(path, kept, progress, sha256=given), known
    choice = recommended(source)
    meant = HubModel(choice.repository, choice.file) if choice else source_of(source)
    if meant is None:
        raise UsageError(
            f"{source!r} is not a file, address, repository or recommended model",
            hint="amem model list shows the recommended ones; a repository is OWNER/NAME.",
        )
    if isinstance(meant, HubModel):
        file = chosen_file(meant.repository, meant.pattern, hub_files(meant.repository))
        # Compare now, before downloading gigabytes for nothing.
        if given and file.sha256 and given != file.sha256:
            raise ModelError(
                f"the hub's {file.name} has another digest than expected: {file.sha256}",
                hint="The repository changed, or the digest belongs to another file.",
            )
        request, kept = hub_download(meant.repository, file), own_name or kept_name(file.name)
        origin = f"{meant.repository}:{file.name}"
        expected, known = given or file.sha256, known or ("the hub" if file.sha256 else "")
    else:
        request, kept = DownloadRequest(meant), own_name or file_name_of(meant)
        origin, expected = meant.partition("?")[0], given
    model = store.fetch(request, kept, progress, source=origin, sha256=expected)
    return model, known
