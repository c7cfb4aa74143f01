"""The template vault is what the note format promises, and complete in itself."""

from __future__ import annotations

import fnmatch
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from amem_cli.data import table
from amem_cli.markdown.links import find_links
from amem_cli.settings import Settings, load_settings
from tests.bases import check_base

TEMPLATE = Path(__file__).parent.parent / "vault_template"
NOTES = sorted((TEMPLATE / "notes").glob("*.md"))
PAGES = [*NOTES, TEMPLATE / "Home.md"]
TAG = re.compile(r"[a-z]+(?:/[a-z]+)?")
UNSAFE_IN_A_NAME = set('#|^:%[]\\/*?"<>')
MEMORY_FIELDS = {"id", "created", "keywords", "tags", "context"}


def parts(page: Path) -> tuple[dict[str, Any], str]:
    """Properties and body of a page."""
    text = page.read_text(encoding="utf-8")
    if not text.startswith("---\n"):
        return {}, text
    _, header, body = text.split("---\n", 2)
    properties = yaml.safe_load(header)
    assert isinstance(properties, dict)
    return properties, body


def link_targets(text: str) -> list[str]:
    """What the wikilinks of a text point to."""
    return [link.target for link in find_links(text)]


def linkable_names() -> set[str]:
    """What a wikilink may say: a note by its name, any other file with its ending."""
    files = [path for path in TEMPLATE.rglob("*") if path.is_file()]
    return {path.stem if path.suffix == ".md" else path.name for path in files}


def test_the_vault_holds_sixteen_notes_with_ids_of_their_own() -> None:
    ids = [parts(note)[0]["id"] for note in NOTES]
    assert len(ids) == len(set(ids)) == 16


@pytest.mark.parametrize("note", NOTES, ids=lambda note: str(note.stem))
def test_a_note_has_the_properties_of_a_memory(note: Path) -> None:
    properties, body = parts(note)
    assert set(properties) - {"links"} == MEMORY_FIELDS
    assert isinstance(properties["id"], str)
    assert isinstance(properties["created"], datetime)
    assert properties["id"] == properties["created"].strftime("%Y%m%d%H%M%S")
    assert all(isinstance(keyword, str) and keyword for keyword in properties["keywords"])
    assert all(TAG.fullmatch(tag) for tag in properties["tags"])
    assert properties["context"].endswith(".") and properties["context"].count(".") == 1
    assert 60 <= len(body.split()) <= 160


@pytest.mark.parametrize("note", NOTES, ids=lambda note: str(note.stem))
def test_a_note_has_a_name_that_is_safe_everywhere(note: Path) -> None:
    assert not UNSAFE_IN_A_NAME & set(note.stem)
    assert note.stem.isascii() and note.stem.strip(". ") == note.stem


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.stem))
def test_every_link_leads_to_a_file(page: Path) -> None:
    properties, body = parts(page)
    in_properties = [link_targets(link) for link in properties.get("links", [])]
    assert all(len(targets) == 1 for targets in in_properties)
    targets = [*link_targets(body), *(target for (target,) in in_properties)]
    assert targets
    assert set(targets) <= linkable_names() - {page.stem}
    assert len(link_targets(body)) == body.count("[[")


def test_every_note_is_linked_from_another() -> None:
    linked = {target for page in PAGES for target in link_targets(page.read_text("utf-8"))}
    assert {note.stem for note in NOTES} <= linked


def test_no_name_of_a_page_is_used_twice() -> None:
    names = [page.stem.casefold() for page in TEMPLATE.rglob("*.md")]
    assert len(names) == len(set(names))


def test_a_page_needs_no_properties() -> None:
    assert parts(TEMPLATE / "Home.md")[0] == {}


def test_the_page_on_searching_is_no_answer_to_its_own_examples() -> None:
    _, body = parts(TEMPLATE / "Home.md")
    assert set(re.findall(r'amem (?:add|search|ask) "([^"]*)"', body)) == {"…"}


@pytest.mark.parametrize("name", ["Note", "Daily"])
def test_a_template_can_not_be_taken_for_a_memory(name: str) -> None:
    properties, _ = parts(TEMPLATE / "templates" / f"{name}.md")
    assert "id" not in properties
    with pytest.raises(ValueError, match="isoformat"):
        datetime.fromisoformat(properties["created"])


def test_the_base_shows_the_notes_that_have_an_id() -> None:
    base = yaml.safe_load((TEMPLATE / "Memories.base").read_text(encoding="utf-8"))
    assert 'file.hasProperty("id")' in base["filters"]["and"]
    by_name, by_date, alone = base["views"]
    columns = ["file.name", "note.created", "note.tags", "note.keywords", "note.context"]
    assert by_name["type"] == by_date["type"] == "table"
    assert by_name["order"] == columns
    assert by_date["sort"] == [{"property": "note.created", "direction": "DESC"}]
    assert alone["filters"] == {"and": ["file.links.isEmpty()", "file.backlinks.isEmpty()"]}
    check_base(base)


