"""Which known word a misspelt one was meant to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.language.words import distance, mistakes_allowed, nearest_spelling

KNOWN = [("vacuum", 3), ("photographi", 2), ("table", 9), ("cable", 4), ("postgr", 1), ("walru", 1)]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("vaccum", "vacuum"),
        ("vacuun", "vacuum"),
        ("photograpy", "photographi"),
        ("phtography", "photographi"),
        ("tabel", "table"),
        ("wlarus", "walru"),
        ("zebra", None),
        ("tab", None),
    ],
)
def test_a_typo_gives_the_word_that_was_meant(typed: str, meant: str | None) -> None:
    assert nearest_spelling(typed, KNOWN) == meant


def test_of_two_as_near_the_more_frequent_is_meant() -> None:
    assert nearest_spelling("zable", KNOWN) == "table"


def test_numbers_short_words_and_chinese_are_taken_as_they_are() -> None:
    assert [mistakes_allowed(word) for word in ("2024", "c", "知识管理", "ab1cd")] == [0] * 4


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distance_is_symmetric_and_nothing_only_for_the_same(left: str, right: str) -> None:
    assert distance(left, right, 2) == distance(right, left, 2)
    assert (distance(left, right, 2) == 0) == (left == right)
