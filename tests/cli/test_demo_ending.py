"""The demonstration ends with what a newcomer may type next."""

from __future__ import annotations

import pytest

from tests.conftest import Program

pytestmark = pytest.mark.models


def test_the_demonstration_ends_with_lines_that_can_be_typed(amem: Program) -> None:
    told = amem("demo", "--no-llm", "--keep", str(amem.folder / "a vault"))
    assert told.code == 0
    typed = [line for line in told.out.splitlines() if line.startswith("$ ")]
    assert "“" not in "".join(typed) and '$ amem search "' in "".join(typed)
    assert "the model reads" not in told.out
    steps = told.out.split("What next", 1)[1]
    assert f"$ cd '{amem.folder / 'a vault'}'" in steps
    assert "amem init ~/notes " in steps and "amem init FOLDER --adopt " in steps
    assert amem("--vault", str(amem.folder / "a vault"), "stats").code == 0


def test_a_program_that_asks_for_json_gets_nothing_else(amem: Program) -> None:
    told = amem("demo", "--no-llm", "--json")
    assert told.code == 0
    assert set(told.json) == {"vault", "added", "search", "graph"}
