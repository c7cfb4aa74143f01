"""A model is tried with the questions and checks of the memory process, and within the time."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from pathlib import Path

import pytest

from amem_cli.errors import ModelClosed, ModelError
from amem_cli.journal.link_decisions import USUAL_MINIMUM
from amem_cli.memory.outcome import PLAUSIBLE
from amem_cli.memory.trial import TrialCase, trial_cases
from amem_cli.memory.trial import test_models as try_models
from amem_cli.models.llama_cpp import LlamaCppModel, bundled_model
from amem_cli.models.ports import ModelAnswer, ModelRequest
from tests.fakes.encoder import FakeEncoder
from tests.fakes.good_model import good_answer
from tests.fakes.language_model import EchoSchemaModel, ScriptedModel


def test_a_good_model_is_fit() -> None:
    model = ScriptedModel([good_answer] * 20)
    told: list[tuple[int, int]] = []
    report = try_models(FakeEncoder(), model, progress=lambda *each: told.append(each))
    assert report.verdict is not None and report.figures is not None
    assert report.verdict.kind == "fit", report.verdict.line
    assert told == [(number, 9) for number in range(1, 10)]
    assert report.figures.found.asked == 11
    assert report.figures.plausible == PLAUSIBLE
    assert all(
        {"context", "links", "changes"} <= set(request.schema["properties"])
        for request in model.requests
    )
    assert all(request.deadline <= 60.0 for request in model.requests)


def greedy(request: ModelRequest) -> str:
    """Right in all but the links: it links to every note that it is shown."""
    if "links" not in request.schema["properties"]:
        return good_answer(request)
    links = [
        {
            "note": name,
            "reason": f"It tells more of {title.split(':')[0]}",
            "relation": "related",
            "strength": 0.9,
        }
        for name, title in re.findall(r"^(n\d) ([^(|]+)", request.text, re.MULTILINE)
    ]
    return json.dumps(json.loads(good_answer(request)) | {"links": links})


def test_a_model_that_links_everything_is_fit_for_contexts_alone() -> None:
    model = ScriptedModel([greedy] * 20)
    report = try_models(FakeEncoder(), model)
    assert report.verdict is not None
    assert (report.verdict.kind, report.verdict.asked_for) == ("usable", "context")
    # It need not be asked for all to the end.
    assert len(model.requests) == 2 + 4


def test_the_more_look_alikes_a_model_links_the_more_evidence_its_word_needs() -> None:
    least = []
    for mistaken in range(0, 9, 2):
        script = [good_answer] * (9 - mistaken) + [greedy] * mistaken
        report = try_models(FakeEncoder(), ScriptedModel(script))
        assert report.figures is not None
        least.append(report.figures.plausible)
    assert least == sorted(least)
    assert (least[0], least[-1]) == (PLAUSIBLE, USUAL_MINIMUM)
    assert len(set(least)) > 3


def test_a_model_of_random_answers_is_not_fit() -> None:
    for seed in range(3):
        report = try_models(FakeEncoder(), EchoSchemaModel(seed))
        assert report.verdict is not None
        assert report.verdict.kind == "unfit", report.verdict.line


def test_a_weak_model_is_asked_for_contexts_in_the_end() -> None:
    def weak(request: ModelRequest) -> str:
        if list(request.schema["properties"]) == ["context"]:
            return json.dumps({"context": json.loads(good_answer(request))["context"]})
        return "no JSON"

    model = ScriptedModel([weak] * 20)
    report = try_models(FakeEncoder(), model)
    assert report.verdict is not None and report.figures is not None
    assert (report.verdict.kind, report.verdict.asked_for) == ("usable", "context")
    assert report.figures.contexts.hits == report.figures.contexts.asked == 4
    assert report.cases == len(model.requests) == len(report.results)
    assert [list(one.schema["properties"]) for one in model.requests[2:]] == [["context"]] * 4


def test_the_time_is_kept_and_what_was_answered_counts() -> None:
    class Slow(ScriptedModel):
        """Answers twice at once, and then not before it is closed."""

        def __init__(self) -> None:
            super().__init__([good_answer] * 20)
            self.ended = threading.Event()

        def answer(self, request: ModelRequest) -> ModelAnswer:
            if len(self.requests) < 2:
                return super().answer(request)
            self.ended.wait(120)
            raise ModelClosed("slow was closed in the middle of an answer")

        def close(self) -> None:
            self.ended.set()

    report = try_models(FakeEncoder(), Slow(), seconds=5.0)
    assert (report.verdict, len(report.results)) == (None, 2)
    assert "the time was over after 2 of 9 notes" in report.undecided[0]


def test_a_model_that_is_lost_in_the_middle_is_not_judged_by_that() -> None:
    gone = ModelError("no connection")
    for answered in (0, 1, 2, 4, 6):
        report = try_models(FakeEncoder(), ScriptedModel([good_answer] * answered + [gone] * 20))
        assert report.verdict is None
        assert "no connection" in report.undecided[0]
        assert len(report.results) == answered + 3


def test_the_notes_of_the_trial_are_not_those_of_the_benchmarks() -> None:
    gold = []
    for file in sorted((Path(__file__).parents[1] / "data/gold").glob("*/notes.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            note = json.loads(line)
            gold.append(_long_words(f"{note['title']} {note['content']}"))
    assert gold
    common = {
        word for word, count in Counter(w for each in gold for w in each).items() if count > 5
    }
    for case in trial_cases():
        for text in (f"{case.title} {case.text}", *(f"{o.title} {o.text}" for o in case.older)):
            telling = _long_words(text) - common
            # Some words are shared by chance.
            most = max(4, len(telling) / 3)
            assert all(len(telling & each) < most for each in gold), text


def _long_words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.casefold()))


@pytest.mark.models
def test_the_bundled_model_is_usable_and_not_fit() -> None:
    model = LlamaCppModel(bundled_model(), threads=2, context_tokens=4096, memory_limit_mb=6144)
    try:
        # A busy machine may need more than the usual minute.
        report = try_models(FakeEncoder(), model, seconds=600.0, answer_seconds=300.0)
    finally:
        model.close()
    assert report.verdict is not None
    assert report.verdict.kind == "usable", report.verdict.line


def test_without_a_model_only_the_encoder_is_tried() -> None:
    report = try_models(FakeEncoder(), None)
    assert (report.model, report.verdict, report.dimension) == ("", None, 64)


@pytest.mark.parametrize("case", trial_cases(), ids=lambda case: case.title)
def test_every_case_makes_sense(case: TrialCase) -> None:
    assert len(case.related) < len(case.older) == 4
    assert not case.changes or len(case.related) == 1
    assert any(part in f"{case.title} {case.text}".lower() for part in case.about)
