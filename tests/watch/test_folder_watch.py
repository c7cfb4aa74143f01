"""Whatever happens to the notes of a vault, there is a hint of where to look."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from amem_cli.vault.folder import VaultFolder
from amem_cli.watch.folder_watch import FolderWatch
from amem_cli.watch.loop import Debouncer
from tests.vaults import write_note

pytestmark = pytest.mark.slow

PATIENCE = 120.0
TOP = Path(__file__).parents[2]


class Picture:
    """The notes of a vault as somebody knows them who looks only where hints lead.

    Attributes:
        notes: inode, size and time of each note, by path.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = VaultFolder(root)
        self.watch = FolderWatch(root)
        self.dirty = Debouncer(quiet=0.05)
        self.notes = self.truth()
        self.hinted: set[str] = set()
        self.lost = False

    def truth(self) -> dict[str, tuple[int, int, int]]:
        states = self.vault.scan([])
        return {state.path: (state.inode, state.size, state.mtime_ns) for state in states}

    def gather(self) -> set[str]:
        hints, lost = self.watch.take()
        self.hinted |= hints
        self.lost |= lost
        for path in hints:
            self.dirty.hint(path, time.monotonic())
        if lost:
            self.dirty.rescan(time.monotonic())
            self.is_whole()
        return hints

    def look(self) -> None:
        look = self.dirty.take(time.monotonic())
        if look is None:
            return
        for path in list(self.notes):
            if look.within is None or _below(path, look.within):
                del self.notes[path]
        found = self.vault.scan([]) if look.within is None else self.vault.look(look.within, [])
        for state in found:
            self.notes[state.path] = (state.inode, state.size, state.mtime_ns)

    def becomes_true(self) -> bool:
        """Follow hints until what is known is what is there, and nothing waits."""
        return self.until(lambda: self.dirty.due_at() is None and self.notes == self.truth())

    def until(self, reached: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.gather()
            self.look()
            if reached():
                return True
            self.watch.wait(0.02)
        return False

    def is_whole(self) -> bool:
        """Whether all is watched; if not, it is from now on."""
        whole = not (self.watch.is_outdated() or self.watch.trouble())
        if not whole:
            self.renew()
        return whole

    def renew(self) -> None:
        """Watch anew, as after trouble."""
        self.watch.close()
        self.watch = FolderWatch(self.root)
        self.dirty.rescan(time.monotonic())

    def settle(self) -> None:
        """Wait until every earlier event has been told, and forget what was hinted at."""
        assert self.becomes_true()
        self.passes_a_mark()
        self.hinted.clear()

    def passes_a_mark(self) -> None:
        """All events before the one that is made here have been told."""
        folders = ["", *(path.name for path in self.root.iterdir() if _is_visible(path))]
        marks = {f"{folder}/mark.md" if folder else "mark.md" for folder in folders}
        for mark in marks:
            (self.root / mark).write_text("x")
        assert self.until(lambda: marks <= self.hinted), marks - self.hinted
        for mark in marks:
            (self.root / mark).unlink()
        assert self.becomes_true()
        self.hinted -= marks


def _is_visible(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.name.startswith(".")


def _below(path: str, within: frozenset[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in within)


@pytest.fixture
def picture(tmp_path: Path) -> Iterator[Picture]:
    root = tmp_path / "vault"
    write_note(root, "top.md", "top\n")
    write_note(root, "notes/one.md", "one\n")
    write_note(root, "notes/deep/er/two.md", "two\n")
    watched = Picture(root)
    yield watched
    watched.watch.close()


def test_a_saved_a_new_and_a_deleted_note_are_hinted_at(picture: Picture) -> None:
    write_note(picture.root, "top.md", "other\n")
    write_note(picture.root, "notes/deep/er/new.md", "new\n")
    (picture.root / "notes/one.md").unlink()

    assert picture.becomes_true()
    assert picture.hinted == {"top.md", "notes/deep/er/new.md", "notes/one.md"}
    assert not picture.lost


def test_a_new_top_folder_is_watched_with_what_is_in_it_already(picture: Picture) -> None:
    write_note(picture.root, "a/b/c/d/first.md", "first\n")
    assert picture.becomes_true()
    write_note(picture.root, "a/b/c/d/second.md", "second\n")
    assert picture.becomes_true()

    assert "a/b/c/d/second.md" in picture.hinted
    assert picture.until(picture.is_whole)


@pytest.mark.parametrize("place", ["made", "notes/creation_date"])
def test_folders_made_and_written_into_at_once_are_seen(picture: Picture, place: str) -> None:
    script = f"""
        for i in $(seq 30); do mkdir -p {place}/$i/x/y && echo $i > {place}/$i/x/y/n.md; done
    """
    subprocess.run(["sh", "-c", script], cwd=picture.root, check=True)

    assert picture.becomes_true()
    assert len(picture.notes) == 33


@pytest.mark.parametrize(
    ("old", "new"),
    [("notes", "renamed"), ("notes/deep", "notes/renamed"), ("notes/deep", "lifted")],
)
def test_a_renamed_folder_is_followed(picture: Picture, old: str, new: str) -> None:
    (picture.root / old).rename(picture.root / new)
    write_note(picture.root, f"{new}/at once.md", "x\n")
    assert picture.becomes_true()

    picture.settle()
    write_note(picture.root, f"{new}/later.md", "x\n")
    assert picture.until(lambda: f"{new}/later.md" in picture.hinted)
    assert picture.becomes_true()
    assert picture.until(picture.is_whole)


@pytest.mark.parametrize("folder", ["notes", "notes/deep"])
def test_a_folder_moved_out_is_gone_and_one_moved_in_is_there(
    picture: Picture, tmp_path: Path, folder: str
) -> None:
    outside = tmp_path / "outside"
    (picture.root / folder).rename(outside)
    assert picture.becomes_true()

    write_note(outside, "ghost.md", "written elsewhere\n")
    assert picture.becomes_true()
    outside.rename(picture.root / folder)
    assert picture.until(lambda: f"{folder}/ghost.md" in picture.notes)

    picture.settle()
    write_note(picture.root, f"{folder}/ghost.md", "written here\n")
    assert picture.until(lambda: f"{folder}/ghost.md" in picture.hinted)
    assert picture.becomes_true()


@pytest.mark.parametrize("folder", ["notes", "notes/deep"])
def test_a_folder_that_is_deleted_and_made_again_is_watched(picture: Picture, folder: str) -> None:
    for round_ in range(5):
        shutil.rmtree(picture.root / folder)
        write_note(picture.root, f"{folder}/again {round_}.md", "x\n")
    assert picture.becomes_true()

    picture.settle()
    write_note(picture.root, f"{folder}/later.md", "x\n")
    assert picture.until(lambda: f"{folder}/later.md" in picture.hinted)
    assert picture.until(picture.is_whole)


def test_reading_makes_no_hint(picture: Picture) -> None:
    picture.settle()
    for _ in range(3):
        list(picture.vault.scan([]))
        for path in picture.notes:
            picture.vault.read(path)
    picture.passes_a_mark()

    assert picture.hinted == set()


@pytest.mark.parametrize("folder", [".git", ".obsidian", ".trash", "notes/.obsidian", ".amem"])
def test_what_is_nobody_s_note_makes_no_hint(picture: Picture, folder: str) -> None:
    picture.settle()
    write_note(picture.root, f"{folder}/deep/n.md", "x\n")
    write_note(picture.root, f"{folder}/n.md", "x\n")
    (picture.root / folder / "n.md").rename(picture.root / folder / "m.md")
    for name in (".hidden.md", "n.md~", "n.txt", ".n.md.swp", "4913", "n.jsonl"):
        write_note(picture.root, f"notes/{name}", "x\n")
    picture.passes_a_mark()

    assert picture.hinted == set()


def test_a_journal_that_comes_from_elsewhere_is_hinted_at(picture: Picture) -> None:
    write_note(picture.root, ".amem/journal/2026-01-other.jsonl", "{}\n")

    assert picture.until(lambda: ".amem/journal" in picture.hinted)
    assert picture.hinted == {".amem/journal"}


def test_a_journal_folder_that_was_taken_away_is_watched_again(picture: Picture) -> None:
    shutil.rmtree(picture.root / ".amem/journal")
    (picture.root / ".amem/journal").mkdir()
    assert picture.until(picture.is_whole)

    assert picture.until(lambda: _hinted_after_a_line(picture))


def _hinted_after_a_line(picture: Picture) -> bool:
    picture.is_whole()
    picture.hinted.clear()
    write_note(picture.root, ".amem/journal/2026-01-other.jsonl", f"{time.monotonic()}\n")
    return picture.until(lambda: ".amem/journal" in picture.hinted)


def test_a_journal_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "vault", tmp_path / "elsewhere"
    write_note(root, "n.md", "x\n")
    elsewhere.mkdir()
    (root / ".amem").mkdir()
    (root / ".amem/journal").symlink_to(elsewhere)
    picture = Picture(root)
    write_note(elsewhere, "2026-01-other.jsonl", "{}\n")
    picture.passes_a_mark()

    assert picture.hinted == set()
    assert picture.until(picture.is_whole)
    picture.watch.close()


def test_linked_folders_are_not_followed(picture: Picture, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (picture.root / "link").symlink_to(tmp_path / "elsewhere")
    (picture.root / "notes/link").symlink_to(tmp_path / "elsewhere")
    picture.settle()
    write_note(tmp_path / "elsewhere", "n.md", "x\n")
    picture.passes_a_mark()

    assert picture.hinted == set()
    assert picture.until(picture.is_whole)


def test_a_vault_that_is_reached_through_a_link_is_watched(tmp_path: Path) -> None:
    write_note(tmp_path / "real", "notes/n.md", "x\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with closing(FolderWatch(tmp_path / "link")) as watch:
        write_note(tmp_path / "real", "notes/n.md", "changed\n")
        assert hinted(watch, "notes/n.md")

        (tmp_path / "other").mkdir()
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to(tmp_path / "other")
        assert watch.trouble() == "the vault's folder was moved or replaced"


def hinted(watch: FolderWatch, path: str) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        watch.wait(0.05)
        if path in watch.take()[0]:
            return True
    return False


@pytest.mark.parametrize("name", ["watchdog.observers.inotify_c", "watchdog.observers.inotify"])
def test_a_queue_that_ran_over_is_told(picture: Picture, name: str) -> None:
    assert picture.watch.take()[1] is False
    logging.getLogger(name).warning("Inotify queue overflowed; filesystem events were lost")

    assert picture.watch.take() == (set(), True)
    assert picture.watch.take() == (set(), False)


linux = pytest.mark.skipif(sys.platform != "linux", reason="this is about inotify")


def limited(root: Path, *limits: str, program: str) -> str:
    """What a program prints in a user namespace with limits of its own."""
    writes = "; ".join(
        f"echo {value} > /proc/sys/user/{name}"
        for name, value in (limit.split("=") for limit in limits)
    )
    command = [sys.executable, "-c", program, str(root)]
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", f'{writes}; exec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOP)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _may_unshare() -> bool:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    # The limits of this namespace only; those in /proc/sys/fs are the whole machine's.
    test = ["unshare", "-Ur", "sh", "-c", "echo 100 > /proc/sys/user/max_inotify_watches"]
    return subprocess.run(test, capture_output=True).returncode == 0


unsharing = pytest.mark.skipif(not _may_unshare(), reason="no user namespaces with limits here")

TROUBLE = """
import sys
from pathlib import Path
from amem_cli.watch.folder_watch import FolderWatch
try:
    watch = FolderWatch(Path(sys.argv[1]))
except OSError as error:
    sys.exit(print(f"OSError: {error.strerror}") or 0)
print(watch.trouble())
print(watch.trouble())
watch.close()
"""


@linux
@unsharing
@pytest.mark.parametrize("place", ["", "notes/"])
def test_the_limit_of_watches_is_told(tmp_path: Path, place: str) -> None:
    for number in range(100):
        (tmp_path / f"{place}{number}").mkdir(parents=True)
    folders = 100 + 2 + (1 if place else 0)

    told = limited(tmp_path, "max_inotify_watches=40", program=TROUBLE).splitlines()

    message = f"the system's limit of watches is reached (40 of {folders} folders)"
    assert told == [message, message]
    assert limited(tmp_path, "max_inotify_watches=200", program=TROUBLE).split() == []


@linux
@unsharing
@pytest.mark.parametrize("limit", ["max_inotify_watches=0", "max_inotify_instances=0"])
def test_where_nothing_can_be_watched_that_is_an_error(tmp_path: Path, limit: str) -> None:
    assert limited(tmp_path, limit, program=TROUBLE).startswith("OSError: inotify")


def test_a_root_that_is_replaced_or_gone_is_told(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    with closing(FolderWatch(root)) as watch:
        assert watch.trouble() == ""
        root.rename(tmp_path / "aside")
        assert watch.trouble() == "the vault's folder was moved or replaced"
        watch.take()
        root.mkdir()
        assert watch.trouble() == "the vault's folder was moved or replaced"
    with closing(FolderWatch(root)) as watch:
        assert watch.trouble() == ""
    shutil.rmtree(root)
    with pytest.raises(OSError):
        FolderWatch(root)


def test_a_wait_ends_with_a_wake_that_came_before_it(tmp_path: Path) -> None:
    with closing(FolderWatch(tmp_path)) as watch:
        watch.wake()
        started = time.monotonic()
        watch.wait(60.0)
        assert time.monotonic() - started < 30
        watch.wait(0.0)
        watch.wait(-1.0)


def test_a_wait_ends_with_a_wake_from_a_signal(tmp_path: Path) -> None:
    with closing(FolderWatch(tmp_path)) as watch:
        before = signal.signal(signal.SIGUSR1, lambda *_: watch.wake())
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        try:
            started = time.monotonic()
            watch.wait(60.0)
            assert time.monotonic() - started < 30
        finally:
            timer.join()
            signal.signal(signal.SIGUSR1, before)
