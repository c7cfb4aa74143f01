"""`amem obsidian`: files that Obsidian reads show what only amem knows, and go away again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.bases import check_base
from tests.browser import chromium
from tests.conftest import Program
from tests.memory.test_suggestions import suggest
from tests.vaults import open_vault, tree_hashes, write_note

OLD = "Old (a+b) [draft], it's 50% 漢 😀"
STYLES = """({ css, elements }) => {
  document.head.append(Object.assign(document.createElement('style'), { textContent: css }));
  return elements.map(([name, attribute, value]) => {
    const element = document.createElement('div');
    element.className = name;
    element.setAttribute(attribute, value);
    document.body.append(element);
    return getComputedStyle(element).textDecorationLine === 'line-through';
  });
}"""


@pytest.fixture
def vault(amem: Program) -> Path:
    """A vault with Obsidian's settings, an old note that a newer one supersedes, and an orphan."""
    root = amem.folder / "v"
    (root / ".obsidian").mkdir(parents=True)
    (root / ".obsidian/appearance.json").write_text(json.dumps({"theme": "moonstone"}, indent=2))
    amem.vault("v", "--adopt")
    write_note(
        root, f"notes/{OLD}.md", '---\nid: "1"\naliases: [Former]\n---\nWe meet on Monday.\n'
    )
    write_note(root, "new.md", '---\nid: "2"\n---\nWe meet on Friday.\n')
    write_note(root, "other.md", '---\nid: "3"\n---\nTea is green.\n')
    write_note(root, "alone.md", '---\nid: "4"\n---\nNobody links here.\n')
    assert amem("link", "new", OLD, "--relation", "supersedes").code == 0
    ports = open_vault(root)
    suggest(ports, "other.md", "new.md")
    suggest(ports, "new.md", "other.md", written=True)
    ports.index.close()
    assert amem("index").code == 0
    return root


def views(root: Path) -> dict[str, list[str]]:
    """The paths that each view of the Base shows."""
    base = yaml.safe_load((root / "amem.base").read_text(encoding="utf-8"))
    check_base(base)
    end = ".contains(file.path)"
    shown = {}
    for view in base["views"]:
        (condition,) = view["filters"]["and"]
        assert condition.endswith(end)
        shown[view["name"]] = sorted(json.loads(condition.removesuffix(end)))
    return shown


def settings(root: Path, name: str) -> Any:
    return json.loads((root / f".obsidian/{name}.json").read_text(encoding="utf-8"))


def test_the_base_shows_what_only_amem_knows(amem: Program, vault: Path) -> None:
    before = tree_hashes(vault)
    assert amem("obsidian", "--json").json["written"] == [
        "amem.base",
        ".obsidian/snippets/amem.css",
        ".obsidian/appearance.json",
    ]
    shown = views(vault)
    assert shown["Superseded"] == [f"notes/{OLD}.md"]
    assert shown["Orphans"] == ["alone.md"]
    assert shown["Lately linked by amem"] == ["new.md"]
    # "other.md" is only suggested to "new.md".
    assert "alone.md" in shown["Waiting"] and "other.md" not in shown["Waiting"]
    after = tree_hashes(vault)
    changed = {path for path in before if before[path] != after[path]}
    assert changed == {".obsidian/appearance.json"}
    assert amem("obsidian", "--json").json == {"written": [], "removed": []}

    assert amem("mv", "new", "Newer").code == 0
    assert amem("obsidian").code == 0
    assert views(vault)["Lately linked by amem"] == ["Newer.md"]

    assert amem("mv", "Newer", "new").code == 0
    assert amem("obsidian", "--remove").code == 0
    assert tree_hashes(vault) == before
    assert amem("obsidian", "--remove", "--json").json == {"written": [], "removed": []}


@pytest.mark.slow
def test_superseded_notes_are_struck_through_in_a_browser(amem: Program, vault: Path) -> None:
    assert amem("obsidian").code == 0
    assert settings(vault, "appearance") == {
        "theme": "moonstone",
        "enabledCssSnippets": ["amem"],
    }
    cases = {
        ("nav-file-title", "data-path", f"notes/{OLD}.md"): True,
        ("internal-link", "data-href", OLD): True,
        ("internal-link", "data-href", f"{OLD}#Heading"): True,
        ("internal-link", "data-href", "Former"): True,
        ("internal-link", "data-href", f"notes/{OLD}"): True,
        ("nav-file-title", "data-path", "new.md"): False,
        ("internal-link", "data-href", "new"): False,
        ("internal-link", "data-href", "Formerly"): False,
    }
    css = (vault / ".obsidian/snippets/amem.css").read_text(encoding="utf-8")
    with chromium() as browser:
        shown = browser.new_page().evaluate(
            STYLES, {"css": css, "elements": list(map(list, cases))}
        )
    assert shown == list(cases.values())


