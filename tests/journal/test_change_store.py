"""Changes of several notes are made as a whole or not at all."""

from __future__ import annotations

import base64
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from amem_cli.errors import Problem, WriteConflict
from amem_cli.journal.change_store import ChangeStore, _Step
from amem_cli.journal.events import Event, NoteWrite, to_record
from amem_cli.journal.files import JournalFolder, JournalNews
from amem_cli.vault.folder import VaultFolder


def store_of(root: Path) -> tuple[ChangeStore, JournalFolder]:
    vault = VaultFolder(root)
    (root / ".amem").mkdir(exist_ok=True)
    journal = JournalFolder(root / ".amem" / "journal", "test")
    return ChangeStore(vault, journal), journal


def events_of(journal: JournalFolder) -> list[str]:
    return [event.id for file in journal.read_new({}, []).files for event in file.events]


def an_event(name: str) -> Event:
    return Event(id=name, time="2026-01-01T00:00:00+00:00", kind="evolve")


def test_all_notes_and_the_events_are_written(tmp_path: Path) -> None:
    store, journal = store_of(tmp_path)
    (tmp_path / "a.md").write_bytes(b"a1")
    (tmp_path / "gone.md").write_bytes(b"g1")
    writes = [
        NoteWrite("a.md", b"a1", b"a2"),
        NoteWrite("notes/new.md", None, b"n1"),
        NoteWrite("gone.md", b"g1", None),
    ]
    store.apply(writes, [an_event("e1")])
    assert (tmp_path / "a.md").read_bytes() == b"a2"
    assert (tmp_path / "notes/new.md").read_bytes() == b"n1"
    assert (tmp_path / ".trash/gone.md").read_bytes() == b"g1"
    assert events_of(journal) == ["e1"]
    assert list((tmp_path / ".amem/intents").iterdir()) == []


def test_one_changed_note_stops_the_whole_change(tmp_path: Path) -> None:
    store, journal = store_of(tmp_path)
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_bytes(b"one")
    (tmp_path / "c.md").write_bytes(b"edited")
    writes = [
        NoteWrite("a.md", b"one", b"two"),
        NoteWrite("b.md", b"one", None),
        NoteWrite("c.md", b"one", b"two"),
    ]
    with pytest.raises(WriteConflict):
        store.apply(writes, [an_event("e1")])
    contents = [(tmp_path / name).read_bytes() for name in ("a.md", "b.md", "c.md")]
    assert contents == [b"one", b"one", b"edited"]
    assert events_of(journal) == []
    assert store.recover() == []


def test_a_move_that_cannot_be_made_whole_is_taken_back(tmp_path: Path) -> None:
    store, journal = store_of(tmp_path)
    (tmp_path / "a.md").write_bytes(b"one")
    (tmp_path / "b.md").write_bytes(b"edited")
    move = NoteWrite("sub/new.md", b"one", b"two", "a.md")
    with pytest.raises(WriteConflict):
        store.apply([move, NoteWrite("b.md", b"one", b"two")], [an_event("e1")])
    assert (tmp_path / "a.md").read_bytes() == b"one"
    assert not (tmp_path / "sub/new.md").exists()
    (tmp_path / "b.md").write_bytes(b"taken")
    with pytest.raises(FileExistsError):
        store.apply([NoteWrite("b.md", b"one", b"two", "a.md")], [an_event("e2")])
    assert (tmp_path / "b.md").read_bytes() == b"taken"
    assert (events_of(journal), store.recover()) == ([], [])
    store.apply([move], [an_event("e3")])
    assert (tmp_path / "sub/new.md").read_bytes() == b"two"
    assert not (tmp_path / "a.md").exists()


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("written", [b"one", b"two", b"edited"])
def test_a_killed_move_is_finished_unless_the_note_was_edited(
    tmp_path: Path, moved: bool, written: bytes
) -> None:
    store, journal = store_of(tmp_path)
    (tmp_path / "a.md").write_bytes(b"one")
    (tmp_path / "sub").mkdir()
    # The intent as it is on disk at the moment of the kill.
    move = NoteWrite("sub/new.md", b"one", b"two", "a.md")
    kept = store._keep_intent(_Step((move,), (an_event("e1"),), (), ()))
    place = tmp_path / ("sub/new.md" if moved else "a.md")
    (tmp_path / "a.md").rename(place)
    place.write_bytes(written if moved else b"one")
    problems = store.recover()
    assert not kept.exists()
    if moved and written == b"edited":
        assert [each.path for each in problems] == ["sub/new.md"]
        assert (place.read_bytes(), events_of(journal)) == (b"edited", [])
    else:
        assert (problems, events_of(journal)) == ([], ["e1"])
        assert (tmp_path / "sub/new.md").read_bytes() == b"two"
        assert not (tmp_path / "a.md").exists()


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.journal.test_change_store import an_event, store_of
from amem_cli.journal.events import NoteWrite
root = Path(sys.argv[1])
store, _ = store_of(root)
store.recover()
number = int((root / "a.md").read_text())
print("ready", flush=True)
while True:
    old, new = str(number).encode(), str(number + 1).encode()
    names = ("a.md", "b.md", "c.md")
    store.apply([NoteWrite(name, old, new) for name in names], [an_event(f"e{number + 1:06}")])
    number += 1
