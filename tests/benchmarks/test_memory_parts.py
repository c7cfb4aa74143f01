"""The parts of the benchmark of the memory process: scores, requests, vectors that are kept."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from memory_requests import ObservedModel, shown_notes
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
from remembered_vectors import RememberingEncoder

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.memory.link import LinkQuestion, link_request
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.notes.note import Note
from tests.fakes.encoder import FakeEncoder


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


NEW = Note("new.md", "3", "Found it", "The transaction was left open.", created="2024-03-01")
KNOWN = {"1": ("Monday", "2024-01-01"), "2": ("Monday", "2024-02-02"), "3": ("Found it", "")}


def candidate(path: str, title: str, day: str) -> LinkCandidate:
    return LinkCandidate(path, title, "Late again.", 0.5, 0, created=f"{day}T10:00:00")


def linking() -> ModelRequest:
    shown = [candidate("b.md", "Monday", "2024-02-02"), candidate("a.md", "Monday", "2024-01-01")]
    return link_request(NEW, LinkQuestion(shown), deadline=1.0)


class Says:
    name = "says"
    is_remote = False

    def __init__(self, text: str) -> None:
        self.text = text

    def answer(self, request: ModelRequest) -> ModelAnswer:
        return ModelAnswer(self.text, True, 10, 5, 0.0)

    def close(self) -> None:
        pass


def test_namesakes_among_the_shown_notes_are_told_apart_by_their_day() -> None:
    assert shown_notes(linking().text, KNOWN) == {"n1": "2", "n2": "1"}


def test_an_exchange_keeps_the_answer_and_its_tokens() -> None:
    link = {"note": "n2", "reason": "Late on Monday.", "relation": "causes", "strength": 0.9}
    observed = ObservedModel(Says(json.dumps({"links": [link], "changes": []})))
    observed.begin("3", KNOWN)
    observed.answer(linking())
    (exchange,) = observed.exchanges
    assert exchange.said == {"links": [link], "changes": []}
    assert exchange.tokens == 15


def test_an_answer_of_another_shape_counts_as_none() -> None:
    observed = ObservedModel(Says('["n1"]'))
    observed.begin("3", KNOWN)
    observed.answer(linking())
    assert observed.exchanges[0].said is None


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
