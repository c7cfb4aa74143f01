"""Hours of edits leave a watcher as it was: same memory, no work and no writes while nobody edits.

AMEM_SOAK_SECONDS=3600 python -m pytest tests/faults/test_watch_soak.py
AMEM_SOAK_SECONDS=3600 AMEM_SOAK_VAULT=FOLDER python -m pytest tests/faults/test_watch_soak.py
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tests.conftest import Program
from tests.repositories import TestRepository, new_repository, person
from tests.vaults import write_note
from tests.watching import watching

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("AMEM_SOAK_SECONDS", "10"))
# A vault to edit a copy of, instead of a made-up one.
VAULT = os.environ.get("AMEM_SOAK_VAULT", "")
NOTES = 60
IDLE_SECONDS = 5.0
WORDS = ["garden", "harbour", "lamp", "winter", "letter", "engine", "river", "market", "bread"]


@dataclass
class Person:
    """Somebody who edits, renames, deletes and checks out without end, the same way each time."""

    repository: TestRepository
    chance: random.Random
    at_first: int = field(init=False)

    def __post_init__(self) -> None:
        self.at_first = len(self.notes)

    @property
    def notes(self) -> list[Path]:
        # Not in .git, where git tidies up by itself.
        folders = [each for each in self.repository.top.iterdir() if each.name[0] != "."]
        return sorted(note for folder in folders for note in folder.rglob("*.md"))

    def text(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=20)) + ".\n"

    def act(self) -> None:
        acts = [self.edit, self.edit, self.edit, self.replace, self.rename, self.delete, self.add]
        self.chance.choice([*acts, self.add, self.check_out])()

    def edit(self) -> None:
        self.chance.choice(self.notes).write_text(self.text())

    def replace(self) -> None:
        note = self.chance.choice(self.notes)
        temporary = note.with_suffix(".tmp")
        temporary.write_text(self.text())
        temporary.replace(note)

    def rename(self) -> None:
        note = self.chance.choice(self.notes)
        note.rename(note.with_name(f"r{self.chance.randrange(10**9)}.md"))

    def delete(self) -> None:
        if len(self.notes) > self.at_first // 2:
            self.chance.choice(self.notes).unlink()

    def add(self) -> None:
        if len(self.notes) < self.at_first * 2:
            name = f"{self.chance.randrange(5)}/a{self.chance.randrange(10**9)}.md"
            write_note(self.repository.top, name, self.text())

    def check_out(self) -> None:
        self.repository.git("add", "-A")
        self.repository.git("commit", "-q", "--allow-empty", "-m", "soak")
        count = int(self.repository.git("rev-list", "--count", "HEAD"))
        back = min(count - 1, self.chance.randrange(4))
        self.repository.git("checkout", "-q", f"HEAD~{back}", "--", ".")


@pytest.mark.skipif(sys.platform != "linux", reason="counts what a process writes by /proc")
def test_a_watcher_stays_as_it_is_however_long_people_edit(amem: Program, tmp_path: Path) -> None:
    root = tmp_path / "v"
    if VAULT:
        shutil.copytree(VAULT, root, ignore=shutil.ignore_patterns(".git", ".amem"))
    else:
        for number in range(NOTES):
            write_note(root, f"{number % 5}/n{number}.md", "A note of before.\n")
    amem.vault("v", "--adopt")
    somebody = Person(new_repository(root, person(tmp_path / "home")), random.Random(5))
    somebody.check_out()
    with watching(amem, root, "--settle", "86400") as watcher:
        process = psutil.Process(watcher.process.pid)
        started, early = time.monotonic(), 0
        while time.monotonic() - started < SECONDS:
            somebody.act()
            time.sleep(0.1 * somebody.chance.random())
            if time.monotonic() - started < SECONDS / 3:
                early = max(early, process.memory_info().rss)
        watcher.until(lambda: amem("index", "--check").code == 0)
        assert process.memory_info().rss < early * 1.1 + 30e6
        settled(process)
        before, written = process.cpu_times(), process.io_counters().write_bytes
        time.sleep(IDLE_SECONDS)
        after = process.cpu_times()
        used = after.user + after.system - before.user - before.system
        assert used < 0.05 * IDLE_SECONDS
        assert process.io_counters().write_bytes == written
        assert watcher.lines("trouble") == []
        assert watcher.end() == 0
        # Where it is the first to need one, it says that it prepares an encoder.
        assert [each for each in watcher.complaints if "encoder" not in each] == []


def settled(process: psutil.Process) -> None:
    """Wait until the last look at the folder is over."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        before = process.cpu_times().user
        time.sleep(1)
        if process.cpu_times().user - before < 0.02:
            return
