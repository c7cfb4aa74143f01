"""What may stand in a Base, as help.obsidian.md lists it (Bases: Syntax, Functions)."""

from __future__ import annotations

import re
from typing import Any

_KEYS = {
    "": {"filters", "formulas", "properties", "summaries", "views"},
    "view": {"type", "name", "limit", "filters", "groupBy", "order", "sort", "summaries"},
}
_TYPES = {"table", "cards", "list", "map"}
_FILE_FIELDS = {"backlinks", "basename", "ctime", "embeds", "ext", "folder", "links", "mtime"}
_FILE_FIELDS |= {"name", "path", "properties", "size", "tags"}
_FUNCTIONS = {"contains", "containsAny", "hasLink", "hasProperty", "hasTag", "inFolder", "isEmpty"}
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_PROPERTY = re.compile(r"(?:file\.(\w+)|note\.[\w-]+|formula\.\w+)")


def check_base(base: dict[str, Any]) -> None:
    """Raise AssertionError for a key, property or function that Bases do not have."""
    assert set(base) <= _KEYS[""]
    _check_filters(base.get("filters", []))
    for name in base.get("properties", {}):
        _check_property(name)
    for view in base["views"]:
        assert set(view) <= _KEYS["view"]
        assert view["type"] in _TYPES and isinstance(view["name"], str)
        _check_filters(view.get("filters", []))
        for name in (*view.get("order", ()), *(each["property"] for each in view.get("sort", ()))):
            _check_property(name)
        assert {each["direction"] for each in view.get("sort", ())} <= {"ASC", "DESC"}
    names = [view["name"] for view in base["views"]]
    assert len(names) == len(set(names))


def _check_property(name: str) -> None:
    match = _PROPERTY.fullmatch(name)
    assert match and (match[1] is None or match[1] in _FILE_FIELDS), name


def _check_filters(filters: Any) -> None:
    if isinstance(filters, str):
        plain = _TEXT.sub('""', filters)
        for name, is_call in re.findall(r"\.(\w+)(\()?", plain):
            assert name in (_FUNCTIONS if is_call else _FILE_FIELDS), filters
        assert plain.count("(") == plain.count(")") and plain.count("[") == plain.count("]")
        return
    if isinstance(filters, dict):
        ((kind, filters),) = filters.items()
        assert kind in ("and", "or", "not")
    for each in filters:
        _check_filters(each)
