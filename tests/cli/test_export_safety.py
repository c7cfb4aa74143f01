"""What an export never gives away, and what is whole after one that was killed."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_cli.cli.files import write_export
from amem_cli.errors import SettingsError
from amem_cli.exchange.export_notes import ExportFolder
from tests.conftest import Program
from tests.vaults import write_note

posix = pytest.mark.skipif(os.name == "nt", reason="signals, modes and links of POSIX")


@pytest.fixture
def with_private(amem: Program, vault: Path) -> Path:
    """A vault with two private notes that others link to."""
    write_note(vault, "Secret plan.md", "---\nprivate: true\nid: s1\n---\nHidden.\n")
    write_note(vault, "Diary.md", "---\nprivate: true\n---\nHidden too.\n")
    write_note(vault, "C.md", "To see.\n")
    write_note(
        vault, "A.md", '---\n# mine\nlinks:\n  - "[[C]]"\n  - "[[Diary|d]]" # why\n---\nOf A.\n'
    )
    write_note(vault, "B.md", '---\nup: "[[Diary]]"\n---\nSee [[Secret plan]], [[Diary|it]].\n')
    told = amem("link", "C", "Secret plan", "--relation", "supports", "--reason", "Unheard of")
    assert told.code == 0, told.err
    return vault


def test_links_of_properties_to_private_notes_do_not_go_out(
    amem: Program, with_private: Path
) -> None:
    done = amem("export", "--format", "markdown", "--output", "plain", "--json")
    assert done.code == 0, done.err
    plain = amem.folder / "plain"
    assert (plain / "A.md").read_text().startswith('---\n# mine\nlinks:\n  - "[[C]]"\n')
    everything = "".join(path.read_text() for path in plain.rglob("*.md"))
    assert "Diary|d" not in everything
    assert "Unheard of" not in everything
    assert "Secret plan" not in (plain / "C.md").read_text()
    assert done.json["cut_links"] == 2
    assert "2 entries of `links`" in done.err
    again = amem("export", "--format", "markdown", "--output", "plain", "--private", "--json")
    assert again.json["cut_links"] == 0
    assert "[[Diary|d]]" in (plain / "A.md").read_text()


def test_a_text_that_names_a_private_note_is_told_and_not_rewritten(
    amem: Program, with_private: Path
) -> None:
    done = amem("export", "--format", "markdown", "--output", "plain", "--json")
    text = (amem.folder / "plain" / "B.md").read_text()
    assert text.endswith("---\nSee Secret plan, it.\n")
    named = [{"path": "B.md", "names": ["Diary.md", "Secret plan.md"]}]
    assert done.json["names_private"] == named
    assert "the text of 1 note still names 2 private notes" in done.err


def test_lines_without_private_notes_hold_no_link_to_them(
    amem: Program, with_private: Path
) -> None:
    done = amem("export", "--no-private")
    records = {record["path"]: record for record in map(json.loads, done.out.splitlines())}
    assert records["A.md"]["links"] == ["[[C]]"]
    assert records["C.md"]["links"] == []
    assert "[[Secret plan]]" in records["B.md"]["content"]
    assert "! B.md: names Diary.md, Secret plan.md." in done.err
    with_all = {each["path"]: each for each in map(json.loads, amem("export").out.splitlines())}
    assert with_all["C.md"]["links"] == ["[[Secret plan]]"]


def test_a_note_of_which_a_line_holds_only_a_part_is_told(amem: Program, vault: Path) -> None:
    write_note(vault, "Long.md", "word " * 500_000)
    (vault / "Latin.md").write_bytes("caf\u00e9\n".encode("latin-1"))
    told = amem("export", "--output", "x.jsonl")
    assert "! Long.md: is larger than 2 MiB" in told.err
    assert "! Latin.md: is not UTF-8" in told.err


def test_lines_that_cannot_all_be_written_leave_the_former_file(tmp_path: Path) -> None:
    wanted = tmp_path / "lines.jsonl"
    wanted.write_text("former\n")

    def pieces() -> Iterator[str]:
        yield "new\n"
        raise SettingsError("no more")

    with pytest.raises(SettingsError):
        write_export(wanted, pieces())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "lines.jsonl": "former\n"
    }


@posix
def test_an_export_of_lines_that_is_killed_leaves_the_former_file(tmp_path: Path) -> None:
    wanted = tmp_path / "lines.jsonl"
    wanted.write_text("former\n")
    script = (
        "import sys, time, pathlib\n"
        "from amem_cli.cli.files import write_export\n"
        "def pieces():\n"
        "    yield 'new\\n'\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "write_export(pathlib.Path(sys.argv[1]), pieces())\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(wanted)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    child.kill()
    child.communicate()
    assert wanted.read_text() == "former\n"
    write_export(wanted, "whole\n")
    assert [path.name for path in tmp_path.iterdir()] == ["lines.jsonl"]
    assert wanted.read_text() == "whole\n"


@posix
def test_a_file_that_is_exported_anew_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    wanted, link = tmp_path / "lines.jsonl", tmp_path / "link.jsonl"
    wanted.write_text("former\n")
    wanted.chmod(0o600)
    link.symlink_to(wanted.name)
    write_export(link, ["a\n", "b\n"])
    assert (wanted.read_text(), link.is_symlink()) == ("a\nb\n", True)
    assert stat.S_IMODE(wanted.stat().st_mode) == 0o600
    write_export(Path(os.devnull), "x")
    assert not Path(os.devnull).is_file()
    with pytest.raises(SettingsError, match="cannot write"):
        write_export(tmp_path, "x")


@posix
def test_an_export_of_markdown_that_was_killed_is_gone_on_with(amem: Program, vault: Path) -> None:
    for number in range(300):
        write_note(vault, f"f/Note {number:03}.md", f"Text {number}.\n")
    plain = amem.folder / "plain"
    call = [sys.executable, "-m", "amem_cli", "export", "--format", "markdown", "--output"]
    assert amem("index").code == 0
    child = subprocess.Popen(
        [*call, str(plain)], env=amem.environment, stdout=subprocess.DEVNULL, cwd=amem.folder
    )
    while not (plain / "f/Note 020.md").exists() and child.poll() is None:
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    done = {path.name for path in plain.rglob("*.md")}
    assert 20 < len(done) < 300
    again = amem("export", "--format", "markdown", "--output", "plain", "--json")
    assert again.code == 0, again.err
    assert len(again.json["written"]) == 300 - again.json["unchanged"] > 0
    for number in range(300):
        write_note(vault, f"f/Note {number:03}.md", f"Text {number}, changed.\n")
    changed = amem("export", "--format", "markdown", "--output", "plain", "--json")
    assert (changed.code, len(changed.json["written"])) == (0, 300)
    assert sorted(path.name for path in plain.iterdir()) == [".amem-export.json", "f"]


def test_what_is_edited_in_the_folder_and_goes_out_no_more_is_told_each_time(
    amem: Program, vault: Path
) -> None:
    write_note(vault, "One.md", "One.\n")
    call = ("export", "--format", "markdown", "--output", "plain", "--json")
    assert amem(*call).code == 0
    copy = amem.folder / "plain/One.md"
    copy.write_text("One, edited.\n")
    write_note(vault, "One.md", "---\nprivate: true\n---\nOne.\n")
    for _ in range(2):
        told = amem(*call)
        assert (told.code, told.json["kept"]) == (1, ["One.md"])
        assert "changed in the folder and stays" in told.err
    assert copy.read_text() == "One, edited.\n"
    copy.unlink()
    assert amem(*call).code == 0


@posix
def test_a_note_renamed_in_case_alone_stays_where_names_have_no_case(tmp_path: Path) -> None:
    root, vault = tmp_path / "plain", tmp_path / "v"
    vault.mkdir()
    first = ExportFolder(root, vault=vault)
    first.put("note.md", b"a")
    first.finish()
    # Two names of one file, as such a file system would answer.
    (root / "Note.md").hardlink_to(root / "note.md")
    second = ExportFolder(root, vault=vault)
    assert second.put("Note.md", b"a") == "unchanged"
    assert second.finish() == ((), ())
    assert (root / "Note.md").read_bytes() == b"a"


def test_a_file_where_a_folder_must_be_stays_and_does_not_stop_the_others(
    amem: Program, vault: Path
) -> None:
    write_note(vault, "a/One.md", "One.\n")
    write_note(vault, "b/Two.md", "Two.\n")
    plain = amem.folder / "plain"
    plain.mkdir()
    (plain / "a").write_text("Somebody else's.")
    done = amem("export", "--format", "markdown", "--output", "plain", "--json")
    assert (done.code, done.json["written"], done.json["kept"]) == (1, ["b/Two.md"], ["a/One.md"])
    assert (plain / "a").read_text() == "Somebody else's."
