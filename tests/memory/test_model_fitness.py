"""What is thought of a model by how it did in a few cases, and how much evidence its word needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.editing.add import NewNote, add
from amem_cli.journal.link_decisions import USUAL_MINIMUM
from amem_cli.memory.outcome import PLAUSIBLE
from amem_cli.memory.trust import (
    CaseResult,
    figures_of,
    is_hopeless,
    least_plausible,
    reason_for_none,
    reliability,
    verdict_on,
)
from amem_cli.models.ports import ModelRequest
from tests.fakes.language_model import EchoSchemaModel
from tests.vaults import memory_process, open_vault

SAME = CaseResult(
    "s",
    True,
    context=True,
    keywords=True,
    found=1,
    related=1,
    refused=3,
    others=3,
    kept=True,
    prompt_tokens=500,
    answer_tokens=100,
    seconds=5.0,
)
CHANGE = replace(SAME, title="c", kept=None, change_found=True)
NONE = replace(SAME, title="n", found=0, related=0, refused=4, others=4)
GOOD = [CHANGE, SAME, CHANGE, NONE, SAME, SAME, CHANGE, SAME, SAME]


def kind(results: list[CaseResult]) -> str:
    verdict = verdict_on(results)
    assert "\n" not in verdict.line
    assert verdict.line.startswith(verdict.kind)
    assert verdict.advice
    return verdict.kind


def test_a_model_that_does_all_well_is_fit() -> None:
    assert kind(GOOD) == "fit"
    figures = figures_of(GOOD)
    assert (figures.seconds_per_note, figures.tokens_per_note) == (5.0, 600.0)
    assert figures.tokens_per_second == pytest.approx(100 / 5)
    assert set(figures.grades.values()) == {"good"}


def test_a_share_is_good_if_it_suffices_and_poor_if_it_is_far_from_that() -> None:
    missed = replace(SAME, found=0)
    grades = [
        figures_of([missed] * misses + [SAME] * (8 - misses)).grades["found"] for misses in range(9)
    ]
    assert grades == ["good"] * 3 + ["fair"] * 2 + ["poor"] * 4
    assert "changes_found" not in figures_of([SAME]).grades


def test_a_model_that_was_lost_or_too_slow_gets_a_reason_instead_of_a_verdict() -> None:
    gone = CaseResult("g", False, fault="no connection")
    why, advice = reason_for_none([SAME, SAME, *[gone] * 3], 9)
    assert why == "it could not be asked after 2 of 9 notes: no connection"
    assert "again" in advice
    assert reason_for_none([gone] * 3, 9)[0] == "it could not be asked: no connection"
    why, advice = reason_for_none([SAME] * 3, 9)
    assert "3 of 9" in why and advice.endswith("--seconds 300")
    slow = replace(SAME, seconds=50.0)
    assert reason_for_none([slow], 9)[1].endswith("--seconds 720")
    assert reason_for_none([], 9)[1].endswith("--seconds 300")


@pytest.mark.parametrize(
    ("place", "worse"),
    [
        (1, {"found": 0}),
        (1, {"refused": 1}),
        (0, {"change_found": False}),
        (1, {"kept": False}),
    ],
)
def test_one_weakness_throughout_makes_it_only_usable(place: int, worse: dict[str, int]) -> None:
    weak = [
        replace(one, **worse) if one.title == GOOD[place].title else one  # type: ignore[arg-type]
        for one in GOOD
    ]
    assert kind(weak) == "usable"


def test_keywords_are_judged_by_themselves() -> None:
    for wrong, asked in ((2, True), (3, False)):
        weak = [replace(one, keywords=False) for one in GOOD[:wrong]]
        verdict = verdict_on([*weak, *GOOD[wrong:]])
        assert (verdict.kind, verdict.asked_for, verdict.keywords) == ("fit", "all", asked)
        assert ("keywords are made without it" in verdict.line) == (not asked)
    grades = figures_of([*weak, *GOOD[3:]]).grades
    assert (grades["contexts"], grades["keywords"]) == ("good", "fair")
    assert "keywords" not in figures_of([LITTLE]).grades


def test_a_model_whose_keywords_are_bad_is_asked_for_all_but_keywords(tmp_path: Path) -> None:
    for at, keywords in enumerate((True, False)):
        (tmp_path / str(at)).mkdir()
        ports, model = open_vault(tmp_path / str(at)), EchoSchemaModel()
        path = add(ports, NewNote(NEW, title="Torn"))
        process = memory_process(ports, model, trusted=True, keywords=keywords)
        outcome = process.run(path, asked=True)
        asked = {name for each in model.requests for name in each.schema["properties"]}
        assert {"context", "tags"} <= asked and ("keywords" in asked) == keywords
        assert keywords or outcome.metadata.keywords


def test_where_only_keywords_are_missing_the_model_is_asked_about_links_alone(
    tmp_path: Path,
) -> None:
    ports, model = open_vault(tmp_path), EchoSchemaModel()
    add(ports, NewNote(OLD, title="Lamination"))
    path = add(ports, NewNote(NEW, title="Torn", context="Mine.", tags=["mine"]))
    process = memory_process(ports, model, trusted=True, keywords=False, plausible=0.0)
    assert process.run(path, asked=True).metadata.keywords
    assert model.requests
    assert not any("keywords" in each.schema["properties"] for each in model.requests)


def test_answers_of_the_wrong_form_make_it_unfit() -> None:
    bad = CaseResult("b", False, fault="the answer was cut off", prompt_tokens=9)
    assert kind([bad] * 6 + GOOD[:4]) == "unfit"
    assert "cut off" in verdict_on([bad] * 6).line


def test_contexts_that_are_mostly_wrong_make_it_unfit_however_it_links() -> None:
    for wrong, verdict in ((2, "fit"), (3, "unfit")):
        vague = [replace(one, context=False) for one in GOOD[:wrong]]
        assert kind([*vague, *GOOD[wrong:]]) == verdict


LITTLE = CaseResult("l", True, alone=False, context=True, prompt_tokens=90)


def test_a_model_that_is_right_only_when_asked_for_little_is_never_fit() -> None:
    probes = [replace(SAME, context=False, keywords=False)] * 2
    assert is_hopeless(probes)
    assert not is_hopeless([*probes, SAME])
    assert kind([*probes, *[LITTLE] * 6]) == "usable"
    assert figures_of([*probes, *[LITTLE] * 6]).contexts.asked == 6


def test_a_model_that_is_never_believed_is_good_for_nothing() -> None:
    idle = replace(SAME, context=False, keywords=False)
    results = [idle] * 2 + [replace(LITTLE, context=False)] * 4
    assert kind(results) == "unfit"
    assert "good for nothing here" in verdict_on(results).line
    assert kind([*results[:3], *[LITTLE] * 3]) == "usable"


OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
NEW = "The croissant dough tore in lamination: the butter came from the fridge at 4 degrees."


def shown(folder: Path, plausible: float) -> int:
    """How many older notes a trusted model is shown beside a new one."""
    ports, model = open_vault(folder), EchoSchemaModel()
    add(ports, NewNote(OLD, title="Lamination"))
    for number in range(6):
        add(ports, NewNote(f"Number {number}: the fridge and the weather.", title=f"N{number}"))
    path = add(ports, NewNote(NEW, title="Torn"))
    memory_process(ports, model, trusted=True, plausible=plausible).run(path, asked=True)
    return max(map(offered, model.requests), default=0)


def offered(request: ModelRequest) -> int:
    links = request.schema["properties"].get("links")
    return len(links["items"]["properties"]["note"]["enum"]) if links else 0


def test_the_more_evidence_a_model_needs_the_fewer_notes_it_is_asked_about(tmp_path: Path) -> None:
    counts = []
    for at, least in enumerate((0.0, 0.03, 0.3, 0.99)):
        (tmp_path / str(at)).mkdir()
        counts.append(shown(tmp_path / str(at), least))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2] >= 1 > counts[-1]


counts = st.integers(0, 60)


@st.composite
def trials(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """Related pairs found of so many, others linked of so many."""
    related, others = draw(counts), draw(counts)
    return draw(st.integers(0, related)), related, draw(st.integers(0, others)), others


def least(trial: tuple[int, int, int, int]) -> float:
    return least_plausible(reliability(*trial))


@given(trials())
def test_it_is_bounded_by_what_is_shown_and_what_the_evidence_carries(
    trial: tuple[int, int, int, int],
) -> None:
    assert 0 < reliability(*trial) < 1
    assert PLAUSIBLE <= least(trial) <= USUAL_MINIMUM


@given(trials())
def test_a_mistake_more_never_lowers_it_and_a_right_link_more_never_raises_it(
    trial: tuple[int, int, int, int],
) -> None:
    found, related, mistaken, others = trial
    if mistaken < others:
        assert least((found, related, mistaken + 1, others)) >= least(trial)
        assert reliability(found, related, mistaken + 1, others) < reliability(*trial)
    if found < related:
        assert least((found + 1, related, mistaken, others)) <= least(trial)
