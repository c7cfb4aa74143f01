"""Encoders become graphs without torch, and give what sentence-transformers gives."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from amem_cli.data import table
from amem_cli.errors import EncoderError
from amem_cli.models.bert_graph import write_bert_graph
from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder, open_graph
from amem_cli.models.encoder_build import build_encoder, main, prepare
from amem_cli.models.encoder_config import NotReadable, chosen_prompts, read_encoder_config
from amem_cli.models.encoder_files import (
    DEFAULT_ENCODER,
    GRAPH_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    BrokenExport,
    bundled_encoder,
    fetch_encoder,
    model_fingerprint,
    read_manifest,
    write_manifest,
)
from amem_cli.models.prepared import PreparedEncoder
from tests.fakes.hub_server import a_hub
from tests.fakes.tiny_models import as_prepared, save_tiny_model, save_tiny_multilingual
from tests.missing_packages import without_packages

REFERENCE = Path(__file__).parents[1] / "data" / "encoder_reference.json"
# By which the vectors of indexes that exist are stored.
KNOWN_ID = "all-MiniLM-L6-v2@a81c2e2f7836f8bd"
LEAST_COSINE = 0.9999
TEXTS = ["bread", "a warm kitchen", "", "z" * 90, "Küche, während draußen der Schnee fällt", "面包"]


def built(source: Path, folder: Path, name: str = "tiny") -> OnnxEncoder:
    folder.mkdir()
    write_manifest(folder, build_encoder(name, source, folder))
    return OnnxEncoder(folder)


def test_the_bundled_encoder_gives_what_its_library_gives_for_200_texts(tmp_path: Path) -> None:
    """Vectors that an earlier version stored stay valid: they are of the same model."""
    reference = json.loads(REFERENCE.read_text(encoding="utf-8"))
    halves = np.frombuffer(base64.b64decode(reference["vectors"]), "<f2").astype(np.float32)
    expected = halves.reshape(len(reference["texts"]), reference["dimension"])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    source = bundled_encoder(DEFAULT_ENCODER)
    assert source is not None
    encoder = built(source, tmp_path / "made", DEFAULT_ENCODER)
    assert encoder.model_id == KNOWN_ID
    vectors = encoder.encode(reference["texts"])
    assert len(vectors) == 200
    assert (vectors * expected).sum(axis=1).min() >= LEAST_COSINE
    one_by_one = np.concatenate([encoder.encode([text]) for text in reference["texts"][::20]])
    assert (one_by_one * expected[::20]).sum(axis=1).min() >= LEAST_COSINE


def test_the_bundled_encoder_reads_questions_in_a_way_of_its_own(tmp_path: Path) -> None:
    source = bundled_encoder(DEFAULT_ENCODER)
    assert source is not None
    encoder = built(source, tmp_path / "made", DEFAULT_ENCODER)
    question = "Who is angry over the border?"
    asked, _ = encoder.encode_question(question)
    (plain,) = encoder.encode([question], query=True)
    assert 0.7 < asked @ plain < 0.999
    near, far = (
        encoder.encode(["Neighbours quarrel about the hedge", "The kiln is too hot"]) @ asked
    )
    assert near > far
    # All graphs share what is the same in them: the table of words is half of all weights.
    files = (source / "model.safetensors", tmp_path / "made" / WEIGHTS_FILE)
    given, written = (file.stat().st_size for file in files)
    assert given < written < 2.1 * given
    # Prepared encoders get another adapter with another format alone.
    made = json.loads((tmp_path / "made" / "manifest.json").read_text(encoding="utf-8"))
    adapters = table("bundled_encoder.toml")["adapters"].values()
    digests = [each["sha256"][:8] for each in adapters]
    assert (made["format"], digests) == (7, ["5f5dd09d", "e0f347cf"])


def test_the_bundled_encoder_reads_a_question_and_a_text_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = bundled_encoder(DEFAULT_ENCODER)
    assert source is not None
    encoder = built(source, tmp_path / "made", DEFAULT_ENCODER)
    texts = [
        "Hedge\nOur neighbours quarrel about the hedge between the gardens since it was cut.",
        "Kiln\nThe kiln is too hot, the glaze ran off three bowls.",
        "Hedge\nBeech keeps its leaves in winter, hornbeam does not.",
        "",
        "A long one. " * 300,
    ]
    odds = encoder.relevance("Who is angry over the border of the garden?", texts)
    assert odds.shape == (len(texts),)
    assert odds.argmax() == 0
    # Each is read by itself, whatever stands beside it.
    alone = [encoder.relevance("Who is angry over the border of the garden?", [t]) for t in texts]
    np.testing.assert_allclose(odds, np.concatenate(alone), atol=1e-4)
    assert encoder.relevance("", ["text"]).shape == (1,)
    other = tmp_path / "other"
    other.write_bytes(b"another file, too short for what its beginning says")
    monkeypatch.setattr("amem_cli.models.pair_graph.file_path", lambda _: other)
    with pytest.raises(BrokenExport, match="cannot be read"):
        OnnxEncoder(tmp_path / "made").relevance("Why?", ["text"])
    assert encoder.relevance("Why?", []).shape == (0,)


def test_a_damaged_adapter_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"another file")
    monkeypatch.setattr("amem_cli.models.encoder_build.file_path", lambda _: other)
    with pytest.raises(EncoderError, match="missing or damaged") as caught:
        prepare(DEFAULT_ENCODER, tmp_path / "prepared")
    assert "Install" in caught.value.hint
    assert not (tmp_path / "prepared").exists()


@pytest.mark.parametrize(("from_end", "what"), [(47_000_000, "questions"), (4_000_000, "pairs")])
def test_damage_to_what_an_adapter_changed_is_noticed(
    tmp_path: Path, from_end: int, what: str
) -> None:
    source = bundled_encoder(DEFAULT_ENCODER)
    assert source is not None
    encoder = built(source, tmp_path / "made", DEFAULT_ENCODER)
    with (tmp_path / "made" / WEIGHTS_FILE).open("r+b") as weights:
        weights.seek(-from_end, os.SEEK_END)
        weights.write(b"\x3f" * 1_000_000)
    assert encoder.encode(["bread"]).shape == (1, 384)
    uses: dict[str, Callable[[], object]] = {
        "questions": lambda: encoder.encode_question("bread"),
        "pairs": lambda: encoder.relevance("bread", ["bread"]),
    }
    broken = uses.pop(what)
    with pytest.raises(BrokenExport, match="wrong numbers"):
        broken()
    for whole in uses.values():
        whole()


@pytest.mark.models
@pytest.mark.slow
def test_an_adapter_changes_the_weights_that_it_names(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    model = save_tiny_model(tmp_path / "tiny")
    weights = load_file(model / "model.safetensors")
    layer = "encoder.layer.0.intermediate.dense"
    (changed,) = (name for name in weights if name.endswith(f"{layer}.weight"))
    outputs, inputs = weights[changed].shape
    torch.manual_seed(0)
    up, down = torch.randn(outputs, 2), torch.randn(2, inputs)
    save_file({f"{layer}.up": up, f"{layer}.down": down}, tmp_path / "adapter")
    (tmp_path / "with").mkdir()
    adapters = {"adapted.onnx": tmp_path / "adapter"}
    write_bert_graph(read_encoder_config("", model), tmp_path / "with", adapters)
    weights[changed] += up @ down
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    (tmp_path / "merged").mkdir()
    write_bert_graph(read_encoder_config("", model), tmp_path / "merged")
    ids = np.array([[2, 5, 3]], np.int64)
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    read = {
        file: open_graph(tmp_path / file).run(None, given)[0]
        for file in (f"with/{GRAPH_FILE}", "with/adapted.onnx", f"merged/{GRAPH_FILE}")
    }
    plain, adapted, merged = read.values()
    np.testing.assert_allclose(adapted, merged, atol=1e-5)
    assert abs(plain - merged).max() > 0.1


@pytest.mark.models
@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("architecture", ["bert", "xlm-roberta", "own words"])
def test_models_of_the_family_are_built_from_their_weights(
    tmp_path: Path, architecture: str, pooling: str
) -> None:
    if architecture == "own words":
        model = save_tiny_model(tmp_path / "tiny", pooling=pooling)
    else:
        model = save_tiny_multilingual(tmp_path / "tiny", architecture, pooling=pooling)
    encoder = built(model, tmp_path / "made", str(model))
    library = SentenceTransformersEncoder(tmp_path / "made")
    vectors = encoder.encode(TEXTS)
    np.testing.assert_allclose(vectors, library.encode(TEXTS), atol=1e-5)
    assert (vectors @ vectors.T).min() < 0.9


@pytest.mark.models
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_read(tmp_path: Path, kind: str) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    model = save_tiny_model(tmp_path / "tiny")
    weights = load_file(model / "model.safetensors")
    halves = {name: tensor.to(getattr(torch, kind)) for name, tensor in weights.items()}
    save_file(halves, model / "model.safetensors", metadata={"format": "pt"})
    encoder = built(model, tmp_path / "made", str(model))
    library = SentenceTransformersEncoder(tmp_path / "made")
    np.testing.assert_allclose(encoder.encode(TEXTS), library.encode(TEXTS), atol=1e-5)


def publish_graph(model: Path, *, types: bool = True, opset: int = 14) -> None:
    """Write `onnx/model.onnx` as the exporters of publishers do."""
    import torch
    from transformers import AutoModel

    loaded: Any = AutoModel.from_pretrained(str(model), attn_implementation="eager").eval()

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = loaded

        def forward(self, *given: torch.Tensor) -> Any:
            names = ("input_ids", "attention_mask", "token_type_ids")
            return self.model(**dict(zip(names, given, strict=False))).last_hidden_state

    output = "last_hidden_state"
    names = ["input_ids", "attention_mask", "token_type_ids"][: 3 if types else 2]
    example = (torch.tensor([[2, 5, 3], [2, 3, 0]]), torch.tensor([[1, 1, 1], [1, 1, 0]]))
    (model / "onnx").mkdir()
    torch.onnx.export(
        Plain().eval(),
        (*example, torch.zeros(2, 3, dtype=torch.long))[: len(names)],
        str(model / "onnx" / "model.onnx"),
        input_names=names,
        output_names=[output],
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*names, output]},
        opset_version=opset,
        dynamo=False,
    )


def split_weights(graph: Path) -> None:
    """Put a graph's weights into a file beside it, as publishers do with those of large models."""
    whole = onnx.load(str(graph))
    graph.unlink()
    onnx.save_model(
        whole,
        str(graph),
        save_as_external_data=True,
        location=f"{graph.name}_data",
        size_threshold=100,
    )


