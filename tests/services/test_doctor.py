"""What is wrong with notes, links, ids, journal and index is found, and mended where safe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_cli.core.finding import Check, Finding
from amem_cli.core.journal import Event, LinkRecord
from amem_cli.services.add import NewNote, add
from amem_cli.services.doctor import examine, is_healthy, mend
from amem_cli.services.recording import NoteDraft, new_event
from amem_cli.services.sync import refresh, synchronise
from amem_cli.services.vault_ports import VaultPorts
from tests.checkups import fix, look, places, whole_tree
from tests.vaults import open_vault, tree_hashes, write_note

HEADER = '---\nid: "20260302150004"\ncreated: 2026-03-02T15:00:04\n---\n'


@pytest.fixture
def ports(tmp_path: Path) -> Iterator[VaultPorts]:
    """A vault with one note, Dough, in `v`."""
    opened = open_vault(tmp_path / "v")
    add(opened, NewNote("Croissant dough tears in lamination.", title="Dough"))
    yield opened
    opened.index.close()


@pytest.fixture
def root(tmp_path: Path, ports: VaultPorts) -> Path:
    return tmp_path / "v"


def step(ports: VaultPorts) -> None:
    """Bring the index in step, so that only what a test is about is wrong."""
    synchronise(ports)


def machine_writes(ports: VaultPorts, path: str, target: str = "", **fields: list[str]) -> None:
    """The machine changes a note, and says whom its links mean."""
    draft = NoteDraft(ports, ports.vault.read(path))
    texts = fields.get("links", [])
    records = tuple(
        LinkRecord(target, f"notes/{text[2:-2]}.md", text, "related", 0.5, "alike")
        for text in texts
    )
    draft.change(fields, new_event(ports, "evolve", links=records))
    ports.changes.apply(draft.write(), draft.events)
    refresh(ports, [path])


def test_a_sound_vault_is_healthy(root: Path) -> None:
    assert look(root) == []
    assert is_healthy([])


def test_looking_writes_nothing_however_broken_the_vault_is(tmp_path: Path, root: Path) -> None:
    write_note(root, "Copy.md", (root / "notes/Dough.md").read_text() + "[[Nowhere]]\n")
    (root / "notes/.amem-0.tmp").write_text("cut")
    os.utime(root / "notes/.amem-0.tmp", (0, 0))
    (root / ".amem/intents/x.json").write_text("{}")
    (root / ".amem/intents/.amem-1.tmp").write_text("{}")
    os.utime(root / ".amem/intents/.amem-1.tmp", (0, 0))
    (root / ".amem/config.toml").write_text("not toml")
    before = whole_tree(tmp_path)
    home = Path(os.environ["AMEM_STATE_DIR"]).parent
    outside = whole_tree(home)
    assert not is_healthy(look(root))
    assert whole_tree(tmp_path) == before
    assert whole_tree(home) == outside


def test_a_check_that_fails_is_a_finding_and_stops_no_other() -> None:
    def fails() -> list[Finding]:
        raise RuntimeError("boom")

    found = examine([Check("one", fails), Check("two", lambda: [Finding("two", "a.md", "is odd")])])
    assert [(each.check, each.path) for each in found] == [("one", ""), ("two", "a.md")]
    assert "RuntimeError: boom" in found[0].message


def test_a_mend_that_fails_is_told_and_stops_no_other() -> None:
    def fails() -> str:
        raise OSError("no room")

    findings = [
        Finding("one", "a.md", "is odd", mend=fails),
        Finding("two", "b.md", "is odd", mend=lambda: "Straightened it."),
    ]
    first, second = mend(findings)
    assert (first.fixed, second.fixed) == (False, True)
    assert "no room" in first.hint
    assert second.hint == "Straightened it."
    assert not is_healthy([first, second])


def test_a_copy_gets_an_id_of_its_own_where_the_journal_names_the_original(
    ports: VaultPorts, root: Path
) -> None:
    original = (root / "notes/Dough.md").read_bytes()
    copied = write_note(root, "notes/A copy.md", original.decode())
    step(ports)
    found = look(root)
    assert [each.check for each in found] == ["ids"]
    assert places(found) == [("notes/A copy.md", 2)]
    assert "notes/Dough.md" in found[0].message
    before = tree_hashes(root)
    (done,) = fix(root)
    assert done.fixed
    old = original.decode().split('"')[1]
    new = copied.read_text().split('"')[1]
    assert new == f"{old}-2"
    assert new in done.hint
    assert copied.read_bytes() == original.replace(old.encode(), new.encode(), 1)
    after = tree_hashes(root)
    assert {path for path in after if after[path] != before.get(path)} == {"notes/A copy.md"}
    step(ports)
    event = ports.index.events(new)[-1]
    assert [(change.field, change.before, change.after) for change in event.changes] == [
        ("id", old, new)
    ]
    assert look(root) == []


def test_an_id_that_the_journal_does_not_explain_is_only_told(
    ports: VaultPorts, root: Path
) -> None:
    for name in ("One", "Two"):
        write_note(root, f"{name}.md", f"{HEADER}Text of {name}.\n")
    step(ports)
    before = tree_hashes(root)
    (found,) = fix(root)
    assert (found.check, found.path, found.line) == ("ids", "Two.md", 2)
    assert not found.fixed
    assert "One.md" in found.message
    assert "knows none" in found.message
    assert "id:" in found.hint
    assert tree_hashes(root) == before


def test_two_notes_that_the_journal_both_names_are_only_told(ports: VaultPorts, root: Path) -> None:
    note = next(ports.index.summaries())
    write_note(root, "notes/Twin.md", (root / note.path).read_text())
    event = new_event(ports, "edit", by="person", note=note.id or "", path="notes/Twin.md")
    ports.changes.apply([], [event])
    step(ports)
    (found,) = look(root)
    assert found.mend is None
    assert "more than one" in found.message


def test_a_persons_link_to_nothing_is_told_with_its_line_and_a_near_name(
    ports: VaultPorts, root: Path
) -> None:
    text = (
        '---\nlinks:\n  - "[[Dough]]"\n  - "[[Nobody]]"\n---\nOne\n\nsee [[Dougth]] and [[Dough]]\n'
    )
    write_note(root, "a.md", text)
    step(ports)
    before = tree_hashes(root)
    body, header = fix(root)
    assert (body.check, body.line, body.fixed) == ("links", 8, False)
    assert "[[Dough]]" in body.hint
    assert (header.line, "Nobody" in header.message) == (4, True)
    assert tree_hashes(root) == before


def test_links_to_other_files_and_to_left_out_notes_lead_somewhere(
    ports: VaultPorts, root: Path
) -> None:
    write_note(root, "templates/Daily.md", "x\n")
    write_note(root, "code/script.py", "x\n")
    text = "[[Daily]] [[script.py]] [all](code/script.py) [[code]] ![[a.png]] [[#here]]\n"
    write_note(root, "a.md", text)
    step(ports)
    assert look(root, "links") == []


def test_the_machines_link_to_a_note_that_is_gone_is_removed(ports: VaultPorts, root: Path) -> None:
    path = add(ports, NewNote("Butter must be cold.", title="Butter"))
    gone = ports.index.summary(path)
    assert gone is not None
    machine_writes(ports, "notes/Dough.md", gone.key, links=["[[Butter]]"])
    clean = look(root)
    (root / path).unlink()
    step(ports)
    assert clean == []
    with_link = (root / "notes/Dough.md").read_text()
    (found,) = [each for each in look(root) if each.severity == "problem"]
    assert (found.check, found.path, found.line) == ("links", "notes/Dough.md", 5)
    (done,) = [each for each in fix(root) if each.severity == "problem"]
    assert done.fixed
    assert "[[Butter]]" in done.hint
    assert "Butter" in with_link
    assert "Butter" not in (root / "notes/Dough.md").read_text()
    step(ports)
    event = ports.index.events()[-1]
    assert (event.kind, event.by) == ("link", "machine")
    assert [each for each in look(root) if each.severity == "problem"] == []


def test_the_machines_link_stays_while_its_note_is_only_renamed(
    ports: VaultPorts, root: Path
) -> None:
    path = add(ports, NewNote("Butter must be cold.", title="Butter"))
    note = ports.index.summary(path)
    assert note is not None
    machine_writes(ports, "notes/Dough.md", note.key, links=["[[Butter]]"])
    (root / path).rename(root / "notes/Cold butter.md")
    step(ports)
    before = tree_hashes(root)
    found = [each for each in fix(root) if each.check == "links"]
    assert [each.fixed for each in found] == [False]
    assert "notes/Cold butter.md" in found[0].hint
    assert tree_hashes(root) == before


def test_headers_that_are_never_written_are_told_with_line_and_advice(
    ports: VaultPorts, root: Path
) -> None:
    write_note(root, "twice.md", "---\na: 1\nb: 2\na: 3\n---\nText.\n")
    write_note(root, "list.md", "---\ncontext:\n  deep: {a: 1}\n---\nText.\n")
    step(ports)
    found = look(root)
    assert [(each.check, each.path, each.line) for each in found] == [
        ("headers", "list.md", 2),
        ("headers", "twice.md", 4),
    ]
    assert all(each.hint and each.mend is None for each in found)


@pytest.mark.parametrize(
    "name",
    [
        "Dough.sync-conflict-20260302-150004-ABCDEFG.md",
        "Dough (Anna's conflicted copy 2026-03-02).md",
        "Dough_conflict-20260302-150004.md",
    ],
)
def test_conflict_copies_are_told(ports: VaultPorts, root: Path, name: str) -> None:
    write_note(root, f"notes/{name}", "Dough, otherwise.\n")
    (found,) = look(root)
    assert (found.check, found.path) == ("conflicts", f"notes/{name}")
    assert found.hint


def test_conflicts_of_git_are_told_but_not_those_that_a_note_shows(
    ports: VaultPorts, root: Path
) -> None:
    marks = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"
    write_note(root, "text.md", f"One\n\n{marks}")
    write_note(root, "header.md", f"---\n{marks}---\nText.\n")
    write_note(root, "about git.md", f"This is one:\n\n```\n{marks}```\n\nTitle\n=======\n")
    step(ports)
    found = look(root)
    assert [each.check for each in found] == ["conflicts", "conflicts"]
    assert places(found) == [("header.md", 2), ("text.md", 3)]


def test_what_cannot_be_a_note_is_told(ports: VaultPorts, root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    (root / "link.md").symlink_to(root / "notes/Dough.md")
    (root / os.fsdecode(b"caf\xe9.md")).write_text("x")
    found = sorted(look(root), key=lambda each: each.path)
    assert [(each.check, each.severity) for each in found] == [
        ("files", "problem"),
        ("files", "notice"),
        ("files", "problem"),
    ]
    assert [each.path for each in found] == ["caf\\udce9.md", "link.md", "pipe.md"]
    assert all(each.hint for each in found)


def test_names_that_other_systems_cannot_hold_are_told(ports: VaultPorts, root: Path) -> None:
    for name in ("Tea.md", "tea.md", "Caf\u00e9.md", "Cafe\u0301.md", "C#.md", "Why?.md", "con.md"):
        write_note(root, name, "x\n")
    step(ports)
    found = {each.path: each for each in look(root)}
    assert {path: each.severity for path, each in found.items()} == {
        "Cafe\u0301.md": "problem",
        "Tea.md": "problem",
        "C#.md": "problem",
        "Why?.md": "notice",
        "con.md": "notice",
    }
    assert "tea.md" in found["Tea.md"].message
    assert {each.check for each in found.values()} == {"names"}


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
    (state / "index.db.unusable-1").write_text("?")
    found = {each.path: each for each in look(root, "leftovers")}
    assert set(found) == {
        *left,
        "notes/.amem-00dd.tmp",
        ".amem/intents/1.unreadable",
        ".amem/index.db.unusable-1",
    }
    assert found["notes/.amem-00dd.tmp"].severity == "notice"
    done = {each.path: each.fixed for each in fix(root, "leftovers")}
    assert done == {path: path in (*left, ".amem/index.db.unusable-1") for path in found}
    kept = sorted(path.read_text() for path in (root / ".trash").iterdir())
    assert kept == ["somebody's text"] * 2
    assert all(each.mend is None for each in look(root))


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


def test_journal_lines_that_cannot_be_read_are_told(ports: VaultPorts, root: Path) -> None:
    with journal_file(root).open("a") as stream:
        stream.write('not json\n{"torn": ')
    step(ports)
    found = look(root)
    assert [each.check for each in found] == ["journal", "journal"]
    assert [each.line for each in found] == [2, 3]
    assert {each.path for each in found} == {f".amem/journal/{journal_file(root).name}"}


def test_two_events_of_one_id_are_told_only_if_they_differ(ports: VaultPorts, root: Path) -> None:
    line = json.loads(journal_file(root).read_text())
    other = root / ".amem/journal/2026-03-other.jsonl"
    other.write_text(json.dumps(line) + "\n")
    step(ports)
    assert look(root) == []
    other.write_text(json.dumps({**line, "reason": "something else"}) + "\n")
    step(ports)
    (found,) = look(root, "journal")
    assert line["id"] in found.message


def test_events_of_lost_notes_are_told_once_and_leave_the_vault_healthy(
    ports: VaultPorts, root: Path
) -> None:
    for name in ("One", "Two"):
        path = add(ports, NewNote(f"Text of {name}.", title=name))
        (root / path).unlink()
    step(ports)
    (found,) = look(root)
    assert (found.check, found.severity) == ("journal", "notice")
    assert "2 events" in found.message
    assert is_healthy([found])


def test_what_a_person_took_from_the_machine_is_recorded_as_theirs(
    ports: VaultPorts, root: Path
) -> None:
    machine_writes(ports, "notes/Dough.md", keywords=["butter", "lamination"])
    note = root / "notes/Dough.md"
    note.write_text(note.read_text().replace("  - butter\n", ""))
    # An index made after the edit cannot know what was there before it.
    ports.index.close()
    for part in root.glob(".amem/index.db*"):
        part.unlink()
    fresh = open_vault(root)
    synchronise(fresh)
    fresh.index.close()
    before = tree_hashes(root)
    (found,) = look(root)
    assert (found.check, found.path) == ("journal", "notes/Dough.md")
    assert "keywords butter" in found.message
    (done,) = fix(root)
    assert done.fixed
    assert tree_hashes(root) == before
    assert look(root) == []
    assert any('"kind": "release"' in path.read_text() for path in root.glob(".amem/journal/*"))


def test_an_event_needs_no_path_to_be_read(ports: VaultPorts, root: Path) -> None:
    ports.changes.apply(
        [], [Event("e" * 21, "2026-03-02T15:00:00+00:00", "baseline", known=("x",))]
    )
    step(ports)
    assert look(root) == []
