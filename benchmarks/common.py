"""What the benchmarks set up alike: the command line, a vault without a model, the encoder."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from remembered_vectors import RememberingEncoder

from amem_cli.index.sync import synchronise
from amem_cli.settings import STATE_FOLDER
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.workspace import Workspace

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder

WITHOUT_MODEL = {"llm_backend": "none", "llm_judge": "off"}


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """A parser that says the first sentence of a module's description."""
    return argparse.ArgumentParser(description=(description or "").partition("\n\n")[0])


def by_commas(text: str) -> list[str]:
    """The names in a list such as `gold,locomo`; none where it is empty."""
    return [each for each in text.split(",") if each]


def usual_encoder(vectors: Path | None, name: str = "") -> RememberingEncoder:
    """The encoder of a new vault, or the one of that name.

    Args:
        vectors: file that keeps its vectors.
    """
    overrides = {"encoder_model": name} if name else {}
    with tempfile.TemporaryDirectory() as folder:
        return RememberingEncoder(Workspace(Path(folder), overrides=overrides).encoder, vectors)


def open_vault(root: Path, encoder: Encoder | None = None) -> Workspace:
    """Open a folder without a language model and without git; make it a vault if it is none.

    Args:
        encoder: None for that of the settings.
    """
    if not (root / STATE_FOLDER).exists():
        adopt_vault(root)
    workspace = Workspace(root, overrides={**WITHOUT_MODEL, "git_commit": "off"})
    if encoder is not None:
        workspace.models.encoder = encoder
    synchronise(workspace.ports)
    return workspace


def settings_of_model(name: str, base_url: str) -> dict[str, str]:
    """Settings for a GGUF file, or for a model of a server."""
    backend = "openai" if base_url else "llama.cpp"
    return {"llm_backend": backend, "llm_model": name, "llm_base_url": base_url}


def median_and_p95(values: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]
