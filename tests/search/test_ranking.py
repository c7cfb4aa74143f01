"""Fusion of words and meaning, and the snippet that shows why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.index.text import search_terms
from amem_cli.search.scoring import (
    LENDERS,
    covered,
    excess,
    fused,
    held_shares,
    lent_by_links,
    less_chance,
    with_gains,
)
from amem_cli.search.snippet import SNIPPET_CHARACTERS, marks, snippet, window


def test_both_legs_count_and_one_alone_decides() -> None:
    both = fused({"a": 0.9, "b": 0.8}, {"b": 7.0, "c": 3.5})
    assert list(both) == ["b", "a", "c"]
    assert list(fused({}, {"x": 1.0, "y": 2.0})) == ["y", "x"]
    assert fused({"x": 0.5}, {}) == {"x": pytest.approx(1.0)}
    assert fused({}, {}) == {}


def test_cosines_of_spread_vectors_count_from_the_least_of_the_candidates() -> None:
    cosines, words = {"near": 0.42, "said": 0.36, "far": 0.30}, {"said": 9.0}
    assert list(fused(cosines, words)) == ["said", "near", "far"]
    spread = fused(cosines, words, is_spread=True)
    assert list(spread) == ["near", "said", "far"] and spread["far"] == 0
    # A single note is near, whatever its cosine.
    assert fused({"one": 0.2}, {}, is_spread=True) == {"one": pytest.approx(1.0)}


def test_the_best_of_many_passages_is_partly_chance() -> None:
    cosines = less_chance({"long": 0.55, "short": 0.52}, {"long": 12, "short": 1})
    assert list(cosines) == ["short", "long"]
    assert cosines["short"] == 0.52
    assert list(less_chance({"long": 0.75, "short": 0.52}, {"long": 12})) == ["long", "short"]


def test_words_count_for_more_where_the_encoder_cannot_read_the_question() -> None:
    cosines, words = {"near": 0.9, "said": 0.6}, {"near": 5.0, "said": 7.0}
    assert list(fused(cosines, words)) == ["near", "said"]
    assert list(fused(cosines, words, readable=0.3)) == ["said", "near"]
    assert list(fused(cosines, words, readable=0)) == ["said", "near"]
    assert list(fused(cosines, {}, readable=0)) == ["near", "said"]


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
    found = snippet(passages, search_terms("where does the walrus sleep"))
    assert "walrus" in found
    assert len(found) <= SNIPPET_CHARACTERS
    assert found.startswith("…") and found.endswith("…")


@given(st.text(max_size=600), st.integers(0, 600), st.integers(20, 300))
def test_a_window_is_never_longer_than_asked(text: str, place: int, limit: int) -> None:
    assert len(window(text, place, limit)) <= limit


def coverage(
    words: dict[str, float], matches: list[tuple[int, frozenset[str]]]
) -> dict[str, float]:
    return covered(words, held_shares(words, matches, 100), len(matches))


def test_a_note_that_holds_every_word_beats_one_that_repeats_a_part() -> None:
    words = {"part": 5.0, "whole": 4.5}
    both = frozenset({"part", "whole"})
    scores = coverage(words, [(3, both), (3, frozenset({"whole"}))])
    assert scores["whole"] == words["whole"]
    assert scores["part"] < scores["whole"]


def test_a_missing_word_counts_less_in_a_long_question() -> None:
    held = frozenset({"note"})
    short = [(3, held)] * 3 + [(3, frozenset[str]())]
    assert coverage({"note": 1.0}, short)["note"] < coverage({"note": 1.0}, short * 2)["note"]


def test_a_text_as_question_asks_for_no_word_in_particular() -> None:
    matches = [(3, frozenset[str]()), *[(3, frozenset({"a"}))] * 20]
    assert coverage({"a": 2.0}, matches) == {"a": 2.0}


def test_words_that_no_note_has_change_nothing() -> None:
    assert coverage({"a": 2.0}, [(0, frozenset()), (0, frozenset())]) == {"a": 2.0}


def test_words_are_trusted_as_far_as_the_best_note_holds_the_question() -> None:
    cosines, words = {"near": 0.5, "said": 0.3}, {"near": 1.0, "said": 2.2}
    assert list(fused(cosines, words)) == ["said", "near"]
    assert list(fused(cosines, words, doubt=0.9)) == ["near", "said"]
    assert fused(cosines, words, is_spread=True, doubt=0.9) == fused(cosines, words, is_spread=True)


def test_only_the_best_notes_lend_and_only_what_they_have_above_the_last() -> None:
    surplus = excess({str(i): 1 - i / 100 for i in range(100)})
    assert len(surplus) == LENDERS - 1
    assert max(surplus.values()) == pytest.approx((LENDERS - 1) / 100)
    assert excess({"a": 0.5, "b": 0.5}) == {}
    assert excess({}) == {}


def test_links_lend_the_most_of_what_any_of_them_offers() -> None:
    links = {"a": {"x": 0.5}, "b": {"x": 0.5, "y": 0.3}}
    gains = lent_by_links({"a": 1.0, "b": 0.6, "c": 1.0}, links)
    assert gains == {"x": 0.5, "y": pytest.approx(0.18)}


def test_a_note_that_links_to_everything_says_little_of_each() -> None:
    few = lent_by_links({"a": 1.0}, {"a": {"x": 0.5}})
    many = lent_by_links({"hub": 1.0}, {"hub": {"x": 0.5} | {str(i): 0.5 for i in range(99)}})
    assert many["x"] < few["x"] / 5


@given(
    st.dictionaries(st.text(max_size=2), st.floats(0, 1)),
    st.dictionaries(st.text(max_size=2), st.floats(0, 5)),
)
def test_lent_scores_stay_in_the_unit_interval_and_fall(
    scores: dict[str, float], gains: dict[str, float]
) -> None:
    total = list(with_gains(scores, gains).values())
    assert all(0 <= score <= 1 for score in total)
    assert total == sorted(total, reverse=True)


@given(st.text(max_size=200), st.text(max_size=40))
def test_marks_lie_in_the_text_in_order_and_apart(text: str, query: str) -> None:
    spans = marks(text, search_terms(query))
    ends = [place for span in spans for place in span]
    assert ends == sorted(set(ends))
    assert all(0 <= place <= len(text) for place in ends)
