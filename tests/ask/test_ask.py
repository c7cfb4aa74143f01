"""Questions answered from a real vault, with models that are good, wrong, remote or gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from amem_cli.ask.ask import NEAREST, NOT_HELD, Answer, ask, budget_of
from amem_cli.editing.edit import link
from amem_cli.errors import ModelError, UsageError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest
from amem_cli.search.read import note_named
from amem_cli.search.search import Filters
from amem_cli.settings import Settings
from tests.fakes.encoder import FakeEncoder
from tests.fakes.language_model import EchoSchemaModel, ScriptedModel
from tests.vaults import indexed, open_vault, tree_hashes, write_note

QUESTION = "When is the walrus fed?"
FEEDING = """---
created: 2026-03-02T15:00:00
tags: [zoo]
---
# Animals

The otters sleep late.

The **walrus** is fed at noon by [[Marta|Marta Ilves]], with herring.
"""


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    """A small vault in which one note says when the walrus is fed."""
    write_note(tmp_path, "zoo/Feeding.md", FEEDING)
    write_note(tmp_path, "Marta.md", "Marta Ilves keeps the seals, she came from Tallinn.\n")
    for number, word in enumerate(("steel", "harbour", "orchard", "violin", "quarry", "meadow")):
        write_note(tmp_path, f"other/{word}.md", f"{word} 19{number}0\n")
    ports = open_vault(tmp_path)
    indexed(ports)
    return ports


def asked(
    ports: VaultPorts, model: LanguageModel | None = None, question: str = QUESTION, **given: object
) -> Answer:
    arguments = {"encoder": FakeEncoder(), "model": model, **given}
    return ask(ports, question, **arguments)  # type: ignore[arg-type]


def label_of(request: ModelRequest, title: str) -> str:
    line = next(line for line in request.text.splitlines() if f" {title}" in line)
    return line.split(" ", 1)[0]


def says(text: str, *titles: str, held: bool = True) -> Callable[[ModelRequest], str]:
    """A model's answer that cites the notes with these titles."""

    def answer(request: ModelRequest) -> str:
        sources = [label_of(request, title) for title in titles]
        return json.dumps({"sources": sources, "held": held, "answer": text})

    return answer


def supersede_feeding(ports: VaultPorts, newer: str) -> None:
    indexed(ports)
    one, other = note_named(ports.index, newer), note_named(ports.index, "Feeding")
    link(ports, one, other, relation="supersedes")
    indexed(ports)


def test_the_model_answers_and_the_words_of_its_notes_are_cited(ports: VaultPorts) -> None:
    model = ScriptedModel([says("At noon, by Marta Ilves.", "Feeding")])
    answer = asked(ports, model)
    assert (answer.held, answer.how, answer.text) == (True, "model", "At noon, by Marta Ilves.")
    (cited,) = answer.citations
    assert (cited.path, cited.title, cited.line) == ("zoo/Feeding.md", "Feeding", 7)
    assert cited.quote.endswith("The walrus is fed at noon by Marta Ilves, with herring.")
    assert (answer.model, answer.use.calls, answer.problems) == ("scripted", 1, ())
    assert (answer.shown[0].path, answer.shown[0].title) == ("zoo/Feeding.md", "Feeding")


def test_asking_changes_no_note(ports: VaultPorts, tmp_path: Path) -> None:
    before = tree_hashes(tmp_path)
    asked(ports, ScriptedModel([says("At noon.", "Feeding")]))
    asked(ports)
    assert tree_hashes(tmp_path) == before


def test_a_linked_note_that_supersedes_one_is_shown_and_named(
    ports: VaultPorts, tmp_path: Path
) -> None:
    (tmp_path / "Marta.md").unlink()
    write_note(tmp_path, "Notice.md", "Timetable: from now on it happens at dawn.\n")
    supersede_feeding(ports, "Notice")
    model = ScriptedModel([says("At dawn now, no longer at noon.", "Notice", "Feeding")])
    answer = asked(ports, model, limit=1)
    (request,) = model.requests
    assert f"superseded by {label_of(request, 'Notice')}" in request.text
    assert [each.title for each in answer.citations] == ["Notice", "Feeding"]
    assert (
        answer.citations[0].via == note_named(ports.index, "Feeding").key
        and answer.citations[1].via is None
    )


