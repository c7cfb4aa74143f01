"""Which headers may be edited, which are refused and where, and that none does harm."""

from __future__ import annotations

import pytest

from amem_cli.errors import HeaderRefused
from amem_cli.notes.front_matter import BOM, MAX_HEADER_BYTES, Header, find_fences, read_header
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.note import body_bytes, parse_note
from tests.notes.front_matter_cases import EDITABLE, HOSTILE, REFUSED, Refused, header

CHANGES = {
    "keywords": ["dead tuples", "vacuum"],
    "tags": ["databases/postgres"],
    "context": "Why VACUUM: a summary.",
    "links": ["[[Long transactions]]"],
}


def read(raw: bytes) -> Header:
    fences = find_fences(raw)
    assert fences is not None
    return read_header(raw, fences)


@pytest.mark.parametrize("raw", EDITABLE.values(), ids=EDITABLE.keys())
def test_a_sound_header_is_changed_by_new_lines_alone(raw: bytes) -> None:
    edited = edit_header(raw, CHANGES)
    assert edited.startswith(BOM) == raw.startswith(BOM)
    added = edited
    for line in raw.removeprefix(BOM).splitlines(keepends=True):
        before, found, after = added.partition(line)
        assert found
        added = before + after
    assert parse_note("n.md", raw).refused is None
    assert body_bytes(edited) == body_bytes(raw)
    assert parse_note("n.md", edited).tags == ("databases/postgres",)
    assert edit_header(edited, CHANGES) is edited
    assert b"dead tuples" in added


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_an_unsafe_header_is_refused_with_line_and_advice(case: Refused) -> None:
    with pytest.raises(HeaderRefused) as refused:
        edit_header(case.raw, CHANGES)
    assert case.reason in refused.value.message
    assert refused.value.line == case.line
    assert refused.value.hint.endswith(".")
    note = parse_note("folder/My note.md", case.raw)
    assert (note.title, note.body) == ("My note", case.body)
    assert note.refused is not None
    assert (note.refused.path, note.refused.line) == ("folder/My note.md", case.line)
    assert body_bytes(case.raw) == case.raw


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_input_is_read_or_refused(raw: bytes) -> None:
    note = parse_note("n.md", raw)
    body_bytes(raw)
    try:
        edited = edit_header(raw, {"tags": ["a"]})
    except HeaderRefused:
        assert note.refused is not None
    else:
        assert parse_note("n.md", edited).tags == ("a",)


def test_a_header_of_the_largest_size_is_read() -> None:
    text = "a: " + "x" * (MAX_HEADER_BYTES - 4) + "\n"
    assert read(header(text)).text == text
    with pytest.raises(HeaderRefused, match="too large"):
        read(header("b" + text))


def test_too_many_values_are_refused() -> None:
    with pytest.raises(HeaderRefused, match="too much"):
        read(header("a: [" + "b," * 25_000 + "]\n"))


def test_nesting_is_bounded() -> None:
    assert read(header("a: " + "[" * 14 + "]" * 14 + "\n")).entries[0].name == "a"
    with pytest.raises(HeaderRefused, match="nested too deep"):
        read(header("a: " + "[" * 16 + "]" * 16 + "\n"))


@pytest.mark.parametrize(
    ("text", "name", "start", "end"),
    [
        ("title: plain # note\n", "title", 7, 12),
        ("e:\nf: 1\n", "e", 2, 2),
        ("\U0001f600: a\nb: [c, d] \n", "b", 8, 14),
        ("a:\n- b\n- c  # d\n# e\n", "a", 3, 10),
        ("a: |\n  b\n\n\nc: 1\n", "a", 3, 8),
        ("a:\n  b: 1\n  c: 2 # d\n", "a", 5, 16),
    ],
)
def test_a_value_has_its_place(text: str, name: str, start: int, end: int) -> None:
    entry = read(header(text)).entry(name)
    assert entry is not None
    assert (entry.value.start, entry.value.end) == (start, end)


def test_tabs_in_comments_and_texts_and_at_line_ends_do_no_harm() -> None:
    text = '# a\tb\nc: "d\te"\t\nf: |\n  g\th\ni: j\t# k\tl\n'
    assert [entry.name for entry in read(header(text)).entries] == ["c", "f", "i"]
