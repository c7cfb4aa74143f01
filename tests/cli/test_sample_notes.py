"""The notes that amem makes a vault with lend a person's notes no tags."""

from __future__ import annotations

from typing import Any

from tests.conftest import Program

REVIEW = (
    "The weekly review on Sunday evening: I read the notes of the week again, look at what the"
    " program changed, undo what is wrong and empty the box of scraps. Forty minutes."
)


def added(amem: Program) -> dict[str, Any]:
    done: dict[str, Any] = amem("add", REVIEW, "--title", "Sunday round", "--json").json
    return done


def test_they_lend_no_tag(amem: Program) -> None:
    assert amem("init", ".").code == 0
    assert added(amem)["tags"] == []


def test_what_a_note_says_of_one_is_seen(amem: Program) -> None:
    assert amem("init", ".").code == 0
    text = "I look through new notes on Friday. This replaces the Sunday evening review."
    amem("add", text, "--title", "Friday round")
    older = "I review new notes on Sunday evening"
    assert "superseded by “Friday round”" in amem("show", older).out
