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