def test_an_answer_that_the_notes_do_not_bear_out_is_asked_again(ports: VaultPorts) -> None:
    model = ScriptedModel([says("At 7 in the evening.", "Feeding"), says("At noon.", "Feeding")])
    answer = asked(ports, model)
    assert (answer.text, answer.use.calls) == ("At noon.", 2)
    assert "“7”" in model.requests[1].text.splitlines()[-1]
    assert model.requests[0].instructions == model.requests[1].instructions


@pytest.mark.parametrize(
    "second",
    [
        says("At 7 in the evening.", "Feeding"),
        says("At noon."),
        "not JSON",
        json.dumps({"sources": ["n99"], "held": True, "answer": "At noon."}),
        ModelAnswer("{}", False, 1, 1, 0.0),
        ModelAnswer("", True, 1, 0, 0.0, refused=True),
        ModelError("the server is gone"),
    ],
)
def test_where_the_model_fails_the_notes_are_quoted(ports: VaultPorts, second: object) -> None:
    model = ScriptedModel([says("Marlene does it.", "Feeding"), second])  # type: ignore[list-item]
    answer = asked(ports, model)
    assert (answer.held, answer.how, answer.model) == (True, "extract", "scripted")
    assert answer.text.startswith(NEAREST) and "fed at noon" in answer.text
    assert answer.citations[0].path == "zoo/Feeding.md"
    assert "quoted instead" in answer.problems[-1]


def test_a_model_may_say_that_the_notes_do_not_hold_it(ports: VaultPorts) -> None:
    for reply in (says("", held=False), says("The notes do not say.", "Feeding")):
        answer = asked(ports, ScriptedModel([reply]))
        assert (answer.held, answer.how, answer.text) == (False, "nothing", NOT_HELD)
        assert answer.citations == () and answer.shown


def test_without_a_model_the_nearest_sentence_is_quoted(ports: VaultPorts) -> None:
    answer = asked(ports)
    assert (answer.held, answer.how, answer.use.calls) == (True, "extract", 0)
    assert "The walrus is fed at noon" in answer.citations[0].quote
    assert answer.citations[0].line in (7, 9)


@pytest.mark.parametrize("question", ["What does the dentist charge?", "Зачем?", "?!", "🦭"])
def test_what_no_note_comes_near_is_not_held(ports: VaultPorts, question: str) -> None:
    answer = asked(ports, None, question)
    assert (answer.held, answer.how, answer.citations) == (False, "nothing", ())


def test_words_alone_do_without_an_encoder(ports: VaultPorts) -> None:
    answer = asked(ports, None, encoder=None)
    assert answer.held and answer.citations[0].path == "zoo/Feeding.md"
    misspelt = asked(ports, None, "wlarus?", encoder=None)
    assert misspelt.citations[0].path == "zoo/Feeding.md"
    assert not asked(ports, None, "dentist?", encoder=None).held


