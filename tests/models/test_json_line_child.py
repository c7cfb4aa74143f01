"""A child that answers nothing, nonsense or too late; the children are modules of Python's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from amem_cli.models.llama_cpp import ChildFailed, JsonLineChild

ENDS_AT_ONCE = "no_module_of_this_name"
PRINTS_PROSE = "this"
WAITS_FOR_THE_END_OF_INPUT = "json.tool"


@contextmanager
def running(module: str) -> Iterator[JsonLineChild]:
    with closing(JsonLineChild(module)) as child:
        yield child
    assert not child.is_alive


def test_a_child_that_ends_is_a_failure() -> None:
    with running(ENDS_AT_ONCE) as child, pytest.raises(ChildFailed, match="status 1"):
        child.ask({}, 30.0)


def test_prose_instead_of_an_answer_is_a_failure() -> None:
    with running(PRINTS_PROSE) as child, pytest.raises(ChildFailed, match="no answer"):
        child.ask({}, 30.0)


@pytest.mark.parametrize("size", [1, 500_000])
def test_a_child_that_does_not_answer_in_time_is_killed(size: int) -> None:
    with running(WAITS_FOR_THE_END_OF_INPUT) as child:
        with pytest.raises(ChildFailed, match="did not answer within"):
            child.ask({"text": "x" * size}, 0.5)
        with pytest.raises(ChildFailed):
            child.ask({}, 0.5)


def test_a_child_that_waits_ends_with_its_input() -> None:
    with running(WAITS_FOR_THE_END_OF_INPUT) as child:
        assert child.is_alive
