"""Models of every make are exported and proved, or left to their own library with a reason."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from amem_cli.errors import EncoderError
from amem_cli.models import encoder_export
from amem_cli.models.common_part import COMMON_FILE, MEAN_FILE
from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder
from amem_cli.models.encoder_export import EncoderExporter, main, prepare
from amem_cli.models.encoder_files import (
    GRAPH_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    Manifest,
    read_manifest,
    write_manifest,
)
from amem_cli.models.prepared import PreparedEncoder
from tests.fakes.tiny_models import as_prepared, save_tiny_model, save_tiny_multilingual

pytestmark = pytest.mark.slow

TEXTS = ["bread", "a warm kitchen", "", "z" * 90, "what is bread?"]


@pytest.mark.models
@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "lasttoken", "weightedmean"])
def test_every_pooling_is_exported(tmp_path: Path, pooling: str) -> None:
    model = save_tiny_model(tmp_path / "tiny", pooling=pooling)
    prepare(str(model), tmp_path / "prepared")
    manifest = read_manifest(tmp_path / "prepared")
    assert not manifest.reason
    assert (manifest.dimension, manifest.max_tokens) == (32, 16)
    kept = {"manifest.json", TOKENIZER_FILE, GRAPH_FILE, WEIGHTS_FILE}
    kept |= {COMMON_FILE if OnnxEncoder(tmp_path / "prepared").is_spread else MEAN_FILE}
    assert {path.name for path in (tmp_path / "prepared").iterdir()} == kept
    assert set(manifest.sizes) == kept - {"manifest.json"}
    graph = OnnxEncoder(tmp_path / "prepared").encode(TEXTS)
    library = SentenceTransformersEncoder(tmp_path / "prepared").encode(TEXTS)
    np.testing.assert_allclose(graph, library, atol=1e-5)
    assert (graph @ graph.T).min() < 0.9


@pytest.mark.models
def test_layers_and_prompts_are_kept(tmp_path: Path) -> None:
    prompts = {"query": "query: ", "passage": "passage: "}
    model = save_tiny_model(tmp_path / "tiny", dense=True, prompts=prompts)
    prepare(str(model), tmp_path / "prepared")
    manifest = read_manifest(tmp_path / "prepared")
    assert not manifest.reason
    assert (manifest.document_prompt, manifest.query_prompt) == ("passage: ", "query: ")
    encoder = OnnxEncoder(tmp_path / "prepared")
    library = SentenceTransformersEncoder(tmp_path / "prepared")
    assert encoder.dimension == 12
    for query in (False, True):
        vectors = encoder.encode(TEXTS, query=query)
        np.testing.assert_allclose(vectors, library.encode(TEXTS, query=query), atol=1e-5)
    assert abs(encoder.encode(TEXTS) - encoder.encode(TEXTS, query=True)).max() > 0.01


MULTILINGUAL = [
    *("我们在厨房里做面包", "台所でパンを焼く", "부엌에서 빵을 굽는다", "Küche", "", "ｶﾅ ＡＢＣ"),
    "Wir backen Brot in der Küche, während draußen der Schnee fällt. " * 9,
]


@pytest.mark.models
@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("architecture", ["xlm-roberta", "bert", "distilbert", "mpnet"])
def test_multilingual_models_give_what_their_library_gives(
    tmp_path: Path, architecture: str, pooling: str
) -> None:
    from sentence_transformers import SentenceTransformer

    prompts = {"query": "query: ", "passage": "passage: "}
    model = save_tiny_multilingual(
        tmp_path / "tiny", architecture, pooling=pooling, prompts=prompts
    )
    prepare(str(model), tmp_path / "prepared")
    manifest = read_manifest(tmp_path / "prepared")
    assert not manifest.reason
    assert (manifest.max_tokens, manifest.pad_id) == (24, 1)
    encoder = OnnxEncoder(tmp_path / "prepared")
    original = SentenceTransformer(str(model), device="cpu")
    for query, prompt in ((False, "passage: "), (True, "query: ")):
        vectors = encoder.encode(MULTILINGUAL, query=query)
        expected = original.encode(MULTILINGUAL, prompt=prompt)
        expected = as_prepared(tmp_path / "prepared", expected)
        assert (vectors * expected).sum(axis=1).min() > 0.9999
        assert (vectors @ vectors.T).min() < 0.9


@pytest.mark.models
def test_a_model_for_very_long_texts_reads_a_passage_of_them(tmp_path: Path) -> None:
    model = save_tiny_multilingual(
        tmp_path / "tiny", "xlm-roberta", pooling="cls", positions=8194, max_tokens=8192
    )
    prepare(str(model), tmp_path / "prepared")
    assert not read_manifest(tmp_path / "prepared").reason
    encoder = OnnxEncoder(tmp_path / "prepared")
    assert encoder.max_tokens == 1024
    full = "面" * 1022
    first, second = encoder.encode([full, full + "包" * 500])
    np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.mark.models
@pytest.mark.skipif(find_spec("sentencepiece") is not None, reason="sentencepiece is installed")
def test_the_package_that_a_bare_sentencepiece_tokenizer_needs_is_named(tmp_path: Path) -> None:
    model = save_tiny_multilingual(tmp_path / "tiny", "xlm-roberta")
    (model / "tokenizer.json").rename(model / "sentencepiece.bpe.model")
    (model / "tokenizer_config.json").write_text('{"tokenizer_class": "XLMRobertaTokenizer"}')
    with pytest.raises(EncoderError, match="cannot be loaded") as caught:
        prepare(str(model), tmp_path / "prepared")
    assert "pip install sentencepiece" in caught.value.hint


@pytest.mark.models
@pytest.mark.parametrize("name", ["multilingual-e5-small", "e5-base-v2", "some-e5like-model"])
def test_models_that_need_prompts_and_do_not_say_so_get_them(tmp_path: Path, name: str) -> None:
    model = save_tiny_multilingual(tmp_path / "tiny", "xlm-roberta").rename(tmp_path / name)
    prepare(str(model), tmp_path / "prepared")
    manifest = read_manifest(tmp_path / "prepared")
    asked = ("passage: ", "query: ") if name != "some-e5like-model" else ("", "")
    assert (manifest.document_prompt, manifest.query_prompt) == asked


@pytest.mark.models
def test_what_cannot_be_exported_is_run_by_its_library(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "tiny", include_prompt=False)
    (tmp_path / "c").mkdir()
    made: list[str] = []

    def preparation(model: str, folder: Path, *, broken: str = "") -> None:
        made.append(model)
        prepare(model, folder, broken=broken)

    done: list[int] = []
    for _ in range(2):
        encoder = PreparedEncoder(str(model), cache=tmp_path / "c", preparation=preparation)
        vectors = encoder.encode(TEXTS, progress=done.append)
        assert vectors.shape == (len(TEXTS), 32)
    assert done == [len(TEXTS)] * 2
    assert made == [str(model)]
    (folder,) = (path for path in (tmp_path / "c").iterdir() if path.is_dir())
    manifest = read_manifest(folder)
    assert "prompt" in manifest.reason
    assert not (folder / GRAPH_FILE).exists()


@pytest.mark.models
@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (TypeError("forward() takes 2 arguments"), 3),
        (AttributeError("no attribute 'x'"), 3),
        (RuntimeError("Exporting the operator 'aten::odd' is not supported"), 1),
        (ValueError("no such layer"), 1),
    ],
)
def test_only_what_was_found_of_the_model_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, tries: int
) -> None:
    model = save_tiny_multilingual(tmp_path / "tiny", "mpnet")
    (tmp_path / "c").mkdir()
    tried: list[Path] = []
    said: list[str] = []

    class Failing(EncoderExporter):
        def export(self, folder: Path) -> Manifest:
            tried.append(folder)
            (folder / "half").write_bytes(b"half a graph")
            raise error

    monkeypatch.setattr(encoder_export, "EncoderExporter", Failing)
    for _ in range(3):
        encoder = PreparedEncoder(
            str(model), cache=tmp_path / "c", notify=said.append, preparation=prepare
        )
        assert encoder.encode(TEXTS).shape == (len(TEXTS), 32)
    assert len(tried) == tries
    (folder,) = (path for path in (tmp_path / "c").iterdir() if path.is_dir())
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]
    assert any(type(error).__name__ in line for line in said) is (tries == 3)
    monkeypatch.undo()
    prepare(str(model), folder)
    assert bool(read_manifest(folder).reason) is (tries == 1)
    # Another version of a library, or of amem, tries again.
    manifest = read_manifest(folder)
    older = {**manifest.versions, "amem-cli": "0.0.1"}
    write_manifest(folder, replace(manifest, versions=older))
    prepare(str(model), folder)
    assert not read_manifest(folder).reason


@pytest.mark.models
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


@pytest.mark.models
def test_a_damaged_model_is_said_and_not_written_down(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "tiny")
    (model / "config.json").write_text('{"model_type": "no such"}')
    encoder = PreparedEncoder(str(model), cache=tmp_path / "c")
    with pytest.raises(EncoderError, match="cannot be loaded") as caught:
        encoder.encode(["bread"])
    assert caught.value.exit_code == 3
    assert not [path for path in (tmp_path / "c").iterdir() if path.is_dir()]


def test_the_process_answers_failures_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([str(tmp_path / "nowhere"), str(tmp_path / "prepared"), ""])
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status == 3
    assert "there is no encoder" in said["error"]
    assert said["hint"]


def test_a_folder_that_cannot_be_made_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    status = main([str(tmp_path / "nowhere"), str(tmp_path / "file" / "prepared"), ""])
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status == 3
    assert "could not be prepared" in said["error"]
