"""What of a note is read, and which bytes a change of its properties touches."""

from __future__ import annotations

from collections.abc import Sequence

import frontmatter
import pytest

from amem_cli.errors import HeaderRefused
from amem_cli.notes.front_matter_edit import compose_note, edit_header
from amem_cli.notes.note import Note, PropertyNames, body_bytes, parse_note
from tests.notes.front_matter_cases import EDITABLE, header


def read(text: str) -> Note:
    return parse_note("folder/Name.md", header(text))


def edited(text: str, **changes: str | Sequence[str]) -> str:
    """The header's text after an edit; what is outside must stay."""
    raw = edit_header(header(text), changes)
    assert raw.startswith(b"---\n")
    assert raw.endswith(b"---\ntext\n")
    return raw[4:-9].decode()


def test_all_fields_are_read() -> None:
    note = read(
        'id: "20260302150004"\ncreated: 2026-03-02T15:00:04\nkeywords:\n  - dead tuples\n'
        "tags: [db/postgres]\ncontext: Why?\nlinks:\n  - \"[[A|b]]\"\ntitle: '  Two\n  words '\n"
        "aliases: [C, D]\nprivate: true\n"
    )
    assert note == Note(
        path="folder/Name.md",
        id="20260302150004",
        title="Two words",
        body="text\n",
        created="2026-03-02T15:00:04",
        keywords=("dead tuples",),
        tags=("db/postgres",),
        context="Why?",
        links=("[[A|b]]",),
        aliases=("C", "D"),
        private=True,
    )


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("tags: a, b c\n", ("a", "b", "c")),
        ('tags: "#a #b/c"\n', ("a", "b/c")),
        ("tags:\n  - '#a'\n  - '##b'\n  -\n  - ~\n", ("a", "b")),
        ("tags: [2024, 1.50, yes, 2024-01-02]\n", ("2024", "1.50", "yes", "2024-01-02")),
        ("tags: #a\n", ()),
        ("tags:\n", ()),
        ("tags: 0x1F\n", ("0x1F",)),
        ("tag: b\nTags: [A, c]\ntags: [a]\n", ("a", "b", "c")),
        ("tags: |\n  a\n  b\n", ("a", "b")),
    ],
)
def test_tags_are_read_as_people_write_them(text: str, tags: tuple[str, ...]) -> None:
    assert read(text).tags == tags


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("links: [[A]]\n", ("[[A]]",)),
        ("links:\n  - [[A, b]]\n  - [[C: d#e|f]]\n", ("[[A, b]]", "[[C: d#e|f]]")),
        ('links: [[[A]], "[[B]]"]\n', ("[[A]]", "[[B]]")),
        ('links: "[[A]], [[B]]"\n', ("[[A]]", "[[B]]")),
        ("links: see [[A]]\n", ("see [[A]]",)),
        ("links: [https://example.org]\n", ("https://example.org",)),
    ],
)
def test_links_are_read_with_and_without_quotes(text: str, links: tuple[str, ...]) -> None:
    assert read(text).links == links


@pytest.mark.parametrize(
    ("text", "note_id", "created"),
    [
        ("id: 0012\ncreated: 2024-01-02\n", "0012", "2024-01-02"),
        ("id: 20240102030405\ncreated: 2024-13-45\n", "20240102030405", "2024-13-45"),
        ("id: 1e3\ncreated: '12:30'\n", "1e3", "12:30"),
        ("id:\ncreated: ~\n", None, ""),
        ("id: ' '\n", None, ""),
    ],
)
def test_numbers_and_dates_are_read_as_written(
    text: str, note_id: str | None, created: str
) -> None:
    note = read(text)
    assert (note.id, note.created) == (note_id, created)


def test_keywords_and_aliases_may_be_one_text() -> None:
    note = read("keywords: dead tuples, vacuum,\naliases: One, Two\nalias: Three\n")
    assert note.keywords == ("dead tuples", "vacuum")
    assert note.aliases == ("One", "Two", "Three")


def test_a_list_of_words_is_a_context() -> None:
    assert read("context: [a, b]\n").context == "a, b"