"""


@pytest.mark.slow
def test_a_killed_change_is_finished_or_taken_back(tmp_path: Path) -> None:
    names = ("a.md", "b.md", "c.md")
    for name in names:
        (tmp_path / name).write_bytes(b"0")
    chance = random.Random(7)
    top = str(Path(__file__).parents[2])
    for _ in range(8):
        command = [sys.executable, "-c", WRITER, str(tmp_path), top]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(chance.random() * 0.03)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        store, journal = store_of(tmp_path)
        assert store.recover() == []
        versions = {(tmp_path / name).read_bytes() for name in names}
        assert len(versions) == 1
        number = int(versions.pop())
        assert events_of(journal) == [f"e{each:06}" for each in range(1, number + 1)]


def leave_intent(root: Path, writes: list[NoteWrite], events: list[Event]) -> None:
    """What a process that was killed before its first write leaves behind."""
    packed = [
        {
            "path": write.path,
            "before": base64.b64encode(write.before or b"").decode(),
            "after": base64.b64encode(write.after or b"").decode(),
        }
        for write in writes
    ]
    record = {"writes": packed, "events": [to_record(event) for event in events]}
    (root / ".amem/intents").mkdir()
    (root / ".amem/intents/1.json").write_text(json.dumps(record), encoding="utf-8")


def test_a_note_edited_after_the_kill_keeps_the_edit(tmp_path: Path) -> None:
    store, journal = store_of(tmp_path)
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_bytes(b"one")
    writes = [NoteWrite(name, b"one", b"two") for name in ("a.md", "b.md")]
    leave_intent(tmp_path, writes, [an_event("e1")])
    (tmp_path / "a.md").write_bytes(b"two")
    (tmp_path / "b.md").write_bytes(b"one, and a person's word")
    problems = store.recover()
    assert [problem.path for problem in problems] == ["b.md"]
    assert (tmp_path / "a.md").read_bytes() == b"one"
    assert (tmp_path / "b.md").read_bytes() == b"one, and a person's word"
    assert events_of(journal) == []


class _HeldByAnother(VaultFolder):
    """A vault in which a program opens a note to write in it as soon as amem wrote it."""

    def __init__(self, root: Path, name: str) -> None:
        super().__init__(root)
        self._name = name
        self.held: IO[bytes] | None = None

    def write(
        self, path: str, content: bytes, *, expected: str | None, modified_ns: int = 0
    ) -> None:
        super().write(path, content, expected=expected, modified_ns=modified_ns)
        if path == self._name and self.held is None:
            self.held = (self.root / path).open("ab")


@pytest.mark.skipif(sys.platform != "linux", reason="asks for a lease")
def test_a_note_that_cannot_be_put_back_at_once_is_put_back_later(tmp_path: Path) -> None:
    (tmp_path / ".amem").mkdir()
    vault = _HeldByAnother(tmp_path, "a.md")
    journal = JournalFolder(tmp_path / ".amem" / "journal", "test")
    store = ChangeStore(vault, journal)
    (tmp_path / "a.md").write_bytes(b"one")
    (tmp_path / "b.md").write_bytes(b"one, and a person's word")
    with pytest.raises(WriteConflict):
        store.apply([NoteWrite(name, b"one", b"two") for name in ("a.md", "b.md")], [an_event("e")])
    assert vault.held is not None
    (tmp_path / "b.md").write_bytes(b"one")
    assert ["unfinished" in problem.message for problem in store.recover()] == [True]
    vault.held.close()
    assert store.recover() == []
    assert [(tmp_path / name).read_bytes() for name in ("a.md", "b.md")] == [b"one", b"one"]
    assert events_of(journal) == []
    assert list((tmp_path / ".amem/intents").iterdir()) == []


def test_a_torn_journal_line_is_skipped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    _, journal = store_of(tmp_path)
    journal.append([an_event("e1")])
    path = next((tmp_path / ".amem/journal").iterdir())
    with path.open("ab") as stream:
        stream.write(b'{"id": "e2", "ti')
    problems: list[Problem] = []
    known = journal.read_new({}, problems).files[0]
    assert [event.id for event in known.events] == ["e1"]
    assert "torn" in problems[0].message
    journal.append([an_event("e3")])
    later = journal.read_new({path.name: known.position}, problems)
    assert [event.id for event in later.files[0].events] == ["e3"]
    assert not later.restarted


def test_a_merged_journal_is_read_again(tmp_path: Path) -> None:
    _, journal = store_of(tmp_path)
    journal.append([an_event("e1"), an_event("e3")])
    known = journal.read_new({}, []).files[0]
    path = tmp_path / ".amem/journal" / known.name
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[0].replace(b"e1", b"e2") + lines[1])
    news = journal.read_new({known.name: known.position}, [])
    assert news.restarted
    assert [event.id for event in news.files[0].events] == ["e1", "e2", "e3"]
    assert journal.read_new({known.name: news.files[0].position}, []) == JournalNews()


def test_a_journal_that_went_back_or_away_is_given_whole(tmp_path: Path) -> None:
    _, journal = store_of(tmp_path)
    journal.append([an_event("e1")])
    path = next((tmp_path / ".amem/journal").iterdir())
    earlier = path.read_bytes()
    journal.append([an_event("e2")])
    known = journal.read_new({}, []).files[0]
    path.write_bytes(earlier)
    news = journal.read_new({known.name: known.position}, [])
    assert news.restarted
    assert [event.id for event in news.files[0].events] == ["e1"]
    path.unlink()
    assert journal.read_new({known.name: known.position}, []) == JournalNews(restarted=True)
