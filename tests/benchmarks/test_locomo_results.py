"""What a run has come to stays on disk, and a run that was cut off goes on."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.locomo_results import Breaker, LineLog, Reply, Results, as_row

SETTINGS = {"model": "a"}


def reply(question: str = "q1", row: str = "amem") -> Reply:
    return Reply(row, question, "Grün", True, "model", shown=("1", "2"), problems=("none",))


def test_an_answer_comes_back_as_it_was(tmp_path: Path) -> None:
    Results(tmp_path, SETTINGS).answers.write(as_row(reply()))
    assert Results(tmp_path, SETTINGS).replies() == {("amem", "q1", 0): reply()}


def test_the_half_of_a_line_that_a_killed_run_wrote_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    for rest in (b'{"turn": "2', b'{"turn": "2"}', b"\xff\n"):
        file.write_bytes(b'{"turn": "1"}\n' + rest)
        log = LineLog(file)
        assert log.rows == [{"turn": "1"}]
        log.write({"turn": "2"})
        assert file.read_bytes() == b'{"turn": "1"}\n{"turn": "2"}\n'


def test_answers_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    Results(tmp_path, SETTINGS)
    with pytest.raises(SystemExit, match="model 'a'; name another folder"):
        Results(tmp_path, {**SETTINGS, "model": "b"})


def test_a_failure_that_a_success_follows_is_kept(tmp_path: Path) -> None:
    log = LineLog(tmp_path / "log.jsonl")
    breaker = Breaker(log)
    breaker.write({"at": 1}, failed=True, why="slow")
    assert log.rows == []
    breaker.write({"at": 2}, failed=False)
    assert log.rows == [{"at": 1}, {"at": 2}]


def test_a_dead_model_stops_the_run_and_leaves_no_answer_of_it(tmp_path: Path) -> None:
    log = LineLog(tmp_path / "log.jsonl")
    breaker = Breaker(log)
    breaker.write({"at": 0}, failed=False)
    breaker.write({"at": 1}, failed=True, why="gone")
    breaker.write({"at": 2}, failed=True, why="gone")
    with pytest.raises(SystemExit, match="3 times in a row: gone"):
        breaker.write({"at": 3}, failed=True, why="gone")
    assert LineLog(log.file).rows == [{"at": 0}]


def test_names_of_conversations_lead_out_of_no_folder(tmp_path: Path) -> None:
    results = Results(tmp_path, SETTINGS)
    assert results.vault("../a/b", "full").parent == tmp_path / "vaults"
    assert results.notes("../a/b", "full").file.parent == tmp_path


def test_a_reply_is_told_in_full() -> None:
    assert set(as_row(reply())) == set(asdict(reply()))