def test_obsidian_knows_the_types_of_the_properties() -> None:
    types = obsidian_file("types.json")["types"]
    assert {name: types[name] for name in (*MEMORY_FIELDS, "links")} == {
        "id": "text",
        "created": "datetime",
        "keywords": "multitext",
        "tags": "tags",
        "context": "text",
        "links": "multitext",
    }


def test_obsidian_is_set_up_without_anything_personal() -> None:
    names = {path.name for path in (TEMPLATE / ".obsidian").iterdir()}
    of_plugins = {f"{name}.json" for name in ("core-plugins", "daily-notes", "graph", "templates")}
    assert names == {"app.json", "types.json", *of_plugins}
    app = obsidian_file("app.json")
    assert app["newFileFolderPath"] == "notes"
    assert app["useMarkdownLinks"] is False
    plugins = obsidian_file("core-plugins.json")
    assert plugins["bases"] and plugins["templates"] and plugins["graph"]
    assert (TEMPLATE / obsidian_file("templates.json")["folder"]).is_dir()
    daily = obsidian_file("daily-notes.json")
    assert plugins["daily-notes"] and (TEMPLATE / f"{daily['template']}.md").is_file()
    # amem takes the day of such a note from its name.
    assert daily["format"] == "YYYY-MM-DD"


def test_every_tag_has_a_colour_in_the_graph() -> None:
    groups = obsidian_file("graph.json")["colorGroups"]
    coloured = {group["query"].removeprefix("tag:#") for group in groups}
    assert all(0 <= group["color"]["rgb"] <= 0xFFFFFF for group in groups)
    assert {tag.split("/")[0] for note in NOTES for tag in parts(note)[0]["tags"]} <= coloured


def obsidian_file(name: str) -> dict[str, Any]:
    """A file of Obsidian's settings."""
    content = json.loads((TEMPLATE / ".obsidian" / name).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def test_the_settings_are_the_built_in_ones(tmp_path: Path) -> None:
    settings, origin = load_settings(TEMPLATE / ".amem" / "config.toml", tmp_path / "none.toml", {})
    assert settings == Settings()
    assert {"exclude.folders", "encoder.model", "evolution.mode"} <= {
        key for key, layer in origin.items() if layer == "vault"
    }


@pytest.mark.parametrize(
    "path",
    [
        ".amem/index.db",
        ".amem/index.db-wal",
        ".amem/index.db-shm",
        ".amem/write.lock",
        ".amem/work.lock",
        ".amem/watch.lock",
        ".amem/index.db.corrupt",
        ".amem/intents/",
        ".amem-1a2b3c4d-2f-0a.tmp",
        "amem.base",
        ".obsidian/snippets/amem.css",
        ".obsidian/workspace.json",
        ".obsidian/workspace-mobile.json",
        ".trash/",
    ],
)
def test_git_ignores_what_can_be_made_again(path: str) -> None:
    assert any(fnmatch.fnmatchcase(path, rule) for rule in rules(".gitignore"))


@pytest.mark.parametrize(
    "path",
    [
        ".amem/config.toml",
        ".amem/devices/1a2b3c4d.json",
        ".amem/journal/laptop-2026-03.jsonl",
        ".obsidian/types.json",
        "Memories.base",
    ],
)
def test_git_keeps_settings_and_journal(path: str) -> None:
    folders = [f"{parent.as_posix()}/" for parent in Path(path).parents]
    assert not any(
        fnmatch.fnmatchcase(name, rule) for name in (path, *folders) for rule in rules(".gitignore")
    )


def test_git_joins_journals_and_leaves_line_endings_alone() -> None:
    attributes = {rule.split()[0]: rule.split()[1:] for rule in rules(".gitattributes")}
    assert attributes[".amem/journal/*.jsonl"] == ["merge=union", "text", "eol=lf"]
    assert "-text" in attributes["*.md"]


def rules(name: str) -> list[str]:
    """Lines of a git file without comments and blank lines."""
    lines = (TEMPLATE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_demo_adds_three_new_notes() -> None:
    notes = table("demo.toml")["notes"]
    assert len(notes) == 3
    assert not {note["title"] for note in notes} & linkable_names()
    for note in notes:
        assert 50 <= len(note["content"].split()) <= 110
        assert not UNSAFE_IN_A_NAME & set(note["title"])
