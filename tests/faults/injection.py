"""Lets single system calls of a process fail, or kills it at one, with strace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pytest

from amem_cli.index.sync import check_index, synchronise
from tests.vaults import open_vault, write_note

TOP = Path(__file__).parents[2]
PATIENCE = 120.0
OLD = (
    '---\nid: "20260101120000"\ntags:\n  - butter # mine\nmood: "fine"\n---\nLamination of dough.\n'
)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TOP), "OPENBLAS_NUM_THREADS": "1"}


@dataclass
class Fault:
    """What came of a run with one system call meddled with.

    Attributes:
        happened: the call was reached, and so meddled with.
        calls: what was traced, in order, one line each.
        code: of the process; negative where a signal ended it.
        told: what it said.
    """

    happened: bool
    code: int
    told: str
    calls: list[str]


class FaultyRuns:
    """Runs the driver's actions, each in a fresh process under strace."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.driver", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=TOP,
            env=environment(),
        )

    def __enter__(self) -> FaultyRuns:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.kill()
        self._server.communicate()

    def run(self, root: Path, action: str, *injections: str) -> Fault:
        """Run an action.

        Args:
            injections: as of `strace -e inject=`, such as `write:error=ENOSPC:when=3`.
        """
        log, trace = (root.with_name(root.name + end) for end in (".log", ".trace"))
        process = self._begin(root, action)
        calls = ",".join(injection.split(":")[0] for injection in injections)
        options = [f"--inject={injection}" for injection in injections]
        command = ["strace", "-f", "-e", f"trace={calls}", *options, "-o", str(trace)]
        tracer = subprocess.Popen([*command, "-p", process], stderr=subprocess.PIPE, text=True)
        assert tracer.stderr is not None
        first = tracer.stderr.readline()
        self._go()
        code = self._code()
        tracer.communicate(timeout=PATIENCE)
        if "attached" not in first:
            pytest.skip(f"strace may not take hold of processes here: {first.strip()}")
        lines = trace.read_text().splitlines()
        happened = code < 0 or any("INJECTED" in line for line in lines)
        return Fault(happened, code, log.read_text(), [line for line in lines if "(" in line])

    def done(self, root: Path, action: str) -> int:
        """Run an action to its end; returns its code."""
        self._begin(root, action)
        self._go()
        return self._code()

    def killed(self, root: Path, action: str, *, after: float) -> int:
        """Run an action and kill it after so many seconds; returns its code."""
        self._begin(root, action)
        self._go(f"{after}")
        return self._code()

    def _begin(self, root: Path, action: str) -> str:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{root}\t{action}\n")
        self._server.stdin.flush()
        return self._server.stdout.readline().strip()

    def _go(self, kill_after: str = "") -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(f"{kill_after}\n")
        self._server.stdin.flush()

    def _code(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())


@pytest.fixture(scope="module")
def faulty() -> Iterator[FaultyRuns]:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    with FaultyRuns() as runs:
        yield runs


def make_vault(root: Path) -> None:
    """A vault of a few notes that are indexed."""
    write_note(root, "notes/Lamination.md", OLD)
    write_note(root, "notes/Trains.md", "Trains are late in winter.\r\n")
    ports = open_vault(root)
    synchronise(ports)
    ports.index.close()


def check_recovered(root: Path) -> None:
    """After the next run nothing half done is left and the index is that of the files."""
    ports = open_vault(root)
    synchronise(ports)
    assert check_index(ports) == []
    ports.index.close()
    left = [path for path in root.rglob(".amem-*") if path.is_file()]
    assert left == []
    assert list((root / ".amem").glob("intents/*")) == []


def check_recovered_from_a_kill(root: Path) -> None:
    """Also that nothing is kept in the trash: nobody saved anything that could be lost."""
    check_recovered(root)
    assert list(root.glob(".trash/recovered-*")) == []
