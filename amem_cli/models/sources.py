"""What a person means by a model to fetch, and which file of a repository that is.

A short list of language models that are worth a try. Sizes are those that the repositories tell
of their files; none of them was measured by amem, and no digest is known: the hub tells it when
a model is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import SplitResult, unquote, urlsplit

from amem_cli.errors import NotFoundError, UsageError

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


@dataclass(frozen=True, slots=True)
class WebModel:
    """A file at an address."""

    url: str


@dataclass(frozen=True, slots=True)
class HubModel:
    """A file of a repository: its name, a pattern of it, or its quantization; empty: the usual."""

    repository: str
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the hub lists it.

    Attributes:
        size: bytes, 0 where unknown.
        sha256: hexadecimal, empty where unknown.
    """

    name: str
    size: int = 0
    sha256: str = ""


def source_of(text: str) -> WebModel | HubModel | None:
    """What an address or a repository's name stands for; None for any other text.

    Raises:
        UsageError: a format that is never loaded, or an address that cannot be read.
    """
    name = text.strip()
    scheme, mark, rest = name.partition("://")
    if mark and scheme.lower() in ("http", "https"):
        url = f"{scheme.lower()}://{rest}"
        refuse_format(_read_address(url).path)
        return WebModel(_resolved(url))
    refuse_format(name)
    for hub in _HUBS:
        name = name.removeprefix(f"{hub}/")
    found = _REPOSITORY.fullmatch(name)
    return HubModel(found["name"], found["pattern"] or "") if found else None


def _read_address(url: str) -> SplitResult:
    try:
        if not url.isprintable() or " " in url:
            raise ValueError("a blank or a control character")
        return urlsplit(url)
    except ValueError:
        raise UsageError(
            "the address cannot be read", hint="Copy it whole, and put it in quotes."
        ) from None


def refuse_format(path: str) -> None:
    """Refuse weights in a format other than GGUF.

    Raises:
        UsageError: such a format.
    """
    ending = next((each for each in _REFUSED if path.lower().endswith(each)), "")
    if ending:
        raise UsageError(
            f"{ending} files are not loaded as language models",
            hint="Some of them run code. Look for the same model as a .gguf file.",
        )


def file_name_of(url: str) -> str:
    """The name under which what lies at an address is kept.

    Raises:
        UsageError: the address names no .gguf file.
    """
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    return kept_name(name)


def kept_name(name: str) -> str:
    """A file name that is safe on every system and ends in `.gguf`.

    Raises:
        UsageError: it is no name of a .gguf file.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    stem = last[: -len(GGUF_ENDING)] if last.lower().endswith(GGUF_ENDING) else ""
    safe = _ODD.sub("-", stem).strip("-._")[:120]
    if not safe:
        raise UsageError(
            f"{name[:80]!r} is no name of a .gguf file", hint="Give it one: --name NAME"
        )
    return safe + GGUF_ENDING


def checked_sha256(text: str) -> str:
    """A digest in small letters; empty stays empty.

    Raises:
        UsageError: it is no SHA-256.
    """
    if text and not _SHA256.fullmatch(text.strip()):
        raise UsageError("--sha256 takes 64 hexadecimal digits", hint="Copy the whole digest.")
    return text.strip().lower()


def chosen_file(repository: str, pattern: str, files: Sequence[HubFile]) -> HubFile:
    """The one file of a repository that is meant.

    Raises:
        NotFoundError: none, or more than one is meant.
        UsageError: a model in several parts, or of another format.
    """
    refuse_format(pattern)
    models = [one for one in files if _is_model(one.name)]
    if not models:
        raise NotFoundError(
            f"{repository} holds no .gguf file",
            hint="Look for a repository of the same model whose name ends in GGUF.",
        )
    meant = _meant(pattern, models)
    if len(meant) > 1 and not pattern:
        meant = _meant(USUAL_QUANT, models) or meant
    if len(meant) != 1:
        listed = ", ".join(sorted(one.name for one in meant or models)[:_MOST_LISTED])
        count = "no file" if not meant else f"{len(meant)} files"
        raise NotFoundError(
            f"{count} of {repository} fit {pattern or 'the name'}", hint=f"Name one: {listed}"
        )
    if _PART.search(meant[0].name):
        raise UsageError(
            f"{meant[0].name} is one part of several, which amem does not put together",
            hint="Choose a smaller quantization in one file.",
        )
    return meant[0]


def _meant(pattern: str, files: Sequence[HubFile]) -> list[HubFile]:
    if not pattern:
        return list(files)
    wanted = pattern.lower()
    tests = (
        lambda name: name == wanted,
        lambda name: name.rpartition("/")[2] == wanted,
        lambda name: fnmatchcase(name, wanted),
        lambda name: re.search(rf"(?:^|[-._]){re.escape(wanted)}\.gguf$", name) is not None,
    )
    for fits in tests:
        found = [one for one in files if fits(one.name.lower())]
        if found:
            return found
    return []


def _is_model(name: str) -> bool:
    last = name.lower().rpartition("/")[2]
    beside = "mmproj" in last or "imatrix" in last
    return last.endswith(GGUF_ENDING) and not beside


def _resolved(url: str) -> str:
    """The file itself where a person copied the address of the hub's page about it."""
    parts = urlsplit(url)
    if parts.hostname in _HUBS and "/blob/" in parts.path:
        return url.replace("/blob/", "/resolve/", 1)
    return url


NOT_MEASURED = "not measured here"
# docs/memory.md has the figures, with the command that prints them.
BUNDLED_BENCHMARK = "links and contexts no better than without a model"


@dataclass(frozen=True, slots=True)
class RecommendedModel:
    """A model by a short name.

    Attributes:
        size: bytes as the repository tells, rounded.
        note: for whom it is, in a few words.
        benchmark: what `benchmarks/memory.py` said of it.
        sha256: of the file, hexadecimal; empty where unknown.
    """

    name: str
    repository: str
    file: str
    size: int
    note: str
    benchmark: str = NOT_MEASURED
    sha256: str = ""

    @property
    def memory(self) -> int:
        """Bytes of memory to have free: the file, and room for the window and for computing."""
        return self.size + 2**30


RECOMMENDED = (
    RecommendedModel(
        "llama-3.2-1b",
        "bartowski/Llama-3.2-1B-Instruct-GGUF",
        "Llama-3.2-1B-Instruct-Q4_K_M.gguf",
        810_000_000,
        "small and fast",
    ),
    RecommendedModel(
        "qwen3-1.7b",
        "bartowski/Qwen_Qwen3-1.7B-GGUF",
        "Qwen_Qwen3-1.7B-Q5_K_M.gguf",
        1_470_000_000,
        "many languages",
    ),
    RecommendedModel(
        "qwen3-4b",
        "bartowski/Qwen_Qwen3-4B-GGUF",
        "Qwen_Qwen3-4B-Q4_K_M.gguf",
        2_500_000_000,
        "many languages; wants a fast machine",
    ),
)


def recommended(name: str) -> RecommendedModel | None:
    """The model of that short name, or None."""
    return next((one for one in RECOMMENDED if one.name == name.lower()), None)