@pytest.mark.parametrize("title", ["title:\n", "title: ' '\n", "title: [a]\n", "other: a\n"])
def test_the_file_gives_the_title_where_the_header_does_not(title: str) -> None:
    assert read(title).title == "Name"
    assert parse_note("Name.MD", b"").title == "Name"


@pytest.mark.parametrize("text", ["id: [1]\n", "tags: {a: b}\n", "links:\n  - url: x\n"])
def test_what_cannot_be_read_is_told(text: str) -> None:
    note = read("a: 1\n" + text)
    assert (note.id, note.tags, note.links, note.refused) == (None, (), (), None)
    assert [(problem.path, problem.line) for problem in note.problems] == [("folder/Name.md", 3)]


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("private: true\n", True),
        ("Private: 'yes'\n", True),
        ("private: [x]\n", True),
        ("private: no\n", False),
        ("private:\n", False),
        ("private: 'false'\n", False),
        ("other: true\n", False),
        ("a: 1\na: 2\nprivate: true\n", True),
        ("a: @\n\"private\": 'true' # c\n", True),
        ("a: @\nprivate:\n  yes\n", True),
        ("a: @\nprivate: false # c\n", False),
        ("a: @\nb: 1\n", False),
    ],
)
def test_a_private_note_is_private_even_where_its_header_is_broken(
    text: str, private: bool
) -> None:
    assert read(text).private is private


def test_a_private_note_in_json_or_utf16_is_private() -> None:
    assert parse_note("n.md", b'{"private": true}\n').private
    assert parse_note("n.md", "---\nprivate: true\n---\n".encode("utf-16")).private


def test_mapped_names() -> None:
    names = PropertyNames(id="uid", created="born", tags="topics")
    raw = header("id: 5\ntags: [user]\nuid: x\ntopics: [mine]\nborn: 2020\n")
    note = parse_note("n.md", raw, names)
    assert (note.id, note.tags, note.created) == ("x", ("mine",), "2020")
    with pytest.raises(ValueError, match="never changes"):
        edit_header(raw, {"uid": "y"}, names)
    assert b'\nid: "6"\n' in edit_header(raw, {"id": "6"}, names)
    assert compose_note({"uid": "plain", "born": "2020-01-02"}, "", names) == (
        b'---\nuid: "plain"\nborn: 2020-01-02\n---\n'
    )


# python-frontmatter raises on the first four, and takes a longer rule for a fence.
NOT_COMPARED = (
    "names of Python",
    "names that are no strings",
    "dates",
    "body in another encoding",
    "opens with a longer rule",
)


@pytest.mark.parametrize("name", sorted(EDITABLE.keys() - set(NOT_COMPARED)))
def test_an_independent_reader_sees_the_same_note(name: str) -> None:
    raw = EDITABLE[name]
    post = frontmatter.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))
    note = parse_note("n.md", raw)
    assert note.body.replace("\r\n", "\n").strip() == post.content
    edited = edit_header(raw, {"context": "A text: so."}).decode("utf-8-sig")
    again = frontmatter.loads(edited.replace("\r\n", "\n"))
    assert again.metadata == {**post.metadata, "context": "A text: so."}
    assert again.content == post.content


