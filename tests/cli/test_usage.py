"""A command line without a command gets help, and programs an error that they can read."""

from __future__ import annotations

import pytest

from tests.conftest import Program


@pytest.mark.parametrize("words", [[], ["config"], ["model"]])
def test_no_command_is_wrong_usage_and_shows_the_help(amem: Program, words: list[str]) -> None:
    answer = amem(*words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(" ".join(["Usage: amem", *words]))
    document = amem("--json", *words)
    assert document.code == 2
    assert set(document.json) == {"error", "hint", "exit_code"}
