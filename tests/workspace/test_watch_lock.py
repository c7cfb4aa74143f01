"""A vault has one watcher at most; others learn what it does, and may end it and nothing else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from amem_cli.errors import SettingsError
from amem_cli.workspace.watch_lock import WatchLock, is_watched, read_status, stop_watcher

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[2]

WATCHER = """
    import os, subprocess, sys, time
    from dataclasses import asdict, replace
    from pathlib import Path
    from amem_cli.workspace.watch_lock import WatchLock
    how = sys.argv[2]
    lock = WatchLock(Path(sys.argv[1]), os.environ)
    status = lock.acquire()
    lock.write_status(replace(status, state="thinking", doing="a.md", pending=3))
    if how == "parent":
        subprocess.Popen(["sleep", "60"])
    print(os.getpid(), flush=True)
    while how == "deaf" or not lock.stop_requested():
        time.sleep(0.02)
    lock.release()
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "vault/.amem").mkdir(parents=True)
    return tmp_path / "vault"


@pytest.fixture
def environment() -> Mapping[str, str]:
    return dict(os.environ)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes, and ends them with the test."""
    with ExitStack() as ended:

        def begin(*command: object, **variables: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [str(word) for word in command],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(TOP), **variables},
            )
            ended.callback(process.communicate)
            ended.callback(process.kill)
            return process

        yield begin


def watch(start: Start, root: Path, how: str = "", **variables: str) -> subprocess.Popen[str]:
    """A process that watches a vault."""
    program = textwrap.dedent(WATCHER)
    process = start(sys.executable, "-c", program, root, how or "ready", **variables)
    assert process.stdout is not None
    assert process.stdout.readline() == f"{process.pid}\n"
    return process


def status_file(environment: Mapping[str, str]) -> Path:
    (path,) = (Path(environment["AMEM_STATE_DIR"]) / "watchers").glob("*.json")
    return path


def test_a_second_watcher_is_told_who_watches(
    root: Path, environment: Mapping[str, str], start: Start
) -> None:
    watcher = watch(start, root)
    with pytest.raises(SettingsError) as refused:
        WatchLock(root, environment).acquire()

    assert f"by process {watcher.pid} on " in refused.value.message
    assert "since 20" in refused.value.message
    assert "--stop" in refused.value.hint


def test_a_vault_reached_by_another_way_is_the_same_vault(
    root: Path, environment: Mapping[str, str], start: Start
) -> None:
    watcher = watch(start, root)
    link = root.parent / "link"
    link.symlink_to(root)

    status = read_status(link, environment)
    assert status is not None and status.pid == watcher.pid


def test_a_watcher_of_another_user_or_machine_is_told_as_that(
    root: Path, environment: Mapping[str, str], start: Start, tmp_path: Path
) -> None:
    watch(start, root, AMEM_STATE_DIR=str(tmp_path / "elsewhere"))

    assert is_watched(root)
    assert read_status(root, environment) is None
    for attempt in (
        lambda: WatchLock(root, environment).acquire(),
        lambda: stop_watcher(root, environment, 5),
    ):
        with pytest.raises(SettingsError, match="another user or on another machine"):
            attempt()


def test_the_status_says_what_the_watcher_last_wrote(
    root: Path, environment: Mapping[str, str]
) -> None:
    lock = WatchLock(root, environment)
    first = lock.acquire()
    assert read_status(root, environment) == first

    later = replace(first, state="resting", reason="on battery", pending=2, notes=9, tokens=70)
    lock.write_status(later)
    assert read_status(root, environment) == later

    lock.release()
    assert read_status(root, environment) is None
    assert list((Path(environment["AMEM_STATE_DIR"]) / "watchers").iterdir()) == []


def test_the_status_is_the_user_s_alone_and_not_in_the_vault(
    root: Path, environment: Mapping[str, str]
) -> None:
    lock = WatchLock(root, environment)
    lock.acquire()
    path = status_file(environment)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in (root / ".amem").iterdir()] == ["watch.lock"]
    lock.release()


def test_a_watcher_that_was_killed_leaves_nothing_that_counts(
    root: Path, environment: Mapping[str, str], start: Start
) -> None:
    watcher = watch(start, root, "parent")
    assert read_status(root, environment) is not None
    children = psutil.Process(watcher.pid).children()
    watcher.kill()
    watcher.wait()

    try:
        assert all(child.is_running() for child in children) and children
        assert status_file(environment).exists()
        assert not is_watched(root)
        assert read_status(root, environment) is None
        assert stop_watcher(root, environment, 5) is False
        WatchLock(root, environment).acquire()
    finally:
        for child in children:
            child.kill()


def test_asking_keeps_nobody_from_watching(root: Path, environment: Mapping[str, str]) -> None:
    ended = threading.Event()
    seen: set[bool] = set()

    def ask() -> None:
        while not ended.wait(0.005):
            seen.add(is_watched(root))

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(30):
            lock = WatchLock(root, environment)
            lock.acquire()
            lock.release()
        # The askers may have had no turn in between.
        deadline = time.monotonic() + 30
        while False not in seen and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        ended.set()
        for asker in askers:
            asker.join()
    assert False in seen


def test_a_watcher_can_be_stopped(root: Path, environment: Mapping[str, str], start: Start) -> None:
    watcher = watch(start, root)

    assert stop_watcher(root, environment, 20) is True
    assert watcher.wait(120) == 0
    assert stop_watcher(root, environment, 20) is False
    again = watch(start, root)
    assert again.poll() is None


def test_a_watcher_that_does_not_end_in_time_is_told(
    root: Path, environment: Mapping[str, str], start: Start
) -> None:
    watcher = watch(start, root, "deaf")
    with pytest.raises(SettingsError, match=f"process {watcher.pid}.* within 0.2 s"):
        stop_watcher(root, environment, 0.2)

    assert watcher.poll() is None


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[]", b"{}"])
def test_a_status_that_is_none_is_left_alone(
    root: Path, environment: Mapping[str, str], content: bytes
) -> None:
    lock = WatchLock(root, environment)
    lock.acquire()
    status_file(environment).write_bytes(content)

    assert read_status(root, environment) is None
    lock.release()


def test_a_state_folder_that_cannot_be_written_keeps_nobody_from_watching(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file")
    environment = {"AMEM_STATE_DIR": str(tmp_path / "state")}
    lock = WatchLock(root, environment)
    status = lock.acquire()
    lock.write_status(status)

    assert is_watched(root)
    assert read_status(root, environment) is None
    lock.release()


def test_a_lock_that_is_a_link_is_not_followed(
    root: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    (root / ".amem/watch.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match="cannot lock the vault"):
        WatchLock(root, environment).acquire()
    assert not (tmp_path / "elsewhere").exists()
    assert not is_watched(root)


def test_a_vault_that_is_not_there_is_not_made(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match="is not a vault any more"):
        WatchLock(tmp_path / "nowhere", environment).acquire()
    assert list(tmp_path.iterdir()) == []


def test_a_stop_that_nobody_heard_does_not_stop_the_next_watcher(
    root: Path, environment: Mapping[str, str], start: Start
) -> None:
    watcher = watch(start, root, "deaf")
    with pytest.raises(SettingsError, match="did not end"):
        stop_watcher(root, environment, 0.1)
    watcher.kill()
    watcher.wait()

    lock = WatchLock(root, environment)
    lock.acquire()
    assert not lock.stop_requested()
    lock.release()
