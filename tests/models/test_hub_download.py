"""What is fetched of a model's repository: all that it needs, and nothing that could run code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.hub_server import COMMIT, Hub, a_hub

pytestmark = pytest.mark.slow

WEIGHTS = b"\x02\x00\x00\x00\x00\x00\x00\x00{}"
USUAL = {
    "config.json": b'{"model_type": "xlm-roberta"}',
    "modules.json": b"[]",
    "1_Pooling/config.json": b"{}",
    "sentence_bert_config.json": b"{}",
    "model.safetensors": WEIGHTS,
    "README.md": b"# model",
}
NEVER = {
    "pytorch_model.bin": b"pickle",
    "onnx/model_quantized.onnx": b"onnx",
    "onnx/tokenizer.json": b"{}",
    "openvino/openvino_model.xml": b"<xml/>",
    "modeling_custom.py": b"print()",
}


def fetched(
    hub: Hub, home: Path, name: str, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    # The hub's client reads these variables when it is imported.
    own = {"HF_HOME": str(home), "HF_ENDPOINT": hub.url}
    environment = {**environment, **own, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    code = f"from amem_cli.models.encoder_files import fetch_encoder as f; print(f('{name}'))"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "tokenizer",
    [
        {"tokenizer.json": b"{}", "tokenizer_config.json": b"{}"},
        {"sentencepiece.bpe.model": b"spm", "tokenizer_config.json": b"{}"},
        {"vocab.txt": b"[PAD]\n"},
        {"vocab.json": b"{}", "merges.txt": b"a b"},
        {"tokenizer.json": b"{}", "unigram.json": b"{}", "sentencepiece.bpe.model": b"spm"},
    ],
    ids=" ".join,
)
def test_every_kind_of_tokenizer_comes_with_the_model(
    tmp_path: Path, tokenizer: dict[str, bytes]
) -> None:
    with a_hub("owner/model", {**USUAL, **tokenizer, **NEVER}) as hub:
        done = fetched(hub, tmp_path, "owner/model")
        assert done.returncode == 0, done.stderr
        folder = Path(done.stdout.strip().splitlines()[-1])
        assert folder.name == COMMIT
        wanted = {*USUAL, *tokenizer} - {"README.md"}
        assert {p.relative_to(folder).as_posix() for p in folder.rglob("*.*")} == wanted
        assert set(hub.given) == wanted
        hub.given.clear()
        assert fetched(hub, tmp_path, "owner/model").returncode == 0
        assert hub.given == []


def test_the_graph_of_the_publisher_comes_instead_of_the_weights(tmp_path: Path) -> None:
    graph = {"onnx/model.onnx": b"graph", "onnx/model.onnx_data": b"its weights"}
    tokenizer = {"tokenizer.json": b"{}", "tokenizer_config.json": b"{}"}
    with a_hub("owner/model", {**USUAL, **tokenizer, **NEVER, **graph}) as hub:
        done = fetched(hub, tmp_path, "owner/model")
        assert done.returncode == 0, done.stderr
        wanted = {*USUAL, *tokenizer, *graph} - {"README.md", "model.safetensors"}
        assert set(hub.given) == wanted
        hub.given.clear()
        again = fetched(hub, tmp_path, "owner/model")
        assert (again.stdout, hub.given) == (done.stdout, [])


def test_weights_on_this_machine_are_used_although_a_graph_is_published(tmp_path: Path) -> None:
    files = {**USUAL, "tokenizer.json": b"{}"}
    with a_hub("owner/model", files) as hub:
        first = fetched(hub, tmp_path, "owner/model")
        hub.files["onnx/model.onnx"] = b"graph"
        hub.given.clear()
        again = fetched(hub, tmp_path, "owner/model")
    assert (again.stdout, hub.given) == (first.stdout, [])


def test_a_graph_without_a_tokenizer_of_today_is_left(tmp_path: Path) -> None:
    with a_hub("owner/model", {**USUAL, "vocab.txt": b"", "onnx/model.onnx": b"graph"}) as hub:
        assert fetched(hub, tmp_path, "owner/model").returncode == 0
    assert "model.safetensors" in hub.given and "onnx/model.onnx" not in hub.given


def test_a_name_without_an_owner_is_of_the_library(tmp_path: Path) -> None:
    with a_hub("sentence-transformers/mine", {**USUAL, "tokenizer.json": b"{}"}) as hub:
        done = fetched(hub, tmp_path, "mine")
    assert done.returncode == 0, done.stderr


def test_a_repository_with_pickled_weights_alone_is_refused(tmp_path: Path) -> None:
    files = {**USUAL, **NEVER, "tokenizer.json": b"{}"}
    del files["model.safetensors"]
    with a_hub("owner/pickled", files) as hub:
        done = fetched(hub, tmp_path, "owner/pickled")
    assert done.returncode != 0
    assert "holds no encoder with safetensors weights" in done.stderr
    assert "pytorch_model.bin" not in hub.given
