"""The benchmark of the memory process reads the product's own requests and answers."""

from __future__ import annotations

import json

from memory_requests import ObservedModel, shown_notes

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.memory.link import LinkQuestion, link_request
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.notes.note import Note

NEW = Note("new.md", "3", "Found it", "The transaction was left open.", created="2024-03-01")
KNOWN = {"1": ("Monday", "2024-01-01"), "2": ("Monday", "2024-02-02"), "3": ("Found it", "")}


def candidate(path: str, title: str, day: str) -> LinkCandidate:
    return LinkCandidate(path, title, "Late again.", 0.5, 0, created=f"{day}T10:00:00")


def linking() -> ModelRequest:
    shown = [candidate("b.md", "Monday", "2024-02-02"), candidate("a.md", "Monday", "2024-01-01")]
    return link_request(NEW, LinkQuestion(shown), deadline=1.0)


class Says:
    name = "says"
    is_remote = False

    def __init__(self, text: str) -> None:
        self.text = text

    def answer(self, request: ModelRequest) -> ModelAnswer:
        return ModelAnswer(self.text, True, 10, 5, 0.0)

    def close(self) -> None:
        pass


def test_namesakes_among_the_shown_notes_are_told_apart_by_their_day() -> None:
    assert shown_notes(linking().text, KNOWN) == {"n1": "2", "n2": "1"}


def test_an_exchange_keeps_the_answer_and_its_tokens() -> None:
    link = {"note": "n2", "reason": "Late on Monday.", "relation": "causes", "strength": 0.9}
    observed = ObservedModel(Says(json.dumps({"links": [link], "changes": []})))
    observed.begin("3", KNOWN)
    observed.answer(linking())
    (exchange,) = observed.exchanges
    assert exchange.said == {"links": [link], "changes": []}
    assert exchange.tokens == 15


def test_an_answer_of_another_shape_counts_as_none() -> None:
    observed = ObservedModel(Says('["n1"]'))
    observed.begin("3", KNOWN)
    observed.answer(linking())
    assert observed.exchanges[0].said is None
