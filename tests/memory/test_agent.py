"""An agent in place of the model: one question leads to another, and a run ends in the middle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.agent import (
    Organised,
    Question,
    Unasked,
    next_questions,
    notes_to_organise,
    organise,
)
from amem_cli.memory.outcome import ANALYZER, ProcessSettings
from amem_cli.memory.process import MemoryProcess
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault, tree_hashes, write_note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

HEATING = "---\nkeywords: [radiators]\ntags: [home]\n---\nRadiators stay cold in the basement.\n"
BOILER = "Ole mended something. It took him a day.\n"
CONTEXT = "Something took Ole a day until he mended it: the radiators."
REASON = "Ole mended what kept the radiators cold in the basement."


class TopicEncoder(FakeEncoder):
    """To which texts of radiators are somewhat alike."""

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        vectors = super().encode(texts, query=query)
        for row, text in enumerate(texts):
            if "adiators" in text:
                vectors[row] *= 0.75
                vectors[row][0] += 0.6
                vectors[row] /= np.linalg.norm(vectors[row])
        return vectors


def process_of(ports: VaultPorts, encoder: FakeEncoder | None = None) -> MemoryProcess:
    encoder = encoder or FakeEncoder()
    synchronise(ports)
    embed_missing(ports, encoder)
    return MemoryProcess(ports, encoder, None, ProcessSettings())


def question_about(process: MemoryProcess, path: str) -> Question:
    (question,) = next_questions(process, [path], "agent", asked=True)
    assert isinstance(question, Question)
    return question


def answer_to(question: Question, **values: Any) -> dict[str, str]:
    answer: dict[str, Any] = {
        "context": CONTEXT,
        "phrases": ["k1"],
        "keywords": [],
        "tags": [],
        "new_tags": ["home"],
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


def test_a_context_may_bring_older_notes_to_ask_about(tmp_path: Path) -> None:
    write_note(tmp_path, "heating.md", HEATING)
    write_note(tmp_path, "new.md", BOILER)
    process = process_of(open_vault(tmp_path), TopicEncoder())
    first = question_about(process, "new.md")
    assert "links" not in first.request.schema["properties"]
    before = tree_hashes(tmp_path)
    answer = answer_to(first)
    found = organised(process, "new.md", answer)
    assert found.state == "question" and "the answers to both" in found.refused[0]
    assert found.question is not None and found.question.ticket != first.ticket
    assert "links" in found.question.request.schema["properties"]
    links = [{"note": "n1", "reason": REASON, "relation": "related", "strength": 0.6}]
    second = answer_to(found.question, links=links)
    assert {name: each for name, each in tree_hashes(tmp_path).items() if ".md" in name} == {
        name: each for name, each in before.items() if ".md" in name
    }
    # The second alone says nothing of the first.
    assert organised(process, "new.md", second).state == "question"
    found = organised(process, "new.md", answer, second)
    assert found.state == "organised" and found.outcome is not None, found.refused
    assert [link.path for link in found.outcome.links] == ["heating.md"]


def test_what_is_offered_and_in_which_order(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "b.md", f"---\ncreated: 2021-01-01T10:00\n---\n{BOILER}")
    write_note(tmp_path, "a.md", f"---\ncreated: 2022-01-01T10:00\n---\n{BOILER}")
    process = process_of(ports)
    assert notes_to_organise(ports.index) == ["b.md", "a.md"]
    assert process.run("b.md", asked=True).model == ANALYZER
    assert notes_to_organise(ports.index) == ["a.md"]
    assert notes_to_organise(ports.index, everything=True) == ["a.md", "b.md"]
    question = question_about(process, "b.md")
    context = "It took Ole a whole day, but he mended something."
    assert organised(process, "b.md", answer_to(question, context=context)).state == "organised"
    assert notes_to_organise(ports.index, everything=True) == ["a.md"]


def test_a_run_that_is_stopped_has_written_whole_notes_or_none(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    for name in ("one", "two"):
        write_note(tmp_path, f"{name}.md", f"The {name} walrus dives for clams. It is cold.\n")
    process = process_of(ports)
    answers = {}
    for path in ("one.md", "two.md"):
        context = f"Cold as it is, the {path[:3]} walrus dives for its clams."
        answers[path] = answer_to(question_about(process, path), context=context)
    begun: list[str] = []

    def begin(path: str) -> None:
        begun.append(path)
        if len(begun) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        organise(process, answers, "agent", begin=begin)
    assert begun == ["one.md", "two.md", "one.md", "two.md"]
    synchronise(ports)
    assert notes_to_organise(ports.index) == ["two.md"]
    # Its question shows the first one as it is now.
    found = organised(process, "two.md", answers["two.md"])
    assert found.state in ("question", "organised")


def test_a_note_that_is_gone_or_says_nothing_has_no_question(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "empty.md", "\n")
    write_note(tmp_path, "diary.md", f"---\nprivate: true\n---\n{BOILER}")
    process = process_of(ports)
    found = [*next_questions(process, ["empty.md", "diary.md", "gone.md"], "agent")]
    assert all(isinstance(each, Unasked) for each in found)
    assert [bool(each.problems) for each in found if isinstance(each, Unasked)] == [0, 0, 1]
    for path in ("empty.md", "diary.md", "gone.md"):
        assert organised(process, path, {"x": "{}"}).state == "failed"
