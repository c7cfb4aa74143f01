"""What holds now comes first, whichever way the newer note is known; `--as-of` asks for before."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from amem_cli.language.words import fold
from tests.conftest import Program
from tests.documents import TOP
from tests.lsp.editors import editing
from tests.mcp.clients import agent

# Title, day and text of what was, then of what is, and a question that asks for it.
PAIRS: dict[str, tuple[tuple[str, str, str], tuple[str, str, str], str]] = {
    "link": (
        ("Rent", "2026-01-10", "The rent of the shop is 840 euros, due on the first."),
        ("Call with the landlord", "2026-05-02", "From June on he wants 910 euros, on the third."),
        "what is the rent of the shop",
    ),
    "contradiction": (
        ("Spare key", "2026-02-01", "The spare key of the cellar hangs behind the boiler."),
        ("Cellar", "2026-06-11", "The boiler hook is empty, the spare cellar key is with Ruth."),
        "where is the spare key of the cellar",
    ),
    "contradiction told by the older note": (
        ("Feeding", "2026-02-03", "The hive on the slope gets 12 kg of sugar for the winter."),
        ("Syrup", "2026-08-20", "Ready-made syrup for the hive on the slope this winter, 14 kg."),
        "how much does the hive on the slope get for the winter",
    ),
    "cue": (
        ("Oven decision", "2026-03-04", "We buy a new deck oven from Miwe for the bakery."),
        ("Rossi", "2026-03-20", "This replaces the decision of 4 March. We take the used deck oven"
         " of the Rossi bakery."),
        "which deck oven do we buy for the bakery",
    ),
    "cue of an error": (
        ("Opening", "2026-03-06", "The bakery opens on 1 May with a small party for the street."),
        ("Permit", "2026-03-21", "[[Opening]] is wrong: we open on 15 May, the permit takes long."),
        "when does the bakery open",
    ),
    "accepted proposal": (
        ("Bake 14", "2026-03-10", "Rye loaf, steam for ten minutes: the crumb is tight and gummy, I"
         " blame the flour."),
        ("Bake 17", "2026-03-24", "So it wasn't the flour. With the stone at 250 degrees the rye"
         " crumb opens."),
        "what makes the crumb of the rye loaf gummy",
    ),
}  # fmt: skip


def added(amem: Program, title: str, day: str, text: str) -> None:
    done = amem("add", text, "--title", title, "--created", f"{day}T10:00:00")
    assert done.code == 0, done.err


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The vault of all pairs, for tests that change nothing in it."""
    environment = {"AMEM_LLM_BACKEND": "none", "PYTHONPATH": str(TOP)}
    amem = Program(tmp_path_factory.mktemp("pairs"), environment)
    assert amem("init", ".").code == 0
    notes = [note for old, new, _ in PAIRS.values() for note in (old, new)]
    for title, day, text in sorted(notes, key=lambda note: note[1]):
        added(amem, title, day, text)
    amem("link", "Call with the landlord", "Rent", "--relation", "supersedes")
    amem("link", "Cellar", "Spare key", "--relation", "contradicts")
    amem("link", "Feeding", "Syrup", "--relation", "contradicts")
    assert amem("review", "--accept-all").code == 0
    return amem


@pytest.fixture
def vault(amem: Program, read_only: Program) -> Program:
    """A copy of it."""
    shutil.copytree(read_only.folder, amem.folder, dirs_exist_ok=True)
    return amem