@pytest.mark.parametrize(
    ("before", "tags", "after"),
    [
        ("tags:\n  - a # x\n  # y\n  - b\n", "abc", "tags:\n  - a # x\n  # y\n  - b\n  - c\n"),
        ("tags: # x\n- 'a'\n- b\n", "ac", "tags: # x\n- 'a'\n- c\n"),
        ("tags:\n    -   a\n    -   b\n", "xab", "tags:\n    - x\n    -   a\n    -   b\n"),
        ("tags:\n  - 'a'\n  - b\n", "ba", "tags:\n  - b\n  - 'a'\n"),
        ("tags:\n  - a\n  - b\nz: 1\n", "", "tags: []\nz: 1\n"),
        ("tags: # x\n  # y\n  - a\n", "", "tags: [] # x\n  # y\n"),
        ("tags: [a, 'b'] # x\n", "abc", "tags: [a, 'b', c] # x\n"),
        ("tags: [ a , 'b' ]\n", "b", "tags: ['b']\n"),
        ("tags: [\n  a, # x\n  b,\n]\n", "abc", "tags: [\n  a, # x\n  b, c,\n]\n"),
        ("tags: [] # x\n", "a", "tags: # x\n  - a\n"),
        ("tags: # x\nz: 1\n", "ab", "tags: # x\n  - a\n  - b\nz: 1\n"),
        ("tags: a, b # x\n", "ab", "tags: # x\n  - a\n  - b\n"),
        ("tags: # x\n  a, b # y\n", "a", "tags: # x # y\n  - a\n"),
        ("tags: | # x\n  a\n  b\n", "a", "tags: # x\n  - a\n"),
        ("tags: ~\n", "", "tags: []\n"),
        ("tags:\n  - a\n  -\n", "a", "tags:\n  - a\n"),
        ("'tags': [a]\n", "b", "'tags': [b]\n"),
        ("  z: 1\n", "a", "  z: 1\n  tags:\n    - a\n"),
    ],
)
def test_a_list_keeps_its_style_and_comments(before: str, tags: str, after: str) -> None:
    assert edited(before, tags=list(tags)) == after


@pytest.mark.parametrize(
    ("before", "context", "after"),
    [
        ("context: old # x\n", "new", "context: new # x\n"),
        ("context:   'old'\n", "a: b", 'context:   "a: b"\n'),
        ("context: # x\n", "new", "context: new # x\n"),
        ("context:\n  old\nz: 1\n", "new", "context:\n  new\nz: 1\n"),
        ("context: |+ # x\n  old\n\nz: 1\n", "new", "context: new # x\n\nz: 1\n"),
        ("context: old\n  words # x\n", "new", "context: new # x\n"),
        ("context: []\n", "new", "context: new\n"),
        ("context: 12\n", "12", 'context: "12"\n'),
        ("z: 1 # x\n", "A note, with (some) words.", None),
    ],
)
def test_a_text_keeps_its_place_and_comment(before: str, context: str, after: str | None) -> None:
    assert edited(before, context=context) == (after or f"{before}context: {context}\n")


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        ("tags:\n  - a # x\n  - 'b'\n", {"tags": ["a", "b"]}),
        ("tags: [a,b]\n", {"tags": ("a", "b")}),
        ("context: >-\n  a\n  b\n", {"context": "a b"}),
        ("id: 0012\n", {"id": "0012"}),
        ("created: 2024-01-02 # x\n", {"created": "2024-01-02"}),
        ("z: 1\n", {}),
    ],
)
def test_a_change_to_what_is_there_changes_nothing(
    before: str, changes: dict[str, str | Sequence[str]]
) -> None:
    raw = header(before)
    assert edit_header(raw, changes) is raw


def test_bare_links_are_quoted_when_the_list_changes() -> None:
    after = edited("links:\n  - [[A]] # x\n  - [[B]]\n", links=["[[A]]", "[[B]]", "[[C]]"])
    assert after == 'links:\n  - "[[A]]" # x\n  - "[[B]]"\n  - "[[C]]"\n'
    assert edited("links: [[A]]\n", links=["[[A]]"]) == 'links: ["[[A]]"]\n'
    assert edited("links: [[[A]]]\n", links=["[[A]]", "b"]) == 'links: ["[[A]]", b]\n'


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        ("links:\n  - url: x\n", {"links": ["[[A]]"]}),
        ("links: {a: b}\n", {"links": ["[[A]]"]}),
        ("context: [a]\n", {"context": "b"}),
        ("context:\n  a: b\n", {"context": "b"}),
        ("id: [a]\n", {"id": "b"}),
        ("tags: [ # x\n  a]\n", {"tags": ["b"]}),
        ("tags: [ # x\n]\n", {"tags": ["b"]}),
        ("tags:\n  -\n    a\n", {"tags": ["b"]}),
        ("tags:\n  - |+\n    a\n\n", {"tags": ["a\n\n", "b"]}),
        ("z: 1\n", {"context": "x" * 70_000}),
    ],
)
def test_an_edit_that_would_lose_something_is_refused(
    before: str, changes: dict[str, str | Sequence[str]]
) -> None:
    assert read(before).refused is None
    with pytest.raises(HeaderRefused) as refused:
        edit_header(header(before), changes)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Why VACUUM can't help, at first.", None),
        ("日本語 a1", None),
        ("yes", '"yes"'),
        ("Null", '"Null"'),
        ("12:30", '"12:30"'),
        ("0012", '"0012"'),
        ("1e3", '"1e3"'),
        ("2024-01-02", '"2024-01-02"'),
        ("", '""'),
        ("- a", '"- a"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ('say "x"\\', '"say \\"x\\"\\\\"'),
        ("two\nlines", '"two\\nlines"'),
        ("a ", '"a "'),
        (
            "\x00\x7f\x85\u2028\u2029\ufeff\uffff",
            '"\\u0000\\u007f\\u0085\\u2028\\u2029\\ufeff\\uffff"',
        ),
        ("{{date}} <% x", '"\\u007b{date}} \\u003c% x"'),
    ],
)
def test_a_string_is_quoted_unless_it_is_clearly_one(text: str, written: str | None) -> None:
    assert edited("", context=text) == f"context: {written or text}\n"
    assert read(edited("", context=text)).context == text


