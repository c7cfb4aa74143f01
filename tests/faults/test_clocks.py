"""A clock that jumps: ids stay unique, no change is missed, a person's words stand."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import FieldEdits, update
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.search.read import note_named
from tests.vaults import SteppingClock, open_vault, summary_of, write_note


class JumpingClock(SteppingClock):
    """Can be set back or forth by the test."""

    def jump(self, by: timedelta) -> None:
        self._moment += by


def test_ids_stay_unique_when_the_clock_goes_back(tmp_path: Path) -> None:
    clock = JumpingClock()
    ports = replace(open_vault(tmp_path), clock=clock)
    ids = []
    for _ in range(30):
        path = add(ports, NewNote("text", title="Same"))
        summary = summary_of(ports, path)
        ids.append(summary.id)
        clock.jump(timedelta(seconds=-4))
    assert len(set(ids)) == 30


def test_no_change_is_missed_when_the_clock_goes_back(tmp_path: Path) -> None:
    clock = JumpingClock()
    ports = replace(open_vault(tmp_path), clock=clock)
    note = write_note(tmp_path, "n.md", "one\n")
    synchronise(ports)
    for number, days in enumerate((-1, -4000, 8000, -1)):
        clock.jump(timedelta(days=days))
        write_note(tmp_path, "n.md", f"{number:03}\n")
        past = datetime.now(timezone.utc) - timedelta(days=abs(days))
        os.utime(note, (past.timestamp(), past.timestamp()))
        assert synchronise(ports).changed == ("n.md",)


def test_an_edit_that_keeps_size_and_times_is_seen(tmp_path: Path, ports: VaultPorts) -> None:
    note = write_note(tmp_path, "n.md", "one\n")
    synchronise(ports)
    times = note.stat()
    time.sleep(0.02)
    with note.open("r+b") as stream:
        stream.write(b"two\n")
    os.utime(note, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert note.stat().st_ctime_ns != times.st_ctime_ns
    assert synchronise(ports).changed == ("n.md",)


def test_a_persons_later_word_stands_though_the_clock_went_back(tmp_path: Path) -> None:
    clock = JumpingClock()
    ports = replace(open_vault(tmp_path), clock=clock)
    path = add(ports, NewNote("text", title="N"))
    update(ports, note_named(ports.index, path), FieldEdits(context="First."))
    clock.jump(timedelta(days=-1))
    update(ports, note_named(ports.index, path), FieldEdits(context="Second."))
    summary = ports.index.notes.summary(path)
    assert summary is not None and summary.context == "Second."
    assert b"context: Second." in (tmp_path / path).read_bytes()
