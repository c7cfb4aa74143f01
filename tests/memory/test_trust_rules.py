"""How much evidence a model's word on a link needs, by how it did with pairs of known answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amem_cli.journal.link_decisions import USUAL_MINIMUM
from amem_cli.memory.outcome import PLAUSIBLE
from amem_cli.memory.trust import least_plausible, reliability

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


@given(counts, counts)
def test_a_model_without_a_mistake_needs_no_more_than_one_that_was_never_tried(
    related: int, others: int
) -> None:
    assert round(least((0, 0, 0, 0)), 9) == PLAUSIBLE
    assert round(least((related, related, 0, others)), 9) == PLAUSIBLE


@given(st.integers(1, 60))
def test_a_model_that_says_yes_to_all_counts_only_where_the_evidence_carries_the_link(
    pairs: int,
) -> None:
    assert least((pairs, pairs, 5 * pairs, 5 * pairs)) == USUAL_MINIMUM
