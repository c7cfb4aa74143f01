"""Asks a model hub which files a repository holds, and for their sizes and digests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from amem_cli.adapters.addresses import check_fetchable, host_of, is_loopback
from amem_cli.adapters.bounded_http import BoundedHttp, HttpFault, Reply
from amem_cli.core.errors import ModelError, NotFoundError, SettingsError
from amem_cli.core.model_source import HubFile

USUAL_HUB = "https://huggingface.co"
ANSWER_SECONDS = 20.0
MOST_FILES = 5_000
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class ModelHub:
    """A hub as `huggingface_hub` knows it, by the same variables of the environment.

    Attributes:
        address: without a slash at its end.
        headers: for this hub and no other host.
    """

    address: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def files(self, repository: str, *, seconds: float = ANSWER_SECONDS) -> list[HubFile]:
        """The files of a repository.

        Raises:
            NotFoundError: there is no such repository.
            SettingsError: it is given only to those whom the hub knows.
            ModelError: the hub cannot be asked, or answers something else.
        """
        url = f"{self.address}/api/models/{repository}/tree/main?recursive=true"
        http = BoundedHttp(use_proxies=not is_loopback(host_of(self.address)))
        try:
            reply = http.get(url, {"user-agent": "amem", **self.headers}, seconds)
        except HttpFault as fault:
            raise ModelError(
                f"the hub {host_of(self.address)}: {fault}",
                hint="Are you online? A file from elsewhere does as well: amem model pull FILE",
            ) from None
        finally:
            http.close()
        if reply.status != 200:
            raise _refusal(host_of(self.address), repository, reply)
        return _files(reply.body, host_of(self.address))

    def url_of(self, repository: str, file: str) -> str:
        """Where a file of a repository lies."""
        return f"{self.address}/{repository}/resolve/main/{quote(file)}"


def open_hub(environment: Mapping[str, str]) -> ModelHub:
    """The hub of the environment: HF_ENDPOINT, HF_TOKEN or the token of `hf auth login`.

    Raises:
        SettingsError: HF_HUB_OFFLINE is set.
        UsageError: HF_ENDPOINT is no encrypted address.
    """
    if environment.get("HF_HUB_OFFLINE", "").lower() in _TRUE:
        raise SettingsError(
            "HF_HUB_OFFLINE is set, so the hub is not asked", hint="Name a file or an address."
        )
    address = (environment.get("HF_ENDPOINT") or USUAL_HUB).rstrip("/")
    check_fetchable(address)
    token = _token(environment)
    return ModelHub(address, {"authorization": f"Bearer {token}"} if token else {})


def _token(environment: Mapping[str, str]) -> str:
    token = environment.get("HF_TOKEN", "").strip()
    if not token:
        from huggingface_hub import get_token

        token = get_token() or ""
    return token if token.isascii() and token.isprintable() and " " not in token else ""


def _refusal(host: str, repository: str, reply: Reply) -> Exception:
    if reply.status in (401, 403, 404):
        # The hub tells a repository that does not exist from one that is private to nobody.
        return NotFoundError(
            f"{host} shows no repository {repository} (status {reply.status})",
            hint="Check the name. For a private or gated one set HF_TOKEN.",
        )
    if reply.status == 429:
        wait = f" for {reply.retry_after} s" if reply.retry_after.isdigit() else ""
        return ModelError(f"{host} asks to wait{wait}", hint="Try again later, or set HF_TOKEN.")
    if 300 <= reply.status < 400:
        return NotFoundError(
            f"{repository} has another name now", hint=f"Look it up at https://{host}/{repository}."
        )
    return ModelError(f"{host} refused with status {reply.status}", hint="Try again later.")


def _files(body: bytes, host: str) -> list[HubFile]:
    try:
        listed = json.loads(body)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        raise ModelError(f"{host} answers in a way that amem does not know")
    return [file for entry in listed[:MOST_FILES] if (file := _file(entry)) is not None]


def _file(entry: object) -> HubFile | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        return None
    if entry.get("type") != "file":
        return None
    large = entry.get("lfs")
    large = large if isinstance(large, dict) else {}
    size, digest = large.get("size", entry.get("size")), large.get("oid", "")
    known = isinstance(digest, str) and len(digest) == 64 and digest.isalnum()
    return HubFile(
        entry["path"], size if type(size) is int and size > 0 else 0, digest if known else ""
    )
