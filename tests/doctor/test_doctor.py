"""What is wrong with notes, links, ids, journal and index is found, and mended where safe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from amem_cli.doctor.finding import Finding, apply_fixes, examine, is_healthy
from amem_cli.editing.add import NewNote, add
from amem_cli.index.draft import new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from tests.checkups import fix, look, machine_writes, places, whole_tree
from tests.vaults import summary_of, tree_hashes, write_note

HEADER = '---\nid: "20260302150004"\ncreated: 2026-03-02T15:00:04\n---\n'


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

    found = examine([("one", fails), ("two", lambda: [Finding("a.md", "is odd")])])
    assert [(each.check, each.path) for each in found] == [("one", ""), ("two", "a.md")]
    assert "RuntimeError: boom" in found[0].message


def test_a_mend_that_fails_is_told_and_stops_no_other() -> None:
    def fails() -> str:
        raise OSError("no room")

    findings = [
        Finding("a.md", "is odd", fix=fails),
        Finding("b.md", "is odd", fix=lambda: "Straightened it."),
    ]
    first, second = apply_fixes(findings)
    assert (first.fixed, second.fixed) == (False, True)
    assert "no room" in first.hint
    assert second.hint == "Straightened it."
    assert not is_healthy([first, second])


def test_a_copy_gets_an_id_of_its_own_where_the_journal_names_the_original(
    ports: VaultPorts, root: Path
) -> None:
    original = (root / "notes/Dough.md").read_bytes()
    copied = write_note(root, "notes/A copy.md", original.decode())
    synchronise(ports)
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
    synchronise(ports)
    event = ports.index.events.read(new)[-1]
    assert [(change.field, change.before, change.after) for change in event.changes] == [
        ("id", old, new)
    ]
    assert look(root) == []


def test_what_shares_an_id_and_a_name_is_told_as_a_copy(ports: VaultPorts, root: Path) -> None:
    for name in ("One", "One (from the other machine)", "One-old", "Onerous", "Copy of One"):
        write_note(root, f"{name}.md", f"{HEADER}Text of {name}.\n")
    synchronise(ports)
    before = tree_hashes(root)
    found = fix(root)
    assert [(each.check, each.path) for each in found] == [
        ("conflicts", "Copy of One.md"),
        ("conflicts", "One (from the other machine).md"),
        ("conflicts", "One-old.md"),
        ("ids", "Onerous.md"),
    ]
    assert not any(each.fixed for each in found)
    assert "copy of One.md" in found[0].message and "delete" in found[0].hint
    assert "One.md" in found[3].message and "old" not in found[3].message
    assert "knows none" in found[3].message and "id:" in found[3].hint and found[3].line == 2
    assert tree_hashes(root) == before


def test_two_notes_that_the_journal_both_names_are_only_told(ports: VaultPorts, root: Path) -> None:
    note = next(ports.index.notes.summaries())
    write_note(root, "notes/Twin.md", (root / note.path).read_text())
    event = new_event(ports, "edit", by="person", note=note.id or "", path="notes/Twin.md")
    ports.changes.apply([], [event])
    synchronise(ports)
    (found,) = look(root)
    assert found.fix is None
    assert "more than one" in found.message


def test_a_persons_link_to_nothing_is_told_with_its_line_and_a_near_name(
    ports: VaultPorts, root: Path
) -> None:
    text = (
        '---\nlinks:\n  - "[[Dough]]"\n  - "[[Nobody]]"\n---\nOne\n\nsee [[Dougth]] and [[Dough]]\n'
    )
    write_note(root, "a.md", text)
    synchronise(ports)
    before = tree_hashes(root)
    near, others = fix(root)
    assert (near.check, near.line, near.fixed, near.severity) == ("links", 8, False, "notice")
    assert "[[Dough]]" in near.hint
    assert others.message == "1 link leads to notes not yet written: [[Nobody]]"
    assert is_healthy([near, others])
    assert tree_hashes(root) == before


def test_links_to_other_files_and_to_left_out_notes_lead_somewhere(
    ports: VaultPorts, root: Path
) -> None:
    write_note(root, "templates/Daily.md", "x\n")
    write_note(root, "code/script.py", "x\n")
    text = "[[Daily]] [[script.py]] [all](code/script.py) [[code]] ![[a.png]] [[#here]]\n"
    write_note(root, "a.md", text)
    synchronise(ports)
    assert look(root, "links") == []
    write_note(root, "b.md", "[[other/Daily]] [[elsewhere/Dough]] [x](../else/script.py)\n")
    synchronise(ports)
    like, others = look(root, "links")
    assert "[[elsewhere/Dough]]" in like.message
    assert others.message.startswith("2 links lead to notes not yet written")


def test_the_machines_link_to_a_note_that_is_gone_is_removed(ports: VaultPorts, root: Path) -> None:
    path = add(ports, NewNote("Butter must be cold.", title="Butter"))
    gone = summary_of(ports, path)
    machine_writes(ports, "notes/Dough.md", gone.key, links=["[[Butter]]"])
    clean = look(root)
    (root / path).unlink()
    synchronise(ports)
    assert clean == []
    with_link = (root / "notes/Dough.md").read_text()
    (found,) = [each for each in look(root) if each.severity == "problem"]
    assert (found.check, found.path, found.line) == ("links", "notes/Dough.md", 5)
    (done,) = [each for each in fix(root) if each.severity == "problem"]
    assert done.fixed
    assert "[[Butter]]" in done.hint
    assert "Butter" in with_link
    assert "Butter" not in (root / "notes/Dough.md").read_text()
    synchronise(ports)
    event = ports.index.events.read()[-1]
    assert (event.kind, event.by) == ("link", "machine")
    assert [each for each in look(root) if each.severity == "problem"] == []


def test_the_machines_link_is_rewritten_if_its_note_was_renamed(
    ports: VaultPorts, root: Path
) -> None:
    path = add(ports, NewNote("Butter must be cold.", title="Butter"))
    note = summary_of(ports, path)
    machine_writes(ports, "notes/Dough.md", note.key, links=["[[Butter]]"])
    (root / path).rename(root / "notes/Cold butter.md")
    before = tree_hashes(root)
    (found,) = look(root, "links")
    assert "notes/Cold butter.md" in found.message
    assert tree_hashes(root) == before
    (done,) = fix(root, "links")
    assert done.fixed, done.hint
    assert "[[Cold butter]]" in (root / "notes/Dough.md").read_text()
    assert look(root, "links") == []


def test_headers_that_are_never_written_are_told_with_line_and_advice(
    ports: VaultPorts, root: Path
) -> None:
    write_note(root, "twice.md", "---\na: 1\nb: 2\na: 3\n---\nText.\n[[Nobody]]\n")
    write_note(root, "list.md", "---\ncontext:\n  deep: {a: 1}\n---\nText.\n")
    synchronise(ports)
    found = look(root)
    assert [(each.check, each.path, each.line) for each in found] == [
        ("headers", "list.md", 2),
        ("headers", "twice.md", 4),
        ("links", "", 0),
    ]
    assert all(each.hint and each.fix is None for each in found)


def test_a_header_that_is_not_utf_8_is_told_though_the_text_may_be(
    ports: VaultPorts, root: Path
) -> None:
    (root / "header.md").write_bytes(b"---\ntitle: caf\xe9\n---\nText.\n")
    (root / "text.md").write_bytes(b"---\ntitle: cafe\n---\nCaf\xe9.\n")
    synchronise(ports)
    (found,) = look(root)
    assert (found.check, found.path, found.message) == (
        "headers",
        "header.md",
        "the note is not UTF-8 text",
    )


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
    synchronise(ports)
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
    synchronise(ports)
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


def test_the_machines_links_stay_where_a_whole_folder_seems_to_be_missing(
    ports: VaultPorts, root: Path
) -> None:
    for number in range(12):
        path = add(ports, NewNote(f"Butter number {number}.", title=f"Butter {number}"))
        add(ports, NewNote(f"Flour number {number}.", title=f"Flour {number}"))
        note = summary_of(ports, path)
        machine_writes(ports, f"notes/Flour {number}.md", note.key, links=[f"[[Butter {number}]]"])
        (root / path).unlink()
    synchronise(ports)
    before = tree_hashes(root)
    found = [each for each in fix(root) if each.check == "links"]
    assert [each.fixed for each in found] == [False] * 12
    assert "folder" in found[0].hint
    assert tree_hashes(root) == before


def test_a_template_leaves_the_vault_healthy(ports: VaultPorts, root: Path) -> None:
    write_note(root, "Meetings/Form.md", "---\ncreated: {{date}}\n---\n# {{title}}\n")
    synchronise(ports)
    (found,) = look(root)
    assert (found.check, found.severity) == ("headers", "notice")
