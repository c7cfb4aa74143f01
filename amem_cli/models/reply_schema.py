"""The closed subset of JSON schema in which models are asked: as a grammar, and as a check.

The subset, in which `description` may be added anywhere:

- `object`: `properties`, all of them present and in order, nothing else. `required` and
  `additionalProperties` may be written but must say the same.
- `array`: `items`, `maxItems` and optional `minItems`.
- `string`: either `enum` of ASCII words, or `maxLength` with optional `minLength` and `x-sentence`.
  A string whose `minLength` is above 0 neither begins nor ends with a blank. With `x-sentence` the
  grammar writes one sentence, which begins with a letter or digit and ends at its first full stop;
  the check asks for such a beginning only.
- `number`: 0..1 with one decimal. `boolean`.

No string holds a control character, a line break, or a character that is invisible or turns the
direction of text; the grammar also writes no quote and no backslash. llama.cpp's own conversion of
schemas is not used: it ignores bounds, allows raw control characters, and falls back to no schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NoReturn, TypeAlias

from amem_cli.models.ports import AnswerRejected

MAX_TEXT_LENGTH = 2_000
MAX_ITEMS = 1_000
MAX_DEPTH = 6

_WORD = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)


# The kind and what bounds it: ("boolean",), ("number",), ("enum", words),
# ("string", shortest, longest, sentence), ("array", item, fewest, most), ("object", fields), whose
# fields are pairs of a name and a shape.
Shape: TypeAlias = "tuple[Any, ...]"


def shape_of(schema: object, depth: int = 0) -> Shape:
    """Read a schema; raises `ValueError` if it is not of the subset."""
    if not isinstance(schema, Mapping):
        raise ValueError("a schema is a mapping")
    if depth > MAX_DEPTH:
        raise ValueError("the schema is nested too deeply")
    match schema.get("type"):
        case "object":
            _only(schema, {"properties", "required", "additionalProperties"})
            properties = schema.get("properties")
            if not isinstance(properties, Mapping):
                raise ValueError("an object needs properties")
            names = _words(properties)
            if set(schema.get("required", names)) != set(names):
                raise ValueError("every property is required")
            if schema.get("additionalProperties", False) is not False:
                raise ValueError("additional properties are not of the subset")
            fields = ((name, shape_of(properties[name], depth + 1)) for name in names)
            return ("object", tuple(fields))
        case "array":
            _only(schema, {"items", "minItems", "maxItems"})
            fewest, most = _bounds(schema, "minItems", "maxItems", MAX_ITEMS)
            return ("array", shape_of(schema.get("items"), depth + 1), fewest, most)
        case "string" if "enum" in schema:
            _only(schema, {"enum"})
            return ("enum", _words(schema["enum"]))
        case "string":
            _only(schema, {"minLength", "maxLength", "x-sentence"})
            shortest, longest = _bounds(schema, "minLength", "maxLength", MAX_TEXT_LENGTH)
            sentence = schema.get("x-sentence", False)
            if not isinstance(sentence, bool):
                raise ValueError("x-sentence is true or false")
            if sentence and not 2 <= shortest < longest:
                raise ValueError("a sentence needs a minLength of 2 or more, below its maxLength")
            return ("string", shortest, longest, sentence)
        case "number" | "boolean" as kind:
            _only(schema, set())
            return (kind,)
        case other:
            raise ValueError(f"the type {other!r} is not of the subset")


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


MAX_ANSWER_CHARACTERS = 65_536

# Ranges of code points in hexadecimal: controls, soft hyphen, direction marks, line separators,
# zero-width and other invisible characters, surrogates, non-characters, tags, the private planes.
_REFUSED = (
    "0-1f 7f-9f ad 61c 180e 200b-200f 2028-202e 2060-206f d800-dfff feff fff0-ffff e0000-10ffff"
)
# Quote, backslash and variation selectors: a server may write them escaped, a grammar need not.
_UNWRITTEN = f"{_REFUSED} 22 5c fe00-fe0f"
_BLANKS = "20 a0 1680 2000-200a 202f 205f 3000"
_PUNCTUATION = "21-2f 3a-40 5b-60 7b-7e"
# Stops, and marks of code and markup: # < > [ ] _ { | }. A weak model slips into the latter and
# never comes back.
_STOPS = "21 2e 3f"
_MARKS = "23 3c 3e 5b 5d 5f 7b-7d"


def to_gbnf(schema: Mapping[str, Any]) -> str:
    """Write a schema as a grammar for llama.cpp, whose root rule is `root`.

    The JSON is on one line with one space after each comma and colon.
    """
    lines = [
        f"char ::= {_none_of(_UNWRITTEN)}",
        f"ink ::= {_none_of(_UNWRITTEN, _BLANKS)}",
    ]
    root = _rule_of(shape_of(schema), lines, {})
    return f"root ::= {root}\n" + "".join(f"{line}\n" for line in lines)


def to_json_schema(schema: Mapping[str, Any], *, bounds: bool = True) -> dict[str, Any]:
    """Write a schema for a server in strict mode: all properties required, no others.

    Without `bounds` only the descriptions tell lengths and ranges, for servers that refuse them.
    """
    return _published(shape_of(schema), schema, bounds)


def read_answer(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Read an answer that must be JSON of exactly the schema's shape, or raise `AnswerRejected`.

    Strings come back without the blanks around them, numbers as floats rounded to one decimal,
    properties in the schema's order.
    """
    answer: dict[str, Any] = _checked(_object(text), shape_of(schema), "answer")
    return answer


