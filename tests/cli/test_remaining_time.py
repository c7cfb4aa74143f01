"""The remaining time is told when it means something, by how fast it went lately."""

from __future__ import annotations

import pytest

from amem_cli.terminal.progress import RemainingTime, span


def test_nothing_is_told_before_it_means_something() -> None:
    quick, slow = RemainingTime(0.0), RemainingTime(0.0)
    for done in range(1, 40):
        quick.reached(done, done * 0.1)
        assert quick.seconds(1000, done * 0.1) is None
    for done in range(1, 6):
        slow.reached(done, done * 60.0)
        assert slow.seconds(1000, done * 60.0) is None
    slow.reached(6, 360.0)
    assert slow.seconds(100, 360.0) == 94 * 60.0


def test_it_follows_how_fast_it_goes_now() -> None:
    remaining, now = RemainingTime(0.0), 0.0
    for done in range(1, 500):
        now += 0.1
        remaining.reached(done, now)
    assert remaining.seconds(1500, now) == pytest.approx(100.1)
    for done in range(500, 560):
        now += 10.0
        remaining.reached(done, now)
    # The first 500 say nothing of it any more.
    assert remaining.seconds(1559, now) == pytest.approx(10_000.0)


def test_it_runs_down_while_a_note_takes_its_time() -> None:
    remaining = RemainingTime(0.0)
    for done in range(1, 12):
        remaining.reached(done, done * 10.0)
    assert remaining.seconds(21, 110.0) == pytest.approx(100.0)
    assert remaining.seconds(21, 115.0) == pytest.approx(95.0)
    assert remaining.seconds(21, 500.0) == pytest.approx(90.0)
    assert remaining.seconds(11, 500.0) == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "5 s"), (13, "15 s"), (89, "90 s"), (150, "2 min"), (5000, "83 min"), (9000, "2.5 h")],
)
def test_it_is_told_no_finer_than_it_is_known(seconds: float, text: str) -> None:
    assert span(seconds) == text