def hits(amem: Program, query: str, *more: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = amem("search", query, "-k", "10", "--json", *more).json["hits"]
    return found


@pytest.mark.parametrize("road", PAIRS)
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_the_newer_note_stands_above_the_one_it_revises(
    read_only: Program, road: str, mode: str
) -> None:
    (old, _, _), (new, day, _), question = PAIRS[road]
    found = hits(read_only, question, "--mode", mode)
    titles = [hit["title"] for hit in found]
    assert titles.index(new) < titles.index(old)
    hit = found[titles.index(old)]
    [newer] = hit["superseded_by"] + hit["contradicted_by"]
    assert (newer["title"], newer["since"]) == (new, day)
    # A line of the terminal says it, with the day.
    shown = read_only("search", question, "-k", "10", "--mode", mode).out
    assert f"by “{new}” since {day}" in shown


@pytest.mark.parametrize("road", PAIRS)
def test_an_answer_quotes_what_holds_now_first(read_only: Program, road: str) -> None:
    (old, _, _), (new, day, _), question = PAIRS[road]
    answer = read_only("ask", question, "--json").json
    cited = [each["title"] for each in answer["sources"]]
    assert old not in cited or cited.index(new) < cited.index(old)
    if old in cited:
        assert f"before: “{PAIRS[road][0][2][:20]}" in answer["answer"]
        assert f"by “{new}” since {day}" in answer["answer"]
        assert f"before: “{PAIRS[road][0][2][:20]}" in read_only("ask", question).out


def test_an_answer_quotes_first_what_is_proposed_to_hold_now(amem: Program) -> None:
    (old, day, text), (new, later, news), question = PAIRS["accepted proposal"]
    assert amem("init", ".").code == 0
    added(amem, old, day, text)
    added(amem, new, later, news)
    answer = amem("ask", question, "--json").json
    assert [each["title"] for each in answer["sources"]] == [new, old]
    assert f"before: “{text[:20]}" in answer["answer"]
    # Nobody has said so yet.
    assert not any(each["superseded_by"] + each["contradicted_by"] for each in answer["sources"])
    assert amem("review", "--reject-all").code == 0
    assert "before:" not in amem("ask", question).out


@pytest.mark.parametrize("road", PAIRS)
def test_as_of_a_day_before_the_older_note_stands_alone(read_only: Program, road: str) -> None:
    (old, day, _), (new, _, _), question = PAIRS[road]
    found = hits(read_only, question, "--mode", "keyword", "--as-of", day)
    assert [hit["title"] for hit in found if hit["title"] in (old, new)] == [old]
    assert not any(hit["superseded_by"] or hit["contradicted_by"] for hit in found)
    answer = read_only("ask", question, "--json", "--as-of", day).json
    assert new not in [each["title"] for each in answer["sources"]]
    assert new not in [each["title"] for each in read_only("list", "--as-of", day, "--json").json]


@pytest.mark.slow
def test_agents_and_text_editors_are_told_the_same(vault: Program) -> None:
    told = [(old[0], new[0], new[1], question) for old, new, question in PAIRS.values()]
    with agent(vault) as me:
        for old, new, day, question in told:
            [hit] = [
                each
                for each in me.ok("search", query=question, limit=10)["hits"]
                if each["title"] == old
            ]
            [newer] = hit["superseded_by"] + hit["contradicted_by"]
            assert (newer["title"], newer["since"]) == (new, day)
            assert "before: “" in me.ok("ask", question=question)["answer"]
    with editing(vault, vault.folder) as editor:
        editor.begin("Links.md", "".join(f"[[{old}]]\n" for old, *_ in told))
        for old, new, day, _ in told:
            assert f"by **{new}** since {day}" in editor.hover("Links.md", f"[[{old}")


def newer_than_bake_14(amem: Program) -> list[str]:
    found = hits(amem, PAIRS["accepted proposal"][2])
    hit = next(hit for hit in found if hit["title"] == "Bake 14")
    return [each["title"] for each in hit["superseded_by"] + hit["contradicted_by"]]


def edge(amem: Program, source: str, target: str) -> tuple[str, str]:
    """Relation and maker of a link, as the graph has it."""
    ends = [f"notes/{source}.md", f"notes/{target}.md"]
    edges = amem("graph", "--format", "json").json["edges"]
    [found] = [each for each in edges if [each["source"], each["target"]] == ends]
    return found["relation"], found["by"]


def test_an_accepted_proposal_sets_the_relation_and_one_undo_takes_both_back(
    vault: Program,
) -> None:
    assert newer_than_bake_14(vault) == ["Bake 17"]
    assert edge(vault, "Bake 17", "Bake 14") == ("contradicts", "machine")
    [event] = [
        each
        for each in vault("history", "Bake 14", "--json").json
        if each["kind"] == "evolve" and any(
            change["field"] == "context" for change in each["changes"]
        )
    ]  # fmt: skip
    assert event["relation"] == "contradicts"
    undone = vault("undo", event["id"], "--json").json
    assert newer_than_bake_14(vault) == []
    assert edge(vault, "Bake 17", "Bake 14") == ("related", "machine")
    assert vault("undo", undone["again"]).code == 0
    assert newer_than_bake_14(vault) == ["Bake 17"]
    assert edge(vault, "Bake 17", "Bake 14") == ("contradicts", "machine")


def test_what_was_accepted_holds_until_its_link_goes(vault: Program) -> None:
    note = vault.folder / "notes/Bake 14.md"
    raw = note.read_text("utf-8")
    line = next(each for each in raw.splitlines() if fold(each).startswith("context:"))
    note.write_text(raw.replace(line, "context: Mine."), "utf-8")
    assert newer_than_bake_14(vault) == ["Bake 17"]
    assert vault("unlink", "Bake 17", "Bake 14").code == 0
    assert newer_than_bake_14(vault) == []


@pytest.mark.parametrize("link", ["", "links:\n- '[[Bake 14]]'\n"])
def test_an_accepted_proposal_needs_no_link_and_takes_none_from_its_owner(
    amem: Program, link: str
) -> None:
    assert amem("init", ".").code == 0
    (old, day, text), (new, later, news), _ = PAIRS["accepted proposal"]
    added(amem, old, day, text)
    note = amem.folder / f"notes/{new}.md"
    note.write_text(f"---\ncreated: {later}T10:00:00\n{link}---\n{news}\n", "utf-8")
    assert amem("config", "set", "evolution.links", "careful").code == 0
    assert amem("evolve", new, AMEM_EVOLUTION_SETTLE_SECONDS="0").code == 0
    assert amem("review", "--accept-all").code == 0
    assert edge(amem, new, old) == ("contradicts", "person" if link else "machine")
    assert note.read_text("utf-8").count("[[Bake 14]]") == 1
    assert newer_than_bake_14(amem) == [new]


def test_a_day_that_is_none_is_refused_in_a_line(read_only: Program) -> None:
    done = read_only("search", "rent", "--as-of", "2026-02-31")
    assert done.code == 2
    assert "--as-of '2026-02-31' is not a date" in done.err
    assert "Traceback" not in done.err


def test_a_link_in_the_text_gets_the_relation_and_no_second_link(amem: Program) -> None:
    amem("init", ".")
    amem("config", "set", "evolution.mode", "review")
    added(amem, "Bake 14", "2026-03-10", "Rye loaf, steam for ten minutes: the crumb is tight.")
    added(amem, "Bake 17", "2026-03-24", "This replaces [[Bake 14]]: at 250 degrees it opens.")
    assert amem("review", "--accept-all").code == 0
    assert "links:" not in (amem.folder / "notes" / "Bake 17.md").read_text()
    assert "supersedes" in amem("show", "Bake 17").out
    edges = amem("graph", "--format", "json").json["edges"]
    (edge,) = [each for each in edges if each["source"] == "notes/Bake 17.md"]
    assert (edge["by"], edge["relation"]) == ("person", "supersedes")
    # Nothing of that is an edit by hand.
    assert all(each["kind"] != "release" for each in amem("history", "--json").json)
