"""What an export never gives away, and what is whole after one that was killed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_cli.cli.files import write_export
from amem_cli.errors import SettingsError
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
    assert (plain / "A.md").read_text().startswith('---\n# mine\nlinks:\n  - "[C](C.md)"\n')
    everything = "".join(path.read_text() for path in plain.rglob("*.md"))
    assert "Diary|d" not in everything
    assert "Unheard of" not in everything
    assert "Secret plan" not in (plain / "C.md").read_text()
    assert done.json["cut_links"] == 2
    assert "2 entries of `links`" in done.err
    whole = amem("export", "--format", "markdown", "--output", "whole", "--private", "--json")
    assert whole.json["cut_links"] == 0
    assert "[d](Diary.md)" in (amem.folder / "whole/A.md").read_text()


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
