"""Inputs that break readers: marks of markdown and YAML in any order, odd letters, any JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

MARKS = (
    "[[", "]]", "[", "]", "![[", "|", "#", "^", "(", ")", "](", "](<", '](a "', "[^1]:", "[a]: ",
    "`", "``", "```", "~~~", "%%", "<!--", "-->", "<a ", ">", "<", "\\", "*", "_", "**", "==",
    "~~", "> ", "- ", "1. ", "# ", "\n", "\n\n", "\r\n", "\t", " ", "    ", "---", "...", ": ",
    "[[A]]", "[[ A b |c]]", "![[A#h]]", "[[A\\|t]]", "[x](A%20b.md#h)",
    "![y](<A b.md> 'z')", "#tag",
    "{{", "}}", "<%", "'", '"', "&a", "!b", "? ", "@", "|-", ">-", "tags: ", "links:\n  - ",
    "a", "b.md", "Ab", "0", "12:30", "https://", "://", "javascript:", "sk-",
    "Bearer ", "con", ".md", "..", "/",
    "e\u0301", "\u0301", "é", "漢字", "かな", "한", "ـ", "\u202e", "\u200b", "\u200d", "\ufeff",
    "\u2028", "\x85", "\0", "\x1b", "\U0001f1e9", "\U0001f469\u200d\U0001f4bb", "İ", "ß", "ﬁ",
)  # fmt: skip

marked_text = st.lists(st.one_of(st.sampled_from(MARKS), st.text(max_size=4)), max_size=30).map(
    "".join
)
"""Text that is dense with marks; may hold lone surrogates, as a decoded file name does."""

valid_text = st.lists(
    st.one_of(st.sampled_from(MARKS), st.text(st.characters(codec="utf-8"), max_size=4)),
    max_size=30,
).map("".join)
"""The same without lone surrogates, as a decoded note."""

repeated_text = st.tuples(
    st.lists(st.sampled_from(MARKS), min_size=1, max_size=3).map("".join),
    st.sampled_from(("", "a", "\n", "[[", "]]", "`", "x ")),
)
"""A few marks to be repeated many times, and how such a text ends."""

note_bytes = st.one_of(
    st.binary(max_size=200),
    st.text("-: \n\r\t[]{}#'\"|>&*!?,ab0\ufeff\u2028", max_size=80).map(
        lambda header: _note(header, "\n", "body")
    ),
    st.tuples(
        st.sampled_from((b"", b"\xef\xbb\xbf", b"\n")),
        valid_text,
        st.sampled_from(("\n", "\r\n")),
        valid_text,
    ).map(lambda parts: parts[0] + _note(*parts[1:])),
)

property_changes = st.fixed_dictionaries(
    {},
    optional={
        "keywords": st.lists(valid_text, max_size=3),
        "tags": st.lists(valid_text, max_size=3),
        "links": st.lists(valid_text, max_size=3),
        "context": valid_text,
    },
)

json_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(("n1", "n2", "k1", "t1", "causes", "/tmp/xx", "../../x", "a\ud800", "x" * 300)),
)


def json_values(
    names: tuple[str, ...], *, leaves: st.SearchStrategy[Any] = json_scalars
) -> st.SearchStrategy[Any]:
    """Any JSON whose objects often have the given names."""
    keys = st.one_of(st.sampled_from(names), st.text(max_size=5))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=6)
        ),
        max_leaves=12,
    )


def records(names: tuple[str, ...], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with some of the names."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, values))


EVENT_NAMES = (
    "id", "time", "kind", "by", "note", "path", "trigger", "cause", "reason", "changes", "links",
    "splice", "model", "prompt", "calls", "seconds", "problems", "sha", "text_hash", "known",
    "extra", "colour",
)  # fmt: skip
_PART_NAMES = (
    "field", "before", "after", "target", "path", "text", "relation", "strength", "reason", "by",
    "offset", "removed", "inserted", "sha_before", "sha_after",
)  # fmt: skip

event_records = st.fixed_dictionaries(
    {
        "id": st.one_of(st.text(max_size=8), json_scalars),
        "time": st.one_of(st.sampled_from(("2026-01-01T00:00:00", "../../x")), json_scalars),
        "kind": st.one_of(st.sampled_from(("link", "evolve", "release", "undo")), json_scalars),
    },
    optional=dict.fromkeys(EVENT_NAMES[3:], json_values(_PART_NAMES)),
)

journal_lines = st.one_of(
    st.binary(max_size=60),
    event_records.map(lambda record: json.dumps(record).encode()),
    st.just(b"[" * 5000),
    st.sampled_from((b"", b"{}", b"null", b"\xff\xfe{", b'{"id": "1"', b"\0")),
)


def _note(header: str, ending: str, body: str) -> bytes:
    return f"---{ending}{header}{ending}---{ending}{body}".encode()
