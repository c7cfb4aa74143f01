"""What a person means by a model to fetch: an address, a file of a hub, or a recommended model.

The hub is asked through `huggingface_hub` and as that is configured: HF_ENDPOINT, HF_TOKEN, the
token of `hf auth login` and HF_HUB_OFFLINE apply.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit

from amem_cli.data import table
from amem_cli.errors import ModelError, NotFoundError, SettingsError, UsageError
from amem_cli.models.download import DownloadRequest
from amem_cli.models.gguf import memory_needed
from amem_cli.models.http import check_fetchable, host_of

GGUF_ENDING = ".gguf"
USUAL_QUANT = "Q4_K_M"
# Formats that run code when they are loaded, or that llama.cpp does not read.
_REFUSED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".safetensors")
_HUBS = ("huggingface.co", "www.huggingface.co", "hf.co")
_REPOSITORY = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95})"
    r"(?::(?P<pattern>[A-Za-z0-9._/*?\[\]-]{1,200}))?"
)
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_MOST_LISTED = 12
USUAL_HUB = "https://huggingface.co"
ANSWER_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class HubModel:
    """A file of a repository: its name, a pattern of it, or its quantization; empty: the usual."""

    repository: str
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the hub lists it; `size` in bytes, 0 if unknown, `sha256` empty if unknown."""

    name: str
    size: int = 0
    sha256: str = ""


def source_of(text: str) -> str | HubModel | None:
    """The address, or the file of a repository, that a text names; None for any other text."""
    name = text.strip()
    scheme, mark, rest = name.partition("://")
    if mark and scheme.lower() in ("http", "https"):
        url = f"{scheme.lower()}://{rest}"
        try:
            if not url.isprintable() or " " in url:
                raise ValueError("a blank or a control character")
            parts = urlsplit(url)
        except ValueError:
            raise UsageError(
                "the address cannot be read", hint="Copy it whole, and put it in quotes."
            ) from None
        refuse_format(parts.path)
        # The hub's page about a file differs in one word from the file itself.
        page = parts.hostname in _HUBS and "/blob/" in parts.path
        return url.replace("/blob/", "/resolve/", 1) if page else url
    refuse_format(name)
    for hub in _HUBS:
        name = name.removeprefix(f"{hub}/")
    match = _REPOSITORY.fullmatch(name)
    return HubModel(match["name"], match["pattern"] or "") if match else None


def refuse_format(path: str) -> None:
    """Raise `UsageError` for weights in a format other than GGUF."""
    ending = next((ending for ending in _REFUSED if path.lower().endswith(ending)), "")
    if ending:
        raise UsageError(
            f"{ending} files are not loaded as language models",
            hint="Some of them run code. Look for the same model as a .gguf file.",
        )


def file_name_of(url: str) -> str:
    """The name under which the file at an address is kept; see `kept_name`."""
    return kept_name(unquote(urlsplit(url).path.rpartition("/")[2]))


def kept_name(name: str) -> str:
    """A file name that is safe on every system and ends in `.gguf`, or a `UsageError`."""
    last = name.replace("\\", "/").rpartition("/")[2]
    stem = last[: -len(GGUF_ENDING)] if last.lower().endswith(GGUF_ENDING) else ""
    safe = _ODD.sub("-", stem).strip("-._")[:120]
    if not safe:
        raise UsageError(
            f"{name[:80]!r} is no name of a .gguf file", hint="Give it one: --name NAME"
        )
    return safe + GGUF_ENDING


def checked_sha256(text: str) -> str:
    """A digest in small letters, or a `UsageError`; empty stays empty."""
    if text and not _SHA256.fullmatch(text.strip()):
        raise UsageError("--sha256 takes 64 hexadecimal digits", hint="Copy the whole digest.")
    return text.strip().lower()