@pytest.mark.parametrize(
    ("created", "written"),
    [
        ("2026-03-02T15:00:04", "2026-03-02T15:00:04"),
        ("2026-03-02T15:00:04.5+01:00", "2026-03-02T15:00:04.5+01:00"),
        ("2026-03-02T15:00:04Z", "2026-03-02T15:00:04Z"),
        ("2026-03-02T15:00", "2026-03-02T15:00"),
        ("2026-03-02", "2026-03-02"),
        ("2026-02-30", '"2026-02-30"'),
        ("2026-03-02T15:00:04+99:00", '"2026-03-02T15:00:04+99:00"'),
        ("0000-01-01", '"0000-01-01"'),
        ("then", "then"),
    ],
)
def test_a_date_is_bare_where_it_is_one(created: str, written: str) -> None:
    assert edited("", created=created) == f"created: {written}\n"


def test_an_id_is_quoted_and_never_changes() -> None:
    assert edited("id:\n", id="a") == 'id: "a"\n'
    with pytest.raises(ValueError, match="never changes"):
        edited("id: 0012\n", id="10")


def test_half_a_character_is_refused_before_anything() -> None:
    for changes in ({"tags": ["\ud83d"]}, {"\udc00": "a"}):
        with pytest.raises(ValueError, match="Unicode"):
            edit_header(b"---\n", changes)
    with pytest.raises(ValueError, match="Unicode"):
        compose_note({}, "\ud83d")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", b"---\ntags:\n  - a\n---\n"),
        (b"One.\r\nTwo.\r\n", b"---\r\ntags:\r\n  - a\r\n---\r\nOne.\r\nTwo.\r\n"),
        (b"\xef\xbb\xbf\n# T", b"\xef\xbb\xbf---\ntags:\n  - a\n---\n\n# T"),
    ],
)
def test_a_note_without_header_is_given_one(raw: bytes, expected: bytes) -> None:
    assert edit_header(raw, {"tags": ["a"]}) == expected
    assert edit_header(raw, {}) is raw
    assert body_bytes(raw) == body_bytes(expected) == raw.removeprefix(b"\xef\xbb\xbf")


def test_a_new_note() -> None:
    body = "---\nA rule first.\r\n"
    raw = compose_note(
        {
            "id": "20260302150004",
            "created": "2026-03-02T15:00:04",
            "tags": ["a/b"],
            "keywords": [],
            "links": ["[[A]]"],
            "odd: name": "x",
        },
        body,
    )
    assert raw == (
        b'---\nid: "20260302150004"\ncreated: 2026-03-02T15:00:04\ntags:\n  - a/b\nkeywords: []\n'
        b'links:\n  - "[[A]]"\n"odd: name": x\n---\n---\nA rule first.\r\n'
    )
    assert parse_note("n.md", raw).body == body
