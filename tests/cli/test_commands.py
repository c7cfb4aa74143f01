"""Each command as a user meets it: real processes on a real vault, without a language model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.vaults import tree_hashes, write_note


@pytest.fixture
def vault(amem: Program) -> Path:
    return amem.vault()


def test_a_note_is_added_found_shown_and_removed(amem: Program, vault: Path) -> None:
    added = amem(
        "add",
        "The walrus sleeps on the ice because its blubber keeps it warm.",
        "--title",
        "Walrus on ice",
        "--tag",
        "animals",
        "--json",
    )
    assert added.code == 0, added.err
    note = added.json
    assert note["path"] == "notes/Walrus on ice.md"
    assert note["tags"] == ["animals"]
    assert note["keywords"]
    assert note["pending"] is False
    for mode in ("hybrid", "semantic", "keyword"):
        hits = amem("search", "walrus blubber", "--mode", mode, "--json").json["hits"]
        assert hits[0]["id"] == note["id"], mode
        assert "walrus" in hits[0]["snippet"].casefold()
    shown = amem("--json", "show", "walrus on ice").json
    assert shown["id"] == note["id"]
    assert shown["content"].startswith("The walrus")
    text = (vault / note["path"]).read_text()
    created = re.match(r'---\nid: "(\d{14})"\ncreated: (\S+)\n', text)
    assert created is not None
    assert created[1] == note["id"] == re.sub(r"\D", "", created[2])
    assert amem("show", note["id"], "--raw").out == text
    removed = amem("rm", note["id"], "--json").json
    assert removed["path"] == note["path"]
    assert (vault / ".trash" / "Walrus on ice.md").read_text() == text
    assert amem("show", note["id"]).code == 1


def test_what_a_person_gave_is_kept(amem: Program, vault: Path) -> None:
    note = amem(
        "add", "-", "--keyword", "my word", "--context", "My sentence.", "--json",
        stdin="A thought about tea.\n",
    ).json  # fmt: skip
    assert (note["keywords"], note["context"]) == (["my word"], "My sentence.")
    updated = amem(
        "update", note["id"], "--add-tag", "tea", "--remove-keyword", "my word", "--json"
    )
    assert updated.code == 0, updated.err
    assert "tea" in updated.json["tags"]


def test_a_file_with_a_header_keeps_it(amem: Program, vault: Path) -> None:
    text = "---\n# mine\nsource: [a, b]\ntags: [x]\n---\nBody of the draft.\n"
    write_note(amem.folder, "draft.md", text)
    note = amem("add", "--file", "draft.md", "--json").json
    written = (vault / note["path"]).read_text()
    assert "# mine\nsource: [a, b]\ntags: [x]\n" in written
    assert written.endswith("---\nBody of the draft.\n")
    assert note["path"] == "notes/draft.md"


def test_links_of_a_person_are_made_and_removed(amem: Program, vault: Path) -> None:
    for title in ("One", "Two"):
        assert amem("add", f"Text of {title}.", "--title", title, "--no-wait").code == 0
    made = amem("link", "One", "Two", "--relation", "supports", "--reason", "says so", "--json")
    assert made.json["made"] is True
    assert 'links:\n  - "[[Two]]"\n' in (vault / "notes/One.md").read_text()
    links = amem("show", "One", "--json").json["links"]
    assert [(link["title"], link["by"], link["relation"]) for link in links] == [
        ("Two", "person", "supports")
    ]
    assert amem("unlink", "One", "Two").code == 0
    assert amem("unlink", "One", "Two").code == 1
    assert amem("link", "One", "One").code == 2


def test_removing_a_note_takes_the_machines_links_and_tells_the_persons(
    amem: Program, vault: Path
) -> None:
    first = amem(
        "add", "Lamination of croissant dough needs butter at 14 degrees.", "--title", "Lamination",
        "--json",
    ).json  # fmt: skip
    second = amem(
        "add", "The croissant dough tore in lamination: butter at 10 degrees is brittle.",
        "--title", "Torn dough", "--json",
    ).json  # fmt: skip
    assert [link["path"] for link in second["links"]] == [first["path"]]
    assert second["links"][0]["reason"]
    amem("add", "See [[Lamination]] again.", "--title", "Reader", "--no-wait")
    removed = amem("rm", "Lamination", "--json").json
    assert removed.pop("event").startswith("00")
    assert removed == {
        "path": first["path"],
        "unlinked": [second["path"]],
        "dangling": ["notes/Reader.md"],
    }
    assert "[[Lamination]]" not in (vault / second["path"]).read_text()
    assert "[[Lamination]]" in (vault / "notes/Reader.md").read_text()


def test_evolve_does_what_waits(amem: Program, vault: Path) -> None:
    assert amem("evolve").out == "nothing is pending\n"
    text = "They fell birches by the river. Birch bark and aspen bark are their winter food."
    added = amem("add", text, "--title", "Beavers", "--no-wait", "--json").json
    assert added["pending"] is True
    assert added["keywords"] == []
    before = tree_hashes(vault)
    planned = amem("evolve", "--dry-run", "--json").json
    assert planned["notes"][0]["keywords"]
    assert tree_hashes(vault) == before
    assert amem("list", "--pending").out.count("\n") == 1
    done = amem("evolve", "--json")
    assert (done.code, done.json["pending"]) == (0, 0)
    after = tree_hashes(vault)
    assert amem("evolve", added["path"], "--json").json["notes"][0]["links"] == []
    assert tree_hashes(vault) == after


def test_index_is_checked_and_rebuilt(amem: Program, vault: Path) -> None:
    assert amem("index", "--check").code == 0
    write_note(vault, "notes/new.md", "new\n")
    checked = amem("index", "--check", "--json")
    assert (checked.code, checked.json["differences"]) == (1, ["notes/new.md: not in the index"])
    assert amem("index", "--json").json["added"] == 1
    rebuilt = amem("index", "--rebuild", "--json").json
    assert rebuilt["added"] == rebuilt["notes"] == 18
    assert amem("index", "--check").code == 0


def test_stats_config_and_models_answer(amem: Program, vault: Path) -> None:
    assert amem("stats", "--json").json["notes"] == 17
    assert amem("config", "get", "evolution.settle_seconds").out == "60.0\n"
    assert amem("config", "list", "--json").json["evolution.max_links"]["from"] == "vault"
    assert amem("config", "set", "evolution.max_links", "99").code == 3
    assert amem("model", "list", "--json").json["encoder"] == "all-MiniLM-L6-v2"
    assert amem("model", "use", "none").code == 0
    assert amem("model", "use", "nowhere.gguf").code == 2
    tested = amem("model", "test", "--json").json
    assert (tested["model"], tested["dimension"]) == ("", 384)


def test_jsonl_goes_in_and_comes_out(amem: Program, vault: Path) -> None:
    lines = [
        {"content": "First.", "title": "A", "id": "20250101120000", "created": "202501011200"},
        {"content": "Second.", "tags": ["x y"], "links": ["A"], "context": "About it."},
        {"nonsense": 1},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    imported = amem("import", "-", "--no-llm", "--json", stdin=text)
    assert imported.code == 1
    assert len(imported.json["imported"]) == 2
    assert imported.json["problems"] == ["3: no “content”"]
    exported = [json.loads(line) for line in amem("export").out.splitlines()]
    by_path = {line["path"]: line for line in exported}
    first = by_path["notes/A.md"]
    assert (first["id"], first["created"]) == ("20250101120000", "2025-01-01T12:00:00")
    second = by_path["notes/Second.md"]
    assert (second["tags"], second["links"]) == (["x-y"], ["[[A]]"])
    assert amem("import", "-", "--no-llm", "--json", stdin=text).json["skipped"] == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (["show", "nothing like it"], 1),
        (["search", ""], 2),
        (["search", "x", "--mode", "magic"], 2),
        (["search", "x", "--since", "yesterdayish"], 2),
        (["list", "--sort", "colour"], 2),
        (["nonsense"], 2),
        (["add"], 2),
        (["add", "  "], 2),
        (["add", "x", "--tag", "!!!"], 2),
        (["--vault", "nowhere", "list"], 3),
        (["init", "v"], 3),
    ],
)
def test_errors_are_one_line_with_a_hint_and_a_code(
    amem: Program, vault: Path, line: list[str], code: int
) -> None:
    answer = amem(*line)
    assert answer.code == code, answer.err
    assert answer.out == ""
    told = answer.err.strip().splitlines()
    assert told[0].startswith("error: ")
    assert len(told) <= 2 and all(each.startswith("hint: ") for each in told[1:])
    structured = amem("--json", *line)
    assert structured.json["exit_code"] == code


def test_no_vault_is_told(amem: Program) -> None:
    answer = amem("list")
    assert answer.code == 3
    assert "no vault here" in answer.err


def test_adopting_a_folder_changes_no_note(amem: Program) -> None:
    for number in range(50):
        write_note(amem.folder, f"old/{number}.md", f"note {number} about [[{number + 1}]]\r\n")
    before = tree_hashes(amem.folder)
    adopted = amem("init", ".", "--adopt", "--json")
    assert adopted.json["notes"] == 50
    assert amem("search", "note 7", "--json").code == 0
    evolved = amem("evolve")
    assert evolved.out == "nothing is pending\n"
    assert "50 notes never processed: amem evolve --all" in evolved.err
    after = tree_hashes(amem.folder)
    assert {path: after[path] for path in before} == before


def test_a_refused_header_is_never_written_over(amem: Program, vault: Path) -> None:
    for name, header in (("dup.md", "a: 1\na: 2"), ("tab.md", "a:\n\t- x\nprivate: true")):
        note = write_note(vault, name, f"---\n{header}\n---\nText.\n")
        before = note.read_bytes()
        for change in (["--content", "new"], ["--add-tag", "x"], ["--context", "New."]):
            refused = amem("update", name, *change)
            assert refused.code == 3, refused.err
            assert f"{name}:" in refused.err and "hint:" in refused.err
        assert amem("link", name, "Home").code == 3
        assert note.read_bytes() == before


def test_settings_are_read_as_they_are_shown(amem: Program, vault: Path) -> None:
    assert amem("config", "set", "exclude.folders", '["private", "templates"]').code == 0
    write_note(vault, "private/p.md", "hidden walrus\n")
    assert amem("search", "walrus", "--mode", "keyword", "--json").json["hits"] == []
    assert amem("config", "set", "notes_dir", "/tmp/elsewhere").code == 3
    (vault / ".amem/config.toml").write_text("garbage")
    assert amem("config", "set", "notes_dir", "notes").code == 3


def test_arguments_that_are_no_text_are_wrong_usage(amem: Program, vault: Path) -> None:
    for line in (["show", "\udcff"], ["add", "t", "--title", "a\udcffb"]):
        answer = amem(*line)
        assert (answer.code, "not valid UTF-8" in answer.err) == (2, True)


def test_a_file_is_titled_by_its_heading_and_its_bare_name_is_told(amem: Program) -> None:
    assert amem("init", ".", "--adopt").code == 0
    (amem.folder / "draft 1.txt").write_text("Intro.\n\n# Walrus tusks\n\nThey grow.\n")
    (amem.folder / "draft 2.txt").write_text("They grow. For life.\n")
    titled = amem("add", "--file", "draft 1.txt", "--no-wait")
    assert "saved notes/Walrus tusks.md" in titled.out and titled.err == ""
    assert "saved notes/draft 2.md" in amem("add", "--file", "draft 2.txt", "--no-wait").out
    assert (
        "saved notes/Mine.md"
        in amem("add", "--file", "draft 1.txt", "--title", "Mine", "--no-wait").out
    )
    told = amem("add", "draft 2.txt", "--no-wait")
    assert told.code == 0 and "amem add --file 'draft 2.txt'" in told.err
