"""Ctrl-C while the encoder is loaded ends the command; the cache stays whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.errors import EXIT_INTERRUPTED
from tests.conftest import Program
from tests.fakes.prepared_encoder import with_quick_encoder
from tests.terminal import at_terminal
from tests.vaults import write_note

pytestmark = pytest.mark.slow

# Instead of the library: what happens while it is imported.
SIGNALLED = """
import os, signal, time
os.kill(os.getpid(), signal.{name})
time.sleep(3600)
"""
SLOW = """
import time
time.sleep(3)
raise ImportError("not here")
"""
SIGNALLED_IN_NATIVE_CODE = """
try:
    raise KeyboardInterrupt
except KeyboardInterrupt as error:
    raise ImportError("initialization failed") from error
"""


@pytest.fixture
def vault(amem: Program, tmp_path: Path) -> Program:
    """A vault with a prepared encoder that was not yet asked anything."""
    amem.environment |= with_quick_encoder(tmp_path / "cache")
    amem.vault()
    return amem


def instead_of(module: str, code: str, vault: Program) -> dict[str, str]:
    folder = vault.folder / "instead"
    folder.mkdir()
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    return {"PYTHONPATH": f"{folder}:{vault.environment['PYTHONPATH']}"}


def on_a_terminal(vault: Program, *command: str, **variables: str) -> str:
    """What a terminal is sent while a command runs on it."""
    return at_terminal(vault.folder, command, (), **{**vault.environment, **variables})[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_search_ends_while_its_encoder_is_still_loading(
    vault: Program, number: signal.Signals
) -> None:
    runtime = instead_of("onnxruntime", SIGNALLED.format(name=number.name), vault)
    answer = vault("search", "bread", **runtime)
    assert (answer.code, answer.out, answer.err) == (EXIT_INTERRUPTED, "", "interrupted\n")


def test_a_terminal_shows_progress_only_where_something_takes_long(vault: Program) -> None:
    assert vault("index").code == 0
    write_note(vault.folder / "v", "new.md", "bread\n")
    assert "reading notes" not in on_a_terminal(vault, "list")
    for number in range(6000):
        (vault.folder / f"v/{number}.md").write_text("bread\n", encoding="utf-8")
    assert "reading notes" in on_a_terminal(vault, "list")


def test_a_terminal_says_what_it_waits_for_before_anything_can_be_counted(vault: Program) -> None:
    runtime = instead_of("onnxruntime", SLOW, vault)
    shown = on_a_terminal(vault, "add", "bread", **runtime)
    assert "embedding passages" in shown


def test_an_interrupted_load_prepares_nothing_anew(vault: Program) -> None:
    runtime = instead_of("onnxruntime", SIGNALLED_IN_NATIVE_CODE, vault)
    answer = vault("index", **runtime)
    assert (answer.code, answer.out, answer.err) == (EXIT_INTERRUPTED, "", "interrupted\n")
    assert vault("index").code == 0


def test_a_damaged_library_is_told_of_once(vault: Program) -> None:
    library = instead_of("numpy", "raise RuntimeError('damaged')\n", vault)
    answer = vault("search", "bread", **library)
    assert answer.code != 0
    assert "Traceback" not in answer.err
    assert answer.err.count("damaged") == 1


INTERRUPTED_IN_EXEC = """
import os, signal, sys
from amem_cli.cli.main import end_on_signals
end_on_signals()
try:
    exec("os.kill(os.getpid(), signal.SIGTERM)")
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_interruption_while_a_class_is_written_keeps_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(INTERRUPTED_IN_EXEC)
    paths = os.pathsep.join((str(tmp_path), str(Path(__file__).parents[2])))
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], env={**os.environ, "PYTHONPATH": paths}, check=False
    )
    assert done.returncode == EXIT_INTERRUPTED
