"""A command line without a command gets help, and programs an error that they can read."""

from __future__ import annotations

import pytest

from tests.conftest import Program


@pytest.mark.parametrize("words", [[], ["config"], ["model"]])
def test_no_command_is_wrong_usage_and_shows_the_help(amem: Program, words: list[str]) -> None:
    answer = amem(*words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(" ".join(["Usage: amem", *words]))
    document = amem("--json", *words)
    assert document.code == 2
    assert set(document.json) == {"error", "hint", "exit_code"}


def test_the_list_of_commands_tells_each_in_a_whole_sentence(amem: Program) -> None:
    for words in ([], ["model"]):
        listed = amem(*words, "--help").out.split("Commands:", 1)[1]
        assert "..." not in listed
    told = " ".join(amem("--help").out.split())
    assert "Begin with `amem init DIR`" in told
    assert "AMEM_VAULT" in told.split("--vault", 1)[1].split("--json")[0]


@pytest.mark.parametrize("verb", ["get", "set"])
def test_a_mistyped_setting_names_the_nearest_one(amem: Program, verb: str) -> None:
    amem("init", "v")
    answer = amem("--vault", "v", "config", verb, "evolution.mod", *["off"] * (verb == "set"))
    assert answer.code == 1
    assert "Did you mean evolution.mode?" in answer.err


def test_a_vault_is_not_made_of_a_file(amem: Program) -> None:
    (amem.folder / "note.md").write_text("A note.")
    answer = amem("init", "note.md")
    assert answer.code == 3
    assert "note.md is a file" in answer.err
    assert "hint: Name a folder" in answer.err and "Errno" not in answer.err


def test_a_graph_for_a_folder_that_is_not_there_says_what_to_do(amem: Program) -> None:
    amem("init", "v")
    answer = amem("--vault", "v", "graph", "--output", "absent/graph.json")
    assert answer.code == 3
    assert "hint: " in answer.err


def test_undo_says_in_words_what_it_took_back(amem: Program) -> None:
    amem("init", "v")
    amem("--vault", "v", "add", "--no-llm", "I read new notes on Friday, not on Sunday evening.")
    answer = amem("--vault", "v", "undo", "--since", "2000-01-01")
    assert answer.code == 0, answer.err
    assert "took back the keywords, tags and context of notes/" in answer.out
    assert "construct" not in answer.out


def test_another_name_of_a_property_takes_effect_with_the_command_that_is_named(
    amem: Program,
) -> None:
    amem("init", "v")
    (amem.folder / "v/notes/Mine.md").write_text('---\nrelated:\n  - "[[Home]]"\n---\nMine.\n')
    amem("--vault", "v", "index")
    told = amem("--vault", "v", "config", "set", "properties.links", "related").err
    assert "next: `amem index --rebuild`" in told
    assert amem("--vault", "v", "index", "--rebuild").code == 0
    assert amem("--vault", "v", "index", "--check").code == 0
    assert "Home" in amem("--vault", "v", "show", "Mine").out


def test_the_command_that_init_names_next_can_be_typed_as_it_stands(amem: Program) -> None:
    told = amem("init", "my vault").out
    assert told.rstrip().endswith(' && amem add "…"')
