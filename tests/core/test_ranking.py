"""Fusion of words and meaning, and the snippet that shows why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.core.ranking import fused
from amem_cli.core.snippets import SNIPPET_CHARACTERS, snippet, window


def test_both_legs_count_and_one_alone_decides() -> None:
    both = fused({"a": 0.9, "b": 0.8}, {"b": 7.0, "c": 3.5})
    assert list(both) == ["b", "a", "c"]
    assert list(fused({}, {"x": 1.0, "y": 2.0})) == ["y", "x"]
    assert fused({"x": 0.5}, {}) == {"x": pytest.approx(1.0)}
    assert fused({}, {}) == {}


@given(
    st.dictionaries(st.text(max_size=3), st.floats(-1, 1)),
    st.dictionaries(st.text(max_size=3), st.floats(0, 50)),
)
def test_scores_lie_in_the_unit_interval_and_fall(
    cosines: dict[str, float], words: dict[str, float]
) -> None:
    scores = list(fused(cosines, words).values())
    assert all(0 <= score <= 1 + 1e-9 for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_the_snippet_is_around_the_words_of_the_query() -> None:
    passages = [
        "Nothing here. " * 40,
        "A long way in " * 30 + "the walrus sleeps. " + "And on. " * 40,
    ]
    found = snippet(passages, "where does the walrus sleep")
    assert "walrus" in found
    assert len(found) <= SNIPPET_CHARACTERS
    assert found.startswith("…") and found.endswith("…")


@given(st.text(max_size=600), st.integers(0, 600), st.integers(20, 300))
def test_a_window_is_never_longer_than_asked(text: str, place: int, limit: int) -> None:
    assert len(window(text, place, limit)) <= limit
