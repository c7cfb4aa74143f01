"""A link leads to the note that Obsidian would open."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.markdown.links import find_links, format_link, is_attachment
from amem_cli.notes.names import NameTable, is_linkable, name_key, resolve, shortest_target

PATHS = [
    *("Home.md", "a/Note.md", "a/deep/er/Note.md", "b/Note.md", "b/c/Note.md", "b/Other.md"),
    *("c/Only.md", "xb/Other.md", "Node.js.md", "v1.2 plan.md", "scan.pdf.md", "Root.md"),
    *("a/Root.md", "UPPER.MD"),
]
names = NameTable((path, (), "") for path in PATHS)


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("Home", "a/x.md", "Home.md"),
        ("Home.md", "", "Home.md"),
        ("home", "", "Home.md"),
        ("  Home ", "", "Home.md"),
        ("c/Only", "", "c/Only.md"),
        ("Only", "b/x.md", "c/Only.md"),
        ("Note", "b/x.md", "b/Note.md"),
        ("Note", "b/c/x.md", "b/c/Note.md"),
        ("Note", "a/deep/x.md", "a/deep/er/Note.md"),
        ("Note", "elsewhere/x.md", "a/Note.md"),
        ("Note", "x.md", "a/Note.md"),
        ("Root", "a/x.md", "Root.md"),
        ("/Root", "a/x.md", "Root.md"),
        ("./Root", "a/x.md", "a/Root.md"),
        ("../Home.md", "a/x.md", "Home.md"),
        ("../b/Note", "a/x.md", "b/Note.md"),
        ("er/Note", "x.md", "a/deep/er/Note.md"),
        ("c/Note", "x.md", "b/c/Note.md"),
        ("b/Other", "x.md", "b/Other.md"),
        ("Node.js", "", "Node.js.md"),
        ("v1.2 plan", "", "v1.2 plan.md"),
        ("upper", "", "UPPER.MD"),
        ("Home#Heading", "", "Home.md"),
        ("#Heading", "b/x.md", "b/x.md"),
        ("", "b/x.md", "b/x.md"),
        ("scan.pdf.md", "", "scan.pdf.md"),
    ],
)
def test_a_target_leads_to_a_note(target: str, source: str, path: str) -> None:
    assert resolve(target, source, names) == path


@pytest.mark.parametrize(
    ("target", "source"),
    [
        *(
            ("Missing", ""),
            ("z/Note", ""),
            ("ote", ""),
            ("Other/", ""),
            ("a/", ""),
            ("..", "a/x.md"),
        ),
        *(("../../Home", "a/x.md"), ("./Home", "a/x.md"), ("/Only", ""), ("scan.pdf", "")),
        *(("picture.png", ""), ("picture.png#page=2", ""), ("", ""), ("#x", ""), ("/", "")),
    ],
)
def test_a_target_that_leads_nowhere(target: str, source: str) -> None:
    assert resolve(target, source, names) is None


def test_case_and_normalisation_decide_only_between_twins() -> None:
    composed, decomposed = "é.md", unicodedata.normalize("NFD", "é.md")
    table = NameTable((path, (), "") for path in ["Note.md", "note.md", composed, decomposed])
    assert resolve("note", "", table) == "note.md"
    assert resolve("Note", "", table) == "Note.md"
    assert resolve("NOTE", "", table) in ("Note.md", "note.md")
    assert resolve(composed, "", table) == composed
    assert resolve(decomposed, "", table) == decomposed
    assert resolve("É", "", table) in (composed, decomposed)


def test_a_no_break_space_is_a_blank() -> None:
    table = NameTable([("a\u00a0b.md", (), "")])
    assert resolve("a b", "", table) == "a\u00a0b.md"


def test_aliases_and_titles_come_last_and_must_be_unique() -> None:
    table = NameTable(
        [
            ("one.md", ("First", "shared", "two"), "Long Title"),
            ("two.md", ("shared", "second", "Second"), ""),
            ("three.md", (), "TCP/IP"),
        ]
    )
    assert resolve("first", "", table) == "one.md"
    assert resolve("Long title", "", table) == "one.md"
    assert resolve("SECOND", "", table) == "two.md"
    assert resolve("two", "", table) == "two.md"
    assert resolve("shared", "", table) is None
    assert resolve("folder/First", "", table) is None
    assert resolve("IP", "", table) is None


def test_an_alias_with_a_hash_is_read_whole_first() -> None:
    table = NameTable([("sharp.md", ("C#",), ""), ("C.md", (), "")])
    assert resolve("C#", "", table) == "sharp.md"
    assert resolve("C#Heading", "", table) == "C.md"


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("Home.md", "Home"),
        ("c/Only.md", "Only"),
        ("b/c/Note.md", "b/c/Note"),
        ("Root.md", "/Root"),
        ("a/Root.md", "a/Root"),
        ("scan.pdf.md", "scan.pdf.md"),
        ("Node.js.md", "Node.js"),
    ],
)
def test_the_shortest_way_to_write_a_link(path: str, target: str) -> None:
    assert shortest_target(path, names) == target


@pytest.mark.parametrize(
    ("target", "attachment"),
    [
        *(("a/picture.PNG", True), ("talk.mp3", True), ("board.canvas", True), ("x.docx", True)),
        ("LICENSE.txt", True),
        *(("Note", False), ("Note.md", False), ("Node.js", False), (".png", False)),
        *(("v1.2", False), ("a.png/Note", False)),
    ],
)
def test_attachments(target: str, attachment: bool) -> None:
    assert is_attachment(target) is attachment


@pytest.mark.parametrize(
    ("path", "linkable"),
    [
        *(("a b/Note (old), v1.md", True), ("图.md", True), ("C#.md", False), ("a[1].md", False)),
        *(("a|b.md", False), ("x^y.md", False), ("a%%b.md", False), (" lead.md", False)),
        *(("trail .md", False), ("a/b .md", False), ("a`b.md", False)),
    ],
)
def test_names_that_links_can_hold(path: str, linkable: bool) -> None:
    assert is_linkable(path) is linkable


def test_a_key_is_a_base_name_without_case() -> None:
    assert name_key("a/b/Ünï Note.MD") == name_key(unicodedata.normalize("NFD", "ÜNÏ note"))
    assert name_key("Straße") == name_key("STRASSE")


part = st.one_of(
    st.sampled_from(["a", "A", "b", "Note", "note", "x.png", "v1.2", "é", "e\u0301", "ß", "SS"]),
    st.text(st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"]), min_size=1),
)
endings = st.sampled_from([".md", ".md", ".md", ".MD", ".md.md"])
folders = st.lists(part, max_size=2)


@st.composite
def note_path(draw: st.DrawFn) -> str:
    return "/".join([*draw(folders), draw(part) + draw(endings)])


paths = note_path().filter(
    lambda path: is_linkable(path) and not any(part in path.split("/") for part in (".", ".."))
)


@given(st.lists(paths, unique=True, min_size=1, max_size=12), paths)
def test_every_note_can_be_linked_from_everywhere(vault: list[str], source: str) -> None:
    table = NameTable((path, (), "") for path in vault)
    for path in vault:
        target = shortest_target(path, table)
        assert resolve(target, source, table) == path
        assert resolve(target, vault[0], table) == path
        (link,) = find_links(format_link(target))
        assert resolve(link.target, source, table) == path


@given(st.text(), st.text(), st.lists(paths, unique=True, max_size=6))
def test_any_target_is_looked_up(target: str, source: str, vault: list[str]) -> None:
    found = resolve(target, source, NameTable((path, ("alias",), "Title") for path in vault))
    assert found is None or found in vault or found == source
