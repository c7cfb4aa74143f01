"""A process may be ended at any moment: notes are whole, and the next run completes the work."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amem_cli.index.sync import synchronise
from amem_cli.notes.note import body_bytes, parse_note
from tests.conftest import Program
from tests.faults.driver import evolve, ports_of, update_note
from tests.faults.injection import FaultyRuns, check_recovered_from_a_kill, faulty, make_vault
from tests.vaults import open_vault, write_note

pytestmark = pytest.mark.slow

__all__ = ["faulty"]
PATIENCE = 120.0


def test_sixty_kills_during_a_batch_leave_every_note_whole(
    tmp_path: Path, faulty: FaultyRuns
) -> None:
    root = tmp_path / "vault"
    texts = {f"n{number:02}.md": f"Walrus {number} dives for clams.\n" for number in range(30)}
    for name, text in texts.items():
        write_note(root, name, text)
    chance = random.Random(11)
    for kill in range(60):
        before = {name: (root / name).read_bytes() for name in texts}
        faulty.killed(root, "evolve", after=chance.random() * 0.25)
        for name, text in texts.items():
            raw = (root / name).read_bytes()
            assert body_bytes(raw) == text.encode()
            assert parse_note(name, raw).refused is None
            assert raw == before[name] or b"\nkeywords:" in raw
        check_recovered_from_a_kill(root)
        ports = open_vault(root)
        synchronise(ports)
        if not ports.index.queue.unprocessed():
            texts = {name: f"{text.strip()} Kill {kill}.\n" for name, text in texts.items()}
            for name, text in texts.items():
                write_note(root, name, text)
        ports.index.close()
    ports = ports_of(root)
    evolve(root)
    assert ports.index.queue.unprocessed() == []
    check_recovered_from_a_kill(root)


IMPORTED = {f"{number}.md": f"Number {number} of what comes in.\n" for number in range(12)}


def bodies(root: Path) -> list[bytes]:
    """The texts of all notes, those in the trash too."""
    return sorted(body_bytes(path.read_bytes()) for path in root.rglob("*.md"))


@pytest.mark.parametrize("action", ["add", "update", "undo", "merge", "import"])
def test_kills_of_a_command_leave_its_change_whole_or_not_made_and_it_can_be_made_again(
    tmp_path: Path, faulty: FaultyRuns, action: str
) -> None:
    make_vault(tmp_path / "vault")
    for name in ("Kept.md", "Other.md"):
        write_note(tmp_path / "vault", name, f"{name} [[Trains]] knows of butter.\n")
    for name, text in IMPORTED.items():
        write_note(tmp_path / "source", name, text)
    if action == "undo":
        update_note(tmp_path / "vault")
    line = f"import\t{tmp_path / 'source'}" if action == "import" else action
    before = bodies(tmp_path / "vault")
    shutil.copytree(tmp_path / "vault", tmp_path / "done")
    # The first run also waits for what runs them.
    assert faulty.done(tmp_path / "done", "look") == 0
    began = time.monotonic()
    assert faulty.done(tmp_path / "done", line) == 0
    usual = time.monotonic() - began
    after = bodies(tmp_path / "done")
    assert after != before
    chance, cut = random.Random(action), 0
    for kill in range(12):
        root = tmp_path / f"v{kill}"
        shutil.copytree(tmp_path / "vault", root)
        cut += faulty.killed(root, line, after=chance.random() * usual) != 0
        check_recovered_from_a_kill(root)
        if action == "import":
            # Note by note: each that came in is whole, and none is there twice.
            assert set(before) <= set(bodies(root)) <= set(after)
            assert len(set(bodies(root))) == len(bodies(root))
        else:
            assert bodies(root) in (before, after)
        if bodies(root) != after:
            assert faulty.done(root, line) == 0
            check_recovered_from_a_kill(root)
            assert bodies(root) == after
        shutil.rmtree(root)
    assert cut


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_with_its_code_and_the_next_one_completes(
    amem: Program, number: signal.Signals
) -> None:
    amem("init", "v")
    for name in range(2500):
        write_note(amem.folder / "v", f"many/{name}.md", f"walrus {name} [[{name + 1}]]\n")
    process = amem.start("--vault", "v", "list", "--json")
    index = amem.folder / "v/.amem/index.db-wal"
    deadline = time.monotonic() + PATIENCE
    while not index.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    listed = amem("--vault", "v", "list", "--path", "many", "--json")
    assert len(listed.json) == 2500
    assert list((amem.folder / "v").rglob(".amem-*.tmp")) == []


def wait_until_it_hears(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Wait until a program has its own way to end at a signal, as it has soon after its start."""
    end = time.monotonic() + PATIENCE
    while not _hears(process.pid, number):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)


def _hears(process_id: int, number: signal.Signals) -> bool:
    if not Path("/proc/self/status").exists():
        time.sleep(5)
        return True
    status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii", errors="replace")
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_a_terminal_that_is_gone_ends_a_command_without_a_trace(amem: Program) -> None:
    amem("init", "v")
    command = [sys.executable, "-m", "amem_cli", "--vault", "v", "add", "-"]
    variables = {**os.environ, **amem.environment}
    for number, code in ((signal.SIGHUP, 130), (signal.SIGTERM, 130), (signal.SIGINT, 130)):
        process = subprocess.Popen(
            command,
            cwd=amem.folder,
            env=variables,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        process.stderr.close()
        # The last of the three that it learns to hear.
        wait_until_it_hears(process, signal.SIGHUP)
        process.send_signal(number)
        assert process.wait(PATIENCE) == code
    # A process started with nohup goes on.
    ignoring = ["bash", "-c", 'trap "" HUP; exec "$@"', "-", *command, "--no-wait"]
    process = subprocess.Popen(
        ignoring, cwd=amem.folder, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    wait_until_it_hears(process, signal.SIGTERM)
    process.send_signal(signal.SIGHUP)
    process.communicate(b"kept", timeout=PATIENCE)
    assert (amem.folder / "v/notes/kept.md").exists()
