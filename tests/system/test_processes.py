"""Programs and all that they start come to an end, by whichever way the system has."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from amem_cli.system.processes import descendants, end, is_running, own_group

# Starts a child that starts another, tells both numbers, and waits or ends.
FAMILY = """
import subprocess, sys, time
inner = [sys.executable, "-c", "import time; time.sleep(600)"]
child = "import subprocess, time; p = subprocess.Popen(%r); print(p.pid, flush=True)" % inner
command = [sys.executable, "-c", child + "; time.sleep(600)"]
started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
print(started.pid, started.stdout.readline().strip(), flush=True)
time.sleep(float(sys.argv[1]))
"""


class Family:
    """A program with a child and a grandchild, which run."""

    def __init__(self, seconds: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", FAMILY, str(seconds)], stdout=subprocess.PIPE, **own_group()
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.others = [psutil.Process(int(number)) for number in line.split()]
        assert len(self.others) == 2

    def all_ended(self) -> bool:
        """Whether all have ended, or do within some seconds."""
        self.process.wait(20)
        _, alive = psutil.wait_procs(self.others, timeout=20)
        # Whose parent has ended is taken over by one that may be slow to notice.
        return all(each.status() == psutil.STATUS_ZOMBIE for each in alive)


@pytest.fixture
def families() -> Iterator[list[Family]]:
    made: list[Family] = []
    yield made
    for family in made:
        family.process.kill()
        for each in family.others:
            with suppress(psutil.Error):
                each.kill()
        assert family.process.stdout is not None
        family.process.stdout.close()


@pytest.mark.parametrize("ask", [True, False])
def test_a_program_ends_with_all_that_it_started(families: list[Family], ask: bool) -> None:
    family = Family(600)
    families.append(family)
    found = descendants(family.process)
    assert {each.pid for each in found} == {each.pid for each in family.others}
    end(family.process, found, ask=ask)
    assert family.all_ended()
    # Ending what has ended is no error.
    end(family.process, found)


def test_what_a_program_left_behind_ends_too(families: list[Family]) -> None:
    family = Family(0)
    families.append(family)
    family.process.wait(20)
    end(family.process, descendants(family.process))
    assert family.all_ended()


def test_a_number_is_a_running_process_or_none() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert is_running(process.pid)
        process.kill()
        process.wait(20)
    until = time.monotonic() + 20
    while is_running(process.pid):
        assert time.monotonic() < until
        time.sleep(0.01)
