"""A schema of `core.answer_schema` read into shapes, or refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

MAX_TEXT_LENGTH = 2_000
MAX_ITEMS = 1_000
MAX_DEPTH = 6

_WORD = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Fraction:
    """A number of 0..1 with one decimal."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some ASCII words."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A string on one line of `shortest` to `longest` characters."""

    shortest: int
    longest: int
    sentence: bool


@dataclass(frozen=True, slots=True)
class Items:
    """A list of `fewest` to `most` items of one shape."""

    item: Shape
    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class Record:
    """Named values, all present, in order."""

    fields: tuple[tuple[str, Shape], ...]


Shape: TypeAlias = "Flag | Fraction | Choice | Text | Items | Record"


def shape_of(schema: object, depth: int = 0) -> Shape:
    """Read a schema.

    Raises:
        ValueError: the schema is not of the subset.
    """
    if not isinstance(schema, Mapping):
        raise ValueError("a schema is a mapping")
    if depth > MAX_DEPTH:
        raise ValueError("the schema is nested too deeply")
    match schema.get("type"):
        case "object":
            return _record(schema, depth)
        case "array":
            _only(schema, {"items", "minItems", "maxItems"})
            fewest, most = _bounds(schema, "minItems", "maxItems", MAX_ITEMS)
            return Items(shape_of(schema.get("items"), depth + 1), fewest, most)
        case "string" if "enum" in schema:
            _only(schema, {"enum"})
            return Choice(_words(schema["enum"]))
        case "string":
            return _text(schema)
        case "number":
            _only(schema, set())
            return Fraction()
        case "boolean":
            _only(schema, set())
            return Flag()
        case other:
            raise ValueError(f"the type {other!r} is not of the subset")


def _record(schema: Mapping[str, Any], depth: int) -> Record:
    _only(schema, {"properties", "required", "additionalProperties"})
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        raise ValueError("an object needs properties")
    names = _words(properties)
    if set(schema.get("required", names)) != set(names):
        raise ValueError("every property is required")
    if schema.get("additionalProperties", False) is not False:
        raise ValueError("additional properties are not of the subset")
    return Record(tuple((name, shape_of(properties[name], depth + 1)) for name in names))


def _text(schema: Mapping[str, Any]) -> Text:
    _only(schema, {"minLength", "maxLength", "x-sentence"})
    shortest, longest = _bounds(schema, "minLength", "maxLength", MAX_TEXT_LENGTH)
    sentence = schema.get("x-sentence", False)
    if not isinstance(sentence, bool):
        raise ValueError("x-sentence is true or false")
    if sentence and not 2 <= shortest < longest:
        raise ValueError("a sentence needs a minLength of 2 or more, below its maxLength")
    return Text(shortest, longest, sentence)


def _only(schema: Mapping[str, Any], allowed: set[str]) -> None:
    unknown = sorted(str(key) for key in set(schema) - allowed - {"type", "description"})
    if unknown:
        raise ValueError(f"not of the subset: {', '.join(unknown)}")


def _bounds(schema: Mapping[str, Any], lower: str, upper: str, limit: int) -> tuple[int, int]:
    fewest, most = schema.get(lower, 0), schema.get(upper)
    if not isinstance(fewest, int) or not isinstance(most, int):
        raise ValueError(f"{lower} and {upper} must bound the value")
    if not 0 <= fewest <= most <= limit or most == 0:
        raise ValueError(f"{lower} and {upper} must bound the value, {upper} between 1 and {limit}")
    return fewest, most


def _words(words: object) -> tuple[str, ...]:
    # An empty or unusual word ends llama.cpp's process while it reads the grammar.
    found = list(words) if isinstance(words, Iterable) else []
    if not found or len(found) > MAX_ITEMS:
        raise ValueError(f"an enum or object needs 1 to {MAX_ITEMS} words")
    for word in found:
        if not isinstance(word, str) or not _WORD.fullmatch(word):
            raise ValueError("words are 1 to 32 ASCII letters, digits, '_' or '-'")
    if len(set(found)) != len(found):
        raise ValueError("a word is written twice")
    return tuple(found)
