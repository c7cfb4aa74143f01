"""A note's `created` comes from its header, its name or git, and never from its file's time."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.fakes.prepared_encoder import with_quick_encoder
from tests.repositories import TestRepository, new_repository, person
from tests.vaults import tree_hashes, write_note

COPIED = 1_777_600_000
TEXTS = {
    "Seals.md": "---\ndate: 2026-02-11\n---\nSeals haul out on ice.\n",
    "Daily/2026-03-08.md": "Walruses dive for clams.\n",
    "Otters.md": "Otters crack shells on stones.\n",
    "Loose.md": "Orcas hunt in groups.\n",
}
MADE = {
    "Seals.md": "created: 2026-02-11T00:00:00\n",
    "Daily/2026-03-08.md": "created: 2026-03-08T00:00:00\n",
    "Otters.md": "created: 2025-05-04T10:00:00\n",
}


def commit(repo: TestRepository, day: str) -> None:
    repo.git("add", ".")
    dated = {"GIT_AUTHOR_DATE": f"{day}T10:00:00Z", "GIT_COMMITTER_DATE": f"{day}T10:00:00Z"}
    replace(repo, environment={**repo.environment, **dated}).git("commit", "-qm", day)


@pytest.fixture
def notes(amem: Program, tmp_path: Path) -> Path:
    """A folder under git whose files were all copied on one day; one is renamed, one not in git."""
    amem.environment |= with_quick_encoder(tmp_path / "cache") | {"TZ": "UTC"}
    repo = new_repository(tmp_path / "v", person(tmp_path / "kim"))
    repo.write("Untitled.md", TEXTS["Otters.md"])
    commit(repo, "2025-05-04")
    repo.git("mv", "Untitled.md", "Otters.md")
    for path in ("Seals.md", "Daily/2026-03-08.md"):
        repo.write(path, TEXTS[path])
    commit(repo, "2026-04-01")
    repo.write("Loose.md", TEXTS["Loose.md"])
    for path in TEXTS:
        os.utime(repo.top / path, (COPIED, COPIED))
    return repo.top


def headers(folder: Path) -> dict[str, str]:
    """The line `created:` of each note, empty for none."""
    lines = {path: (folder / path).read_text().splitlines(keepends=True) for path in TEXTS}
    return {
        path: "".join(line for line in own if line.startswith("created:"))
        for path, own in lines.items()
    }


def newest(amem: Program, kind: str) -> str:
    """The id of the last event of a kind."""
    events = amem("history", "--json").json
    return str([each["id"] for each in events if each["kind"] == kind][-1])


def test_an_adopted_note_gets_the_day_on_which_it_was_made(amem: Program, notes: Path) -> None:
    amem.vault("v", "--adopt")
    assert amem("evolve", "--all", "--no-llm").code == 0
    assert headers(notes) == {**MADE, "Loose.md": ""}
    assert 'id: "20260501014640"' in (notes / "Loose.md").read_text()
    shown = amem("list").out
    assert "2026-05-01  Loose" in shown and "2025-05-04  Otters" in shown


def test_a_persons_command_dates_a_note_alike(amem: Program, notes: Path) -> None:
    amem.vault("v", "--adopt")
    for path in TEXTS:
        assert amem("update", path, "--tag", "sea", "--no-llm").code == 0
    assert headers(notes) == {**MADE, "Loose.md": ""}
    given = write_note(notes.parent, "new.txt", TEXTS["Seals.md"].replace("Seals", "Eels"))
    assert amem("add", "--file", str(given), "--no-llm", "--no-wait").code == 0
    (new,) = (notes / "notes").glob("*.md")
    assert MADE["Seals.md"] in new.read_text()


def test_an_import_dates_a_note_alike(amem: Program, notes: Path, tmp_path: Path) -> None:
    amem.vault("w")
    assert amem("import", str(notes), "--no-wait").code == 0
    assert headers(tmp_path / "w/notes") == {**MADE, "Loose.md": ""}


def test_what_only_the_name_or_the_header_tells_is_known_before_amem_writes(
    amem: Program, notes: Path
) -> None:
    amem.vault("v", "--adopt")
    shown = amem("list", "--until", "2026-03-31").out
    assert "Seals" in shown and "2026-03-08" in shown and "Loose" not in shown


def test_days_are_read_as_people_write_them(amem: Program, notes: Path) -> None:
    days = {
        "Eels.md": "---\ndate: 3.5.2024\n---\nEels migrate.\n",
        "Gulls.md": "---\ncreated: May 3, 2024 2:30 PM\n---\nGulls nest.\n",
        "Terns.md": '---\ncreated: "[[2024-05-03|Friday]]"\n---\nTerns fish.\n',
        "2024/05/03.md": "Tides.\n",
        "3.5.2024.md": "Kelp.\n",
        "May 3rd, 2024.md": "Corals.\n",
    }
    for path, text in days.items():
        write_note(notes, path, text)
    write_note(notes, "Crabs.md", "---\ndate: 03/05/2024\n---\nCrabs moult.\n")
    amem.vault("v", "--adopt")
    found = amem("list", "--since", "3 May 2024", "--until", "2024/05/03", "--json").json
    assert {note["path"] for note in found} == set(days)
    assert {note["created"][:10] for note in found} == {"2024-05-03"}
    assert amem("update", "Eels", "--tag", "sea", "--no-llm").code == 0
    assert "created: 2024-05-03T00:00:00\n" in (notes / "Eels.md").read_text()
    assert amem("update", "Terns", "--tag", "sea", "--no-llm").code == 0
    written = (notes / "Terns.md").read_text()
    assert 'id: "20240503000000' in written and 'created: "[[2024-05-03|Friday]]"' in written


def test_an_undated_note_keeps_its_day_when_its_first_change_or_its_removal_is_taken_back(
    amem: Program, notes: Path
) -> None:
    amem.vault("v", "--adopt")
    note = notes / "Loose.md"
    assert amem("evolve", "Loose", "--no-llm").code == 0
    assert "id:" in note.read_text()
    assert amem("undo", newest(amem, "process")).code == 0
    assert note.read_text() == TEXTS["Loose.md"] and note.stat().st_mtime == COPIED
    assert "2026-05-01  Loose" in amem("list").out
    assert amem("rm", "Loose").code == 0 and not note.exists()
    assert amem("undo", newest(amem, "remove")).code == 0
    assert "2026-05-01  Loose" in amem("list").out
    assert amem("update", "Loose", "--tag", "sea", "--no-llm").code == 0
    assert 'id: "20260501014640' in note.read_text()


def test_a_shallow_clone_tells_nothing_of_its_first_commit(
    amem: Program, notes: Path, tmp_path: Path
) -> None:
    clone = ["git", "clone", "-q", "--depth=1", notes.as_uri(), str(tmp_path / "c")]
    subprocess.run(clone, check=True)
    amem.vault("c", "--adopt")
    assert amem("update", "Otters", "--tag", "sea", "--no-llm").code == 0
    assert "created:" not in (tmp_path / "c/Otters.md").read_text()


def test_the_moment_decides_whatever_its_form_and_zone(amem: Program) -> None:
    amem.environment["TZ"] = "UTC"
    vault = amem.empty_vault()
    dates = {
        "a": "2024-03-10T08:00:00",
        "b": "2024-03-10 23:30",
        "c": "2024-03-10T23:30:00+09:00",
        "d": "2024-03-10 20:30:00 -0130",
        "e": "2024-03-10t09:00",
        "f": "2024-03-10 08:30:00 UTC",
        "g": "2024-03-10T23:00:00-08:00",
        "h": "20240310T230000Z",
        "i": "1710058500000",
        "j": "2024-03-10, 8:20:00 a.m.",
    }
    for name, date in dates.items():
        write_note(vault, f"{name}.md", f"---\ncreated: {date}\n---\nNote {name}.\n")
    before = tree_hashes(vault)
    listed = amem("list", "--json").json
    assert [note["title"] for note in listed] == [*"gbhdcefjia"]
    assert listed[0]["created"] == "2024-03-11T07:00:00"
    order = [f"{name}.md" for name in "aijfecdhbg"]
    pending = amem("list", "--pending", "--json").json
    assert sorted(note["path"] for note in pending) == sorted(order)
    done = amem("evolve", "--all", "--dry-run", "--no-llm", "--json").json
    assert [note["path"] for note in done["notes"]] == order

    def on(day: str) -> set[str]:
        found = amem("list", "--since", day, "--until", day, "--json").json
        return {note["title"] for note in found}

    assert on("2024-03-11") == {"g"}
    amem.environment["TZ"] = "Pacific/Kiritimati"
    assert on("2024-03-11") == {"c", "d", "g", "h"}
    amem.environment["TZ"] = "Etc/GMT+12"
    assert on("2024-03-09") == {"f", "i"}
    assert on("2024-03-10T08:15:00Z") == {"f", "i"}
    assert on("2024-03-10") == {*"abcdeghj"}
    assert "2024-03-10  g" in amem("list").out
    assert tree_hashes(vault) == before