def test_an_empty_vault_asks_no_model(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    synchronise(ports)
    model = ScriptedModel()
    assert not asked(ports, model).held
    assert not model.requests


def test_private_notes_stay_on_this_machine(ports: VaultPorts, tmp_path: Path) -> None:
    secret = "---\nprivate: true\n---\nThe walrus is fed with a stolen key. See [[Feeding]].\n"
    write_note(tmp_path, "Secret.md", secret)
    indexed(ports)
    remote = ScriptedModel([says("At noon.", "Feeding")], is_remote=True)
    answer = asked(ports, remote)
    assert answer.text == "At noon."
    assert "stolen" not in remote.requests[0].text and "Secret" not in remote.requests[0].text
    assert "private note not shown" in answer.problems[0]
    local = ScriptedModel([says("With a stolen key.", "Secret")])
    assert asked(ports, local).citations[0].title == "Secret"


def test_the_title_of_a_private_newer_note_stays_too(ports: VaultPorts, tmp_path: Path) -> None:
    write_note(tmp_path, "Secret.md", "---\nprivate: true\n---\nThe walrus is fed at dawn now.\n")
    supersede_feeding(ports, "Secret")
    remote = ScriptedModel([says("At noon.", "Feeding")], is_remote=True)
    assert asked(ports, remote).text == "At noon."
    assert "Secret" not in remote.requests[0].text
    (only,) = asked(ports, filters=Filters(hidden=("Secret.md",))).citations
    assert (only.path, only.superseded_by) == ("zoo/Feeding.md", ())


def test_a_newer_note_that_is_not_shown_is_named(ports: VaultPorts, tmp_path: Path) -> None:
    write_note(tmp_path, "Notice.md", "The walrus is fed at dawn now.\n")
    supersede_feeding(ports, "Notice")
    model = ScriptedModel([says("At noon.", "Feeding")])
    answer = asked(ports, model, filters=Filters(tags=("zoo",)))
    assert "superseded by “Notice”" in model.requests[0].text
    assert [each.title for each in answer.citations[0].superseded_by] == ["Notice"]


def test_a_vault_of_private_notes_is_quoted_without_the_remote_model(tmp_path: Path) -> None:
    write_note(tmp_path, "a.md", "---\nprivate: true\n---\nThe walrus is fed at noon.\n")
    ports = open_vault(tmp_path)
    indexed(ports)
    remote = ScriptedModel(is_remote=True)
    answer = asked(ports, remote, encoder=None)
    assert not remote.requests and answer.how in ("extract", "nothing")


def test_filters_and_limit_bound_what_is_shown(ports: VaultPorts) -> None:
    tagged = asked(ports, None, filters=Filters(tags=("zoo",)))
    assert [each.path for each in tagged.shown] == ["zoo/Feeding.md"]
    assert not asked(ports, None, filters=Filters(path="other")).held
    assert len(asked(ports, None, "harbour or steel", limit=1).shown) == 1


def test_long_notes_are_shown_by_their_best_passages_within_the_budget(tmp_path: Path) -> None:
    filler = "\n\n".join(f"Paragraph {at} tells of trains and weather." * 8 for at in range(60))
    write_note(tmp_path, "long.md", f"{filler}\n\nThe walrus is fed at noon.\n\n{filler}\n")
    ports = open_vault(tmp_path)
    indexed(ports)
    model = ScriptedModel([says("At noon.", "long")] * 2)
    for budget in (300, 3000):
        answer = asked(ports, model, budget=budget)
        assert answer.citations[0].quote.count("walrus") == 1
        assert len(model.requests[-1].text) < 6 * budget
    line = (tmp_path / "long.md").read_text().splitlines()[answer.citations[0].line - 1]
    assert line.startswith(("The walrus", "Paragraph 59"))


@pytest.mark.parametrize(
    "sentence",
    [
        "See https://zoo.example/walrus for when the walrus is fed at noon.",
        "<b>The walrus</b> is fed at noon, see <https://zoo.example/walrus>.",
        "At noon.\nThe walrus is fed then.",
        "Fed: [red]walrus[/red] [link=http://zoo.example]noon[/link]",
    ],
)
def test_the_line_of_a_quotation_is_told_whatever_stands_in_it(
    tmp_path: Path, sentence: str
) -> None:
    write_note(tmp_path, "zoo.md", f"---\ntitle: Zoo\n---\nOtters sleep late.\n\n{sentence}\n")
    ports = open_vault(tmp_path)
    indexed(ports)
    (citation,) = asked(ports).citations
    quoted = (tmp_path / "zoo.md").read_text().split("\n")[citation.line - 1]
    assert citation.quote.split()[0] in quoted


def test_long_items_of_a_list_are_quoted_as_items(tmp_path: Path) -> None:
    herrings = "- a bucket of herrings in the morning, as prescribed by Dr. Anselm"
    write_note(tmp_path, "zoo.md", f"Zoo:\n{herrings}\n- the walrus is fed at noon\n- a chair\n")
    ports = open_vault(tmp_path)
    indexed(ports)
    (citation,) = asked(ports).citations
    assert "by Dr. Anselm; the walrus is fed at noon; a chair" in citation.quote


def test_the_budget_follows_the_models_window() -> None:
    small, usual, large = (
        budget_of(replace(Settings(), llm_context_tokens=size)) for size in (512, 4096, 100_000)
    )
    assert small < usual < large <= 3000


@pytest.mark.parametrize("seed", range(8))
def test_whatever_a_model_makes_up_is_refused_or_rests_on_shown_notes(
    ports: VaultPorts, seed: int
) -> None:
    answer = asked(ports, EchoSchemaModel(seed))
    assert {each.path for each in answer.citations} <= {each.path for each in answer.shown}
    assert answer.held == bool(answer.citations)


def test_an_empty_question_is_refused(ports: VaultPorts) -> None:
    with pytest.raises(UsageError):
        asked(ports, None, "  ")


def test_a_very_long_question_is_answered_too(ports: VaultPorts) -> None:
    asked_of_all = "walrus fed noon " + " ".join(f"otters{number}" for number in range(5_000))
    model = ScriptedModel([says("At noon.", "Feeding")])
    assert asked(ports, model, asked_of_all, encoder=None).text == "At noon."
    assert len(model.requests[0].text) < 5_000
