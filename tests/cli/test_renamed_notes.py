"""Notes that are renamed while no watcher runs: amem's links follow, a person's are told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkups import whole_tree
from tests.conftest import Program
from tests.vaults import write_note

OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears.\n"
NEW = "See Lamination: the croissant dough tore in lamination, the butter was at 4 degrees."


@pytest.fixture
def vault(amem: Program) -> Path:
    """An adopted vault in which amem linked Tearing to Lamination, which has no id."""
    return linked_vault(amem, OLD)


def linked_vault(amem: Program, old: str) -> Path:
    root = amem.folder / "v"
    write_note(root, "Lamination.md", old)
    amem.vault("v", "--adopt")
    amem.environment["AMEM_EVOLUTION_LINKS"] = "eager"
    added = amem("add", "--title", "Tearing", NEW, "--json").json
    assert [link["path"] for link in added["links"]] == ["Lamination.md"]
    return root


def links_of(vault: Path) -> str:
    text = (vault / "notes/Tearing.md").read_text()
    return text.partition("links:\n")[2].partition("---")[0].strip()


@pytest.mark.parametrize(
    "command",
    [
        ("index",),
        ("evolve",),
        ("add", "Rye needs sourdough."),
        ("watch", "--once"),
        ("doctor", "--fix"),
    ],
)
def test_amems_links_follow_at_the_next_command_that_writes(
    amem: Program, vault: Path, command: tuple[str, ...]
) -> None:
    (vault / "archive").mkdir()
    (vault / "Lamination.md").rename(vault / "archive/Butter.md")
    before = (vault / "notes/Tearing.md").read_bytes()
    # A command that only reads learns of the new name, and writes nothing.
    assert amem("search", "dough").code == 0
    assert (vault / "notes/Tearing.md").read_bytes() == before
    assert amem(*command).code == 0
    assert links_of(vault) == '- "[[Butter]]"'
    assert amem("doctor").code == 0
    event = amem("history", "Tearing", "--json").json[-1]
    assert amem("undo", event["id"]).code == 0
    assert (vault / "notes/Tearing.md").read_bytes() == before


def test_doctor_names_the_link_that_it_wrote(amem: Program, vault: Path) -> None:
    (vault / "Lamination.md").rename(vault / "Butter.md")
    fixed = amem("doctor", "--fix").out
    assert "Rewrote [[Lamination]] as [[Butter]] in the links of notes/Tearing.md." in fixed
    assert links_of(vault) == '- "[[Butter]]"'


def test_a_note_with_an_id_is_followed_after_rename_and_edit_without_an_index(
    amem: Program, vault: Path
) -> None:
    assert amem("update", "Lamination", "--tag", "dough").code == 0
    text = (vault / "Lamination.md").read_text()
    (vault / "Lamination.md").unlink()
    write_note(vault, "Butter.md", text + "And once more.\n")
    (vault / ".amem/index.db").unlink()
    (found,) = [each for each in amem("doctor", "--json").json["findings"] if each["fixable"]][-1:]
    assert (found["check"], found["path"]) == ("links", "notes/Tearing.md")
    assert "is now Butter.md" in found["message"]
    assert amem("index").code == 0
    assert links_of(vault) == '- "[[Butter]]"'


def test_links_follow_if_two_notes_swap_names(amem: Program) -> None:
    vault = linked_vault(amem, f'---\nid: "lamination"\n---\n{OLD}')
    write_note(vault, "Rye.md", '---\nid: "rye"\n---\nRye needs flour.\n')
    assert amem("index").code == 0
    (vault / "Lamination.md").rename(vault / "x")
    (vault / "Rye.md").rename(vault / "Lamination.md")
    (vault / "x").rename(vault / "Rye.md")
    found = amem("doctor", "--json").json["findings"]
    assert [each["message"] for each in found if each["check"] == "links"] == [
        "amem's link [[Lamination]] leads to Lamination.md; its note is now Rye.md"
    ]
    assert amem("index", "--json").json["followed"] == ["notes/Tearing.md"]
    assert links_of(vault) == '- "[[Rye]]"'


def test_a_copy_is_not_where_the_note_went(amem: Program) -> None:
    vault = linked_vault(amem, f'---\nid: "lamination"\n---\n{OLD}')
    write_note(vault, "A copy.md", (vault / "Lamination.md").read_text())
    assert amem("index").code == 0
    found = amem("doctor", "--json").json["findings"]
    assert not [each for each in found if "its note is now" in each["message"]]


def test_a_persons_links_are_told_of_with_the_new_name_and_never_rewritten(
    amem: Program, vault: Path
) -> None:
    own = "See [[Lamination]] and [[Lamination#Ice|the ice]].\n"
    write_note(vault, "Own.md", f'---\nlinks:\n  - "[[Lamination]]"\n---\n{own}')
    assert amem("index").code == 0
    (vault / "Lamination.md").rename(vault / "Butter.md")
    before = whole_tree(vault / "notes"), (vault / "Own.md").read_bytes()
    found = amem("doctor", "--json").json["findings"]
    assert (whole_tree(vault / "notes"), (vault / "Own.md").read_bytes()) == before
    theirs = [each for each in found if each["path"] == "Own.md" and each["check"] == "links"]
    assert {(each["line"], each["fixable"]) for each in theirs} == {(3, False), (5, False)}
    assert all("is now Butter.md" in each["message"] for each in theirs)
    assert all("[[Butter]]" in each["hint"] for each in theirs)
    mended = amem("doctor", "--fix")
    assert mended.code == 1
    assert (vault / "Own.md").read_bytes() == before[1]
    assert links_of(vault) == '- "[[Butter]]"'
    assert "[[Butter]]" in amem("doctor").out


@pytest.mark.parametrize("by_amem", [True, False])
def test_links_go_on_following_when_what_amem_did_since_is_undone(
    amem: Program, vault: Path, by_amem: bool
) -> None:
    if by_amem:
        assert amem("mv", "Lamination", "Butter").code == 0
    else:
        (vault / "Lamination.md").rename(vault / "Butter.md")
        assert amem("index").code == 0
    followed = amem("history", "Tearing", "--json").json[-1]["id"]
    assert amem("undo", "--since", followed).code == 3
    assert links_of(vault) == '- "[[Butter]]"'
    # With the link itself, what followed goes too.
    assert amem("undo", "--since", "2000-01-01").code == 0
    assert "[[" not in (vault / "notes/Tearing.md").read_text()
    assert (vault / "Butter.md").exists()
