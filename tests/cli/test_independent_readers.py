"""Programs of others read what amem writes exactly as amem does: obsidiantools and YAML parsers."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import link
from amem_cli.editing.renames import update_renamed_links
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.markdown.links import find_links, parse_link
from amem_cli.markdown.regions import blank_out, find_regions
from amem_cli.notes.front_matter import find_fences
from amem_cli.notes.names import resolve
from amem_cli.notes.note import OWNED_FIELDS, parse_note
from tests.conftest import Program
from tests.fakes.language_model import EchoSchemaModel
from tests.outside_tools import node
from tests.vaults import memory_process, open_vault, write_note

TITLES = (
    "Release 1.5 of v2.0",
    "会議のメモ",
    "한국어 노트",
    "A 🐝 and 👩‍👩‍👧 family",
    "It's O'Neill's",
    "yes",
    "null",
    "12:30",
    "0012",
    "1e3",
    "2026-03-02",
    "~",
    "- a list",
    "key: value",
    "{{date}}",
    'He said "no"',
    "Tab\there",
    "# Heading",
    "@home & *away*",
    "é as NFC, e\u0301 as NFD",
)
VALUES: tuple[str, ...] = (
    "yes",
    "no",
    "12:30",
    "0012",
    "null",
    "1e3",
    "0x1f",
    "2026-03-02",
    "~",
    "- x",
    "a: b",
    "#",
)
VALUES += (
    "'",
    '"',
    "[[x]]",
    "{a}",
    "!t",
    "&a",
    "*a",
    "%",
    "| x",
    "> x",
    "=",
    "<<",
    "🐝",
    "\u2028x",
)

READ_YAML = """
import { readFileSync } from 'node:fs';
import YAML from 'yaml';
import * as jsyaml from 'js-yaml';
const headers = JSON.parse(readFileSync(0, 'utf8'));
const read = (text) => [
  YAML.parse(text, { version: '1.2' }),
  YAML.parse(text, { version: '1.1' }),
  jsyaml.load(text, { schema: jsyaml.CORE_SCHEMA }),
];
const all = Object.entries(headers).map(([path, text]) => [path, read(text)]);
console.log(JSON.stringify(Object.fromEntries(all)));
"""


def hostile_vault(root: Path) -> VaultPorts:
    """Notes that amem made, linked, evolved and followed, with names and values that mislead."""
    ports = open_vault(root)
    paths: list[str] = []
    for number, title in enumerate(TITLES):
        text = f"About {title}. See [[{Path(paths[-1]).stem}]].\n" if paths else "First.\n"
        paths.append(
            add(
                ports,
                NewNote(
                    text,
                    title=title,
                    keywords=[VALUES[number % len(VALUES)], VALUES[(number + 7) % len(VALUES)]],
                    tags=["日本/語", "yes", f"t{number}"],
                    context=VALUES[(number + 3) % len(VALUES)],
                ),
            )
        )
    write_note(root, "sub/yes.md", "A twin of another name: [[notes/yes]], `[[null]]`.\n")
    write_note(root, "mine.md", "---\nrating: 4.50\nid: 0099\nat: 12:30\n---\n[[sub/yes|a]]\n")
    synchronise(ports)
    by_path = {note.path: note for note in ports.index.notes.summaries()}
    for source, target in zip(paths, [*paths[3:], *paths[:3]], strict=True):
        link(ports, by_path[source], by_path[target], relation="supports", reason='Says "yes": so.')
    link(ports, by_path["mine.md"], by_path["sub/yes.md"], relation="related", reason="")
    process = memory_process(ports, EchoSchemaModel(7), trusted=True)
    for path in paths[:8]:
        process.run(path, asked=True)
    (root / paths[0]).rename(root / "notes" / "Renamed 3.0: no.md")
    synchronise(ports)
    update_renamed_links(ports)
    synchronise(ports)
    return ports


def as_others_say(value: object) -> object:
    """A value as YAML 1.1 in Python gives it, in the words of the others."""
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, list):
        return [as_others_say(item) for item in value]
    return value


def headers_of(root: Path) -> dict[str, str]:
    found = {}
    for path in sorted(root.rglob("*.md")):
        raw = path.read_bytes()
        fences = find_fences(raw) if ".amem" not in path.parts else None
        if fences:
            header = raw[fences.text_start : fences.text_end].decode("utf-8")
            found[path.relative_to(root).as_posix()] = header
    return found


def check_properties(root: Path, listed: list[dict[str, Any]]) -> None:
    """All parsers agree on all properties, and amem's fields are what they say."""
    import obsidiantools.api as obsidiantools

    headers = headers_of(root)
    said = json.loads(node(READ_YAML, stdin=json.dumps(headers), packages=("yaml", "js-yaml")))
    vault = obsidiantools.Vault(root).connect()
    theirs = {
        vault.md_file_index[name].as_posix(): properties
        for name, properties in vault.front_matter_index.items()
    }
    assert {path for path, properties in theirs.items() if properties} == set(headers)
    fields = {note["path"]: note for note in listed}
    for path, (modern, old, common) in said.items():
        note = parse_note(path, (root / path).read_bytes())
        if path.startswith("templates/"):
            # A template's placeholders are no values; amem leaves its header alone and says so.
            assert note.refused is not None
            continue
        assert note.refused is None
        assert modern == common, path
        python = {name: as_others_say(value) for name, value in theirs[path].items()}
        for name in OWNED_FIELDS:
            own = getattr(note, name)
            for reading in (modern, old, python):
                if name not in reading:
                    assert not own
                elif isinstance(own, tuple):
                    assert reading[name] == list(own), (path, name)
                elif path.startswith("notes/"):
                    # JavaScript writes a moment out as one of UTC.
                    assert str(reading[name]).removesuffix(".000Z") == own, (path, name)
        for name in ("id", "created", "keywords", "tags", "context"):
            assert fields[path][name] == (
                list(value) if isinstance(value := getattr(note, name), tuple) else value
            )


