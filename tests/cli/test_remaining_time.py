"""A long run or transfer says now and then how far it is and how long it still takes."""

from __future__ import annotations

import pytest

from amem_cli.terminal import progress
from amem_cli.terminal.output import Output


def test_in_a_pipe_a_line_now_and_then_tells_how_far_a_transfer_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("amem_cli.terminal.progress.time.monotonic", lambda: now)
    with progress.transfer_progress(Output()) as transferred:
        for step in range(61):
            now = float(step)
            # What was there before says nothing of the speed.
            transferred("m.gguf", 400_000_000 + 10_000_000 * step, 1_000_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "m.gguf: 550 MB of 1.00 GB, about 45 s left",
        "m.gguf: 700 MB of 1.00 GB, about 30 s left",
        "m.gguf: 850 MB of 1.00 GB, about 15 s left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "5 s"), (13, "15 s"), (89, "90 s"), (150, "2 min"), (5000, "83 min"), (9000, "2.5 h")],
)
def test_it_is_told_no_finer_than_it_is_known(seconds: float, text: str) -> None:
    assert progress.span(seconds) == text
