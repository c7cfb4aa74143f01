"""`amem import` and `amem export` as a user runs them, also with odd input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.exchange.export_notes import Selection, export_records
from amem_cli.exchange.import_notes import import_notes
from amem_cli.exchange.source_records import json_lines
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.search.search import Filters
from tests.conftest import Program
from tests.fuzz.folders import folder
from tests.hypothesis_profiles import examples
from tests.vaults import open_vault, tree_hashes, write_note

DATA = Path(__file__).parents[1] / "data"


def test_a_dry_run_says_what_would_be_made_and_writes_nothing(amem: Program, vault: Path) -> None:
    before = tree_hashes(vault)
    journal = sorted((vault / ".amem").rglob("*.jsonl"))
    told = amem("import", str(DATA / "obsidian"), "--dry-run", "--into", "old")
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    assert lines[0] == "from obsidian"
    assert "+ Ovens/Steam.md -> old/Ovens/Steam.md" in lines
    assert lines[-1].startswith("7 notes would be imported, 0 existed already")
    assert tree_hashes(vault) == before
    assert sorted((vault / ".amem").rglob("*.jsonl")) == journal


def test_an_import_is_told_as_json_and_can_be_repeated(amem: Program, vault: Path) -> None:
    first = amem("import", str(DATA / "logseq"), "--no-llm", "--json")
    assert first.code == 1
    assert first.json["kind"] == "logseq"
    assert first.json["refused"] == [
        {"path": "pages/notes.org", "line": 0, "reason": "is written in org, which is not read"}
    ]
    assert {"source": "pages/Tea.md", "path": "notes/pages/Tea.md", "id": "20240302150000"} in [
        {**each, "id": "20240302150000"} for each in first.json["made"]
    ]
    assert first.json["files"] == [{"source": "assets/leaf.png", "path": "notes/assets/leaf.png"}]
    after = tree_hashes(vault)
    second = amem("import", str(DATA / "logseq"), "--no-llm", "--json")
    assert (second.json["imported"], second.json["skipped"]) == ([], 4)
    assert tree_hashes(vault) == after


def test_texts_that_are_here_already_may_be_left_out(amem: Program, vault: Path) -> None:
    text = "The kiln has to cool for a whole day before anybody opens its door."
    assert amem("add", text, "--title", "Kiln", "--no-llm").code == 0
    (amem.folder / "lines.jsonl").write_text(json.dumps({"content": f"{text}\n\n", "id": "k"}))
    left_out = amem("import", "lines.jsonl", "--unless-known", "--no-llm", "--json")
    assert left_out.json["imported"] == []
    (there,) = left_out.json["there"]
    assert (there["path"], there["reason"]) == ("notes/Kiln.md", "its text is in notes/Kiln.md")
    assert amem("import", "lines.jsonl", "--no-llm").code == 0
    assert len(amem("dedupe", "--exact", "--json").json["groups"]) == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (["import", "nowhere"], 3),
        (["import", str(DATA), "--from", "nonsense"], 2),
        (["import", str(DATA / "zk"), "--into", "../out"], 2),
        (["import", "v"], 2),
        (["export", "--format", "nonsense"], 2),
        (["export", "--format", "markdown"], 2),
        (["export", "--format", "markdown", "--output", "v/plain"], 2),
        (["export", "--format", "markdown", "--output", "."], 2),
    ],
)
def test_a_wrong_call_is_one_line_with_a_hint(
    amem: Program, vault: Path, line: list[str], code: int
) -> None:
    before = tree_hashes(vault)
    answer = amem(*line)
    assert answer.code == code, answer.err
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err
    assert tree_hashes(vault) == before


def test_plain_markdown_has_links_that_any_program_follows(amem: Program, vault: Path) -> None:
    write_note(
        vault, "notes/A b.md", "See [[C|the c]], [[C#One two]] and [[No]].\n\n![[p.png|90]]\n"
    )
    write_note(vault, "C.md", "---\nrating: 4.50\n---\n## One two\n[a](notes/A%20b.md) `[[C]]`\n")
    write_note(vault, "Secret.md", "---\nprivate: true\n---\nHidden.\n")
    write_note(vault, "D.md", "To [[Secret|it]] and [that](Secret.md#x).")
    write_note(vault, "notes/E.md", "---\nup: '[[C]]' # mine\nseen: ['[[A b]]', plain]\n---\nE.\n")
    (vault / "pictures").mkdir()
    (vault / "pictures/p.png").write_bytes(b"picture")
    assert amem("link", "D", "C", "--relation", "supports", "--reason", "It says so.").code == 0
    done = amem("export", "--format", "markdown", "--output", "plain", "--json")
    assert done.code == 0, done.err
    assert "left out 1 private note" in done.err
    plain = amem.folder / "plain"
    assert (plain / "notes/A b.md").read_text() == (
        "See [the c](../C.md), [C > One two](../C.md#one-two) and [[No]].\n\n"
        "![p.png](../pictures/p.png)\n"
    )
    assert (plain / "pictures/p.png").read_bytes() == b"picture"
    assert (plain / "C.md").read_text() == (vault / "C.md").read_text()
    assert (
        (plain / "D.md")
        .read_text()
        .endswith("To it and that.\n\n## Related notes\n\n- [C](C.md) – supports: It says so.\n")
    )
    assert 'links:\n  - "[C](C.md)"\n---' in (plain / "D.md").read_text()
    head = (plain / "notes/E.md").read_text()
    assert "[C](../C.md)" in head and "[A b](A%20b.md)" in head and "[[" not in head
    assert not (plain / "Secret.md").exists()
    assert done.json["broken_links"] == 1


def test_plain_markdown_names_files_as_they_are_on_the_disk(amem: Program, vault: Path) -> None:
    (vault / "att").mkdir()
    (vault / "att/Bild a\u0308.png").write_bytes(b"x")
    write_note(vault, "Cafe\u0301.md", "A house.\n")
    write_note(
        vault,
        "deep/hub.md",
        "![](../att/Bild%20%C3%A4.png) [c](../Caf%C3%A9.md#Part) [d](../Cafe\u0301.md)"
        " [[#^x]] [[#^x|that]] ^x\n",
    )
    assert amem("export", "--format", "markdown", "--output", "plain").code == 0
    plain = amem.folder / "plain"
    assert (plain / "att/Bild a\u0308.png").is_file()
    assert (plain / "deep/hub.md").read_text(encoding="utf-8") == (
        "![](../att/Bild%20a%CC%88.png) [c](../Cafe%CC%81.md#Part) [d](../Cafe\u0301.md)"
        " ^x that ^x\n"
    )


def test_lines_are_not_written_over_a_note(amem: Program, vault: Path) -> None:
    write_note(vault, "One.md", "One.\n")
    refused = amem("export", "--output", str(vault / "One.md"))
    assert refused.code == 2, refused.err
    assert (vault / "One.md").read_text() == "One.\n"
    assert amem("export", "--output", "One.md").code == 0


def test_an_export_can_be_narrowed(amem: Program, vault: Path) -> None:
    write_note(vault, "a/One.md", "---\ntags: [x/y]\ncreated: 2025-01-01\n---\nOne.\n")
    write_note(vault, "b/Two.md", "---\nprivate: true\ncreated: 2026-01-01\n---\nTwo.\n")

    def paths(*options: str) -> list[str]:
        return [json.loads(line)["path"] for line in amem("export", *options).out.splitlines()]

    assert paths() == ["a/One.md", "b/Two.md"]
    assert paths("--no-private") == paths("--tag", "x") == paths("--path", "a") == ["a/One.md"]
    assert paths("--since", "2025-06-01") == ["b/Two.md"]


def test_plain_markdown_goes_into_an_empty_folder_only(amem: Program, vault: Path) -> None:
    write_note(vault, "a/One.md", "One.\n")
    plain = amem.folder / "plain"
    (plain / ".git").mkdir(parents=True)
    call = ("export", "--format", "markdown", "--output", "plain", "--json")
    assert amem(*call).json["written"] == ["a/One.md"]
    before = tree_hashes(plain)
    again = amem(*call)
    assert (again.code, "is not empty" in again.err) == (2, True)
    assert tree_hashes(plain) == before


_words = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=30)
_bodies = st.one_of(
    _words,
    st.sampled_from(
        [
            "",
            "---\na: b\n---\nText\n",
            "---\n",
            "[[Two]] #tag\n",
            "﻿x",
            "{}",
            "+++\na\n",
            "no newline",
        ]
    ),
)
_notes = st.fixed_dictionaries(
    {"body": _bodies},
    optional={
        "tags": st.lists(st.sampled_from(["a", "b/c", "日本", "yes"]), max_size=2),
        "aliases": st.lists(st.sampled_from(["Alias", "12:30", "null"]), max_size=2),
        "title": st.sampled_from(["A title: with colon", "0012", "One"]),
        "context": st.sampled_from(["About it.", "yes", "- x"]),
        "id": st.just("{n}"),
        "created": st.sampled_from(["2026-01-02T03:04:05", "2026-01-02"]),
        "links": st.lists(st.sampled_from(["[[note 1]]", "[[None|x]]"]), max_size=2),
    },
)


@examples(0.2)
@given(st.lists(_notes, min_size=1, max_size=4))
def test_what_goes_out_and_in_again_goes_out_the_same(notes: list[dict[str, object]]) -> None:
    with folder() as top:
        first = top / "first"
        first.mkdir()
        for number, note in enumerate(notes):
            fields = {name: value for name, value in note.items() if name != "body" and value}
            if "id" in fields:
                fields["id"] = f"id-{number}"
            header = "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items())
            fence = f"---\n{header}---\n" if header else ""
            write_note(first, f"{'sub/' * (number % 2)}note {number}.md", f"{fence}{note['body']}")
        ports = open_vault(first)
        synchronise(ports)
        exported = _lines(ports)
        second = top / "second"
        second.mkdir()
        there = open_vault(second)
        source = json_lines(Path("x.jsonl"), "\n".join(exported))
        report = import_notes(there, source)
        assert report.refused == []
        again = _lines(there)
        assert again == exported
        source = json_lines(Path("x.jsonl"), "\n".join(exported))
        assert import_notes(there, source).made == []


def _lines(ports: VaultPorts) -> list[str]:
    records = export_records(ports, Selection(ports, Filters(), private=True))
    return [json.dumps(record, ensure_ascii=False) for record in records]


def test_a_dry_run_tells_no_id_of_a_note_that_will_have_none(amem: Program, vault: Path) -> None:
    source = amem.folder / "s"
    write_note(source, "Broken.md", "---\ntitle: [unclosed\n---\nText.\n")
    write_note(source, "Whole.md", "---\ncreated: 2024-03-02T15:00:00\n---\nMore.\n")

    def told(*more: str) -> dict[str, Any]:
        answer: dict[str, Any] = amem("import", "s", "--no-llm", "--json", *more).json
        return {name: value for name, value in answer.items() if name not in ("dry_run", "notes")}

    planned = told("--dry-run")
    assert [note["path"] for note in planned["made"] if not note["id"]] == ["notes/Broken.md"]
    assert [bool(note["id"]) for note in told()["made"]] == [False, True]


def test_a_text_with_a_nul_comes_in_as_it_went_out(amem: Program, vault: Path) -> None:
    write_note(vault, "Zero byte.md", "one\0two\n")
    assert amem("export", "--output", "x.jsonl").code == 0
    assert amem("init", "w").code == 0
    done = amem("--vault", "w", "import", "x.jsonl", "--no-llm")
    assert done.code == 0, done.out
    assert (amem.folder / "w/Zero byte.md").read_bytes().endswith(b"one\0two\n")


@pytest.mark.parametrize(
    ("call", "code", "told"),
    [
        (("-", "--from", "mem0"), 2, "standard input is read as JSON lines only"),
        (("lines.jsonl", "--from", "chroma"), 3, "is not a database"),
        (("number.json",), 3, "holds a number that is too long"),
    ],
)
def test_what_does_not_fit_is_told_in_the_users_words(
    amem: Program, vault: Path, call: tuple[str, ...], code: int, told: str
) -> None:
    (amem.folder / "lines.jsonl").write_text('{"content": "a"}\n{"content": "b"}\n')
    (amem.folder / "number.json").write_text('[{"content": "x", "n": ' + "9" * 5000 + "}]")
    answer = amem("import", *call)
    assert answer.code == code
    assert told in answer.err


def test_standard_input_is_utf_8_whatever_the_terminal_speaks(amem: Program, vault: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "amem_cli", "import", "-", "--no-llm", "--json"],
        input=b'\xef\xbb\xbf{"content": "caf\xc3\xa9", "id": "k"}\n',
        env={**amem.environment, "PYTHONIOENCODING": "latin-1"},
        stdout=subprocess.PIPE,
        check=True,
        cwd=amem.folder,
    )
    (path,) = json.loads(done.stdout.decode("latin-1"))["imported"]
    assert "café" in (vault / path).read_bytes().decode()


def test_many_records_of_one_title_each_become_a_note_and_links_by_id_hold(
    amem: Program, vault: Path
) -> None:
    lines = [
        json.dumps({"content": f"Of {n}.", "title": "Talk", "id": f"k{n}", "links": [f"k{n - 1}"]})
        for n in range(1, 40)
    ]
    (amem.folder / "x.jsonl").write_text("\n".join(lines))
    assert amem("import", "x.jsonl", "--no-llm").code == 0
    edges = amem("graph", "--format", "json").json["edges"]
    assert len({edge["target"] for edge in edges}) == 38


def test_lines_that_go_to_a_file_are_told_as_json(amem: Program, vault: Path) -> None:
    write_note(vault, "One.md", "One.\n")
    done = amem("export", "--output", "x.jsonl", "--json")
    assert done.json == {"output": "x.jsonl", "notes": 1}


def test_plain_markdown_keeps_the_line_ends_of_a_note(amem: Program, vault: Path) -> None:
    write_note(vault, "B.md", "To see.\n")
    (vault / "A.md").write_bytes(b'---\r\nlinks:\r\n  - "[[B]]"\r\n---\r\nOf A.\r\n')
    assert amem("export", "--format", "markdown", "--output", "plain").code == 0
    written = (amem.folder / "plain/A.md").read_bytes()
    assert written.endswith(b"Of A.\r\n\r\n## Related notes\r\n\r\n- [B](B.md)\r\n")


def test_a_link_to_nothing_is_told_with_its_line(amem: Program, vault: Path) -> None:
    (amem.folder / "x.jsonl").write_text('{"content": "a"}\n{"content": "To [[Nowhere]]."}\n')
    done = amem("import", "x.jsonl", "--no-llm", "--json")
    assert done.json["unresolved"] == [{"source": "x.jsonl:2", "target": "Nowhere"}]
