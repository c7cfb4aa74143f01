"""The closed subset of JSON schema in which models are asked: as a grammar, and as a check.

The subset, in which `description` may be added anywhere:

- `object`: `properties`, all of them present and in order, nothing else.
- `array`: `items`, `maxItems` and optional `minItems`.
- `string`: either `enum` of ASCII words, or `maxLength` with optional `minLength` and `x-words`. A
  string whose `minLength` is above 0 neither begins nor ends with a blank. With `x-words` the
  grammar writes 7 to 40 of these words and a full stop; the check asks for the length only.
- `number`: 0..1 with one decimal. `boolean`.

No string holds a control character, a line break, or a character that is invisible or turns the
direction of text; the grammar also writes no quote and no backslash. llama.cpp's own conversion of
schemas is not used: it ignores bounds, allows raw control characters, and falls back to no schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NoReturn, TypeAlias

from amem_cli.models.ports import AnswerRejected

Schema: TypeAlias = Mapping[str, Any]

MAX_ANSWER_CHARACTERS = 65_536
# Any other word may end llama.cpp's process while it reads the grammar.
_WORD = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)

# Ranges of code points in hexadecimal: controls, soft hyphen, direction marks, line separators,
# zero-width and other invisible characters, surrogates, non-characters, tags, the private planes.
_REFUSED = (
    "0-1f 7f-9f ad 61c 180e 200b-200f 2028-202e 2060-206f d800-dfff feff fff0-ffff e0000-10ffff"
)
# Quote, backslash and variation selectors: a server may write them escaped, a grammar need not.
_UNWRITTEN = f"{_REFUSED} 22 5c fe00-fe0f"
_BLANKS = "20 a0 1680 2000-200a 202f 205f 3000"


def to_gbnf(schema: Schema) -> str:
    """Write a schema as a grammar for llama.cpp, whose root rule is `root`.

    The JSON is on one line with one space after each comma and colon. Raises `ValueError` for a
    schema that is not of the subset.
    """
    lines = [
        f"char ::= {_none_of(_UNWRITTEN)}",
        f"ink ::= {_none_of(_UNWRITTEN, _BLANKS)}",
    ]
    root = _rule_of(schema, lines, {})
    return f"root ::= {root}\n" + "".join(f"{line}\n" for line in lines)


def to_json_schema(schema: Schema, *, bounds: bool = True) -> dict[str, Any]:
    """Write a schema for a server in strict mode: all properties required, no others.

    Without `bounds` only the descriptions tell lengths and ranges, for servers that refuse them.
    """
    notes = [schema["description"]] if "description" in schema else []
    body: dict[str, Any] = {"type": schema["type"]}
    limits: dict[str, Any] = {}
    match schema["type"]:
        case "number":
            limits = {"minimum": 0, "maximum": 1}
            notes.append("0.0 to 1.0, one decimal")
        case "string" if "enum" in schema:
            body["enum"] = schema["enum"]
        case "string":
            fewest, most = _lengths(schema)
            limits = {"minLength": fewest, "maxLength": most}
            notes.append(f"{fewest} to {most} characters on one line")
        case "array":
            fewest, most = _lengths(schema)
            limits = {"minItems": fewest, "maxItems": most}
            body["items"] = to_json_schema(schema["items"], bounds=bounds)
            notes.append(f"{fewest} to {most} items")
        case "object":
            of = schema["properties"]
            body["properties"] = {
                name: to_json_schema(one, bounds=bounds) for name, one in of.items()
            }
            body |= {"required": list(of), "additionalProperties": False}
    if bounds:
        body |= limits
    return body | ({"description": "; ".join(notes)} if notes else {})


def read_answer(text: str, schema: Schema) -> dict[str, Any]:
    """Read an answer that must be JSON of exactly the schema's shape, or raise `AnswerRejected`.

    Strings come back without the blanks around them, numbers as floats rounded to one decimal,
    properties in the schema's order.
    """
    answer: dict[str, Any] = _read(_object(text), schema, "", None)
    return answer


def read_parts(text: str, schema: Schema) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read of an answer what can be used, and say what cannot.

    One slip must not cost the rest: surplus entries of a list are left out, and so is a value of
    another type than the schema's; how long a text is and which words it uses is for the reader to
    judge. Every property is there, in the schema's order; empty if the answer does not have it.

    Raises:
        AnswerRejected: the answer is not a JSON object, too long, or about something else.
    """
    value, faults = _object(text), list[str]()
    if value.keys().isdisjoint(schema["properties"]):
        raise AnswerRejected("the answer has none of the asked properties")
    parts: dict[str, Any] = _read(value, schema, "", faults)
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


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise AnswerRejected("a property is written twice")
    return record


def _no_constant(name: str) -> NoReturn:
    raise AnswerRejected(f"{name} is not a number")


# In place of what an answer does not have.
_NOTHING: dict[str, Any] = {"array": [], "string": "", "object": {}}


