"""The scores of the benchmark of the memory process, on cases that can be counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from memory_scores import (
    column_share,
    estimate,
    f1,
    label_f1,
    likeness,
    matches,
    paired,
    precision,
    recall,
    recovered,
    share,
)


def test_precision_recall_and_f1_follow_from_hits_predicted_and_wanted() -> None:
    sums = np.array([2.0, 4.0, 8.0])
    assert precision(sums) == pytest.approx(0.5)
    assert recall(sums) == pytest.approx(0.25)
    assert f1(sums) == pytest.approx(1 / 3)


def test_a_share_of_nothing_is_not_a_number() -> None:
    assert np.isnan(share(0.0, 0.0))
    assert share(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()[0] == 0.5


def test_a_pair_is_the_same_whichever_note_names_the_other() -> None:
    assert paired("b", "a") == paired("a", "b") == ("a", "b")


def test_labels_match_without_regard_to_case_and_hash() -> None:
    assert matches(["Jobs Table", "#queue"], ["jobs table", "Queue", "courier"]) == 2


def test_a_label_said_twice_counts_once() -> None:
    assert matches(["queue", "Queue"], ["queue"]) == 1
    assert label_f1(["queue", "Queue"], ["queue"]) == 1.0


def test_labels_that_share_half_of_their_stems_match_softly() -> None:
    assert matches(["safety devices"], ["safety device"]) == 0
    assert matches(["safety devices"], ["safety device"], soft=True) == 1
    assert matches(["webhook"], ["webhook delay"], soft=True) == 1
    assert matches(["Kestrel"], ["Kestrel Outdoor shop"], soft=True) == 0


def test_a_soft_match_uses_each_label_once() -> None:
    assert matches(["webhook delay"], ["webhook", "delay"], soft=True) == 1


def test_the_parts_of_a_nested_tag_are_words() -> None:
    assert likeness("postgres/vacuum", "vacuum") == pytest.approx(0.5)


def test_f1_of_labels_is_whole_where_none_were_wanted_and_none_said() -> None:
    assert label_f1([], []) == 1.0
    assert label_f1(["queue"], []) == 0.0
    assert label_f1(["queue", "people"], ["queue", "postgres"]) == pytest.approx(0.5)


def test_an_estimate_is_the_measure_of_all_rows_within_its_interval() -> None:
    rows = [[1.0, 1.0]] * 30 + [[0.0, 1.0]] * 10
    value, low, high = estimate(rows, column_share(0, 1))
    assert value == pytest.approx(0.75)
    assert 0.5 < low < value < high < 1.0


def test_an_estimate_is_the_same_each_time() -> None:
    rows = [[float(each % 3), 2.0] for each in range(20)]
    assert estimate(rows, column_share(0, 1)) == estimate(rows, column_share(0, 1))


def test_an_estimate_of_no_rows_is_not_a_number() -> None:
    assert all(math.isnan(each) for each in estimate([], f1))


def test_the_recovered_gain_is_a_share_of_the_perfect_one() -> None:
    sums = np.array([10.0, 13.0, 15.0])
    assert recovered(0, 1, 2)(sums) == pytest.approx(0.6)
    assert np.isnan(recovered(0, 1, 0)(sums))
