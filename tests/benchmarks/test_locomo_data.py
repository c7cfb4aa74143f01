"""The reader of LoCoMo's file, on a small conversation in its shape with all its oddities."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from locomo_data import evidence_ids, is_answerable, read_locomo
from retrieval_data import UNDATED, Group, moment_of

from tests.benchmarks.small_locomo import SAMPLE


def read(folder: Path, data: Any) -> list[Group]:
    file = folder / "locomo.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return read_locomo(file)


@pytest.fixture
def conversation(tmp_path: Path) -> Group:
    (found,) = read(tmp_path, [SAMPLE])
    return found


def test_turns_come_in_the_order_of_the_sessions_numbers(conversation: Group) -> None:
    # Session 10 stands before session 2 in the file, and there is no session 3.
    assert [turn.id for turn in conversation.turns] == [
        "D1:1", "D1:2", "D1:3", "D2:1", "D2:2", "D10:1",
    ]  # fmt: skip


def test_a_turn_says_who_spoke_and_what_its_picture_shows(conversation: Group) -> None:
    said = {turn.id: turn.new.content for turn in conversation.turns}
    assert said["D1:1"] == "Ines: Hi Tomas! I moved to Porto on Monday."
    assert said["D1:3"] == "Ines: [Image: a photo of a red kayak on a lake] My new kayak!"
    assert said["D2:2"] == "Tomas: [Image: a grey cat asleep on a chair]"


def test_turns_of_a_session_follow_each_other_by_a_second(conversation: Group) -> None:
    created = [turn.new.created or UNDATED for turn in conversation.turns]
    assert created[:2] == [datetime(2023, 5, 8, 13, 56, 0), datetime(2023, 5, 8, 13, 56, 1)]
    assert created == sorted(created)


def test_a_session_without_a_date_belongs_to_the_one_before(conversation: Group) -> None:
    days = {turn.id: (turn.new.created or UNDATED).date() for turn in conversation.turns}
    assert days["D10:1"] == days["D2:1"]
    assert "session 10 has no date" in conversation.problems[0]


def test_dates_of_sessions_that_are_not_there_are_left(conversation: Group) -> None:
    assert not any(turn.id.startswith("D11:") for turn in conversation.turns)


def test_an_answer_that_is_a_number_is_read_as_text(conversation: Group) -> None:
    answers = {question.query: question.answer for question in conversation.questions}
    assert answers["How many cats does Tomas have?"] == "2"
    assert answers["When did Ines move?"] == "Monday, 1 May 2023"


def test_evidence_is_read_however_it_is_written(conversation: Group) -> None:
    evidence = {question.query: question.gold for question in conversation.questions}
    assert evidence["What do both like?"] == ("D1:3", "D2:1")
    assert evidence["How many cats does Tomas have?"] == ("D2:1", "D2:2")
    # "D9:9" is no turn of the conversation, "D" names none.
    assert evidence["When did Ines move?"] == ("D1:1",)
    assert evidence["Would Ines like the sea?"] == ()


@pytest.mark.parametrize(
    ("named", "ids"),
    [
        ("D1:3", ("D1:3",)),
        ("D1:3; D2:4", ("D1:3", "D2:4")),
        ("D1:3 D2:4 D1:3", ("D1:3", "D2:4")),
        ("D:11:26", ("D11:26",)),
        ("D30:05", ("D30:5",)),
        ("D", ()),
        ("", ()),
    ],
)
def test_names_of_turns(named: str, ids: tuple[str, ...]) -> None:
    assert evidence_ids(named) == ids


def test_an_adversarial_question_has_no_answer(conversation: Group) -> None:
    (asked,) = [each for each in conversation.questions if each.category == "5"]
    assert asked.answer == ""
    assert [each for each in conversation.questions if not is_answerable(each)] == [asked]


def test_a_question_without_a_category_is_told_of(conversation: Group) -> None:
    assert [question.id for question in conversation.questions] == [
        f"conv-x/q{at}" for at in range(5)
    ]
    assert "question 5 has no text or category" in conversation.problems[1]


def test_a_sample_without_a_name_gets_one_by_its_place(tmp_path: Path) -> None:
    sample = {"conversation": {"session_1": [{"speaker": "A", "text": "Hi."}]}}
    (found,) = read(tmp_path, [sample])
    assert (found.name, found.turns[0].id, found.questions) == ("sample-1", "D1:1", [])


@pytest.mark.parametrize("data", [[1], {"a": 1}, "text", [{"conversation": []}]])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, data: Any) -> None:
    with pytest.raises(SystemExit, match="no file in LoCoMo's shape"):
        read(tmp_path, data)


def test_a_file_that_is_no_json_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("[", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"broken\.json"):
        read_locomo(tmp_path / "broken.json")


def test_dates_are_read_as_locomo_writes_them() -> None:
    assert moment_of("1:56 pm on 8 May, 2023") == datetime(2023, 5, 8, 13, 56)
    assert moment_of("12:06 am on 11 August, 2023") == datetime(2023, 8, 11, 0, 6)
    assert moment_of("2023-08-11") == datetime(2023, 8, 11)
    assert moment_of("some day") is None