def _read(value: Any, schema: Schema, place: str, faults: list[str] | None) -> Any:
    """A value as its schema wants it; for a text or list at least an empty one, else maybe None.

    Args:
        faults: gets what cannot be used; None: everything must be of the schema, or
            `AnswerRejected` is raised.
    """
    strict = faults is None

    def fault(reason: str) -> None:
        said = f"{place or 'the answer'} {reason}"
        if faults is None:
            raise AnswerRejected(said)
        faults.append(said)

    match schema["type"]:
        case "object":
            properties = schema["properties"]
            if not isinstance(value, dict):
                fault("is not an object")
                return None
            if strict and value.keys() != properties.keys():
                fault("does not have exactly the asked properties")
            found = {}
            for name, of in properties.items():
                within = f"{place}.{name}".lstrip(".")
                if name not in value and faults is not None:
                    faults.append(f"{within} is missing")
                part = value.get(name, _NOTHING.get(of["type"]))
                found[name] = _read(part, of, within, faults)
            return found
        case "array":
            fewest, most = _lengths(schema)
            if not isinstance(value, list):
                fault("is not a list")
                return []
            if len(value) > most:
                fault(f"has {len(value)} items, and only {most} count")
            if strict and len(value) < fewest:
                fault(f"has {len(value)} items, not {fewest} to {most}")
            parts = [
                _read(each, schema["items"], f"{place}[{at}]", faults)
                for at, each in enumerate(value[:most])
            ]
            return [part for part in parts if part is not None]
        case "string":
            if not isinstance(value, str) or any(_within(sign, _REFUSED) for sign in value):
                fault("is not a text on one line")
                return ""
            text = value.strip()
            if strict and (reason := _unfitness(text, schema)):
                fault(reason)
            return text
        case "number":
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and 0 <= value <= 1:
                return round(float(value), 1)
        case "boolean" if isinstance(value, bool):
            return value
    if strict or value is not None:
        fault("is not 0 to 1" if schema["type"] == "number" else "is not true or false")
    return None


def _unfitness(text: str, schema: Schema) -> str:
    """Why a text is not of its schema; empty if it is."""
    if "enum" in schema:
        return "" if text in schema["enum"] else "is not one of the words"
    fewest, most = _lengths(schema)
    fits = fewest <= len(text) <= most
    return "" if fits else f"has {len(text)} characters, not {fewest} to {most}"


def _lengths(schema: Schema) -> tuple[int, int]:
    """The least and the greatest length of a text or list."""
    what = "Items" if schema["type"] == "array" else "Length"
    return schema.get(f"min{what}", 0), schema[f"max{what}"]


def _rule_of(schema: Schema, lines: list[str], names: dict[str, str]) -> str:
    """The name of a schema's rule, which is added to the lines; equal schemas share one."""
    key = json.dumps(schema, sort_keys=True)
    if key not in names:
        body = _body(schema, lines, names)
        names[key] = f"r{len(names)}"
        lines.append(f"{names[key]} ::= {body}")
    return names[key]


def _body(schema: Schema, lines: list[str], names: dict[str, str]) -> str:
    match schema.get("type"):
        case "boolean":
            return '"true" | "false"'
        case "number":
            return '"0." [0-9] | "1.0"'
        case "string" if "enum" in schema:
            return " | ".join(f'"\\"{_word(word)}\\""' for word in schema["enum"])
        case "string":
            return rf'"\"" {_text_body(schema, lines)} "\""'
        case "array":
            fewest, most = _lengths(schema)
            rule = _rule_of(schema["items"], lines, names)
            more = f' (", " {rule}){{{max(fewest - 1, 0)},{most - 1}}}' if most > 1 else ""
            return f'"[" {rule}{more} "]"' if fewest else f'"[" ({rule}{more})? "]"'
        case "object":
            parts = [
                rf'"\"{_word(name)}\": " {_rule_of(of, lines, names)}'
                for name, of in schema["properties"].items()
            ]
            return '"{" ' + ' ", " '.join(parts) + ' "}"'
    raise ValueError(f"the type {schema.get('type')!r} is not of the subset")


def _word(word: str) -> str:
    if not _WORD.fullmatch(word):
        raise ValueError("words are 1 to 32 ASCII letters, digits, '_' or '-'")
    return word


def _text_body(schema: Schema, lines: list[str]) -> str:
    """Some of certain words, or a text that neither begins nor ends with a blank."""
    if "x-words" in schema:
        name = f"w{len(lines)}"
        lines.append(f"{name} ::= {' | '.join(map(_literal, schema['x-words']))}")
        return rf'{name} ([,;:]? " " {name}){{6,39}} "."'
    shortest, longest = _lengths(schema)
    if longest == 1:
        return "ink" if shortest else "ink?"
    middle = f"char{{{max(shortest - 2, 0)},{longest - 2}}} " if longest > 2 else ""
    if shortest >= 2:
        return f"ink {middle}ink"
    nonblank = f"ink ({middle}ink)?"
    return nonblank if shortest else f"({nonblank})?"


def _literal(word: str) -> str:
    """A word in which nothing is read as the grammar's own; what it may not write is left out."""
    written = (sign for sign in word if not _within(sign, _UNWRITTEN))
    return '"' + "".join(f"\\U{ord(sign):08X}" for sign in written) + '"'


def _none_of(*groups: str) -> str:
    ranges = sorted(pair for group in groups for pair in _ranges(group))
    return "[^" + "".join(f"\\U{low:08X}-\\U{high:08X}" for low, high in ranges) + "]"


@cache
def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    pairs = (item.partition("-") for item in text.split())
    return tuple((int(low, 16), int(high or low, 16)) for low, _, high in pairs)


def _within(character: str, ranges: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _ranges(ranges))
