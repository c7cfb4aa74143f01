"""An encoder is prepared when it is needed, or damaged, and every encoder keeps the contract."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from amem_cli.errors import EncoderError
from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder
from amem_cli.models.encoder_files import (
    DEFAULT_ENCODER,
    GRAPH_FILE,
    WEIGHTS_FILE,
    BrokenExport,
    read_manifest,
)
from amem_cli.models.ports import Encoder
from amem_cli.models.prepared import PreparedEncoder
from tests.contracts.encoder_contract import TEXTS, EncoderContract
from tests.fakes.encoder import FakeEncoder
from tests.fakes.prepared_encoder import (
    DIMENSION,
    describe,
    embeddings,
    write_graph,
    write_prepared_encoder,
)


class FakePreparation:
    """Writes the tiny graph and counts how often; may write a damaged one."""

    def __init__(self, *, damaged: bool = False) -> None:
        self._damaged = damaged
        self.replaced: list[str] = []
        self.folder = Path()

    def __call__(self, model: str, folder: Path, *, broken: str = "") -> None:
        self.replaced.append(broken)
        self.folder = folder
        stamp = f"stamp {len(self.replaced)}"
        write_prepared_encoder(folder, replace(describe(), model=model, stamp=stamp))
        if self._damaged:
            write_graph(folder / GRAPH_FILE, embeddings(seed=6))


def opened(cache: Path, preparation: FakePreparation, said: list[str]) -> PreparedEncoder:
    return PreparedEncoder("owner/tiny", cache=cache, notify=said.append, preparation=preparation)


def test_it_is_prepared_once_and_when_it_is_needed(tmp_path: Path) -> None:
    said: list[str] = []
    preparation = FakePreparation()
    encoder = opened(tmp_path / "c", preparation, said)
    assert preparation.replaced == said == []
    assert (encoder.dimension, encoder.max_tokens) == (DIMENSION, 12)
    assert encoder.model_id == "tiny@ffffffffffffffff"
    assert encoder.encode(["bread"]).shape == (1, DIMENSION)
    assert opened(tmp_path / "c", preparation, said).dimension == DIMENSION
    assert preparation.replaced == [""]
    assert said == ["preparing the encoder (once)"]


def test_what_is_loaded_ahead_changes_no_answer_and_prepares_nothing(tmp_path: Path) -> None:
    preparation = FakePreparation()
    encoder = opened(tmp_path, preparation, [])
    encoder.load_ahead()
    assert preparation.replaced == []
    expected = encoder.encode(["bread"])
    ahead = opened(tmp_path, preparation, [])
    ahead.load_ahead()
    assert (ahead.encode(["bread"]) == expected).all()
    write_graph(preparation.folder / GRAPH_FILE, embeddings(seed=6))
    damaged = opened(tmp_path, preparation, [])
    damaged.load_ahead()
    assert (damaged.encode(["bread"]) == expected).all()
    assert preparation.replaced == ["", "stamp 1"]


def test_models_of_one_name_have_their_own_folders(tmp_path: Path) -> None:
    preparation = FakePreparation()
    folders = set()
    for model in ("one/tiny", "two/tiny"):
        encoder = PreparedEncoder(model, cache=tmp_path, preparation=preparation)
        encoder.encode(["bread"])
        folders.add(preparation.folder)
    assert len(folders) == 2


def test_a_cut_file_is_made_again(tmp_path: Path) -> None:
    preparation = FakePreparation()
    opened(tmp_path, preparation, []).encode(["bread"])
    graph = preparation.folder / GRAPH_FILE
    graph.write_bytes(graph.read_bytes()[:100])
    assert opened(tmp_path, preparation, []).encode(["bread"]).shape == (1, DIMENSION)
    assert preparation.replaced == ["", ""]


def test_a_damaged_graph_is_made_again(tmp_path: Path) -> None:
    preparation = FakePreparation()
    opened(tmp_path, preparation, []).encode(["bread"])
    write_graph(preparation.folder / GRAPH_FILE, embeddings(seed=6))
    said: list[str] = []
    assert opened(tmp_path, preparation, said).encode(["bread"]).shape == (1, DIMENSION)
    assert preparation.replaced == ["", "stamp 1"]
    assert len(said) == 1


def test_what_stays_damaged_is_said(tmp_path: Path) -> None:
    preparation = FakePreparation(damaged=True)
    with pytest.raises(EncoderError, match="wrong numbers"):
        opened(tmp_path, preparation, []).encode(["bread"])
    assert preparation.replaced == ["", "stamp 1"]


def test_a_model_that_is_run_by_its_library_needs_its_own_files(tmp_path: Path) -> None:
    preparation = FakePreparation()
    opened(tmp_path, preparation, []).encode(["bread"])
    moved = replace(describe(), stamp="moved", reason="odd", source=str(tmp_path / "gone"))
    write_prepared_encoder(preparation.folder, moved)
    assert opened(tmp_path, preparation, []).dimension == DIMENSION
    assert preparation.replaced == ["", ""]
    assert not read_manifest(preparation.folder).reason


def test_a_preparation_that_made_nothing_is_said(tmp_path: Path) -> None:
    def nothing(model: str, folder: Path, *, broken: str = "") -> None:
        assert model == "owner/tiny"

    encoder = PreparedEncoder("owner/tiny", cache=tmp_path, preparation=nothing)
    with pytest.raises(BrokenExport):
        encoder.encode(["bread"])


class TestFakeEncoder(EncoderContract):
    @pytest.fixture
    def encoder(self) -> Encoder:
        return FakeEncoder()


class TestTinyGraph(EncoderContract):
    @pytest.fixture
    def encoder(self, tmp_path: Path) -> Encoder:
        return OnnxEncoder(write_prepared_encoder(tmp_path), threads=2)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[PreparedEncoder, Path]:
    """The default encoder, prepared once by a process of its own, and its folder."""
    cache = tmp_path_factory.mktemp("cache")
    encoder = PreparedEncoder(DEFAULT_ENCODER, cache=cache)
    assert encoder.dimension == 384
    (folder,) = (path for path in cache.iterdir() if path.is_dir())
    return encoder, folder


@pytest.mark.models
class TestDefaultEncoder(EncoderContract):
    least_cosine = 0.7

    @pytest.fixture
    def encoder(self, prepared: tuple[PreparedEncoder, Path]) -> Encoder:
        return prepared[0]


@pytest.mark.models
@pytest.mark.slow
def test_what_an_adapter_changed_is_made_again_if_it_alone_is_damaged(tmp_path: Path) -> None:
    said: list[str] = []
    encoder = PreparedEncoder(DEFAULT_ENCODER, cache=tmp_path, notify=said.append)
    notes = encoder.encode(["bread"])
    (weights,) = tmp_path.glob(f"*/{WEIGHTS_FILE}")
    with weights.open("r+b") as stream:
        for from_end in (47_000_000, 4_000_000):
            stream.seek(-from_end, os.SEEK_END)
            stream.write(b"\x3f" * 1_000_000)
    vector, _ = encoder.encode_question("bread")
    assert len(said) == 2
    assert encoder.relevance("bread", ["bread"]).shape == (1,)
    assert len(said) == 2
    assert notes[0] @ vector > 0.7
    np.testing.assert_array_equal(encoder.encode(["bread"]), notes)


@pytest.fixture(scope="module")
def library(prepared: tuple[PreparedEncoder, Path]) -> Encoder:
    """The same model, run by its own library."""
    return SentenceTransformersEncoder(prepared[1])


@pytest.mark.models
class TestSentenceTransformersEncoder(EncoderContract):
    @pytest.fixture
    def encoder(self, library: Encoder) -> Encoder:
        return library

    def test_it_equals_the_graph(
        self, encoder: Encoder, prepared: tuple[PreparedEncoder, Path]
    ) -> None:
        assert encoder.model_id == prepared[0].model_id
        np.testing.assert_allclose(encoder.encode(TEXTS), prepared[0].encode(TEXTS), atol=1e-5)
