"""Encoders are found by name or folder, only safe ones, and told apart by their content."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.errors import EncoderError
from amem_cli.models.encoder_files import (
    DEFAULT_ENCODER,
    bundled_encoder,
    find_encoder,
    local_encoder,
    model_fingerprint,
)
from amem_cli.models.prepared import PreparedEncoder
from tests.fakes.prepared_encoder import write_prepared_encoder


def write_model(folder: Path, weights: bytes = b"\x00" * 8000) -> Path:
    """A folder that looks like a model: two tensors, one of them always the same."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "bert"}')
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "same": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
            "other": {"dtype": "U8", "shape": [8000], "data_offsets": [16, 16 + len(weights)]},
        }
    ).encode()
    content = len(header).to_bytes(8, "little") + header + b"\x01" * 16 + weights
    (folder / "model.safetensors").write_bytes(content)
    return folder


def list_module(folder: Path, kind: str, path: str = "") -> None:
    module = {"idx": 0, "name": "0", "path": path, "type": kind}
    (folder / "modules.json").write_text(json.dumps([module]))


@pytest.mark.parametrize("name", [DEFAULT_ENCODER, f"sentence-transformers/{DEFAULT_ENCODER}"])
def test_the_default_comes_with_the_installation(name: str) -> None:
    folder = bundled_encoder(name)
    assert folder is not None
    assert find_encoder(name) == folder
    assert (folder / "model.safetensors").is_file()


def test_a_folder_is_a_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mine")
    assert find_encoder(str(folder)) == folder
    assert PreparedEncoder(str(folder), cache=tmp_path / "c").model_id.startswith("mine@")
    assert not (tmp_path / "c").exists()


def test_a_name_of_the_hub_is_not_looked_up_early(tmp_path: Path) -> None:
    assert local_encoder("owner/some-model") is None
    PreparedEncoder("owner/some-model", cache=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    "name",
    [
        "./nowhere",
        "/no/such/folder",
        "a/b/c",
        "weights.bin",
        "https://evil.example/m",
        "x\x1by",
        "",
    ],
)
def test_what_can_be_no_model_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError) as caught:
        PreparedEncoder(name, cache=tmp_path / "c")
    assert caught.value.exit_code == 3
    assert caught.value.hint


def test_a_model_that_cannot_be_had_is_said_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    said: list[str] = []
    encoder = PreparedEncoder("owner/some-model", cache=tmp_path / "c", notify=said.append)
    with pytest.raises(EncoderError, match="owner/some-model could not be downloaded") as caught:
        encoder.encode(["bread"])
    assert caught.value.exit_code == 3
    assert DEFAULT_ENCODER in caught.value.hint
    assert said == ["preparing the encoder (once)"]
    assert not [path for path in (tmp_path / "c").iterdir() if path.is_dir()]


def test_a_model_that_the_hub_gave_before_is_found(tmp_path: Path) -> None:
    # The hub's client reads these variables when it is imported.
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    store = tmp_path / "hub" / "models--sentence-transformers--mine"
    snapshot = write_model(store / "snapshots" / ("a" * 40))
    (store / "refs").mkdir()
    (store / "refs" / "main").write_text("a" * 40)
    code = "from amem_cli.models.encoder_files import fetch_encoder as f; print(f('mine'))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == str(snapshot), done.stderr
    (snapshot / "model.safetensors").unlink()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "holds no encoder" in done.stderr.splitlines()[-1]


def test_a_process_that_dies_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'no memory' >&2\nexit 9\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(EncoderError, match=r"status 9.*no memory") as caught:
        PreparedEncoder(DEFAULT_ENCODER, cache=tmp_path / "c").encode(["bread"])
    assert caught.value.hint


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("a file")
    encoder = PreparedEncoder(DEFAULT_ENCODER, cache=tmp_path / "c")
    with pytest.raises(EncoderError, match="could not be prepared") as caught:
        encoder.encode(["bread"])
    assert caught.value.hint


@pytest.mark.parametrize("ending", ["bin", "pt", "pkl", "ckpt"])
def test_pickled_weights_are_refused(tmp_path: Path, ending: str) -> None:
    folder = write_model(tmp_path / "mine")
    (folder / "model.safetensors").rename(folder / f"pytorch_model.{ending}")
    with pytest.raises(EncoderError, match="pickled") as caught:
        local_encoder(str(folder))
    assert "safetensors" in caught.value.hint
    with pytest.raises(EncoderError, match="not a folder"):
        local_encoder(str(folder / f"pytorch_model.{ending}"))


def test_pickled_weights_of_a_module_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mine")
    list_module(folder, "sentence_transformers.models.Dense", "2_Dense")
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(EncoderError, match="pickled"):
        local_encoder(str(folder))


def test_training_leftovers_beside_safetensors_do_not_matter(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mine")
    (folder / "training_args.bin").write_bytes(b"\x80\x04")
    assert local_encoder(str(folder)) == folder


def test_code_of_the_models_own_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mine")
    list_module(folder, "modeling_mine.Transformer")
    with pytest.raises(EncoderError, match="own code"):
        local_encoder(str(folder))


@pytest.mark.parametrize("path", ["../other", "/etc"])
def test_a_module_outside_of_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    folder = write_model(tmp_path / "mine")
    list_module(folder, "sentence_transformers.models.Transformer", path)
    with pytest.raises(EncoderError, match="outside"):
        local_encoder(str(folder))


@pytest.mark.parametrize("text", ["{", "3", "[1]", "[" * 100_000])
def test_a_damaged_list_of_modules_is_said(tmp_path: Path, text: str) -> None:
    folder = write_model(tmp_path / "mine")
    (folder / "modules.json").write_text(text)
    with pytest.raises(EncoderError):
        local_encoder(str(folder))


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    first = write_model(tmp_path / "a")
    second = write_model(tmp_path / "b")
    trained = write_model(tmp_path / "c", b"\x02" * 8000)
    assert model_fingerprint(first) == model_fingerprint(second)
    assert model_fingerprint(first) != model_fingerprint(trained)
    (second / "README.md").write_text("says nothing")
    assert model_fingerprint(first) == model_fingerprint(second)
    (second / "config.json").write_text('{"model_type": "mpnet"}')
    assert model_fingerprint(first) != model_fingerprint(second)


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, (2).to_bytes(8, "little") + b"[]"])
def test_weights_that_are_none_have_no_fingerprint(tmp_path: Path, content: bytes) -> None:
    folder = write_model(tmp_path / "mine")
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(EncoderError, match="cannot be read"):
        model_fingerprint(folder)


def test_no_module_loads_torch_before_it_is_needed(tmp_path: Path) -> None:
    write_prepared_encoder(tmp_path / "prepared")
    code = f"""
import sys
import amem_cli.models.encoder_files
assert not {{"numpy", "onnxruntime", "tokenizers", "huggingface_hub"}} & sys.modules.keys()
import amem_cli.models.prepared
assert not {{"numpy", "onnxruntime", "tokenizers", "huggingface_hub"}} & sys.modules.keys()
import amem_cli.models.encoder_build
from amem_cli.models.encoder import OnnxEncoder
from pathlib import Path
assert "onnxruntime" not in sys.modules
OnnxEncoder(Path({str(tmp_path / "prepared")!r})).encode(["bread"])
heavy = {{"torch", "transformers", "sentence_transformers", "huggingface_hub"}}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
