"""What notes of one occasion lend each other, and what turns of a conversation are worth."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.search.occasion import (
    TELLING_LENGTH,
    Turn,
    gained_by_speakers,
    lent_in_time,
    lost_by_turns,
)
from amem_cli.search.search import search
from tests.fakes.encoder import FakeEncoder
from tests.search.test_query import a_vault, said_at

LONG = Turn("", False, 1000)


def test_the_next_note_gets_more_than_the_one_after() -> None:
    neighbours = {"a": [("x", 1), ("y", 2)], "b": [("x", 1)]}
    gains = lent_in_time({"a": 1.0, "b": 0.5}, neighbours, {})
    assert gains["x"] > gains["y"] > 0
    alone = lent_in_time({"a": 1.0}, {"a": [("x", 1)]}, {})
    assert gains["x"] == pytest.approx(1.5 * alone["x"])


@pytest.mark.parametrize("turns", [{"a": LONG}, {"x": LONG}, {"a": LONG, "x": Turn()}])
def test_a_note_of_several_paragraphs_stands_by_itself(turns: dict[str, Turn]) -> None:
    def gain(turns: dict[str, Turn]) -> float:
        return lent_in_time({"a": 1.0}, {"a": [("x", 1)]}, turns)["x"]

    middling = {"a": Turn("", False, 400), "x": Turn("", False, 60)}
    short = {"a": Turn("", False, 20), "x": Turn("", False, 200)}
    assert gain(turns) < gain(middling) < gain(short) == gain({})


def test_the_answer_gets_more_than_what_was_said_before_the_question() -> None:
    neighbours = {"question": [("before", -1), ("answer", 1), ("later", 2)]}
    said = lent_in_time({"question": 1.0}, neighbours, {})
    assert said["before"] == said["answer"]
    asked = lent_in_time({"question": 1.0}, neighbours, {"question": Turn("", True, 20)})
    assert asked["answer"] > 1 > asked["before"] == said["before"]
    assert asked["later"] == said["later"]


def test_who_speaks_lends_most_to_what_they_say_next() -> None:
    turns = {"a": Turn("ann"), "b": Turn("bob"), "c": Turn("ann"), "note": Turn()}
    neighbours = {"b": [("a", 1)], "a": [("c", 1)], "note": [("d", 1)]}
    to_another = lent_in_time({"b": 1.0}, neighbours, turns)["a"]
    to_herself = lent_in_time({"a": 1.0}, neighbours, turns)["c"]
    to_a_plain_note = lent_in_time({"note": 1.0}, neighbours, turns)["d"]
    assert to_herself > to_another > to_a_plain_note


@pytest.mark.parametrize(
    "text",
    ["Who feeds it?", "Who feeds it ?\n", "“Who feeds it?”", "**Who?**", "谁在喂？", "(Who?)"],
)  # fmt: skip
def test_a_text_that_ends_with_a_question_asks(text: str) -> None:
    assert Turn.of("", text[-9:], 0).asks


@pytest.mark.parametrize("text", ["", "Who feeds it? Ann.", "Who feeds it?\nAt noon", "a?b"])
def test_a_text_that_goes_on_after_its_question_asks_nothing(text: str) -> None:
    assert not Turn.of("", text[-9:], 0).asks


@pytest.mark.parametrize(
    ("beginning", "speaker"),
    [
        ("Ann: I fed it.", "ann"),
        (" Dr. Ann Lee: hm", "dr. ann lee"),
        ("ÉMILE: oui", "émile"),
        ("At 10:30 we met", ""),
        ("See this\nAnn: hello", ""),
        ("https://example.org", ""),
        (f"{'a' * 50}: long", ""),
    ],
)
def test_a_turn_begins_with_who_says_it(beginning: str, speaker: str) -> None:
    assert Turn.of(beginning, "", 0).speaker == speaker


def test_turns_of_whom_the_query_speaks_gain() -> None:
    turns = {"a": Turn("ann"), "b": Turn("bob"), "l": Turn("ann lee"), "n": Turn()}
    scores = dict.fromkeys(turns, 0.5)
    assert set(gained_by_speakers("What did Ann's sister feed?", scores, turns)) == {"a"}
    assert set(gained_by_speakers("What did Ann Lee feed?", scores, turns)) == {"a", "l"}
    assert gained_by_speakers("What was fed?", scores, turns) == {}


def test_short_turns_lose_more_and_those_that_only_ask() -> None:
    turns = {
        "short": Turn("ann", False, 10),
        "asks": Turn("ann", True, 120),
        "tells": Turn("ann", False, 120),
        "plain": Turn("", True, 10),
        "alone": Turn("ann", True, 10),
    }
    neighbours = {key: [("tells", 1)] for key in turns} | {"alone": []}
    lost = lost_by_turns(neighbours, turns)
    assert lost["short"] < lost["tells"] < 0
    assert lost["asks"] < lost["tells"]
    assert set(lost) == {"short", "asks", "tells"}


def test_beside_long_answers_a_short_turn_loses_nothing() -> None:
    turns = {"asked": Turn("user", True, 80), "answer": Turn("assistant", False, 2000)}
    assert lost_by_turns({"asked": [("answer", 1)], "answer": [("asked", -1)]}, turns) == {
        "answer": 0.0
    }


@given(st.integers(0, 5000), st.booleans())
def test_what_a_turn_loses_has_a_limit(length: int, asks: bool) -> None:
    turns = {"t": Turn("ann", asks, length), "o": Turn("bob", False, 50)}
    (lost,) = lost_by_turns({"t": [("o", 1)]}, turns).values()
    assert -0.6 < lost <= 0
    assert length < TELLING_LENGTH or asks or lost == 0


def test_of_a_talk_the_turn_that_tells_comes_before_the_one_that_greets(tmp_path: Path) -> None:
    notes = {
        "talk/1.md": said_at("2024-05-01T10:00:00", "Ann: Hey Bob, how is the walrus?"),
        "talk/2.md": said_at(
            "2024-05-01T10:00:10",
            "Bob: She eats again, forty herring this morning, and the keeper moved the feeding"
            " of the walrus to nine because of the visitors.",
        ),
        "talk/3.md": said_at("2024-05-01T10:00:20", "Ann: The walrus! Great!"),
    }
    ports = a_vault(tmp_path, notes)
    hits = search(ports.index, "What does Bob say of the walrus?", encoder=FakeEncoder())
    assert hits[0].note.path == "talk/2.md"
