"""Finds language model servers that run on this machine; no other machine is ever asked."""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from amem_cli.models.http import BoundedHttp, HttpFault, is_loopback

ALL_SECONDS = 0.3
MOST_MODELS = 200
_LONGEST_NAME = 200
_OWNERS = {"library": "Ollama", "llamacpp": "llama-server", "vllm": "vLLM"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a kind of server listens unless it is told otherwise."""

    kind: str
    port: int

    @property
    def url(self) -> str:
        """The address that is set as `llm.base_url`."""
        return f"http://127.0.0.1:{self.port}/v1"


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered.

    Attributes:
        backend: `ollama` or `openai`, as in the settings.
        models: the names by which it knows its models.
    """

    kind: str
    backend: str
    url: str
    models: tuple[str, ...]


USUAL_PLACES = (
    Place("Ollama", 11434),
    Place("llama-server", 8080),
    Place("LM Studio", 1234),
    Place("vLLM", 8000),
)


def places_of(environment: Mapping[str, str]) -> tuple[Place, ...]:
    """The usual places, and where `OLLAMA_HOST` says that Ollama listens on this machine."""
    named = environment.get("OLLAMA_HOST", "").strip()
    if not named:
        return USUAL_PLACES
    try:
        parts = urlsplit(named if "://" in named else f"http://{named}")
        host, port = parts.hostname or "", parts.port or 11434
    except ValueError:
        return USUAL_PLACES
    if not (is_loopback(host) or _is_any(host)):
        return USUAL_PLACES
    rest = tuple(place for place in USUAL_PLACES[1:] if place.port != port)
    return (Place("Ollama", port), *rest)


def _is_any(host: str) -> bool:
    """True for the address by which a server says that it listens everywhere, so also here."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def servers_here(places: Sequence[Place], *, seconds: float = ALL_SECONDS) -> list[FoundServer]:
    """Ask all places at once; those that do not answer in time are not there."""
    found: dict[int, FoundServer] = {}
    # All are late at the same moment, so that one may close the connections of all.
    http = BoundedHttp(use_proxies=False)
    http.prepare()

    def ask(place: Place) -> None:
        server = _server_at(place, http, seconds)
        if server is not None:
            found[place.port] = server

    workers = [
        threading.Thread(target=ask, args=(place,), name="amem-discovery", daemon=True)
        for place in places
    ]
    until = time.monotonic() + seconds
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
    http.close()
    return [found[place.port] for place in places if place.port in found]


def _server_at(place: Place, http: BoundedHttp, seconds: float) -> FoundServer | None:
    try:
        reply = http.get(f"{place.url}/models", {"user-agent": "amem"}, seconds)
    except HttpFault:
        return None
    entries = _entries(reply.body) if reply.status == 200 else None
    if entries is None:
        return None
    owners = {str(entry.get("owned_by", "")).lower() for entry in entries}
    kind = next((_OWNERS[owner] for owner in sorted(owners & set(_OWNERS))), place.kind)
    names = [name for entry in entries if (name := _name_of(entry))]
    return FoundServer(
        kind, "ollama" if kind == "Ollama" else "openai", place.url, tuple(names[:MOST_MODELS])
    )


def _entries(body: bytes) -> list[dict[str, object]] | None:
    try:
        listed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    data = listed.get("data") if isinstance(listed, dict) else None
    # Ollama without any model says null.
    if data is None and isinstance(listed, dict) and listed.get("object") == "list":
        return []
    if not isinstance(data, list):
        return None
    return [entry for entry in data if isinstance(entry, dict)]


def _name_of(entry: Mapping[str, object]) -> str:
    name = entry.get("id")
    usable = isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()
    return str(name) if usable else ""
