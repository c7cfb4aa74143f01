"""Random notes and edits: nothing but the intended properties ever changes."""

from __future__ import annotations

import json

import yaml
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.errors import HeaderRefused
from amem_cli.notes.front_matter_edit import compose_note, edit_header
from amem_cli.notes.note import LIST_FIELDS, body_bytes, parse_note
from tests.hypothesis_profiles import examples

KEPT = (
    "title: T # why",
    "aliases: [a, 'b']",
    "cssclasses:\n- x\n# between\n- y",
    "# a comment",
    "\n# below a blank line",
    "day: 2024-01-02",
    "at: 12:30",
    "code: 0012",
    "on: yes",
    "empty:",
    "spaced:   a   ",
    "literal: |\n  a\n\n  b",
    "folded: >-\n  a\n  b",
    "nested:\n  a:\n    - b: 1",
    "flow: {a: [1, 2]}",
    'long: "a\n  b"',
    "mood: \U0001f600",
    "bad: 2024-13-45",
)
OWNED = (
    "tags: [a, b] # c",
    "tags:\n  - a\n  - 'b' # c",
    "tags:\n- a\n# c\n- 2024",
    "tags:",
    "tags: a, b",
    "tags: [\n  a, # c\n  b\n]",
    "keywords: one, two words",
    "keywords: |\n  one\n  two",
    "keywords: []",
    "links: [[A]]",
    'links:\n  - [[A]]\n  - "[[B]]"',
    "context: old # c",
    "context: >\n  a\n  b",
    "context:\n  next line",
    "created: 2024-01-02",
    "id: 0012",
)
BODIES = (b"text\n", b"", b"\n\n    code\n\n", b"---\nrule\n", b"a\0b\r\nc\xff")

texts = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.sampled_from(("yes", "~", "0012", "12:30", "1e3", "- a", "# a", "[[A]]", "{{a}}", "a: b")),
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "keywords": st.lists(texts, max_size=4),
        "tags": st.lists(st.one_of(st.sampled_from("ab"), texts), max_size=4),
        "links": st.lists(texts, max_size=3),
        "context": texts,
    },
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A note, and the pieces of it that no edit may touch, in order."""
    kept = [(text, True) for text in draw(st.lists(st.sampled_from(KEPT), unique=True, max_size=5))]
    owned = draw(st.lists(st.sampled_from(OWNED), unique_by=lambda text: text[:4], max_size=4))
    parts = draw(st.permutations([*kept, *((text, False) for text in owned)]))
    ending = draw(st.sampled_from(("\n", "\r\n")))
    mark = draw(st.sampled_from((b"", b"\xef\xbb\xbf")))
    fence = f"---{ending}".encode()
    pieces = [(f"{text}\n".replace("\n", ending).encode(), stays) for text, stays in parts]
    body = draw(st.sampled_from(BODIES))
    raw = mark + fence + b"".join(piece for piece, _ in pieces) + fence + body
    return raw, [mark + fence, *(piece for piece, stays in pieces if stays), fence + body]


@examples(2.5)
@given(documents(), changes)
def test_an_edit_changes_the_properties_and_nothing_else(
    document: tuple[bytes, list[bytes]], wanted: dict[str, str | list[str]]
) -> None:
    raw, kept = document
    try:
        edited = edit_header(raw, wanted)
    except HeaderRefused as refused:
        assert "brackets" in refused.message
        return
    rest, owned = edited, b""
    for piece in kept[:-1]:
        before, found, rest = rest.partition(piece)
        assert found
        owned += before
    assert rest.endswith(kept[-1])
    owned += rest.removesuffix(kept[-1])
    loaded = yaml.safe_load(owned) or {}
    assert {name: loaded[name] for name in wanted} == wanted
    assert raw.count(b"# c") <= edited.count(b"# c") + sum(name in LIST_FIELDS for name in wanted)
    assert edit_header(edited, wanted) is edited
    assert body_bytes(edited) == body_bytes(raw)
    assert parse_note("n.md", edited).refused is None


def test_every_kind_of_character_is_written_so_that_it_is_read_back() -> None:
    points = [*range(0x800), *range(0x800, 0x110000, 1013), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF]
    letters = [chr(point) for point in points if not 0xD800 <= point < 0xE000]
    for start in range(0, len(letters), 500):
        words = [
            word
            for letter in letters[start : start + 500]
            for word in (letter, f"a{letter}", f"a {letter} b")
        ]
        block = compose_note({"keywords": words}, "")
        flow = edit_header(b"---\nkeywords: [q]\n---\n", {"keywords": ["q", *words]})
        assert yaml.safe_load(block[4:-4])["keywords"] == words, json.dumps(words)
        assert yaml.safe_load(flow[4:-4])["keywords"] == ["q", *words]
