"""The scores of A-MEM's harness, on pairs that can be worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from locomo_scores import (
    bleu_1,
    distinct_f1,
    meteor,
    rouge_l,
    similarities,
    text_scores,
)

from tests.fakes.encoder import FakeEncoder

WORDS = st.lists(st.sampled_from(["red", "blue", "seven", "may", "walks", "walked"]), min_size=1)
TEXTS = WORDS.map(" ".join)
ANY_TEXT = st.text(max_size=60)


def test_f1_counts_distinct_words_in_lower_case_without_stops_and_commas() -> None:
    # {7, may, 2023} of both; the order, the case, the comma and the stop do not count.
    assert distinct_f1("7 May 2023", "May 7, 2023.") == 1.0
    # {the, cat} against {the, cat, sat}: precision 1, recall 2/3.
    assert distinct_f1("the the cat", "the cat sat") == pytest.approx(0.8)
    # An apostrophe or a colon is a part of its word.
    assert distinct_f1("cat's", "cat") == 0.0
    # Articles count, unlike in LoCoMo's own F1.
    assert distinct_f1("a dog", "dog") == pytest.approx(2 / 3)


def test_bleu_clips_repeated_words_and_punishes_brevity() -> None:
    assert bleu_1("the the the", "the cat sat") == pytest.approx(1 / 3)
    # Tokens `in paris` against `paris , france`: one of two, and exp(1 - 3/2) for brevity.
    assert bleu_1("in Paris", "Paris, France") == pytest.approx(0.5 * math.exp(-0.5))
    assert bleu_1("a b c d", "a b") == pytest.approx(0.5)


def test_rouge_compares_stems() -> None:
    # Stems she walk dog against she walk a dog.
    assert rouge_l("she walks dogs", "she walked a dog") == pytest.approx(6 / 7)


def test_meteor_matches_words_then_stems_and_punishes_pieces() -> None:
    # One word in one piece: 1 - 0.5 * (1/1)^3.
    assert meteor("Paris", "paris") == 0.5
    # Four in one piece: 1 - 0.5 * (1/4)^3.
    assert meteor("red cats sat down", "red cat sat down") == pytest.approx(1 - 0.5 / 64)
    # Both words in two pieces: 1 - 0.5 * (2/2)^3.
    assert meteor("b a", "a b") == pytest.approx(0.5)
    # Precision 1, recall 1/2: 10PR/(R+9P) = 10/19, times the half of a single word.
    assert meteor("a", "a b") == pytest.approx(10 / 19 / 2)


def test_a_text_of_stops_alone_scores_nothing() -> None:
    assert distinct_f1("...", "...") == 0.0
    assert set(text_scores("?!", "Paris").values()) == {0.0}


def test_an_empty_answer_scores_nothing_anywhere() -> None:
    assert set(text_scores("", "Paris").values()) == {0.0}
    assert set(text_scores("Paris", " ").values()) == {0.0}
    assert similarities([("", "Paris"), ("Paris", "Paris")], FakeEncoder())[0] == 0.0


@given(st.lists(st.sampled_from(["red", "blue"]), min_size=1),
       st.lists(st.sampled_from(["seven", "london"]), min_size=1))  # fmt: skip
def test_texts_without_a_word_in_common_score_nothing(one: list[str], other: list[str]) -> None:
    assert set(text_scores(" ".join(one), " ".join(other)).values()) == {0.0}


@given(ANY_TEXT, ANY_TEXT)
def test_every_score_lies_between_nothing_and_one(one: str, other: str) -> None:
    assert all(0.0 <= value <= 1.0 + 1e-9 for value in text_scores(one, other).values())


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
def test_cosines_are_those_of_each_pair(pairs: list[tuple[str, str]]) -> None:
    encoder = FakeEncoder()
    forth = similarities(pairs, encoder)
    back = similarities([(other, one) for one, other in pairs], encoder)
    assert forth == pytest.approx(back, abs=1e-5)
    assert all(-1.001 <= each <= 1.001 for each in forth)
    same = [(one, one) for one, _ in pairs]
    assert similarities(same, encoder) == pytest.approx([1.0] * len(pairs), abs=1e-5)
