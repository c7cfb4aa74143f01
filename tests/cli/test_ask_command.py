"""`amem ask` as a person and as a script use it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from amem_cli.ask.ask import UNSURE
from amem_cli.settings import Settings
from amem_cli.workspace.verdicts import StoredVerdict, model_subject, store_verdict
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.terminal import at_terminal

QUESTION = "When is the walrus fed?"
NOTES = {
    "Feeding": "---\ncreated: 2026-03-02T15:00:00\ntags: [zoo]\n---\nThe walrus is fed at noon.\n",
    "Otters": "---\ncreated: 2026-03-03T15:00:00\n---\nOtters sleep late. See [[Feeding]].\n",
    "Harbour": "---\ncreated: 2024-01-01T15:00:00\n---\nThe harbour has a lamp.\n",
    "Orchard": "Apples and pears.\n",
    "Violin": "Four strings.\n",
}


@pytest.fixture
def vault(amem: Program) -> Program:
    """Five notes, one of them about a walrus, searched by words alone."""
    for title, text in NOTES.items():
        (amem.folder / f"{title}.md").write_text(text)
    assert amem("init", "--adopt").code == 0
    amem.environment["AMEM_ENCODER_MODEL"] = str(amem.folder / "no-encoder-here")
    return amem


def says(text: str, title: str, *, held: bool = True) -> Callable[[dict[str, Any]], str]:
    """A model that cites the note with this title."""

    def answer(body: dict[str, Any]) -> str:
        lines = str(body["messages"][-1]["content"]).splitlines()
        label = next(line.split()[0] for line in lines if line.split()[1:2] == [title])
        return json.dumps({"sources": [label] if held else [], "held": held, "answer": text})

    return answer


def test_without_a_model_it_quotes_and_says_where(vault: Program) -> None:
    answer = vault("ask", QUESTION)
    assert answer.code == 0
    assert "These notes come nearest:" in answer.out
    assert "[1] Feeding  Feeding.md:5  2026-03-02" in answer.out
    assert "“The walrus is fed at noon.”" in answer.out
    assert "by words alone" in answer.err


def test_a_script_gets_one_document(vault: Program) -> None:
    answer = vault("ask", QUESTION, "--json")
    document = answer.json
    assert answer.code == 0
    assert list(document) == [
        "question", "answer", "held", "how", "sources", "shown", "model", "calls", "tokens",
        "seconds", "problems",
    ]  # fmt: skip
    assert document["question"] == QUESTION and document["held"] is True
    assert document["how"] == "extract" and document["model"] is None and document["calls"] == 0
    (source,) = document["sources"]
    assert source == {
        "id": None,
        "path": "Feeding.md",
        "title": "Feeding",
        "created": "2026-03-02T15:00:00",
        "quote": "The walrus is fed at noon.",
        "line": 5,
        "now": "",
        "via": None,
        "superseded_by": [],
        "contradicted_by": [],
    }


SUPERSEDED = {
    "Oven": "---\ncreated: 2026-03-04T09:00:00\n---\nFor the bakery we buy the Miele oven.\n",
    "Larger oven": "---\ncreated: 2026-04-10T09:00:00\n---\nSee [[Oven]]. We take the Rational.\n",
}
OVEN = "Which oven do we buy for the bakery?"


def bakery(vault: Program) -> Program:
    """Adds a decision, and the note that supersedes it and has few of the question's words."""
    for title, text in SUPERSEDED.items():
        (vault.folder / f"{title}.md").write_text(text)
    assert vault("link", "Larger oven", "Oven", "--relation", "supersedes").code == 0
    return vault


def test_the_current_note_is_quoted_first_and_the_superseded_one_marked(vault: Program) -> None:
    answer = bakery(vault)("ask", OVEN)
    lines = answer.out.splitlines()
    assert lines[2].startswith("[1] Larger oven") and lines[3] == "    “We take the Rational.”"
    assert lines[5].startswith("[2] Oven")
    assert lines[6] == "    superseded by “Larger oven” since 2026-04-10"
    document = vault("ask", OVEN, "--json").json
    newer, older = document["sources"]
    assert (newer["path"], newer["superseded_by"]) == ("Larger oven.md", [])
    assert [each["path"] for each in older["superseded_by"]] == ["Larger oven.md"]
    assert "[2, superseded by “Larger oven” since 2026-04-10]" in document["answer"]


def test_a_models_answer_from_a_superseded_note_alone_is_questioned(vault: Program) -> None:
    with ChatServer() as server:
        server.content = says("The Miele oven.", "Oven")
        document = bakery(vault)("ask", OVEN, "--json", **server.variables("good")).json
        asked = str(server.requests[-1].body["messages"][-1]["content"])
    assert "is superseded by n1" in asked and "Answer anew" in asked
    (source,) = document["sources"]
    assert [each["title"] for each in source["superseded_by"]] == ["Larger oven"]


def test_what_is_no_sentence_is_never_quoted(vault: Program) -> None:
    (vault.folder / "Animals.md").write_text(
        "---\nzoo: yes\n---\n---\nwalrus: fed when\n---\n# When is the walrus fed\n"
        "#walrus #fed\n- [[Feeding|When is the walrus fed]]\n- See [[Otters]] and the [[Walrus]].\n"
        "\n| walrus | fed |\n|---|---|\n| when | walrus fed |\n\n```\nwhen is the walrus fed\n```\n"
    )
    (source,) = vault("ask", QUESTION, "--json").json["sources"]
    assert source["path"] == "Feeding.md"


