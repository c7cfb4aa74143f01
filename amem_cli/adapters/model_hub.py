"""Asks a model hub for a repository's files, through `huggingface_hub` and as it is configured.

HF_ENDPOINT, HF_TOKEN, the token of `hf auth login` and HF_HUB_OFFLINE are heeded.
"""

from __future__ import annotations

import os

from amem_cli.adapters.addresses import check_fetchable, host_of
from amem_cli.adapters.file_download import Wanted
from amem_cli.core.errors import ModelError, NotFoundError, SettingsError
from amem_cli.core.model_source import HubFile

USUAL_HUB = "https://huggingface.co"
ANSWER_SECONDS = 20.0


def hub_files(repository: str) -> list[HubFile]:
    """The files of a repository with their sizes and digests.

    Raises:
        NotFoundError: there is no such repository, or it is private.
        SettingsError: HF_HUB_OFFLINE is set.
        UsageError: HF_ENDPOINT is no encrypted address.
        ModelError: the hub does not answer, or refuses.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import OfflineModeIsEnabled

    address = _address()
    check_fetchable(address)
    try:
        hub = HfApi(endpoint=address)
        told = hub.model_info(repository, files_metadata=True, timeout=ANSWER_SECONDS)
    except OfflineModeIsEnabled:
        raise SettingsError(
            "HF_HUB_OFFLINE is set, so the hub is not asked", hint="Name a file or an address."
        ) from None
    # Errors of its own, of its HTTP client and of the system: all mean that there is no list.
    except Exception as error:
        raise _refusal(host_of(address), repository, error) from None
    return [
        HubFile(one.rfilename, one.size or 0, one.lfs.sha256 if one.lfs else "")
        for one in told.siblings or ()
    ]


def hub_download(repository: str, file: HubFile) -> Wanted:
    """The address of a repository's file, with the user's key for the hub."""
    from huggingface_hub import get_token, hf_hub_url

    token = get_token()
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return Wanted(hf_hub_url(repository, file.name, endpoint=_address()), headers, file.size)


def _address() -> str:
    return (os.environ.get("HF_ENDPOINT") or USUAL_HUB).rstrip("/")


def _refusal(host: str, repository: str, error: Exception) -> Exception:
    response = getattr(error, "response", None)
    if response is None:
        return ModelError(
            f"the hub {host} cannot be asked ({type(error).__name__})",
            hint="Are you online? A file from elsewhere does as well: amem model pull FILE",
        )
    status = response.status_code
    if status in (401, 403, 404):
        # The hub answers the same for a private repository and for none.
        return NotFoundError(
            f"{host} shows no repository {repository} (status {status})",
            hint="Check the name. For a private or gated one set HF_TOKEN.",
        )
    if status == 429:
        wait = response.headers.get("retry-after", "")
        wait = f" for {wait} s" if wait.isdecimal() else ""
        return ModelError(f"{host} asks to wait{wait}", hint="Try again later, or set HF_TOKEN.")
    return ModelError(f"{host} refused with status {status}", hint="Try again later.")
