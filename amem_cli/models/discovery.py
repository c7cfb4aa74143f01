"""What this machine has that could be a language model: servers, GGUF files and programs.

Only this machine is looked at, nothing is run, and nothing here waits longer than a moment.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from amem_cli.data import table
from amem_cli.errors import SettingsError
from amem_cli.models.command import search_path
from amem_cli.models.gguf import is_gguf
from amem_cli.models.http import HttpFault, fetch, is_loopback
from amem_cli.models.open import usual_url
from amem_cli.models.server_dialects import json_object
from amem_cli.models.sources import is_model_file
from amem_cli.models.store import ModelStore
from amem_cli.system.command_lines import find_program

PLACES = "model_places.toml"
# A folder may be on a network drive that does not answer.
FILE_SECONDS = 0.5
MOST_FILES = 200
DISCOVERY_SECONDS = 0.3
MAX_MODELS = 200
_OWNERS = {"library": "Ollama", "llamacpp": "llama-server", "vllm": "vLLM"}
_LONGEST_NAME = 200
_LARGEST = 1e15
_BILLIONS = re.compile(r"(?<![a-z0-9.])(?:(\d{1,2})x)?e?(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server of this machine, with the names by which it knows its models.

    Attributes:
        sizes: by a model's name the bytes of its weights, and its billions of parameters; 0 where
            that is not known.
    """

    kind: str
    port: int
    models: tuple[str, ...] = ()
    path: str = "/v1"
    sizes: Mapping[str, tuple[int, float]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address for `llm.base_url`."""
        return f"http://127.0.0.1:{self.port}{self.path}"

    @property
    def backend(self) -> str:
        """The value for `llm.backend`."""
        return "ollama" if self.kind == "Ollama" else "openai"


USUAL_SERVERS = (
    LocalServer("Ollama", 11434),
    LocalServer("llama-server", 8080),
    LocalServer("LM Studio", 1234),
    LocalServer("vLLM", 8000),
)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A GGUF file; `owner` is the program that keeps it, `amem` or another, `size` in bytes."""

    name: str
    path: Path
    owner: str
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """A program on PATH; `line` is the command line by which it answers, empty if it does not."""

    name: str
    path: str
    line: str


@dataclass(frozen=True, slots=True)
class Machine:
    """What was found.

    Attributes:
        memory, free_memory: bytes.
        runs_files: what runs GGUF files is installed.
    """

    memory: int
    free_memory: int
    cores: int
    runs_files: bool
    servers: tuple[LocalServer, ...] = ()
    files: tuple[ModelFile, ...] = ()
    programs: tuple[AgentProgram, ...] = ()


def look_around(environment: Mapping[str, str], expected: Sequence[LocalServer]) -> Machine:
    """Look at this machine, in about a second at most.

    Args:
        expected: servers to ask; None: the usual ones.
    """
    import psutil

    files: list[ModelFile] = []

    def gather() -> None:
        # One by one: what is found before a folder stops answering counts.
        for file in itertools.islice(_model_files(environment), MOST_FILES):
            files.append(file)

    # Left behind if a folder does not answer.
    worker = threading.Thread(target=gather, name="amem-files", daemon=True)
    until = time.monotonic() + FILE_SECONDS
    worker.start()
    servers = running_servers(expected)
    worker.join(max(until - time.monotonic(), 0.0))
    memory = psutil.virtual_memory()
    return Machine(
        memory=memory.total,
        free_memory=memory.available,
        cores=psutil.cpu_count() or 1,
        runs_files=importlib.util.find_spec("llama_cpp") is not None,
        servers=tuple(servers),
        files=tuple(files),
        programs=tuple(_programs(environment)),
    )


def billions_named(name: str) -> float:
    """The billions of parameters that a model's name tells: 4 for `qwen3:4b`; 0 if it does not."""
    found = _BILLIONS.search(name.lower())
    if found is None:
        return 0.0
    number = float(found[2]) * int(found[1] or 1)
    return number if found[3] == "b" else number / 1000


def _model_files(environment: Mapping[str, str]) -> Iterator[ModelFile]:
    """GGUF files, each once, those of amem's own folder first."""
    seen = set[Path]()
    for pulled in ModelStore(environment).models():
        seen.add(pulled.path.resolve())
        yield ModelFile(pulled.name, pulled.path, "amem", pulled.size, pulled.sha256)
    for folder in table(PLACES)["folders"]:
        for path in _matching(folder, environment):
            # Two snapshots of a repository lead to one file.
            real = path.resolve()
            if real in seen or not is_model_file(path.name):
                continue
            with contextlib.suppress(OSError):
                if is_gguf(real):
                    seen.add(real)
                    yield ModelFile(path.stem, path, folder["owner"], real.stat().st_size)


def _matching(folder: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[Path]:
    for text in folder["places"]:
        place = _place(text, environment)
        if place is not None:
            with contextlib.suppress(OSError):
                yield from itertools.islice(place.glob(folder["pattern"]), MOST_FILES)


def _place(text: str, environment: Mapping[str, str]) -> Path | None:
    first, _, rest = text.partition("/")
    if first == "~":
        first = environment.get("HOME") or environment.get("USERPROFILE", "")
    elif first.startswith("$"):
        first = environment.get(first[1:], "")
    else:
        return Path(text)
    # A relative one would mean another folder wherever amem is called.
    return Path(first, rest) if first and Path(first).is_absolute() else None


def _programs(environment: Mapping[str, str]) -> Iterator[AgentProgram]:
    for program in table(PLACES)["programs"]:
        found = find_program(program["name"], search_path(environment))
        if found is not None:
            yield AgentProgram(program["name"], found, program["line"])


def _told_size(row: Mapping[str, Any]) -> tuple[int, float]:
    details = row.get("details")
    told = details.get("parameter_size") if isinstance(details, dict) else None
    size = row.get("size")
    # A server may say anything.
    count = size if type(size) is int and 0 < size < _LARGEST else 0
    name = told[:_LONGEST_NAME] if isinstance(told, str) else ""
    return count, billions_named(name)


def expected_servers(environment: Mapping[str, str]) -> tuple[LocalServer, ...]:
    """The usual servers, Ollama where `OLLAMA_HOST` says if that is on this machine."""
    own = None
    with contextlib.suppress(SettingsError):
        own = local_server("Ollama", usual_url("ollama", environment))
    if own is None:
        return USUAL_SERVERS
    return (own, *(server for server in USUAL_SERVERS[1:] if server.port != own.port))


def local_server(kind: str, url: str) -> LocalServer | None:
    """The server at an address of this machine; None at any other one."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not is_loopback(parts.hostname or ""):
        return None
    return LocalServer(kind, parts.port or 80, path=parts.path.rstrip("/"))


def running_servers(
    expected: Sequence[LocalServer], *, seconds: float = DISCOVERY_SECONDS
) -> list[LocalServer]:
    """Ask all servers at once for their models; one that does not answer in time is not there."""
    # Not loaded within the time of a request.
    import httpx  # noqa: F401

    with ThreadPoolExecutor(len(expected)) as workers:
        answers = workers.map(lambda server: _identify(server, seconds), expected)
        return [server for server in answers if server is not None]


def _listing(url: str, seconds: float) -> dict[str, Any] | None:
    try:
        reply = fetch("GET", url, {}, seconds)
    except HttpFault:
        return None
    return json_object(reply.body) if reply.status == 200 else None


def _identify(server: LocalServer, seconds: float) -> LocalServer | None:
    listing = _listing(f"{server.url}/models", seconds)
    if listing is None:
        return None
    data = listing.get("data")
    # Ollama without any model says null.
    if data is None and listing.get("object") == "list":
        data = []
    if not isinstance(data, list):
        return None
    models = [model for model in data if isinstance(model, dict)]
    owners = {str(model.get("owned_by", "")).lower() for model in models}
    kind = next((_OWNERS[owner] for owner in sorted(owners & set(_OWNERS))), server.kind)
    ids = [name for model in models if isinstance(name := model.get("id"), str)]
    names = [name for name in ids if 0 < len(name) <= _LONGEST_NAME and name.isprintable()]
    found = replace(server, kind=kind, models=tuple(names[:MAX_MODELS]))
    return replace(found, sizes=_sizes(found, seconds)) if kind == "Ollama" else found


def _sizes(server: LocalServer, seconds: float) -> dict[str, tuple[int, float]]:
    listing = _listing(f"{server.url.removesuffix('/v1')}/api/tags", seconds) or {}
    rows = listing.get("models")
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return {row["name"]: _told_size(row) for row in rows if row.get("name") in server.models}
