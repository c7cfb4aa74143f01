"""The graph encoder batches, reports, and refuses what is damaged or not finite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from amem_cli.errors import EncoderError
from amem_cli.models import encoder as encoder_module
from amem_cli.models.encoder import OnnxEncoder
from amem_cli.models.encoder_files import GRAPH_FILE, BrokenExport
from tests.fakes.prepared_encoder import (
    DIMENSION,
    describe,
    write_prepared_encoder,
)

Tokens = npt.NDArray[np.int64]


class StubSession:
    """Gives the probe's vector first, then what it was told, and keeps the shapes it was fed."""

    def __init__(self, row: Sequence[float] | Exception) -> None:
        self._row = row
        self.shapes: list[tuple[int, ...]] = []

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="input_ids")]

    def get_outputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="last_hidden_state")]

    def run(self, outputs: list[str], feeds: dict[str, Tokens]) -> Sequence[Any]:
        assert outputs == ["last_hidden_state"]
        shape = feeds["input_ids"].shape
        first = not self.shapes
        self.shapes.append(shape)
        row = describe().expected if first else self._row
        if isinstance(row, Exception):
            raise row
        return [np.tile(np.array(row, np.float32), (*shape, 1))]


def stubbed(
    folder: Path, session: StubSession, monkeypatch: pytest.MonkeyPatch, threads: int = 1
) -> OnnxEncoder:
    monkeypatch.setattr(encoder_module, "open_graph", lambda path, at_once: session)
    return OnnxEncoder(write_prepared_encoder(folder), threads=threads)


UNIT = [1.0] + [0.0] * (DIMENSION - 1)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ([float("nan")] * DIMENSION, "not finite"),
        ([float("inf")] + [0.0] * (DIMENSION - 1), "not finite"),
        ([0.0] * DIMENSION, "unit length"),
        ([3e38] * DIMENSION, "unit length"),
        ([1.0], "instead of"),
        (RuntimeError("no memory\nat step 4"), "the model failed: no memory"),
    ],
)
def test_vectors_that_are_none_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    row: list[float] | Exception,
    complaint: str,
) -> None:
    encoder = stubbed(tmp_path, StubSession(row), monkeypatch)
    with pytest.raises(EncoderError, match=complaint) as caught:
        encoder.encode(["bread"])
    assert caught.value.exit_code == 3
    assert "\n" not in caught.value.message


def test_nothing_is_loaded_before_the_first_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = StubSession(UNIT)
    encoder = stubbed(tmp_path, session, monkeypatch)
    assert (encoder.dimension, encoder.max_tokens) == (DIMENSION, 12)
    assert encoder.encode([]).shape == (0, DIMENSION)
    assert session.shapes == []


def test_batches_hold_texts_of_like_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = StubSession(UNIT)
    texts = ["bread " * 12, "bread"] * 200
    stubbed(tmp_path, session, monkeypatch).encode(texts)
    batches = session.shapes[1:]
    assert sum(count for count, _ in batches) == len(texts)
    assert all(count * width <= 512 and count <= 64 for count, width in batches)
    assert sum(count * width for count, width in batches) < 1.1 * (200 * 12 + 200)


@pytest.mark.parametrize("threads", [1, 3])
def test_many_texts_keep_their_places(tmp_path: Path, threads: int) -> None:
    encoder = OnnxEncoder(write_prepared_encoder(tmp_path), threads=threads)
    vectors = encoder.encode(["bread"] * 1000 + ["slowly"] * 1500)
    np.testing.assert_array_equal(vectors[999], vectors[0])
    np.testing.assert_array_equal(vectors[1000], vectors[2499])
    assert vectors[0] @ vectors[2499] < 0.9


def test_an_error_in_one_thread_reaches_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = StubSession(RuntimeError("no memory"))
    with pytest.raises(EncoderError, match="no memory"):
        stubbed(tmp_path, session, monkeypatch, threads=3).encode(["bread"] * 1000)


def test_a_question_has_its_own_prompt(tmp_path: Path) -> None:
    folder = write_prepared_encoder(tmp_path, describe(query_prompt="query: "))
    encoder = OnnxEncoder(folder)
    note, same = encoder.encode(["bread", "query: bread"])
    (question,) = encoder.encode(["bread"], query=True)
    np.testing.assert_allclose(question, same, atol=1e-6)
    assert question @ note < 0.999


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', '{"format": 99}', "[" * 100_000])
def test_a_damaged_manifest_is_said(tmp_path: Path, text: str) -> None:
    (write_prepared_encoder(tmp_path) / "manifest.json").write_text(text)
    with pytest.raises(BrokenExport):
        OnnxEncoder(tmp_path)


def test_garbage_of_the_same_size_is_noticed(tmp_path: Path) -> None:
    graph = write_prepared_encoder(tmp_path) / GRAPH_FILE
    graph.write_bytes(b"\xff" * graph.stat().st_size)
    encoder = OnnxEncoder(tmp_path)
    with pytest.raises(BrokenExport, match="cannot be loaded"):
        encoder.encode(["bread"])


def test_what_the_vocabulary_lacks_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = stubbed(tmp_path, StubSession(UNIT), monkeypatch)
    words = describe().probe[0].split()
    assert encoder.readable(words[0]) == 1
    assert encoder.readable(f"{words[0]} 知识") == pytest.approx(0.5)
    assert encoder.readable("知识 管理") == 0
    assert encoder.readable("") == 1
