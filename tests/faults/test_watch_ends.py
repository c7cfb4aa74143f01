"""A watcher that is asked to end is gone soon, and leaves nothing half done."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from amem_cli.models.llama_cpp import WORKER_MODULE
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.fakes.tiny_gguf import write_tiny_gguf
from tests.mcp.clients import with_quick_encoder
from tests.vaults import write_note
from tests.watching import RunningWatcher, times_processed, watching

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="needs signals")]

# It is to take five seconds; a loaded machine may need more. Without care it is a minute or more.
LONGEST_END = 20.0
TEXT = "Walrus {} dives for clams. It rests on the ice.\n"
# An encoder that takes a minute for a text, in the thread that follows the folder, once it may.
SLOW_ENCODER = """
import os, time
from amem_cli.models import prepared

quick = prepared.PreparedEncoder.encode

def encode(self, texts, *rest, **named):
    if not os.path.exists({may!r}):
        return quick(self, texts, *rest, **named)
    open({mark!r}, "w").close()
    time.sleep(60)

prepared.PreparedEncoder.encode = encode
whole = prepared.PreparedEncoder.encode_passages

def encode_passages(self, texts):
    encode(self, texts)
    return whole(self, texts)

prepared.PreparedEncoder.encode_passages = encode_passages
"""


@pytest.fixture
def vault(amem: Program) -> Path:
    with_quick_encoder(amem)
    folder = amem.empty_vault()
    write_note(folder, "walrus.md", TEXT.format("zero"))
    return folder


@contextmanager
def saving(vault: Path) -> Iterator[None]:
    """Somebody who saves note after note, without a pause."""
    done = threading.Event()

    def save() -> None:
        number = 0
        while not done.is_set():
            write_note(vault, f"many/{number % 300}.md", TEXT.format(number))
            number += 1

    saver = threading.Thread(target=save)
    saver.start()
    try:
        yield
    finally:
        done.set()
        saver.join()


def assert_it_ends(watcher: RunningWatcher, number: signal.Signals) -> None:
    began = time.monotonic()
    assert watcher.end(number) == 0
    assert time.monotonic() - began < LONGEST_END
    assert watcher.told[-1]["event"] == "stopped"
    assert watcher.complaints == []


def assert_nothing_is_half_done(amem: Program, vault: Path) -> None:
    assert not list((vault / ".amem").glob("intents/*"))
    assert not list(vault.rglob(".amem-*.tmp"))
    assert amem("watch", "--status", "--json").json == {"running": False}
    stats = amem("stats", "--json").json
    assert stats["pending"] == stats["notes"] - len(times_processed(vault)) > 0
    assert amem("index", "--check").code == 0


@pytest.mark.parametrize(
    ("fault", "number"),
    [("silence", signal.SIGINT), ("drip", signal.SIGTERM), ("429", signal.SIGHUP)],
)
def test_it_ends_while_a_server_never_answers_and_many_notes_are_saved(
    amem: Program, vault: Path, fault: str, number: signal.Signals
) -> None:
    with ChatServer() as server:
        server.faults, server.retry_after = [fault], "80"
        with watching(amem, vault, **server.variables()) as watcher, saving(vault):
            watcher.until(lambda: server.requests)
            watcher.until_told("noticed")
            assert_it_ends(watcher, number)
    assert_nothing_is_half_done(amem, vault)


def test_it_ends_while_a_model_hangs_in_its_own_process_and_that_one_is_gone_too(
    amem: Program, vault: Path, tmp_path: Path
) -> None:
    model: dict[str, Any] = {
        "AMEM_LLM_BACKEND": "llama.cpp",
        "AMEM_LLM_MODEL": str(write_tiny_gguf(tmp_path / "tiny.gguf")),
    }
    with watching(amem, vault, **model) as watcher, saving(vault):
        watcher.until(lambda: _models_of(watcher))
        (child,) = _models_of(watcher)
        child.suspend()
        assert_it_ends(watcher, signal.SIGTERM)
        assert not child.is_running()
    assert_nothing_is_half_done(amem, vault)


def _models_of(watcher: RunningWatcher) -> list[psutil.Process]:
    """The processes of models; one that was only forked so far has the name of the watcher."""
    children = psutil.Process(watcher.process.pid).children()
    return [each for each in children if WORKER_MODULE in each.cmdline()]


def slow_encoder(amem: Program, folder: Path) -> tuple[Path, Path, str]:
    """The file that makes the encoder slow, the one that it then makes, and Python's path."""
    folder.mkdir()
    may, mark = folder / "may", folder / "begun"
    (folder / "sitecustomize.py").write_text(SLOW_ENCODER.format(may=str(may), mark=str(mark)))
    return may, mark, f"{amem.environment['PYTHONPATH']}{os.pathsep}{folder}"


def test_it_ends_while_the_encoder_keeps_the_loop_itself_busy(
    amem: Program, vault: Path, tmp_path: Path
) -> None:
    may, mark, path = slow_encoder(amem, tmp_path / "slow")
    may.touch()
    # It reaches neither its first line nor its worker, so nothing can be waited for but the mark.
    watcher = RunningWatcher(amem, vault, PYTHONPATH=path)
    watcher.until(mark.exists)
    assert_it_ends(watcher, signal.SIGTERM)
    assert_nothing_is_half_done(amem, vault)


def test_no_process_of_a_model_is_left_if_the_loop_itself_is_busy_at_the_end(
    amem: Program, vault: Path, tmp_path: Path
) -> None:
    may, mark, path = slow_encoder(amem, tmp_path / "slow")
    model: dict[str, Any] = {
        "AMEM_LLM_BACKEND": "llama.cpp",
        "AMEM_LLM_MODEL": str(write_tiny_gguf(tmp_path / "tiny.gguf")),
    }
    with watching(amem, vault, PYTHONPATH=path, **model) as watcher:
        watcher.until(lambda: _models_of(watcher))
        (child,) = _models_of(watcher)
        child.suspend()
        may.touch()
        write_note(vault, "seal.md", TEXT.format("one"))
        watcher.until(mark.exists)
        assert_it_ends(watcher, signal.SIGTERM)
        assert not child.is_running()
