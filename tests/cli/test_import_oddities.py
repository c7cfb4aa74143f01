"""What odd input does to `amem import`, and that a dry run says what the run then does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program
from tests.vaults import write_note


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