def read_parts(text: str, schema: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read of an answer what can be used, and say what cannot.

    One slip must not cost the rest: surplus entries of a list are left out, and so is a value of
    another type than the schema's; how long a text is and which words it uses is for the reader to
    judge. Every property is there, in the schema's order; empty if the answer does not have it.

    Raises:
        AnswerRejected: the answer is not a JSON object, too long, or about something else.
    """
    try:
        return read_answer(text, schema), ()
    except AnswerRejected:
        value = _object(text)
    shape, faults = shape_of(schema), list[str]()
    if value.keys().isdisjoint(schema["properties"]):
        raise AnswerRejected("the answer has none of the asked properties")
    parts: dict[str, Any] = _part(value, shape, "", faults)
    return parts, tuple(faults)


def _object(text: str) -> dict[str, Any]:
    """The object that a text is as JSON."""
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise AnswerRejected("the answer is too long")
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except AnswerRejected:
        raise
    except (ValueError, RecursionError):
        raise AnswerRejected("the answer is not JSON") from None
    if not isinstance(value, dict):
        raise AnswerRejected("the answer is not an object")
    return value


def _part(value: Any, shape: Shape, place: str, faults: list[str]) -> Any:
    """What of a value can be used; for a text or list at least an empty one, else maybe None."""
    match shape:
        case ["object", fields]:
            if not isinstance(value, dict):
                faults.append(f"{place} is not an object")
                return None
            found = {}
            for name, of in fields:
                within = f"{place}.{name}".lstrip(".")
                if name not in value:
                    faults.append(f"{within} is missing")
                found[name] = _part(value.get(name, _nothing(of)), of, within, faults)
            return found
        case ["array", item, _, most]:
            if not isinstance(value, list):
                faults.append(f"{place} is not a list")
                return []
            if len(value) > most:
                faults.append(f"{place} has {len(value)} items, and only {most} count")
            parts = [
                _part(each, item, f"{place}[{at}]", faults) for at, each in enumerate(value[:most])
            ]
            return [part for part in parts if part is not None]
        case ["string" | "enum", *_]:
            if isinstance(value, str) and not any(_within(sign, _REFUSED) for sign in value):
                return value.strip()
            faults.append(f"{place} is not a text on one line")
            return ""
    if value is None:
        return None
    try:
        return _checked(value, shape, place)
    except AnswerRejected as rejected:
        faults.append(str(rejected))
        return None


def _nothing(shape: Shape) -> Any:
    return {"array": [], "string": "", "enum": "", "object": {}}.get(shape[0])


def _rule_of(shape: Shape, lines: list[str], names: dict[Shape, str]) -> str:
    """The name of a shape's rule, which is added to the lines; equal shapes share one."""
    if shape not in names:
        body = _body(shape, lines, names)
        names[shape] = f"r{len(names)}"
        lines.append(f"{names[shape]} ::= {body}")
    return names[shape]


def _body(shape: Shape, lines: list[str], names: dict[Shape, str]) -> str:
    match shape:
        case ["boolean"]:
            return '"true" | "false"'
        case ["number"]:
            return '"0." [0-9] | "1.0"'
        case ["enum", words]:
            return " | ".join(f'"\\"{word}\\""' for word in words)
        case ["string", shortest, longest, True]:
            return rf'"\"" {_sentence(shortest, longest, lines)} "\""'
        case ["string", shortest, longest, _]:
            return rf'"\"" {_text_body(shortest, longest)} "\""'
        case ["array", item, fewest, most]:
            rule = _rule_of(item, lines, names)
            more = f' (", " {rule}){{{max(fewest - 1, 0)},{most - 1}}}' if most > 1 else ""
            return f'"[" {rule}{more} "]"' if fewest else f'"[" ({rule}{more})? "]"'
        case _:
            parts = [rf'"\"{name}\": " {_rule_of(of, lines, names)}' for name, of in shape[1]]
            return '"{" ' + ' ", " '.join(parts) + ' "}"'


def _sentence(shortest: int, longest: int, lines: list[str]) -> str:
    """Write two rules a position: after a letter, and after a stop, where no blank may come."""
    name = f"s{shortest}-{longest}"
    lines += [
        f"{name}-head ::= {_none_of(_UNWRITTEN, _BLANKS, _PUNCTUATION)}",
        f"{name}-plain ::= {_none_of(_UNWRITTEN, _STOPS, _MARKS)}",
        f"{name}-tight ::= {_none_of(_UNWRITTEN, _STOPS, _MARKS, _BLANKS)}",
    ]
    for used in range(1, longest):
        on = used + 1
        more = f"{name}-plain {name}-a{on} | " if on < longest else ""
        lines.append(f"{name}-a{used} ::= {more}[.!?] {name}-z{on}")
        end = '"" | ' if used >= shortest else ""
        tight = f"{name}-tight {name}-a{on} | " if on < longest else ""
        lines.append(f"{name}-z{used} ::= {end}{tight}[.!?] {name}-z{on}")
    lines.append(f'{name}-z{longest} ::= ""')
    return f"{name}-head {name}-a1"


def _text_body(shortest: int, longest: int) -> str:
    """A text that neither begins nor ends with a blank."""
    if longest == 1:
        return "ink" if shortest else "ink?"
    middle = f"char{{{max(shortest - 2, 0)},{longest - 2}}} " if longest > 2 else ""
    if shortest >= 2:
        return f"ink {middle}ink"
    nonblank = f"ink ({middle}ink)?"
    return nonblank if shortest else f"({nonblank})?"


def _none_of(*groups: str) -> str:
    ranges = sorted(pair for group in groups for pair in _ranges(group))
    return "[^" + "".join(f"\\U{low:08X}-\\U{high:08X}" for low, high in ranges) + "]"


@cache
def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    pairs = (item.partition("-") for item in text.split())
    return tuple((int(low, 16), int(high or low, 16)) for low, _, high in pairs)


def _published(shape: Shape, schema: Mapping[str, Any], bounds: bool) -> dict[str, Any]:
    body: dict[str, Any]
    notes = [schema["description"]] if "description" in schema else []
    match shape:
        case ["boolean"]:
            body = {"type": "boolean"}
        case ["number"]:
            body = {"type": "number"} | ({"minimum": 0, "maximum": 1} if bounds else {})
            notes.append("0.0 to 1.0, one decimal")
        case ["enum", words]:
            body = {"type": "string", "enum": list(words)}
        case ["string", shortest, longest, sentence]:
            limits = {"minLength": shortest, "maxLength": longest}
            body = {"type": "string"} | (limits if bounds else {})
            notes.append(f"{shortest} to {longest} characters on one line")
            notes += ["one sentence that ends with a full stop"] if sentence else []
        case ["array", item, fewest, most]:
            body = {"type": "array", "items": _published(item, schema["items"], bounds)}
            body |= {"minItems": fewest, "maxItems": most} if bounds else {}
            notes.append(f"{fewest} to {most} items")
        case _:
            of = schema["properties"]
            body = {
                "type": "object",
                "properties": {name: _published(one, of[name], bounds) for name, one in shape[1]},
                "required": [name for name, _ in shape[1]],
                "additionalProperties": False,
            }
    return body | ({"description": "; ".join(notes)} if notes else {})


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise AnswerRejected("a property is written twice")
    return record


def _no_constant(name: str) -> NoReturn:
    raise AnswerRejected(f"{name} is not a number")


def _checked(value: Any, shape: Shape, place: str) -> Any:
    match shape:
        case ["boolean"]:
            return value if isinstance(value, bool) else _reject(place, "is not true or false")
        case ["number"]:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                return _reject(place, "is not a number")
            return round(float(value), 1) if 0 <= value <= 1 else _reject(place, "is not 0 to 1")
        case ["enum", words]:
            if isinstance(value, str) and value in words:
                return value
            return _reject(place, "is not one of the words")
        case ["string", shortest, longest, sentence]:
            if not isinstance(value, str):
                return _reject(place, "is not a string")
            if any(_within(character, _REFUSED) for character in value):
                return _reject(place, "holds a character that is not allowed")
            text = value.strip()
            if not shortest <= len(text) <= longest:
                return _reject(place, f"has {len(text)} characters, not {shortest} to {longest}")
            if sentence and _within(text[0], _PUNCTUATION):
                return _reject(place, "does not begin like a sentence")
            return text
        case ["array", item, fewest, most]:
            if not isinstance(value, list):
                return _reject(place, "is not a list")
            if not fewest <= len(value) <= most:
                return _reject(place, f"has {len(value)} items, not {fewest} to {most}")
            return [_checked(one, item, f"{place}[{at}]") for at, one in enumerate(value)]
        case _:
            fields = shape[1]
            if not isinstance(value, dict) or set(value) != {name for name, _ in fields}:
                return _reject(place, "does not have exactly the asked properties")
            return {name: _checked(value[name], of, f"{place}.{name}") for name, of in fields}


def _within(character: str, ranges: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _ranges(ranges))


def _reject(place: str, reason: str) -> NoReturn:
    raise AnswerRejected(f"{place} {reason}")
