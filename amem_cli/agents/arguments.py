"""What tools take: schemas that clients are shown, and arguments held against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amem_cli.core.errors import UsageError

Schema = dict[str, Any]


def text(description: str, most: int, *, default: str | None = None, least: int = 1) -> Schema:
    """A text of `least` to `most` characters."""
    schema = {"type": "string", "description": description, "minLength": least, "maxLength": most}
    return schema if default is None else {**schema, "default": default}


def number(description: str, least: int, most: int, default: int) -> Schema:
    """A whole number; what lies outside of the bounds is taken for the nearer one."""
    bounds = {"minimum": least, "maximum": most, "default": default}
    return {"type": "integer", "description": description, **bounds}


def flag(description: str, *, default: bool) -> Schema:
    """True or false."""
    return {"type": "boolean", "description": description, "default": default}


def choice(description: str, values: Sequence[str], default: str) -> Schema:
    """One of a few words."""
    return {"type": "string", "description": description, "enum": [*values], "default": default}


def texts(description: str, items: int, characters: int) -> Schema:
    """A list of short texts."""
    item = {"type": "string", "minLength": 1, "maxLength": characters}
    return {"type": "array", "description": description, "items": item, "maxItems": items}


def arguments(required: Sequence[str], properties: Mapping[str, Schema]) -> Schema:
    """All that a tool takes."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def prepared(schema: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with their defaults, None for those that have none.

    Raises:
        UsageError: one is missing, unknown, of another kind, or too large.
    """
    properties: dict[str, Schema] = schema["properties"]
    unknown = sorted(set(given) - set(properties))
    if unknown:
        names = ", ".join(f"{name[:40]!r}" for name in unknown[:5])
        raise UsageError(f"no argument {names}", hint=f"There are: {', '.join(properties)}.")
    missing = [name for name in schema["required"] if given.get(name) is None]
    if missing:
        raise UsageError(f"the argument {missing[0]!r} is missing")
    found = {}
    for name, wanted in properties.items():
        value = given.get(name)
        found[name] = wanted.get("default") if value is None else _checked(name, wanted, value)
    return found


def _checked(name: str, wanted: Schema, value: Any) -> Any:
    if wanted["type"] == "string":
        return _checked_text(name, wanted, value)
    if wanted["type"] == "boolean":
        if not isinstance(value, bool):
            raise UsageError(f"{name!r} is not true or false")
        return value
    if wanted["type"] == "array":
        if not isinstance(value, list):
            raise UsageError(f"{name!r} is not a list")
        if len(value) > wanted["maxItems"]:
            raise UsageError(f"{name!r} may have {wanted['maxItems']} items")
        return [_checked_text(f"{name}[{at}]", wanted["items"], v) for at, v in enumerate(value)]
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole:
        raise UsageError(f"{name!r} is not a whole number")
    return max(wanted["minimum"], min(wanted["maximum"], int(value)))


def _checked_text(name: str, wanted: Schema, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name!r} is not a text")
    if "enum" in wanted and value not in wanted["enum"]:
        raise UsageError(f"no {name} {value[:40]!r}", hint=f"One of: {', '.join(wanted['enum'])}.")
    if len(value) > wanted.get("maxLength", len(value)):
        raise UsageError(f"{name!r} may have {wanted['maxLength']:,} characters")
    if len(value) < wanted.get("minLength", 0):
        raise UsageError(f"{name!r} is empty")
    if any("\ud800" <= char <= "\udfff" for char in value) or "\0" in value:
        raise UsageError(f"{name!r} holds characters that no text has")
    return value
