"""Work in lanes, and how it is stopped."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from amem_cli.agents.client_label import client_name
from amem_cli.agents.lanes import Call, Lane, Stopped
from amem_cli.agents.stdio import lines_of


def test_a_lane_does_one_piece_of_work_after_the_other() -> None:
    lane = Lane("test")
    done: list[int] = []
    futures = [lane.submit(partial(done.append, number)) for number in range(50)]
    for future in futures:
        future.result(10)
    assert done == list(range(50))
    assert lane.end(10)


def test_work_that_fails_leaves_the_lane_at_work() -> None:
    lane = Lane("test")
    with pytest.raises(ZeroDivisionError):
        lane.submit(lambda: 1 // 0).result(10)
    assert lane.submit(lambda: 7).result(10) == 7
    assert lane.end(10)


def test_work_that_was_cancelled_before_its_turn_is_not_done() -> None:
    lane, gate = Lane("test"), threading.Event()
    done: list[int] = []
    first = lane.submit(lambda: gate.wait(60))
    second = lane.submit(lambda: done.append(2))
    assert second.cancel()
    gate.set()
    first.result(10)
    assert lane.end(10)
    assert done == []


def test_a_call_that_was_stopped_ends_at_its_next_step() -> None:
    told: list[str] = []
    call = Call(told.append)
    call.step("one")
    call.portions("two")(1, 3)
    call.stop()
    with pytest.raises(Stopped):
        call.step("three")
    with pytest.raises(Stopped), call.interruptible(lambda: None):
        pytest.fail("it began all the same")
    assert told == ["one", "two (1 of 3)"]


def test_what_a_stop_interrupts_is_never_the_next_work() -> None:
    call, answered, closed = Call(lambda message: None), threading.Event(), []

    def interrupt() -> None:
        answered.set()
        closed.append("model")

    with call.interruptible(interrupt):
        call.stop()
        call.stop()
        assert answered.wait(60)
    # Left only when the interruption is over.
    assert closed == ["model"]


def test_lines_are_told_apart_whatever_their_length() -> None:
    source, sink = os.pipe()

    def write() -> None:
        os.write(sink, b"one\n\n" + b"x" * 300_000 + b"\ntwo\n" + b"y" * 100_000 + b"\nrest")
        os.close(sink)

    writer = threading.Thread(target=write)
    writer.start()
    found = list(lines_of(source, 100_000))
    writer.join()
    os.close(source)
    assert found == [b"one", b"", None, b"two", b"y" * 100_000, b"rest"]


@pytest.mark.parametrize(
    ("name", "version", "shown"),
    [
        ("claude-code", "2.1.0", "claude-code 2.1.0"),
        ("", "", "unnamed"),
        ("a\x1b[31m\nb", "", "a--31m-b"),
        ("x" * 500, "1", "x" * 60),
    ],
)
def test_a_client_is_called_by_a_few_plain_characters(name: str, version: str, shown: str) -> None:
    assert client_name(name, version) == shown
