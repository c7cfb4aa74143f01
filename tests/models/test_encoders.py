"""Every encoder keeps the contract; the export gives what the original library gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from amem_cli.models.encoder import OnnxEncoder, SentenceTransformersEncoder
from amem_cli.models.encoder_files import DEFAULT_ENCODER
from amem_cli.models.ports import Encoder
from amem_cli.models.prepared import PreparedEncoder
from tests.contracts.encoder_contract import TEXTS, EncoderContract
from tests.fakes.encoder import FakeEncoder
from tests.fakes.prepared_encoder import write_prepared_encoder


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
    @pytest.fixture
    def encoder(self, prepared: tuple[PreparedEncoder, Path]) -> Encoder:
        return prepared[0]


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
