"""What is thought of a model by how it did in a few cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from amem_cli.core.model_fitness import CaseResult, figures_of, is_hopeless, verdict_on

METADATA = CaseResult(
    "m",
    "metadata",
    True,
    about=True,
    context=True,
    keywords=True,
    prompt_tokens=200,
    answer_tokens=50,
    seconds=2.0,
)
SAME = CaseResult(
    "s",
    "links",
    True,
    right_link=True,
    refused=2,
    lookalikes=2,
    kept=True,
    prompt_tokens=300,
    answer_tokens=50,
    seconds=3.0,
)
CHANGE = replace(SAME, title="c", kept=None, change_found=True)
GOOD = [METADATA, METADATA, SAME, CHANGE, METADATA, METADATA, SAME, CHANGE, SAME, SAME]


def kind(results: list[CaseResult]) -> tuple[str, bool]:
    verdict = verdict_on(results, 10, seconds=60)
    assert "\n" not in verdict.line
    assert verdict.line.startswith(verdict.kind)
    assert verdict.advice
    return verdict.kind, verdict.decided


def test_a_model_that_does_all_well_is_fit() -> None:
    assert kind(GOOD) == ("fit", True)
    figures = figures_of(GOOD)
    assert (figures.seconds_per_note, figures.tokens_per_note) == (5.0, 600.0)
    assert figures.tokens_per_second == pytest.approx(500 / 26)


@pytest.mark.parametrize(
    ("place", "worse"),
    [
        (0, {"context": False}),
        (0, {"keywords": False}),
        (2, {"right_link": False}),
        (2, {"refused": 0}),
        (3, {"change_found": False}),
        (2, {"kept": False}),
    ],
)
def test_one_weakness_throughout_makes_it_only_usable(place: int, worse: dict[str, bool]) -> None:
    weak = [
        replace(one, **worse) if one.title == GOOD[place].title else one  # type: ignore[arg-type]
        for one in GOOD
    ]
    assert kind(weak) == ("usable", True)


def test_answers_of_the_wrong_form_make_it_unfit() -> None:
    bad = CaseResult("b", "links", False, fault="the answer was cut off", prompt_tokens=9)
    assert kind([bad] * 6 + GOOD[:4]) == ("unfit", True)
    assert "cut off" in verdict_on([bad] * 6, 10, seconds=60).line


def test_talk_of_something_else_makes_it_unfit() -> None:
    vague = replace(METADATA, about=False, context=False, keywords=False)
    lost = replace(SAME, right_link=False)
    assert kind([vague, vague, lost, vague, lost]) == ("unfit", True)


def test_a_model_that_cannot_be_asked_is_unfit_for_that_reason() -> None:
    gone = CaseResult("g", "metadata", False, fault="no connection")
    for times in (1, 3):
        assert (
            verdict_on([gone] * times, 10, seconds=60).line == "unfit: no connection" or times > 2
        )
        assert kind([gone] * times) == ("unfit", True)


def test_too_few_answers_decide_nothing() -> None:
    assert kind([]) == ("usable", False)
    assert kind(GOOD[:3]) == ("usable", False)
    assert "3 of 10" in verdict_on(GOOD[:3], 10, seconds=60).line


def test_a_model_that_is_right_only_when_asked_for_little_is_never_fit() -> None:
    probes = [replace(METADATA, context=False, keywords=False)] * 3
    assert is_hopeless(probes)
    little = [replace(METADATA, alone=False, keywords=None)] * 4
    links = [replace(SAME, alone=False, kept=None)] * 3
    assert kind(probes + little + links) == ("usable", True)
    assert figures_of(probes + little).contexts.asked == 4


def test_a_model_that_speaks_of_the_note_and_is_never_believed_is_usable_and_said_to_be_idle() -> (
    None
):
    idle = replace(METADATA, context=False, keywords=False)
    results = [idle] * 3 + [replace(idle, alone=False, keywords=None)] * 4
    assert kind(results) == ("usable", True)
    assert "amem model use none" in verdict_on(results, 10, seconds=60).advice