def chosen_file(repository: str, pattern: str, files: Sequence[HubFile]) -> HubFile:
    """The one file of a repository that is meant.

    Raises `NotFoundError` for none or more than one, `UsageError` for what amem does not load.
    """
    refuse_format(pattern)
    models = [file for file in files if is_model_file(file.name)]
    if not models:
        raise NotFoundError(
            f"{repository} holds no .gguf file",
            hint="Look for a repository of the same model whose name ends in GGUF.",
        )
    matches = _matches(pattern, models)
    if len(matches) > 1 and not pattern:
        matches = _matches(USUAL_QUANT, models) or matches
    if len(matches) != 1:
        listed = ", ".join(sorted(file.name for file in matches or models)[:_MOST_LISTED])
        count = "no file" if not matches else f"{len(matches)} files"
        raise NotFoundError(
            f"{count} of {repository} fit {pattern or 'the name'}", hint=f"Name one: {listed}"
        )
    if _PART.search(matches[0].name):
        raise UsageError(
            f"{matches[0].name} is one part of several, which amem does not put together",
            hint="Choose a smaller quantization in one file.",
        )
    return matches[0]


def _matches(pattern: str, files: Sequence[HubFile]) -> list[HubFile]:
    if not pattern:
        return list(files)
    low = pattern.lower()
    quantization = re.compile(rf"(?:^|[-._]){re.escape(low)}\.gguf$")
    tests = (
        lambda name: name == low,
        lambda name: name.rpartition("/")[2] == low,
        lambda name: fnmatchcase(name, low),
        lambda name: quantization.search(name) is not None,
    )
    # The most exact reading of the pattern that fits any file decides.
    readings = ([file for file in files if fits(file.name.lower())] for fits in tests)
    return next((matches for matches in readings if matches), [])


def is_model_file(name: str) -> bool:
    """Whether a GGUF file's name is that of a model, not of a part that goes with one."""
    last = name.lower().rpartition("/")[2]
    return last.endswith(GGUF_ENDING) and "mmproj" not in last and "imatrix" not in last


def hub_files(repository: str) -> list[HubFile]:
    """The files of a repository with their sizes and digests.

    `NotFoundError`: there is no such repository, or it is private. `SettingsError`: the hub must
    not be asked. `ModelError`: it does not answer, or refuses.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import OfflineModeIsEnabled

    address = _address()
    check_fetchable(address)
    try:
        hub = HfApi(endpoint=address)
        info = hub.model_info(repository, files_metadata=True, timeout=ANSWER_SECONDS)
    except OfflineModeIsEnabled:
        raise SettingsError(
            "HF_HUB_OFFLINE is set, so the hub is not asked", hint="Name a file or an address."
        ) from None
    # Errors of its own, of its HTTP client and of the system: all mean that there is no list.
    except Exception as error:
        raise _hub_refusal(host_of(address), repository, error) from None
    return [
        HubFile(file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else "")
        for file in info.siblings or ()
    ]


def hub_download(repository: str, file: HubFile) -> DownloadRequest:
    """The address of a repository's file, with the user's key for the hub."""
    from huggingface_hub import get_token, hf_hub_url

    token = get_token()
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return DownloadRequest(
        hf_hub_url(repository, file.name, endpoint=_address()), headers, file.size
    )


def _address() -> str:
    return (os.environ.get("HF_ENDPOINT") or USUAL_HUB).rstrip("/")


def _hub_refusal(host: str, repository: str, error: Exception) -> Exception:
    status = getattr(getattr(error, "response", None), "status_code", 0)
    if status in (401, 403, 404):
        # The hub answers the same for a private repository and for none.
        return NotFoundError(
            f"{host} shows no repository {repository} (status {status})",
            hint="Check the name. For a private or gated one set HF_TOKEN.",
        )
    reason = f"status {status}" if status else type(error).__name__
    return ModelError(
        f"the hub {host} cannot be asked ({reason})",
        hint="Are you online? Try again later, or name a file: amem model pull FILE",
    )


@dataclass(frozen=True, slots=True)
class RecommendedModel:
    """A model of the hub by a short name; `size` in bytes, `note` says for whom it is."""

    name: str
    repository: str
    file: str
    size: int
    note: str

    @property
    def memory(self) -> int:
        """Bytes of memory to have free."""
        return memory_needed(self.size)


def recommended_models() -> list[RecommendedModel]:
    """The models that `amem model list` recommends."""
    return [RecommendedModel(**row) for row in table("recommended_models.toml")["models"]]


def recommended(name: str) -> RecommendedModel | None:
    """The model of that short name, or None."""
    return next((model for model in recommended_models() if model.name == name.lower()), None)