def check_links(root: Path, graph: dict[str, Any], ports: VaultPorts) -> None:
    """Links in texts are those of obsidiantools; those in properties those of a YAML parser."""
    import obsidiantools.api as obsidiantools

    vault = obsidiantools.Vault(root).connect()
    paths = {name: path.as_posix() for name, path in vault.md_file_index.items()}
    theirs = {
        (paths[name], resolve(target, paths[name], ports.index.names))
        for name, targets in vault.wikilinks_index.items()
        for target in targets
    }
    ours = {
        (edge["source"], edge["target"]) for edge in graph["edges"] if edge["kind"] == "wikilink"
    }
    assert ours == {edge for edge in theirs if edge[1] is not None}
    headers = headers_of(root)
    said = json.loads(node(READ_YAML, stdin=json.dumps(headers), packages=("yaml", "js-yaml")))
    properties = set()
    for path, (modern, _, _) in said.items():
        for text in modern.get("links") or []:
            parsed = parse_link(text)
            target = resolve(parsed.target, path, ports.index.names) if parsed else None
            if target is not None:
                properties.add((path, target))
    ours = {
        (edge["source"], edge["target"])
        for edge in graph["edges"]
        if edge["kind"] == "property" and not edge["suggested"]
    }
    assert ours == properties


def test_a_hostile_vault_is_read_by_others_as_by_amem(amem: Program, tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    ports = hostile_vault(root)
    listed = amem("--vault", str(root), "list", "--json").json
    check_properties(root, listed)
    graph = amem("--vault", str(root), "graph", "--format", "json").json
    assert sum(edge["by"] == "machine" for edge in graph["edges"]) > 0
    check_links(root, graph, ports)


def test_the_template_vault_is_read_by_others_as_by_amem(amem: Program, tmp_path: Path) -> None:
    root = tmp_path / "vault"
    assert amem("init", str(root)).code == 0
    command = ("--vault", str(root))
    added = amem(*command, "add", "Sourdough needs time: it's slow.", "--title", "12:30", "--json")
    assert added.code == 0
    assert amem(*command, "link", "12:30", "Home", "--reason", "It: says so.").code == 0
    ports = open_vault(root)
    synchronise(ports)
    listed = amem("--vault", str(root), "list", "--json").json
    check_properties(root, listed)
    check_links(root, amem("--vault", str(root), "graph", "--format", "json").json, ports)


def test_every_link_in_a_text_that_others_find_amem_finds(tmp_path: Path) -> None:
    """Where the two differ on purpose: embeds, and comments, which Obsidian does not show."""
    import obsidiantools.api as obsidiantools

    root = tmp_path / "vault"
    text = (
        "[[A]] [[A|b]] [[A#h]] [[sub/A#h|b]] ![[A]] `[[no]]` <!-- [[no]] -->\n\n"
        "| [[T\\|t]] | x |\n|---|---|\n| 1 | 2 |\n\n- [[L]]\n  - [[M]]\n\n> [[Q]]\n\n"
        "```\n[[code]]\n```\n\n[[日本]] [[it's]] [[1.5]]\n"
    )
    write_note(root, "Note.md", text)
    vault = obsidiantools.Vault(root).connect()
    theirs = vault.wikilinks_index["Note"]
    ours = [link.target for link in find_links(text) if not link.embed]
    assert [name for name in theirs if name != "no"] == ours
    assert blank_out(text, [(each.start, each.end) for each in find_regions(text)]).count("no") == 0
