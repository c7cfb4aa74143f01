"""Titles, names of files and ids as hostile as systems allow: each note keeps a file of its own."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import FieldEdits, remove, update
from amem_cli.errors import NotFoundError, Problem
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.search.read import note_named
from tests.conftest import Program
from tests.vaults import open_vault, summary_of, write_note

TITLES = (
    *("a/b", "..", "../../etc/passwd", "-rf", ".hidden", "dot.", "space ", "CON", "nul.txt"),
    *('<>:"|?*\\', "#tag [[x]] ^y", "🎉", "עברית", "x" * 300, "字" * 120, "!!!", "e\u0301", "é"),
    *("same", "Same", "SAME", "\u202egnp", "tab\tnewline\nnul\0", "a: b", "name.md", "%%"),
)


def test_every_title_gets_a_portable_file_and_keeps_its_words(tmp_path: Path) -> None:
    ports = open_vault(tmp_path / "vault")
    paths = [add(ports, NewNote("text", title=title)) for title in TITLES]
    assert len({unicodedata.normalize("NFC", path).casefold() for path in paths}) == len(TITLES)
    inside = (tmp_path / "vault").resolve()
    for title, path in zip(TITLES, paths, strict=True):
        full = (inside / path).resolve()
        assert full.is_relative_to(inside / "notes")
        assert len(full.name.encode()) <= 200
        summary = summary_of(ports, path)
        wanted = " ".join(title.split())
        assert unicodedata.normalize("NFC", summary.title) == unicodedata.normalize("NFC", wanted)
    assert [path.name for path in tmp_path.iterdir()] == ["vault"]
    synchronise(ports)
    assert ports.index.notes.count() == len(TITLES)


def test_a_name_of_the_longest_kind_is_edited_and_removed(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    names = ["x" * 252 + ".md", "字" * 84 + ".md", "é" * 126 + ".md"]
    for name in names:
        assert len(name.encode()) in (254, 255)
        write_note(tmp_path, f"notes/{name}", "text\n")
    synchronise(ports)
    for name in names:
        for _ in range(2):
            summary = summary_of(ports, f"notes/{name}")
            update(ports, summary, FieldEdits(add_tags=["a"]))
            remove(ports, summary)
            write_note(tmp_path, f"notes/{name}", "text again\n")
            synchronise(ports)
    assert len(list((tmp_path / ".trash").iterdir())) == 6


def test_a_note_below_the_longest_path_is_read_or_reported(tmp_path: Path) -> None:
    write_note(tmp_path, "good.md", "walrus\n")
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=handle)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    note = os.open("deep.md", os.O_WRONLY | os.O_CREAT, dir_fd=handle)
    os.write(note, b"narwhal\n")
    os.close(note)
    os.close(handle)
    ports = open_vault(tmp_path)
    synchronise(ports)
    assert list(ports.index.text.keyword_scores(["walrus"], 5)) == ["good.md"]
    (deep,) = ports.index.text.keyword_scores(["narwhal"], 5)
    summary = summary_of(ports, deep)
    assert len(deep) > 4096
    assert update(ports, summary, FieldEdits(add_tags=["deep"])) == ("tags",)
    subprocess.run(["rm", "-rf", str(tmp_path / ("d" * 200))], check=True)


def test_twins_by_form_or_case_stay_two_notes(tmp_path: Path, ports: VaultPorts) -> None:
    for name in ("\u00e9.md", "e\u0301.md", "Note.md", "note.md"):
        write_note(tmp_path, name, f"of {len(name)} {name[0]}\n")
    if len(list(tmp_path.glob("*.md"))) < 4:
        pytest.skip("this file system takes the twins for one")
    synchronise(ports)
    assert ports.index.notes.count() == 4
    for name in ("\u00e9.md", "e\u0301.md"):
        assert note_named(ports.index, name).path == name
    summary = note_named(ports.index, "Note.md")
    update(ports, summary, FieldEdits(add_tags=["mine"]))
    assert (tmp_path / "note.md").read_bytes() == b"of 7 n\n"
    assert (tmp_path / "e\u0301.md").read_bytes() == b"of 5 e\n"
    assert add(ports, NewNote("third", title="e\u0301", folder="")) == "é 2.md"


def test_names_that_no_note_can_have_are_reported_and_the_others_found(
    amem: Program, tmp_path: Path
) -> None:
    root = amem.vault()
    for raw in (b"\xff\xfe.md", b"a\nb.md", b"\x1b]0;x\x07.md", b"a\\b.md", b"\xc2\x9b31m.md"):
        Path(os.fsdecode(os.fsencode(root) + b"/" + raw)).write_bytes(b"walrus\n")
    for name in ("#^[]|.md", " led.md", "trail .md", "A: b.md", "\u202egnp.md", "good.md"):
        write_note(root, name, "walrus\n")
    (root / "folder.md").mkdir()
    write_note(root, "folder.md/inner.md", "walrus\n")
    for variables in (
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii:strict"},
    ):
        listed = amem("--verbose", "list", **variables)
        assert listed.code == 0, listed.err
        told = [line for line in listed.err.splitlines() if line.startswith("! ")]
        assert len(told) == 5
        assert not {"\x1b", "\x9b", "\x07"} & set(listed.err + listed.out)
        found = amem("search", "walrus", "--mode", "keyword", "-k", "20", "--json", **variables)
        assert len(found.json["hits"]) == 7


def test_notes_are_added_under_a_locale_without_their_letters(amem: Program) -> None:
    amem.vault()
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    added = amem(
        "add", "Über 图书馆", "--title", "Über 图书馆", "--no-wait", "--json", **ascii_only
    )
    assert added.code == 0, added.err
    assert added.json["path"] == "notes/Über 图书馆.md"
    assert "Über" in (amem.folder / "v/notes/Über 图书馆.md").read_text("utf-8")


def test_copies_of_other_programs_are_no_notes(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "n.md", '---\nid: "20260101120000"\n---\nwalrus\n')
    text = (tmp_path / "n.md").read_text()
    conflicts = (
        "n.sync-conflict-20260101-120000-ABCDEFG.md",
        "n (conflicted copy 2026-01-01).md",
        "n (Case Conflict).md",
    )
    silent = (
        ".trash/n.md",
        ".obsidian/n.md",
        ".git/n.md",
        "n.md~",
        "4913",
        "n.md.tmp",
        ".n.md.swp",
    )
    for name in (*conflicts, *silent):
        write_note(tmp_path, name, text)
    report = synchronise(ports)
    assert report.added == ("n.md",)
    assert sorted(problem.path for problem in report.problems) == sorted(conflicts)


def test_the_same_id_twice_is_two_notes(tmp_path: Path, ports: VaultPorts) -> None:
    text = '---\nid: "20260101120000"\ntags:\n  - a\n---\nwalrus\n'
    write_note(tmp_path, "a.md", text)
    synchronise(ports)
    write_note(tmp_path, "b.md", text.replace("walrus", "narwhal"))
    synchronise(ports)
    with pytest.raises(NotFoundError, match="names 2 notes"):
        note_named(ports.index, "20260101120000")
    update(ports, note_named(ports.index, "b.md"), FieldEdits(add_tags=["x"]))
    assert (tmp_path / "a.md").read_text() == text
    assert (tmp_path / "b.md").read_text().endswith("narwhal\n")
    new = add(ports, NewNote("third"))
    summary = summary_of(ports, new)
    assert summary.id != "20260101120000"


def test_problems_of_names_are_valid_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xffolder"))
    folder.mkdir()
    (folder / "n.md").write_bytes(b"x")
    problems: list[Problem] = []
    assert list(open_vault(tmp_path).vault.scan(problems)) == []
    assert [problem.path for problem in problems] == ["\\udcffolder/n.md"]
