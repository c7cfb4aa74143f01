"""The answer is found in whatever a program writes around it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.models.find_json import find_answer

ANSWER = {"context": 'A "quoted" {brace} and ``` and <think>.', "tags": ["a", "b}"]}
WRITTEN = json.dumps(ANSWER)
NAMES = ("context", "tags")

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
# Anything but what could make one object of the answer and its surroundings.
prose = st.text(st.characters(exclude_characters="{}\x1b"), max_size=60).filter(
    lambda text: not text.lstrip().startswith("<think")
)
indents = st.sampled_from([None, 0, 2])


def read(text: str, names: tuple[str, ...] = NAMES) -> Any:
    found = find_answer(text, names)
    return None if found is None else json.loads(found)


@given(values, prose, prose, indents, st.booleans())
def test_prose_around_an_answer_does_not_matter(
    value: Any, before: str, after: str, indent: int | None, ascii_only: bool
) -> None:
    answer = {"context": value, "tags": []}
    written = json.dumps(answer, indent=indent, ensure_ascii=ascii_only)
    assert read(f"{before}{written}{after}") == answer


@given(st.text(max_size=200) | st.text('{}[]":,\\<>think/ \n`e\x1b', max_size=200))
def test_any_text_before_is_read_without_harm(noise: str) -> None:
    found = find_answer(noise, NAMES)
    assert found is None or isinstance(json.loads(found), dict)


@given(st.text('{}[]":,ab \n', max_size=80))
def test_unfinished_braces_before_an_answer_do_not_hide_it(noise: str) -> None:
    # After a blank line and a word, no noise can go on as JSON.
    assert read(f"{noise}\nanswer: {WRITTEN}") == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN,
        f"```json\n{WRITTEN}\n```",
        f"```\n{WRITTEN}\n```\nIs there anything else?",
        f"Sure! Here it is:\r\n\r\n{WRITTEN}\r\n",
        f'<think>\nMaybe {{"context": 1, "tags": []}}?\n</think>\n{WRITTEN}',
        f"<thinking>{{</thinking>{WRITTEN}",
        f"I think {{ is odd.\n</think>\n{WRITTEN}",
        f'Thinking...\n{{"context": "draft", "tags": []}}\n...done thinking.\n\n{WRITTEN}',
        f"\x1b[2K\x1b[1G\x1b[32m{WRITTEN}\x1b[0m",
        f"\x1b]0;title\x07{WRITTEN}",
        WRITTEN.replace("quoted", "quo\x1b[1mted"),
        f"\ufeff{WRITTEN}",
        f'{WRITTEN}\n{{"tokens": 12}}',
        f"[{WRITTEN}]",
        json.dumps({"type": "result", "result": WRITTEN, "usage": {"tokens": 3}}),
        json.dumps({"response": f"```json\n{WRITTEN}\n```", "stats": {}}),
        f'Schema: {{"properties": {{"context": {{}}, "tags": {{}}}}}}\n{WRITTEN}',
    ],
)
def test_known_manners_of_writing_an_answer_are_understood(text: str) -> None:
    assert read(text) == ANSWER


def test_an_object_without_the_properties_is_better_than_none() -> None:
    assert read('{"other": 1} and {"context": "x"}') == {"context": "x"}


@pytest.mark.parametrize(
    "text",
    ["", "no JSON", "[1, 2]", '{"context": ', "{'context': 1}", f"<think>{WRITTEN}", '"{}'],
)
def test_no_answer_is_found_where_there_is_none(text: str) -> None:
    assert find_answer(text, NAMES) in (None, "{}")


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        '{"a":' * 200_000,
        '{"a":[' * 200_000,
        '{"' * 500_000,
        '{"a":"' * 200_000,
        "{ " * 500_000,
        '{"a":1' + " " * 1_000_000,
        '{"a":' + "9" * 1_000_000,
        "\x1b[" * 500_000,
        "\x1b]" * 500_000,
        "<think>" * 100_000,
        '{"a":0,"b":' * 2_000 + "[" + "1," * 50_000,
    ],
)
def test_hostile_output_is_read_in_a_moment(text: str) -> None:
    started = time.process_time()
    assert find_answer(text, NAMES) is None
    assert time.process_time() - started < 5.0
