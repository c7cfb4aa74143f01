"""The schema subset: what it refuses, what its grammar and JSON schema say, what its check does."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.models.ports import AnswerRejected
from amem_cli.models.reply_schema import (
    read_answer,
    read_parts,
    to_gbnf,
    to_json_schema,
)
from tests.fakes.language_model import random_value
from tests.fuzz.strategies import json_values
from tests.hypothesis_profiles import examples

jsonschema = pytest.importorskip("jsonschema")

WORD = {"type": "string", "minLength": 2, "maxLength": 12}
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "keywords": {"type": "array", "items": WORD, "minItems": 1, "maxItems": 3},
        "context": {"type": "string", "minLength": 4, "maxLength": 40},
        "relation": {"type": "string", "enum": ["related", "part_of"]},
        "strength": {"type": "number"},
        "sure": {"type": "boolean"},
    },
}
GOOD: dict[str, Any] = {
    "keywords": ["rye", "bread"],
    "context": "How to bake bread.",
    "relation": "part_of",
    "strength": 0.7,
    "sure": True,
}

LEAVES = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "number"}),
    st.lists(st.from_regex(r"\A[A-Za-z0-9_-]{1,32}\Z"), min_size=1, max_size=4, unique=True).map(
        lambda words: {"type": "string", "enum": words}
    ),
    st.tuples(st.integers(0, 5), st.integers(1, 9)).map(
        lambda size: {"type": "string", "minLength": size[0], "maxLength": size[0] + size[1]}
    ),
)


def objects(values: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.from_regex(r"\A[a-z_]{1,8}\Z"), values, min_size=1, max_size=4).map(
        lambda properties: {"type": "object", "properties": properties}
    )


def lists(values: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(values, st.integers(0, 2), st.integers(1, 2)).map(
        lambda made: {
            "type": "array",
            "items": made[0],
            "minItems": made[1],
            "maxItems": made[1] + made[2],
        }
    )


SCHEMAS = objects(
    st.recursive(LEAVES, lambda inner: st.one_of(objects(inner), lists(inner)), max_leaves=4)
)


@given(SCHEMAS, st.integers())
def test_an_answer_of_the_shape_is_accepted_unchanged(schema: dict[str, Any], seed: int) -> None:
    value = random_value(schema, random.Random(seed))

    assert read_answer(json.dumps(value, ensure_ascii=False), schema) == value
    assert read_answer(json.dumps(value), schema) == value
    assert read_parts(json.dumps(value), schema) == (value, ())


@given(SCHEMAS, st.integers())
def test_the_published_schema_means_the_same(schema: dict[str, Any], seed: int) -> None:
    value = random_value(schema, random.Random(seed))

    for bounds in (True, False):
        published = to_json_schema(schema, bounds=bounds)
        jsonschema.Draft202012Validator.check_schema(published)
        jsonschema.validate(value, published)
        assert published["required"] == list(schema["properties"])
        assert published["additionalProperties"] is False


@given(SCHEMAS, st.integers(), st.data())
@examples(3)
def test_a_mutated_answer_is_read_or_rejected_and_never_crashes(
    schema: dict[str, Any], seed: int, data: st.DataObject
) -> None:
    text = json.dumps(random_value(schema, random.Random(seed)), ensure_ascii=False)
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 5))
    new = data.draw(
        st.text(max_size=5) | st.sampled_from(['"', "{", "]", "NaN", "\\ud800", "1e999"])
    )
    mutated = text[:at] + new + text[at + cut :]

    try:
        answer = read_answer(mutated, schema)
    except AnswerRejected as error:
        assert "\n" not in str(error)
    else:
        assert read_answer(json.dumps(answer), schema) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "I cannot do that.",
        "```json\n{}\n```",
        json.dumps(GOOD) + " {}",
        json.dumps(GOOD)[:-1],
        json.dumps(GOOD)[:-1] + ', "sure": true}',
        json.dumps(GOOD | {"extra": 1}),
        json.dumps({key: GOOD[key] for key in GOOD if key != "sure"}),
        json.dumps(GOOD | {"keywords": []}),
        json.dumps(GOOD | {"keywords": ["a"]}),
        json.dumps(GOOD | {"keywords": ["  a  "]}),
        json.dumps(GOOD | {"keywords": ["rye"] * 4}),
        json.dumps(GOOD | {"keywords": ["x" * 13]}),
        json.dumps(GOOD | {"keywords": "rye"}),
        json.dumps(GOOD | {"keywords": [["rye"]]}),
        json.dumps(GOOD | {"context": "two\nlines."}),
        json.dumps(GOOD | {"context": "a \x7f delete."}),
        json.dumps(GOOD | {"context": "a \u202e turn."}),
        json.dumps(GOOD | {"context": "a \u200b gap."}),
        json.dumps(GOOD | {"context": "a \ud800 half."}),
        json.dumps(GOOD, ensure_ascii=False).replace("How to", "How\tto"),
        json.dumps(GOOD | {"relation": "causes"}),
        json.dumps(GOOD | {"relation": ["part_of"]}),
        json.dumps(GOOD | {"strength": 1.1}),
        json.dumps(GOOD | {"strength": -0.1}),
        json.dumps(GOOD | {"strength": True}),
        json.dumps(GOOD | {"strength": "0.7"}),
        json.dumps(GOOD | {"strength": 10**400}),
        json.dumps(GOOD | {"strength": float("nan")}),
        json.dumps(GOOD | {"strength": float("inf")}),
        json.dumps(GOOD).replace("0.7", "1e999"),
        json.dumps(GOOD).replace("0.7", "9" * 10_000),
        json.dumps(GOOD | {"sure": 1}),
        "[" * 60_000,
        '{"keywords":' * 5_000,
        " " * 70_000 + json.dumps(GOOD),
    ],
)
def test_an_answer_of_another_shape_is_rejected(text: str) -> None:
    with pytest.raises(AnswerRejected):
        read_answer(text, NOTE)


def test_blanks_around_texts_and_second_decimals_are_put_right() -> None:
    text = json.dumps(GOOD | {"context": "  Bread.  ", "strength": 0.74})

    assert read_answer(f"\n {text} \n", NOTE) == GOOD | {"context": "Bread.", "strength": 0.7}


def test_properties_come_back_in_the_order_of_the_schema() -> None:
    text = json.dumps(dict(reversed(GOOD.items())))

    assert list(read_answer(text, NOTE)) == list(NOTE["properties"])


@pytest.mark.parametrize(
    "leaf",
    [
        {"type": "integer"},
        {"$ref": "#/x"},
        {"type": "string", "enum": ['a"b']},
        {"type": "string", "enum": [""]},
        {"type": "object", "properties": {"a b": {"type": "boolean"}}},
    ],
)
def test_no_grammar_is_written_for_a_schema_outside_the_subset(leaf: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"subset|words"):
        to_gbnf({"type": "object", "properties": {"leaf": leaf}})


def test_the_grammar_writes_properties_in_order_with_fixed_blanks() -> None:
    schema = {
        "type": "object",
        "properties": {
            "sure": {"type": "boolean"},
            "ids": {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["n1"]}},
        },
    }
    lines = to_gbnf(schema).splitlines()

    assert r'r3 ::= "{" "\"sure\": " r0 ", " "\"ids\": " r2 "}"' in lines
    assert 'r2 ::= "[" (r1 (", " r1){0,1})? "]"' in lines
    assert r'r1 ::= "\"n1\""' in lines
    assert lines[0] == "root ::= r3"


def test_equal_parts_of_a_grammar_are_written_once() -> None:
    schema = {"type": "object", "properties": {"a": WORD, "b": WORD, "c": WORD}}

    assert to_gbnf(schema).count("{0,10}") == 1


@given(SCHEMAS, st.data())
@examples(3)
def test_of_any_json_the_parts_of_the_right_type_are_read(
    schema: dict[str, Any], data: st.DataObject
) -> None:
    value = data.draw(json_values(tuple(schema["properties"])))
    try:
        parts, faults = read_parts(json.dumps(value), schema)
    except AnswerRejected as rejected:
        assert str(rejected).isprintable()
        return
    assert list(parts) == list(schema["properties"])
    assert all(fault.isprintable() for fault in faults)
    for name, of in schema["properties"].items():
        if of["type"] == "array":
            assert len(parts[name]) <= of["maxItems"]
        elif of["type"] == "string":
            assert isinstance(parts[name], str)


def test_a_slip_costs_only_itself() -> None:
    items = {"type": "object", "properties": {"note": {"type": "string", "maxLength": 9}}}
    schema = {
        "type": "object",
        "properties": {
            "context": {"type": "string", "maxLength": 9},
            "links": {"type": "array", "items": items, "maxItems": 2},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 2},
        },
    }
    said = {"context": "x" * 20, "links": [{"note": "n1"}, "n2", {"note": "n3"}], "more": 1}
    assert read_parts(json.dumps(said), schema) == (
        {"context": "x" * 20, "links": [{"note": "n1"}], "tags": []},
        ("links has 3 items, and only 2 count", "links[1] is not an object", "tags is missing"),
    )
