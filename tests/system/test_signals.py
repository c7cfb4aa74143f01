"""Holding off the signals that end a program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from amem_cli.system.signals import ENDING, held


class Ended(Exception):
    """What a handler raises to end the program."""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Handlers that end the program, and those of the test run afterwards."""

    def end(number: int, frame: object) -> None:
        raise Ended(signal.Signals(number).name)

    before = {number: signal.signal(number, end) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_the_program_only_after_what_is_held(number: signal.Signals) -> None:
    done = []
    with pytest.raises(Ended, match=number.name), held():
        signal.raise_signal(number)
        done.append("the rest")
    assert done == ["the rest"]
    with pytest.raises(Ended):
        signal.raise_signal(number)


def test_a_second_signal_ends_the_program_at_once() -> None:
    with pytest.raises(Ended, match="SIGTERM"), held():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("still held")


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with held():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_an_error_comes_through_and_the_signal_after_it() -> None:
    with pytest.raises(Ended) as raised, held():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("inside")
    assert isinstance(raised.value.__context__, ValueError)


def test_another_thread_may_hold_too() -> None:
    done = []

    def work() -> None:
        with held():
            done.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["worked"]
