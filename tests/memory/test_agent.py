"""An agent in place of the model: what it is offered, and a run that ends in the middle."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from amem_cli.index.memory_index import VaultPorts
from amem_cli.memory.agent import (
    Organised,
    Question,
    next_questions,
    notes_to_organise,
    organise,
)
from amem_cli.memory.outcome import ANALYZER
from amem_cli.memory.process import MemoryProcess
from tests.vaults import memory_process, open_vault, write_note

BOILER = "Ole mended the boiler. It took him a day.\n"
CONTEXT = "The boiler took Ole a whole day until he had mended it."


def question_about(process: MemoryProcess, path: str) -> Question:
    (question,) = next_questions(process, [path], "agent", asked=True)
    assert isinstance(question, Question)
    return question


def answer_to(question: Question, **values: Any) -> dict[str, str]:
    answer: dict[str, Any] = {
        "context": CONTEXT,
        "keywords": re.findall(r"[a-z]{5,}", question.request.text.split('"""')[-2])[:2],
        "tags": ["home"],
        "links": [],
        "changes": [],
        **values,
    }
    properties = question.request.schema["properties"]
    return {question.ticket: json.dumps({name: answer.get(name, []) for name in properties})}


def organised(process: MemoryProcess, path: str, *given: dict[str, str]) -> Organised:
    answers = {ticket: text for each in given for ticket, text in each.items()}
    (found,) = organise(process, {path: answers}, "agent")
    return found


def test_what_is_offered_and_in_which_order(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "b.md", f"---\ncreated: 2021-01-01T10:00\n---\n{BOILER}")
    write_note(tmp_path, "a.md", f"---\ncreated: 2022-01-01T10:00\n---\n{BOILER}")
    process = memory_process(ports)
    assert notes_to_organise(ports.index) == ["b.md", "a.md"]
    assert process.run("b.md", asked=True).model == ANALYZER
    assert notes_to_organise(ports.index) == ["a.md"]
    assert notes_to_organise(ports.index, everything=True) == ["a.md", "b.md"]
    question = question_about(process, "b.md")
    context = "It took Ole a whole day, but he mended the boiler."
    assert organised(process, "b.md", answer_to(question, context=context)).state == "organised"
    assert notes_to_organise(ports.index, everything=True) == ["a.md"]


OLDER = "The pump in the cellar is off at night. It saves power.\n"
NEWER = "The pump in the cellar runs at night again, as the cellar was wet.\n"
OLDER_CONTEXT = "To save power, the cellar does without its pump at night."
NEWER_CONTEXT = "A wet cellar is why its pump runs at night again."


def with_pumps(folder: Path) -> MemoryProcess:
    """Two notes that wait; the question about the newer one shows the older one."""
    ports = open_vault(folder)
    write_note(folder, "z.md", f"---\ncreated: 2021-01-01T10:00\n---\n{OLDER}")
    write_note(folder, "a.md", f"---\ncreated: 2022-01-01T10:00\n---\n{NEWER}")
    return memory_process(ports)


def answers_about_pumps(process: MemoryProcess) -> dict[str, dict[str, str]]:
    """Answers by path, the newer note first; its answer changes the older note."""
    now = "The pump was off at night to save power, and runs again as the cellar was wet."
    both = {"note": "n1", "reason": "Both say when the pump in the cellar runs at night."}
    link = {**both, "relation": "supersedes", "strength": 0.9}
    change: dict[str, Any] = {"note": "n1", "why": both["reason"], "context": now}
    change |= {"keywords": [], "tags": [], "drop": []}
    newer, older = question_about(process, "a.md"), question_about(process, "z.md")
    return {
        "a.md": answer_to(newer, context=NEWER_CONTEXT, links=[link], changes=[change]),
        "z.md": answer_to(older, context=OLDER_CONTEXT),
    }


def test_answers_of_a_batch_are_written_from_the_oldest_note_to_the_newest(tmp_path: Path) -> None:
    process = with_pumps(tmp_path)
    found = organise(process, answers_about_pumps(process), "agent")
    assert [(each.path, each.state) for each in found] == [
        ("a.md", "organised"),
        ("z.md", "organised"),
    ]
    assert found[0].outcome is not None
    assert [each.path for each in found[0].outcome.evolved] == ["z.md"]


def test_a_note_that_changes_before_its_answer_is_written_is_asked_about_anew(
    tmp_path: Path,
) -> None:
    process = with_pumps(tmp_path)
    answers = {"z.md": answers_about_pumps(process)["z.md"]}
    begun: list[str] = []

    def begin(path: str) -> None:
        begun.append(path)
        if len(begun) == 2:
            # The answer is checked by now, and not written yet.
            write_note(tmp_path, path, f"{OLDER}Says Ole.\n")

    (found,) = organise(process, answers, "agent", begin=begin)
    assert found.state == "question" and found.question is not None
    assert "Says Ole" in found.question.request.text
    mended = answer_to(found.question, context=OLDER_CONTEXT)
    assert organised(process, "z.md", mended).state == "organised"


def test_a_ticket_holds_while_older_notes_are_described_and_not_when_one_changes(
    tmp_path: Path,
) -> None:
    process = with_pumps(tmp_path)
    newer = question_about(process, "a.md")
    answers = answers_about_pumps(process)
    assert organised(process, "z.md", answers["z.md"]).state == "organised"
    described = question_about(process, "a.md")
    assert OLDER_CONTEXT in described.request.text
    assert described.ticket == newer.ticket
    with (tmp_path / "z.md").open("a") as file:
        file.write("Says Ole.\n")
    memory_process(process.ports)
    found = organised(process, "a.md", answers["a.md"])
    assert found.state == "question" and found.question is not None
    assert "Says Ole" in found.question.request.text