def test_what_is_not_amems_is_left_alone(amem: Program, vault: Path) -> None:
    (vault / "amem.base").write_text("views: []\n")
    before = tree_hashes(vault)
    for option in ((), ("--remove",)):
        refused = amem("obsidian", *option)
        assert refused.code == 3 and "amem.base is not amem's" in refused.err
    (vault / "amem.base").unlink()
    (vault / ".obsidian/appearance.json").write_text("{")
    refused = amem("obsidian")
    assert refused.code == 3 and "cannot read .obsidian/appearance.json" in refused.err
    assert not (vault / "amem.base").exists()
    before = tree_hashes(vault)
    (vault / ".obsidian/appearance.json").unlink()
    (vault / ".obsidian/snippets").symlink_to(amem.folder)
    refused = amem("obsidian")
    assert refused.code == 3 and "is a link" in refused.err
    assert not (amem.folder / "amem.css").exists()
    (vault / ".obsidian/snippets").unlink()
    (vault / "amem.base").symlink_to(amem.folder / "outside")
    assert amem("obsidian").code == 3 and not (amem.folder / "outside").exists()
    (vault / "amem.base").unlink()
    assert set(before) - set(tree_hashes(vault)) == {".obsidian/appearance.json"}


def test_without_obsidian_nothing_is_made(amem: Program) -> None:
    write_note(amem.folder, "a.md", "A.\n")
    assert amem("init", ".", "--adopt").code == 0
    refused = amem("obsidian")
    assert refused.code == 3 and "Open the folder in Obsidian once" in refused.err
    assert not (amem.folder / "amem.base").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(amem: Program, vault: Path) -> None:
    (vault / ".obsidian").chmod(0o500)
    refused = amem("obsidian")
    (vault / ".obsidian").chmod(0o700)
    assert refused.code == 3 and "cannot write .obsidian/snippets" in refused.err


def obsidian(root: Path, name: str, **settings: object) -> None:
    file = root / ".obsidian" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings))


def test_what_obsidians_settings_say_of_folders_counts(amem: Program) -> None:
    root = amem.folder
    obsidian(root, "app.json", newFileLocation="folder", newFileFolderPath="In box/New")
    obsidian(root, "templates.json", folder="templates/")
    obsidian(root, "plugins/templater-obsidian/data.json", templates_folder="Meta/Tp")
    obsidian(root, "daily-notes.json", folder="Days", template="Days/Form")
    for path in ("TEMPLATES/Book.md", "Meta/tp/Day.md", "Days/Form.md"):
        write_note(root, path, "---\ndate: {{date}}\n---\n<% tp.file.title %> [[Nowhere]]\n")
    for path in ("Days/2026-03-02.md", "Meta/About.md", "Template.md"):
        write_note(root, path, "A walrus.\n")
    adopted = amem("init", ".", "--adopt")
    assert "templates, Meta/Tp, Days/Form.md left out as templates" in adopted.out
    assert "new notes go into In box/New" in adopted.out
    kept = {each["path"] for each in amem("list", "--json").json}
    assert kept == {"Days/2026-03-02.md", "Meta/About.md", "Template.md"}
    assert amem("doctor").code == 0
    assert amem("add", "A seal.", "--no-wait", "--json").json["path"] == "In box/New/A seal.md"
    assert not (root / "notes").exists()
    # They are read anew, and amem's own settings go first.
    obsidian(root, "app.json", newFileLocation="root")
    obsidian(root, "templates.json", folder="../out")
    assert amem("add", "A whale.", "--no-wait", "--json").json["path"] == "A whale.md"
    assert amem("config", "get", "notes_dir", "--json").json["from"] == "obsidian"
    assert amem("config", "set", "notes_dir", "Mine").code == 0
    assert amem("config", "set", "exclude.folders", "").code == 0
    assert amem("add", "A crab.", "--no-wait", "--json").json["path"] == "Mine/A crab.md"
    assert "Meta/tp/Day.md" in {each["path"] for each in amem("list", "--json").json}


@pytest.mark.parametrize(
    ("folder", "form", "path"),
    [
        ("Days/", "DD-MM-YYYY", "Days/04-03-2025.md"),
        ("", "MM.DD.YYYY", "03.04.2025.md"),
        ("A [b] YYYY", "D_M_YYYY", None),
        ("Log", "YYYY/MMMM/dddd, MMMM Do YYYY", "Log/2025/March/Tuesday, March 4th 2025.md"),
        ("Log", "[Day] YYYY.MM.DD", "Log/Day 2025.03.04.md"),
        # To see that a path of many `a` is none of these would never end.
        ("", "[a]d" * 60 + "[x]D_M_YYYY", None),
    ],
)
def test_a_daily_note_gets_its_day_by_the_form_of_its_name(
    amem: Program, folder: str, form: str, path: str | None
) -> None:
    obsidian(amem.folder, "daily-notes.json", folder=folder, format=form)
    for each in (path or "4_3_2025.md", "Other/05-06-2025.md", "99-99-2025.md", f"{'a' * 200}.md"):
        write_note(amem.folder, each, "A walrus.\n")
    adopted = amem("init", ".", "--adopt")
    assert "daily notes are named as" in adopted.out
    (note,) = (n for n in amem("list", "--json").json if n["path"] == (path or "4_3_2025.md"))
    assert note["created"].startswith("2025-03-04") == bool(path)
    others = [n["created"][:10] for n in amem("list", "--json").json if n is not note]
    assert "2025-06-05" not in others and "2025-05-06" not in others


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"newFileLocation": "folder"}', '{"folder": 3}']
)
def test_settings_of_obsidian_that_say_nothing_change_nothing(amem: Program, content: str) -> None:
    for name in ("app.json", "templates.json", "daily-notes.json"):
        obsidian(amem.folder, name)
        (amem.folder / ".obsidian" / name).write_text(content)
    assert "Obsidian" not in amem("init", ".", "--adopt").out
    assert amem("add", "A seal.", "--no-wait", "--json").json["path"] == "notes/A seal.md"
