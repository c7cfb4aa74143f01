"""Vectors that an earlier run of a benchmark kept serve the next one with the same encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from remembered_vectors import RememberingEncoder

from tests.fakes.encoder import FakeEncoder


def test_a_text_is_encoded_once_for_all_runs(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    first = RememberingEncoder(FakeEncoder(), file)
    vectors = first.encode(["one", "two"])
    first.save()
    second = FakeEncoder()
    again = RememberingEncoder(second, file).encode(["two", "one"])
    assert np.array_equal(again, vectors[::-1])
    assert second.encoded == []


def test_vectors_of_another_encoder_are_not_used(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npz"
    first = RememberingEncoder(FakeEncoder(), file)
    first.encode(["one"])
    first.save()
    other = FakeEncoder(name="other")
    remembering = RememberingEncoder(other, file)
    remembering.encode(["one"])
    assert other.encoded == ["one"]
    remembering.save()
    third = FakeEncoder(name="other")
    RememberingEncoder(third, file).encode(["one"])
    assert third.encoded == []
