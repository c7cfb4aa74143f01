"""The battery is heeded where it is known, and everything else goes first."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from amem_cli.watch.worker import on_battery

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize(("plugged", "told"), [(False, True), (True, False), (None, False)])
def test_a_machine_is_on_battery_only_where_it_is_known_to_be(
    plugged: bool | None, told: bool
) -> None:
    assert on_battery(lambda: SimpleNamespace(percent=50, power_plugged=plugged)) is told


def test_a_machine_without_a_battery_is_not_on_battery() -> None:
    assert on_battery(lambda: None) is False


@pytest.mark.parametrize("error", [FileNotFoundError("power_supply"), ValueError("x"), KeyError()])
def test_a_battery_that_cannot_be_read_is_none(error: Exception) -> None:
    def fails() -> Any:
        raise error

    assert on_battery(fails) is False


def test_the_battery_of_this_machine_is_asked() -> None:
    read = getattr(psutil, "sensors_battery", lambda: None)
    try:
        battery = read()
    except OSError:
        battery = None
    expected = battery is not None and battery.power_plugged is False

    assert on_battery() is expected


def output(program: str, *before: str) -> list[str]:
    done = subprocess.run(
        [*before, sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(TOP)},
    )
    return done.stdout.split()


posix = pytest.mark.skipif(os.name != "posix", reason="this is about niceness")


@posix
def test_a_process_that_goes_last_starts_processes_that_do() -> None:
    program = """
        import os, subprocess
        from amem_cli.watch.worker import lower_priority
        for _ in range(2):
            lower_priority()
        print(os.nice(0), flush=True)
        subprocess.run(["nice"])
    """
    assert output(program) == ["10", "10"]


@posix
def test_what_goes_last_already_is_not_raised() -> None:
    program = """
        import os
        from amem_cli.watch.worker import lower_priority
        lower_priority()
        print(os.nice(0))
    """
    assert output(program, "nice", "-n", "15") == ["15"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all threads go together")
def test_one_thread_can_go_last_with_what_it_starts() -> None:
    program = """
        import os, subprocess, threading
        from amem_cli.watch.worker import lower_priority
        def work():
            lower_priority()
            subprocess.run(["nice"])
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print(os.nice(0))
    """
    assert output(program) == ["10", "0"]
