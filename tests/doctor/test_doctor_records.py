"""The index, the journal and what cut writes left are checked, and mended where that is safe."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from amem_cli.doctor.finding import is_healthy
from amem_cli.editing.add import NewNote, add
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from tests.checkups import fix, look, whole_tree
from tests.vaults import open_vault, tree_hashes, write_note


def test_an_index_that_is_behind_is_brought_up_to_date(ports: VaultPorts, root: Path) -> None:
    write_note(root, "new.md", "A new note.\n")
    (found,) = look(root)
    assert (found.check, found.path) == ("index", ".amem/index.db")
    assert "new.md" in found.message
    (done,) = fix(root)
    assert done.fixed
    assert look(root) == []


@pytest.mark.parametrize("content", [None, b"", b"no database at all, but a text\n" * 200])
def test_a_missing_or_broken_index_is_made_anew(
    ports: VaultPorts, root: Path, content: bytes | None
) -> None:
    ports.index.close()
    for part in root.glob(".amem/index.db*"):
        part.unlink()
    if content is not None:
        (root / ".amem/index.db").write_bytes(content)
    before = tree_hashes(root)
    (found,) = look(root)
    assert found.check == "index"
    (done,) = fix(root)
    assert done.fixed
    assert "1 note" in done.hint
    assert look(root) == []
    assert tree_hashes(root) == before


def test_a_damaged_index_is_made_anew(ports: VaultPorts, root: Path) -> None:
    for number in range(40):
        write_note(root, f"{number}.md", f"Text of {number}. " * 200)
    synchronise(ports)
    ports.index.close()
    index = root / ".amem/index.db"
    raw = bytearray(index.read_bytes())
    raw[8192:40960] = b"x" * (40960 - 8192)
    index.write_bytes(raw)
    before = whole_tree(root)
    (found,) = look(root)
    assert (found.check, found.severity) == ("index", "problem")
    assert whole_tree(root) == before
    assert all(each.fixed for each in fix(root))
    assert look(root) == []


def test_an_index_of_another_vault_is_replaced(
    tmp_path: Path, ports: VaultPorts, root: Path
) -> None:
    other = open_vault(tmp_path / "other")
    add(other, NewNote("Walrus on ice.", title="Walrus"))
    other.index.close()
    ports.index.close()
    (root / ".amem/index.db").write_bytes((tmp_path / "other/.amem/index.db").read_bytes())
    (found,) = look(root)
    assert found.check == "index"
    assert all(each.fixed for each in fix(root))
    assert look(root) == []


def test_what_cut_writes_left_is_put_away(ports: VaultPorts, root: Path) -> None:
    state = root / ".amem"
    (state / "intents").mkdir(exist_ok=True)
    left = ["notes/.amem-00aa.tmp", ".amem/.amem-00bb.tmp", ".amem/intents/.amem-00cc.tmp"]
    for path in left:
        (root / path).write_text("somebody's text")
        os.utime(root / path, (0, 0))
    (root / "notes/.amem-00dd.tmp").write_text("being written")
    (state / "intents/1.unreadable").write_text("?")
    found = {each.path: each for each in look(root, "leftovers")}
    assert set(found) == {*left, "notes/.amem-00dd.tmp", ".amem/intents/1.unreadable"}
    assert found["notes/.amem-00dd.tmp"].severity == "notice"
    done = {each.path: each.fixed for each in fix(root, "leftovers")}
    # Of amem's own files nothing is thrown away, nor taken for a note.
    assert done == {path: path in (left[0], left[2]) for path in found}
    kept = [path.read_text() for path in (root / ".trash").iterdir()]
    assert kept == ["somebody's text"]


def test_a_change_that_was_cut_off_is_finished(ports: VaultPorts, root: Path) -> None:
    intents = root / ".amem/intents"
    intents.mkdir(exist_ok=True)
    event = {"id": "f" * 21, "time": "2026-03-02T15:00:00+00:00", "kind": "edit", "path": "x.md"}
    record = {
        "writes": [{"path": "x.md", "before": None, "after": "QSBub3RlLgo="}],
        "events": [event],
    }
    (intents / "1.json").write_text(json.dumps(record))
    (found,) = look(root, "leftovers")
    assert found.path == ".amem/intents/1.json"
    assert all(each.fixed for each in fix(root))
    assert (root / "x.md").read_text() == "A note.\n"
    assert look(root) == []


def journal_file(root: Path) -> Path:
    return next((root / ".amem/journal").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("left", "lines"),
    [
        ("{whole}\n", 0),
        ('{{"id": "00ff", "time": "2026-0', 1),
        ("{cut}", 1),
        ("{cut}\n{whole}\n", 1),
        ("\0\0\0", 1),
        ("<<<<<<< HEAD\n{whole}\n=======\n{whole}\n>>>>>>> theirs\n", 3),
    ],
)
def test_a_journal_line_with_which_nothing_is_lost_leaves_the_vault_healthy(
    ports: VaultPorts, root: Path, left: str, lines: int
) -> None:
    whole = journal_file(root).read_text().splitlines()[0]
    with journal_file(root).open("a") as stream:
        stream.write(left.format(whole=whole, cut=whole[:200]))
    synchronise(ports)
    found = look(root)
    assert [(each.check, each.severity) for each in found] == [("journal", "notice")] * lines
    assert is_healthy(found)


@pytest.mark.parametrize(
    "left", ["not json", '{"id": "00ff"}', '{"id": "00ff", "time": garbled}', "[1]"]
)
def test_a_journal_line_that_may_have_said_something_is_a_problem(
    ports: VaultPorts, root: Path, left: str
) -> None:
    with journal_file(root).open("a") as stream:
        stream.write(f"{left}\n")
    synchronise(ports)
    (found,) = look(root)
    assert (found.check, found.line, found.severity) == ("journal", 2, "problem")
    assert found.path == f".amem/journal/{journal_file(root).name}"
    journal_file(root).write_text(journal_file(root).read_text().splitlines()[0] + "\n")
    synchronise(ports)
    assert look(root) == []


def test_two_events_of_one_id_are_told_only_if_they_differ(ports: VaultPorts, root: Path) -> None:
    line = json.loads(journal_file(root).read_text())
    other = root / ".amem/journal/2026-03-other.jsonl"
    other.write_text(json.dumps(line) + "\n")
    synchronise(ports)
    assert look(root) == []
    other.write_text(json.dumps({**line, "reason": "something else"}) + "\n")
    synchronise(ports)
    (found,) = look(root, "journal")
    assert line["id"] in found.message
