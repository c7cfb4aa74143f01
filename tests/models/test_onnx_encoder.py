"""The graph encoder batches, reports, and refuses what is damaged or not finite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from amem_cli.errors import EncoderError
from amem_cli.models.encoder import OnnxEncoder
from amem_cli.models.encoder_files import GRAPH_FILE, BrokenExport
from tests.fakes.prepared_encoder import (
    DIMENSION,
    describe,
    embeddings,
    write_graph,
    write_prepared_encoder,
)

Tokens = npt.NDArray[np.int64]


class StubSession:
    """Gives the probe's vector first, then what it was told, and keeps the shapes it was fed."""

    def __init__(self, row: Sequence[float] | Exception) -> None:
        self._row = row
        self.shapes: list[tuple[int, ...]] = []

    def run(self, outputs: None, feeds: dict[str, Tokens]) -> Sequence[Any]:
        shape = feeds["input_ids"].shape
        assert feeds["attention_mask"].shape == shape
        first = not self.shapes
        self.shapes.append(shape)
        if first:
            return [np.array([describe().expected], np.float32)]
        if isinstance(self._row, Exception):
            raise self._row
        return [np.array([self._row] * shape[0], np.float32)]


def stubbed(folder: Path, session: StubSession) -> OnnxEncoder:
    def open_session(path: Path) -> StubSession:
        assert path == folder / GRAPH_FILE
        return session

    return OnnxEncoder(write_prepared_encoder(folder), threads=1, open_session=open_session)


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
    tmp_path: Path, row: list[float] | Exception, complaint: str
) -> None:
    encoder = stubbed(tmp_path, StubSession(row))
    with pytest.raises(EncoderError, match=complaint) as caught:
        encoder.encode(["bread"])
    assert caught.value.exit_code == 3
    assert "\n" not in caught.value.message


def test_nothing_is_loaded_before_the_first_text(tmp_path: Path) -> None:
    session = StubSession(UNIT)
    encoder = stubbed(tmp_path, session)
    assert (encoder.dimension, encoder.max_tokens) == (DIMENSION, 12)
    assert encoder.encode([]).shape == (0, DIMENSION)
    assert session.shapes == []


def test_batches_hold_texts_of_like_length(tmp_path: Path) -> None:
    session = StubSession(UNIT)
    texts = ["bread " * 12, "bread"] * 200
    stubbed(tmp_path, session).encode(texts)
    batches = session.shapes[1:]
    assert sum(count for count, _ in batches) == len(texts)
    assert all(count * width <= 512 and count <= 64 for count, width in batches)
    assert sum(count * width for count, width in batches) < 1.1 * (200 * 12 + 200)


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_counts_every_text(tmp_path: Path, threads: int) -> None:
    encoder = OnnxEncoder(write_prepared_encoder(tmp_path), threads=threads)
    done: list[int] = []
    vectors = encoder.encode(["bread"] * 1000 + ["slowly"] * 1500, progress=done.append)
    assert sum(done) == 2500
    assert len(done) > 10
    np.testing.assert_array_equal(vectors[999], vectors[0])
    np.testing.assert_array_equal(vectors[1000], vectors[2499])
    assert vectors[0] @ vectors[2499] < 0.9


def test_an_error_in_one_thread_reaches_the_caller(tmp_path: Path) -> None:
    write_prepared_encoder(tmp_path)
    session = StubSession(RuntimeError("no memory"))
    encoder = OnnxEncoder(tmp_path, threads=3, open_session=lambda path: session)
    with pytest.raises(EncoderError, match="no memory"):
        encoder.encode(["bread"] * 1000)


def test_a_question_has_its_own_prompt(tmp_path: Path) -> None:
    folder = write_prepared_encoder(tmp_path, describe(query_prompt="query: "))
    encoder = OnnxEncoder(folder)
    note, same = encoder.encode(["bread", "query: bread"])
    (question,) = encoder.encode(["bread"], query=True)
    np.testing.assert_allclose(question, same, atol=1e-6)
    assert question @ note < 0.999


def test_a_missing_preparation_is_said(tmp_path: Path) -> None:
    with pytest.raises(BrokenExport):
        OnnxEncoder(tmp_path / "nothing")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', '{"format": 99}', "[" * 100_000])
def test_a_damaged_manifest_is_said(tmp_path: Path, text: str) -> None:
    (write_prepared_encoder(tmp_path) / "manifest.json").write_text(text)
    with pytest.raises(BrokenExport):
        OnnxEncoder(tmp_path)


def test_an_encoder_that_an_earlier_version_exported_still_opens(tmp_path: Path) -> None:
    manifest = write_prepared_encoder(tmp_path) / "manifest.json"
    expected = OnnxEncoder(tmp_path).encode(["bread"])
    data = json.loads(manifest.read_text())
    (probe,), vector = data.pop("probe"), data.pop("expected")
    del data["with_types"]
    earlier = {"exported": True, "pooling": "mean", "normalized": True, "format": 2}
    manifest.write_text(
        json.dumps({**data, "probe_text": probe, "probe_vector": vector, **earlier})
    )
    np.testing.assert_array_equal(OnnxEncoder(tmp_path).encode(["bread"]), expected)
    assert OnnxEncoder(tmp_path).model_id == "tiny@ffffffffffffffff"


def test_a_cut_file_is_noticed_before_it_is_loaded(tmp_path: Path) -> None:
    graph = write_prepared_encoder(tmp_path) / GRAPH_FILE
    graph.write_bytes(graph.read_bytes()[:-20])
    with pytest.raises(BrokenExport, match="damaged"):
        OnnxEncoder(tmp_path)


def test_garbage_of_the_same_size_is_noticed(tmp_path: Path) -> None:
    graph = write_prepared_encoder(tmp_path) / GRAPH_FILE
    graph.write_bytes(b"\xff" * graph.stat().st_size)
    encoder = OnnxEncoder(tmp_path)
    with pytest.raises(BrokenExport, match="cannot be loaded"):
        encoder.encode(["bread"])


def test_other_weights_are_noticed(tmp_path: Path) -> None:
    write_graph(write_prepared_encoder(tmp_path) / GRAPH_FILE, embeddings(seed=6))
    with pytest.raises(BrokenExport, match="wrong numbers"):
        OnnxEncoder(tmp_path).encode(["bread"])


def test_two_ways_to_name_a_model_are_one_id(tmp_path: Path) -> None:
    folder = write_prepared_encoder(tmp_path, replace(describe(), model="owner/tiny"))
    assert OnnxEncoder(folder).model_id == "tiny@ffffffffffffffff"


def test_what_the_vocabulary_lacks_cannot_be_read(tmp_path: Path) -> None:
    encoder = stubbed(tmp_path, StubSession(UNIT))
    words = describe().probe[0].split()
    assert encoder.readable(words[0]) == 1
    assert encoder.readable(f"{words[0]} 知识") == pytest.approx(0.5)
    assert encoder.readable("知识 管理") == 0
    assert encoder.readable("") == 1


def test_few_texts_and_many_get_the_same_vectors(tmp_path: Path) -> None:
    folder = write_prepared_encoder(tmp_path)
    texts = ["bread", "warm kitchen", "our accountant before friday", "the", "lone line", "two"]
    encoder = OnnxEncoder(folder, threads=1)
    few = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts), few, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(texts[:1]), few[:1], atol=1e-6)
    np.testing.assert_allclose(OnnxEncoder(folder).encode(texts), few, atol=1e-6)
