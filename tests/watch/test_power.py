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


@pytest.mark.parametrize(
    ("battery", "told"),
    [
        (SimpleNamespace(percent=50, power_plugged=False), True),
        (SimpleNamespace(percent=50, power_plugged=True), False),
        (SimpleNamespace(percent=50, power_plugged=None), False),
        (None, False),
    ],
)
def test_a_machine_is_on_battery_only_where_it_is_known_to_be(
    monkeypatch: pytest.MonkeyPatch, battery: Any, told: bool
) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    assert on_battery() is told


@pytest.mark.parametrize("error", [FileNotFoundError("power_supply"), ValueError("x"), KeyError()])
def test_a_battery_that_cannot_be_read_is_none(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails() -> Any:
        raise error

    monkeypatch.setattr(psutil, "sensors_battery", fails, raising=False)
    assert on_battery() is False


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
        from amem_cli.system.processes import lower_priority
        for _ in range(2):
            lower_priority()
        print(os.nice(0), flush=True)
        subprocess.run(["nice"])
    """
    assert output(program) == ["10", "10"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all threads go together")
def test_one_thread_can_go_last_with_what_it_starts() -> None:
    program = """
        import os, subprocess, threading
        from amem_cli.system.processes import lower_priority
        def work():
            lower_priority()
            subprocess.run(["nice"])
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print(os.nice(0))
    """
    assert output(program) == ["10", "0"]
