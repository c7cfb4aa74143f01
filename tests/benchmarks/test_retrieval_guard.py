"""The guard of search notices a loss that is no chance, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import retrieval_guard
from retrieval_data import Group

from tests.documents import TOP

DATA = TOP / "tests/data"


class Search:
    """Finds what it is told to, as one number for every question."""

    def __init__(self, found: float, worse: int = 0) -> None:
        self.found, self.worse = found, worse

    def __call__(self, group: Group, is_multilingual: bool) -> Any:
        values = np.full((len(group.questions), len(retrieval_guard.METRICS)), self.found)
        values[: self.worse] -= 0.5
        return values


@pytest.fixture(autouse=True)
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(retrieval_guard, "FIGURES", tmp_path / "figures.json")
    retrieval_guard.guard(DATA, Search(0.8), True)
    return tmp_path / "figures.json"


def test_as_much_and_more_pass() -> None:
    assert retrieval_guard.guard(DATA, Search(0.8), False)
    assert retrieval_guard.guard(DATA, Search(0.9), False)


def test_one_question_is_chance_and_a_quarter_of_them_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert retrieval_guard.guard(DATA, Search(0.8, worse=1), False)
    assert "LOST" not in capsys.readouterr().out
    assert not retrieval_guard.guard(DATA, Search(0.8, worse=12), False)
    assert "LOST" in capsys.readouterr().out


def test_what_was_never_measured_is_no_loss(figures: Path) -> None:
    figures.unlink()
    assert retrieval_guard.guard(DATA, Search(0.0), False)


def test_the_figures_hold_no_word_of_the_questions(figures: Path) -> None:
    known = json.loads(figures.read_text("utf-8"))
    assert {key.rpartition(": ")[0] for key in known} == {
        "gold: cafe", "gold: engineer", "gold: photographer", "gold, multilingual: photographer",
    }  # fmt: skip
    assert all(len(each) == len(retrieval_guard.METRICS) for each in known.values())