def test_what_is_done_is_told_from_what_is_not(vault: Program) -> None:
    (vault.folder / "Signs.md").write_text(
        "Seal signs off:\n\n- [x] the seal swims\n- [ ] dives\n- [-] sings\n"
    )
    (source,) = vault("ask", "the seal swims", "--json").json["sources"]
    assert (source["quote"], source["line"]) == (
        "Seal signs off: [x] the seal swims; [ ] dives; [-] sings",
        1,
    )


def test_what_is_not_held_is_said_and_gives_exit_code_one(vault: Program) -> None:
    refused = vault("ask", "Who lit the harbour before the war of the dentists?")
    assert refused.code == 1
    assert refused.out.splitlines() == [
        "The notes do not hold an answer to this.",
        "looked at Harbour  Harbour.md",
    ]
    document = vault("ask", "What does the dentist charge?", "--json").json
    assert (document["held"], document["sources"]) == (False, [])
    assert document["answer"] == "The notes do not hold an answer to this."


def test_what_comes_near_is_quoted_as_uncertain(vault: Program) -> None:
    question = "Is the walrus fed herring from Norway?"
    answer = vault("ask", question)
    assert answer.code == 1
    assert answer.out.splitlines()[0] == UNSURE
    assert "“The walrus is fed at noon.”" in answer.out and "looked at" not in answer.out
    document = vault("ask", question, "--json").json
    assert (document["held"], document["how"]) == (False, "extract")
    assert document["answer"] == f"{UNSURE} “The walrus is fed at noon.” [1]"
    assert [each["path"] for each in document["sources"]] == ["Feeding.md"]


def test_wrong_usage_is_told(vault: Program) -> None:
    for line in ([" "], [], [QUESTION, "--since", "someday"], [QUESTION, "--budget", "3"]):
        answer = vault("ask", *line)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith("error: ")


def test_a_model_answers_with_its_sources(vault: Program) -> None:
    with ChatServer() as server:
        server.content = says("At noon.", "Feeding")
        answer = vault("ask", QUESTION, **server.variables("good"))
        assert answer.code == 0
        assert answer.out.startswith("At noon.\n\n[1] Feeding")
        document = vault("ask", QUESTION, "--json", **server.variables("good")).json
        assert (document["answer"], document["how"], document["calls"]) == ("At noon.", "model", 1)
        assert document["tokens"] == 10 and document["model"].startswith("good")
        assert [each["path"] for each in document["sources"]] == ["Feeding.md"]
        server.content = says("", "Feeding", held=False)
        assert vault("ask", QUESTION, **server.variables("good")).code == 1
        assert len(server.requests) == 3
        assert vault("ask", QUESTION, "--no-llm", **server.variables("good")).code == 0
        assert len(server.requests) == 3


def test_a_model_that_a_test_found_unfit_is_not_asked(vault: Program) -> None:
    with ChatServer() as server:
        named = Settings(llm_backend="openai", llm_model="good", llm_base_url=server.url)
        verdict = StoredVerdict("unfit", "it invents", "2026-03-02", 0.9, keywords=False)
        environment = {**os.environ, **vault.environment}
        store_verdict(model_subject(named, environment), verdict, environment)
        assert vault("ask", QUESTION, "--json", **server.variables("good")).json["how"] == "extract"
        assert not server.requests


def test_the_bundled_model_is_not_asked(vault: Program) -> None:
    document = vault("ask", QUESTION, "--json", AMEM_LLM_BACKEND="llama.cpp").json
    assert (document["how"], document["model"], document["calls"]) == ("extract", None, 0)


def test_what_notes_and_models_say_is_shown_as_it_is(vault: Program) -> None:
    text = "The walrus [bold]is[/bold] fed \x1b[31mat\x1b[0m noon \u202ewith herring.\n"
    (vault.folder / "Feeding.md").write_text(text)
    code, shown = at_terminal(vault.folder, ["ask", QUESTION], [], **vault.environment)
    assert code == 0
    assert "[bold]is[/bold]" in shown
    assert "\x1b[31m" not in shown and "\u202e" not in shown
    with ChatServer() as server:
        server.content = says("[red]At noon.[/red]", "Feeding")
        assert vault("ask", QUESTION, **server.variables("good")).out.startswith(
            "[red]At noon.[/red]\n"
        )


def test_the_cited_notes_count_as_found_and_no_note_is_written(vault: Program) -> None:
    before = vault("show", "Feeding", "--json").json["retrieval_count"]
    assert vault("ask", QUESTION).code == 0
    assert vault("show", "Feeding", "--json").json["retrieval_count"] > before
    assert {(vault.folder / f"{title}.md").read_text() for title in NOTES} == set(NOTES.values())


@pytest.mark.models
def test_meaning_is_searched_where_there_is_an_encoder(vault: Program) -> None:
    del vault.environment["AMEM_ENCODER_MODEL"]
    answer = vault("ask", "At what time does the walrus get its food?", "--json")
    assert answer.code == 0 and "error" not in answer.err
    assert answer.json["sources"][0]["path"] == "Feeding.md"
