"""The day's tokens end the asking when they are spent, and failures in a row for a minute."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from amem_cli.errors import BudgetSpent, ModelClosed, ModelError
from amem_cli.models.open import GuardedModel, TokenLedger
from amem_cli.models.ports import ModelAnswer
from tests.contracts.language_model_contract import request_about
from tests.fakes.language_model import ScriptedModel


class Today:
    def __init__(self) -> None:
        self.day = date(2026, 3, 2)

    def __call__(self) -> date:
        return self.day


def answer(tokens: int) -> ModelAnswer:
    return ModelAnswer("{}", True, tokens, 1, 0.1)


def test_the_asking_ends_at_the_limit_and_begins_again_the_next_day(tmp_path: Path) -> None:
    today = Today()
    model = ScriptedModel([answer(60), answer(60), answer(60)])
    for _ in range(2):
        # Each time as after a restart.
        ledger = TokenLedger(tmp_path, os.environ, today)
        GuardedModel(model, ledger, 100).answer(request_about("Rye."))
    assert ledger.used() == 122
    with pytest.raises(BudgetSpent, match="today's 100 tokens"):
        GuardedModel(model, ledger, 100).answer(request_about("Rye."))
    assert len(model.requests) == 2
    today.day = date(2026, 3, 3)
    GuardedModel(model, ledger, 100).answer(request_about("Rye."))
    assert ledger.used() == 61


def test_vaults_are_counted_apart(tmp_path: Path) -> None:
    TokenLedger(tmp_path / "a", os.environ).add(5)
    assert TokenLedger(tmp_path / "a", os.environ).used() == 5
    assert TokenLedger(tmp_path / "b", os.environ).used() == 0


def test_what_a_server_does_not_count_is_estimated(tmp_path: Path) -> None:
    ledger = TokenLedger(tmp_path, os.environ)
    model = ScriptedModel([ModelAnswer("{}", True, 0, 0, 0.1)])
    GuardedModel(model, ledger, 1000).answer(request_about("Rye bread. " * 40))
    assert 100 < ledger.used() < 300


@pytest.mark.parametrize("content", ["", "[]", "{", '{"day": "2026-03-02", "tokens": "x"}'])
def test_a_damaged_count_begins_anew(tmp_path: Path, content: str) -> None:
    ledger = TokenLedger(tmp_path, os.environ, Today())
    ledger.add(1)
    (path,) = (Path(os.environ["AMEM_STATE_DIR"]) / "token-use").glob("*.json")
    path.write_text(content)
    assert ledger.used() == 0
    ledger.add(3)
    assert ledger.used() == 3


def test_after_three_failures_in_a_row_it_rests_and_is_tried_again() -> None:
    failure, closed = ModelError("no connection"), ModelClosed("closed")
    model = ScriptedModel([failure, closed, failure, answer(1), *[failure] * 4, answer(1)])
    guarded = GuardedModel(model, rest_seconds=60.0)
    for fails in (True, True, True, False, True, True, True):
        if fails:
            with pytest.raises(ModelError, match=r"no connection|closed"):
                guarded.answer(request_about("Rye."))
        else:
            guarded.answer(request_about("Rye."))
    with pytest.raises(ModelError, match="failed 3 times in a row"):
        guarded.answer(request_about("Rye."))
    assert len(model.requests) == 7
    awake = GuardedModel(model, rest_seconds=0.0)
    with pytest.raises(ModelError, match="no connection"):
        awake.answer(request_about("Rye."))
    assert awake.answer(request_about("Rye.")).complete