@pytest.mark.models
@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "pooling", "opset", "apart"),
    [
        ("bert", "cls", 11, False),
        ("mpnet", "mean", 17, True),
    ],
)
def test_the_graph_of_a_publisher_is_used_without_torch(
    tmp_path: Path, architecture: str, pooling: str, opset: int, apart: bool
) -> None:
    prompts = {"query": "query: ", "passage": "passage: "}
    model = save_tiny_multilingual(
        tmp_path / "tiny", architecture, pooling=pooling, prompts=prompts
    )
    publish_graph(model, types=architecture == "bert", opset=opset)
    if apart:
        split_weights(model / "onnx" / "model.onnx")
    library = import_module("sentence_transformers").SentenceTransformer(str(model), device="cpu")
    expected = {name: library.encode(TEXTS, prompt=prompt) for name, prompt in prompts.items()}
    (model / "model.safetensors").unlink()
    files = {
        path.relative_to(model).as_posix(): path.read_bytes()
        for path in model.rglob("*")
        if path.is_file()
    }
    home = tmp_path / "home"
    with a_hub("owner/tiny", files) as hub:
        variables = {"HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0"}
        variables |= {"HF_HUB_DISABLE_XET": "1"}
        arguments = ["owner/tiny", str(tmp_path / "made"), ""]
        done = subprocess.run(
            [sys.executable, "-m", "amem_cli.models.encoder_build", *arguments],
            env=without_packages(tmp_path, "torch", "sentence_transformers") | variables,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    encoder = OnnxEncoder(tmp_path / "made")
    for name, vectors in expected.items():
        query = name == "query"
        wanted = as_prepared(tmp_path / "made", vectors, query=query)
        np.testing.assert_allclose(encoder.encode(TEXTS, query=query), wanted, atol=1e-5)


@pytest.mark.models
@pytest.mark.slow
def test_the_graph_of_a_publisher_decides_which_model_it_is(tmp_path: Path) -> None:
    model = save_tiny_multilingual(tmp_path / "tiny", "bert")
    with_weights = model_fingerprint(model)
    publish_graph(model)
    assert model_fingerprint(model) == with_weights
    (model / "model.safetensors").unlink()
    first = model_fingerprint(model)
    graph = model / "onnx" / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:-5] + b"other")
    assert len({with_weights, first, model_fingerprint(model)}) == 3
    assert fetch_encoder(str(model)) == model


