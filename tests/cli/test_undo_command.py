"""`amem undo` without an event takes back the last change, after asking."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.index.sync import synchronise
from tests.conftest import Program
from tests.memory.test_suggestions import suggest
from tests.terminal import at_terminal, plain
from tests.vaults import hashes_but_trash, open_vault, tree_hashes, write_note


@pytest.fixture
def vault(amem: Program) -> Path:
    for name in ("a", "b"):
        write_note(amem.folder, f"{name}.md", f"---\ntags: [{name}]\n---\nThe note {name}.\n")
    assert amem("init", ".", "--adopt").code == 0
    return amem.folder


def test_repeated_it_goes_back_step_by_step(amem: Program, vault: Path) -> None:
    states = [hashes_but_trash(vault)]
    for command in (
        ("update", "a", "--add-tag", "new", "--no-wait"),
        ("link", "a", "b"),
        ("mv", "b", "sub/c"),
        ("tags", "rename", "new", "newer"),
        ("rm", "a"),
    ):
        assert amem(*command).code == 0
        states.append(hashes_but_trash(vault))
    for state in reversed(states[:-1]):
        assert amem("undo", "--yes").code == 0
        assert hashes_but_trash(vault) == state
    ended = amem("undo", "--yes")
    assert (ended.code, hashes_but_trash(vault)) == (1, states[0])
    assert "no change to take back" in ended.err


def test_a_run_of_the_memory_process_is_one_change(amem: Program, vault: Path) -> None:
    text = "It waits for replicas that hold old snapshots. Old snapshots keep dead tuples alive."
    assert amem("add", text, "--title", "Vacuum", "--no-wait").code == 0
    before = (vault / "notes/Vacuum.md").read_bytes()
    assert amem("evolve").code == 0
    assert (vault / "notes/Vacuum.md").read_bytes() != before
    assert amem("undo", "-y").code == 0
    assert (vault / "notes/Vacuum.md").read_bytes() == before
    refused = amem("undo", "-y")
    assert refused.code == 3 and "amem rm notes/Vacuum.md" in refused.err
    assert (vault / "notes/Vacuum.md").read_bytes() == before


def test_of_many_changes_the_first_are_named(amem: Program, vault: Path) -> None:
    ports = open_vault(vault, index=".amem/index.db")
    for number in range(24):
        write_note(vault, f"{number}.md", f"The note {number}.\n")
    synchronise(ports)
    for number in range(24):
        suggest(ports, f"{number}.md", "a.md", written=True)
    ports.index.close()
    told = amem("undo", "--since", "2000-01-01").out.splitlines()
    *shown, rest, redo = told
    assert len(shown) == 20 and all(row.startswith("took back the links of ") for row in shown)
    assert rest == "… and 4 more changes (--verbose names them)"
    assert redo.startswith("to redo: amem undo ")
    assert amem(*redo.split()[3:]).code == 0
    named = amem("--verbose", "undo", "--since", "2000-01-01").out.splitlines()
    assert len(named) == 25 and named[0].startswith("took back the links of ")


def test_it_asks_and_enter_is_no(amem: Program, vault: Path) -> None:
    assert amem("update", "a", "--add-tag", "new", "--no-wait").code == 0
    after = tree_hashes(vault)
    refused = amem("undo")
    assert refused.code == 2 and "amem undo --yes" in refused.err
    assert amem("undo", "", "--yes").code == 1
    assert tree_hashes(vault) == after
    variables = {"AMEM_VAULT": str(vault), "AMEM_LLM_BACKEND": "none"}
    code, shown = at_terminal(vault, ["undo"], [("[y/N]", "\r")], **variables)
    assert code == 1 and "+ new" in plain(shown) and tree_hashes(vault) == after
    code, shown = at_terminal(vault, ["undo"], [("[y/N]", "y")], **variables)
    assert code == 0 and "took back the change of" in plain(shown)
    assert tree_hashes(vault) != after


def test_an_ambiguous_id_names_the_events(amem: Program, vault: Path) -> None:
    for tag in ("one", "two"):
        assert amem("update", "a", "--add-tag", tag, "--no-wait").code == 0
    events = [each["id"] for each in amem("history", "--json").json]
    refused = amem("undo", events[0][:4])
    assert refused.code == 1 and all(event in refused.err for event in events)
    assert "edit a.md" in refused.err


def proposals(amem: Program) -> list[str]:
    return [each["proposal"] for each in amem("review", "--json").json["waiting"]]


@pytest.mark.parametrize("since", [True, False])
def test_what_a_run_proposed_goes_with_it_and_comes_back_with_it(
    amem: Program, since: bool
) -> None:
    amem("init", ".")
    old = "Rye loaf, steam for ten minutes: the crumb is tight and gummy, I blame the flour."
    new = "This replaces [[Bake 14]]: with the stone at 250 degrees the rye crumb opens."
    amem("config", "set", "evolution.mode", "review")
    amem("add", old, "--title", "Bake 14", "--created", "2026-03-10T10:00:00")
    amem("add", new, "--title", "Bake 17", "--created", "2026-03-24T10:00:00")
    waiting = proposals(amem)
    assert waiting
    process = [each["id"] for each in amem("history", "Bake 17", "--json").json
               if each["kind"] == "process"]  # fmt: skip
    done = amem("undo", "--since", "1d") if since else amem("undo", *process)
    assert f"{len(waiting)} proposal" in done.out and proposals(amem) == []
    again = done.out.rpartition("amem undo ")[2].split()[0]
    assert amem("undo", again).code == 0
    assert proposals(amem) == waiting


def test_a_move_that_is_undone_leaves_no_folder_that_it_made(amem: Program) -> None:
    amem("init", ".")
    (amem.folder / "mine").mkdir()
    amem("add", "Walruses haul out on ice.", "--title", "Walruses")
    for folder, gone in (("sea/mammals/", "sea"), ("mine/", "")):
        assert amem("mv", "Walruses", folder).code == 0
        assert amem("undo", "--yes").code == 0
        assert (amem.folder / "notes" / "Walruses.md").exists()
        assert not (gone and (amem.folder / gone).exists())
    assert (amem.folder / "mine").is_dir()
    # What somebody keeps there stays.
    amem("mv", "Walruses", "sea/mammals/")
    (amem.folder / "sea" / "tide.txt").write_text("low")
    assert amem("undo", "--yes").code == 0
    assert not (amem.folder / "sea" / "mammals").exists()
    assert (amem.folder / "sea" / "tide.txt").exists()
