"""Headings of both kinds are those that CommonMark has."""

from __future__ import annotations

import pytest

from amem_cli.duplicates.compare import without_title
from amem_cli.duplicates.merge_text import text_beyond
from amem_cli.markdown.outline import heading_named, headings
from amem_cli.markdown.sentences import only_sentences
from amem_cli.notes.names import title_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Title\n===\n\nPart\n---\n", [(1, "Title"), (2, "Part")]),
        ("Title\r\n=\r\ntext\r\n", [(1, "Title")]),
        ("  Title *one*\n  --  \n", [(2, "Title one")]),
        ("Two\nlines\n===", [(1, "Two lines")]),
        ("`code`\n===\n", [(1, "code")]),
        ("`a\n---\nb`\n", [(2, "`a")]),
        ("# One\nTwo\n---\n### Three\n", [(1, "One"), (2, "Two"), (3, "Three")]),
        ("a\n===\nb\n---\n---\nc\n", [(1, "a"), (2, "b")]),
        ("- item\n\nTitle\n---\n", [(2, "Title")]),
        ("```\nx\n```\nTitle\n---\n", [(2, "Title")]),
        # Rules, and text that is not underlined.
        ("text\n\n---\n\n===\n", []),
        ("- item\n---\n", []),
        ("- item\nstill the item\n---\n", []),
        ("- item\n\n  its second paragraph\n---\n", []),
        ("1. item\n---\n", []),
        ("> quote\n---\n", []),
        ("> quote\ngoes on\n---\n", []),
        ("# Title\n---\n", [(1, "Title")]),
        ("***\n---\n", []),
        ("text\n= =\ntext\n--- -\n", []),
        ("text\n    ---\n", []),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n---\n", []),
        ("a | b\n--- | ---\n1 | 2\n---\n", []),
        ("[site]: https://example.org\n---\n", []),
        ("<div>\ntext\n---\n", []),
        ("```\nTitle\n===\n```\n", []),
        ("    Title\n===\n", []),
        ("$$\na\n=\nb\n$$\n", []),
        ("%%\nTitle\n===\n%%\n", []),
        # Properties that cannot be read are no heading.
        ("---\na: [\n---\ntext\n", []),
    ],
)
def test_headings_of_a_text(text: str, found: list[tuple[int, str]]) -> None:
    assert [(each.level, each.text) for each in headings(text)] == found


@pytest.mark.parametrize(
    ("written", "fragment"),
    [
        ("**Two** `parts`", "Two parts"),
        ("**Two** `parts`", "**Two** parts"),
        ("**Two** `parts`", "two-parts"),
        ("[[Rye|shown]] again", "Rye shown again"),
        ("[site](https://x.org) again", "site https x.org again"),
        ("~~Old~~ ==new== $x^2$", "~~Old~~ ==new== $x 2$"),
        ("Why? Because, he said.", "Why Because he said"),
        ("What's new: v1.2 (beta)", "whats-new-v12-beta"),
        ("Part^[1] [^1]", "Part 1 1"),
        ("Caf\u00e9", "Cafe\u0301"),
    ],
)
def test_a_link_names_a_heading_in_any_of_the_ways_that_programs_do(
    written: str, fragment: str
) -> None:
    outline = headings(f"# Other\n## {written}\n### ???\n")
    found = heading_named(outline, fragment)
    assert found is not None
    assert found.written == written
    assert heading_named(outline, f"Other#{fragment}") == found
    assert heading_named(outline, "!!!") is None


def test_the_heading_that_is_named_just_so_comes_first() -> None:
    outline = headings("# C++\n# C\n")
    assert heading_named(outline, "C") == outline[1]


def test_a_section_reaches_from_one_heading_to_the_next() -> None:
    text = "Title\n===\nintro\n\nPart one\n---\nfirst\n# Two\nsecond\n"
    slices = [
        (text[each.start : each.end], text[each.start : each.section_end])
        for each in headings(text)
    ]
    assert slices == [
        ("Title\n===", "Title\n===\nintro\n\nPart one\n---\nfirst\n"),
        ("Part one\n---", "Part one\n---\nfirst\n"),
        ("# Two", "# Two\nsecond\n"),
    ]


def test_an_underlined_title_is_a_title_everywhere() -> None:
    text = "Walrus notes\n============\nThey haul out on the ice floes.\n"
    assert title_of(f"Seen today.\n\n{text}") == title_of(text) == "Walrus notes"
    assert without_title(text, ("Walrus notes",)) == "They haul out on the ice floes.\n"
    assert only_sentences(text).split() == ["They", "haul", "out", "on", "the", "ice", "floes."]
    more = "Walrus notes\n===\n\nFood\n---\n\nClams.\n\nRest\n---\n\nOn ice.\n"
    beyond = text_beyond("Walrus notes\n===\n\nFood\n---\n\nClams.\n", more)
    assert beyond == "Walrus notes\n===\n\nRest\n---\n\nOn ice."