@pytest.mark.models
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hidden_act": "relu"}, "its activation is relu"),
        ({"position_embedding_type": "relative_key"}, "its positions are not absolute"),
        ({"auto_map": {"AutoModel": "code.Model"}}, "code of its own"),
    ],
)
def test_what_cannot_be_built_is_said(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    model = save_tiny_multilingual(tmp_path / "tiny", "bert")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(NotReadable, match=reason):
        built(model, tmp_path / "made")


@pytest.mark.models
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mpnet", "max", "dense", "without prompt"])
def test_what_cannot_be_built_is_run_by_its_library(tmp_path: Path, kind: str) -> None:
    prompts = {"query": "query: ", "passage": "passage: "}
    if kind == "mpnet":
        model = save_tiny_multilingual(tmp_path / "tiny", kind, prompts=prompts)
    else:
        model = save_tiny_model(
            tmp_path / "tiny",
            pooling="max" if kind == "max" else "mean",
            dense=kind == "dense",
            include_prompt=kind != "without prompt",
            prompts=prompts,
        )
    said: list[str] = []
    for _ in range(2):
        encoder = PreparedEncoder(str(model), cache=tmp_path / "c", notify=said.append)
        assert encoder.dimension == (12 if kind == "dense" else 32)
        (folder,) = (path for path in (tmp_path / "c").iterdir() if path.is_dir())
        assert not (folder / GRAPH_FILE).exists()
        library = import_module("sentence_transformers").SentenceTransformer(str(model))
        for name, prompt in prompts.items():
            query = name == "query"
            expected = library.encode(TEXTS, prompt=prompt, normalize_embeddings=True)
            wanted = as_prepared(folder, expected, query=query)
            np.testing.assert_allclose(encoder.encode(TEXTS, query=query), wanted, atol=1e-5)
    assert len(said) == 2
    assert "run by sentence-transformers, which takes longer: " in said[1]


@pytest.mark.models
@pytest.mark.slow
def test_a_model_for_very_long_texts_reads_a_passage_of_them(tmp_path: Path) -> None:
    model = save_tiny_multilingual(
        tmp_path / "tiny", "xlm-roberta", pooling="cls", positions=8194, max_tokens=8192
    )
    encoder = built(model, tmp_path / "made")
    assert encoder.max_tokens == 1024
    full = "面" * 1022
    first, second = encoder.encode([full, full + "包" * 500])
    np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.mark.models
@pytest.mark.slow
@pytest.mark.skipif(find_spec("sentencepiece") is not None, reason="sentencepiece is installed")
def test_the_package_that_a_bare_sentencepiece_tokenizer_needs_is_named(tmp_path: Path) -> None:
    model = save_tiny_multilingual(tmp_path / "tiny", "xlm-roberta")
    (model / "tokenizer.json").rename(model / "sentencepiece.bpe.model")
    (model / "tokenizer_config.json").write_text('{"tokenizer_class": "XLMRobertaTokenizer"}')
    with pytest.raises(EncoderError, match="cannot be loaded") as caught:
        prepare(str(model), tmp_path / "prepared")
    assert "pip install sentencepiece" in caught.value.hint
    assert not (tmp_path / "prepared").exists()


@pytest.mark.parametrize("name", ["intfloat/multilingual-e5-small", "/x/e5-base-v2", "e5like"])
def test_models_that_need_prompts_and_do_not_say_so_get_them(name: str) -> None:
    asked = ("passage: ", "query: ") if name != "e5like" else ("", "")
    assert chosen_prompts(name, {"query": ""}, "") == asked


@pytest.mark.models
@pytest.mark.slow
def test_two_at_once_prepare_one(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "tiny")
    folder = tmp_path / "cache" / "tiny"
    folder.parent.mkdir()
    (folder.parent / ".tiny.left").mkdir()

    def one(_: int) -> str:
        prepare(str(model), folder)
        return read_manifest(folder).stamp

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(one, range(2))
    assert first == second
    assert {path.name for path in folder.parent.iterdir()} - {"tiny.lock"} == {"tiny"}
    prepare(str(model), folder, broken=first)
    assert read_manifest(folder).stamp != first


def test_the_process_answers_failures_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([str(tmp_path / "nowhere"), str(tmp_path / "prepared"), ""])
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status == 3
    assert "there is no encoder" in said[0]
    assert said[1]


def test_a_tokenizer_whose_files_disagree_is_left_to_its_library(tmp_path: Path) -> None:
    source = bundled_encoder(DEFAULT_ENCODER)
    assert source is not None
    model = tmp_path / "model"
    model.mkdir()
    for path in source.rglob("*.json"):
        (model / path.relative_to(source)).parent.mkdir(exist_ok=True)
        (model / path.relative_to(source)).write_bytes(path.read_bytes())
    assert read_encoder_config("x", model).facts["max_tokens"] == 256
    settings = json.loads((model / "tokenizer_config.json").read_text())
    changed = json.dumps(settings | {"do_lower_case": False})
    (model / "tokenizer_config.json").write_text(changed)
    with pytest.raises(NotReadable, match="disagree on do_lower_case"):
        read_encoder_config("x", model)
    (model / TOKENIZER_FILE).unlink()
    with pytest.raises(NotReadable, match=r"no tokenizer\.json"):
        read_encoder_config("x", model)
