"""Links lead elsewhere and every other character stays; of a merged text no line is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.duplicates.merge_text import appended, text_beyond
from amem_cli.markdown.links import WikiLink, destination, find_links, redirected, target_span

PIECES = st.sampled_from(
    [
        "[[A]]",
        "[[ A b |c]]",
        "![[A#h]]",
        "[[A\\|t]]",
        "[x](A.md)",
        "![y](<A b.md> 'z')",
        "[x](A%20b.md#h)",
        "[C](C%23.md)",
        "\n[r]: A.md 't'",
        "\n\n[s]:\n<A b.md>\n",
        "\n- [t]: A.md\n  [u]: B.md\n\n      [[code]]\n",
        "[r]",
        "[x][s]",
        "$",
        "$$",
        "<code>",
        "</code>",
        "[[",
        "]]",
        "](",
        ")",
        "`",
        "```\n",
        "%%",
        "\n",
        "\r\n",
        "\n\n",
        "# H\n",
        "- a",
        "    ",
        "é 海",
        "#tag ",
        "|",
        "\\",
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@given(TEXTS)
def test_a_link_names_its_file_where_the_span_says(text: str) -> None:
    for link in find_links(text):
        start, end = target_span(text, link)
        assert link.start < start <= end
        # A definition may end with the name of its file.
        assert end < link.end or (link.label and end == link.end)
        if link.style == "wikilink":
            assert text[start:end] == link.target


@given(TEXTS)
def test_redirecting_changes_targets_and_nothing_else(text: str) -> None:
    assert redirected(text, lambda link: None) == text

    def same(link: WikiLink) -> str | None:
        return link.target if link.style == "wikilink" else None

    assert redirected(text, same) == text
    wanted = [link for link in find_links(text) if link.target]
    changed = redirected(text, lambda link: "New")
    found = [link for link in find_links(changed) if link.target]
    assert len(found) == len(wanted)
    assert {(link.fragment, link.embed, link.style) for link in found} == {
        (link.fragment, link.embed, link.style) for link in wanted
    }


@given(TEXTS, TEXTS)
def test_no_line_of_a_merged_text_is_lost_and_the_kept_one_stays(kept: str, other: str) -> None:
    beyond = text_beyond(kept, other)

    def lines(text: str) -> set[str]:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return {line.rstrip() for line in text.split("\n") if line.strip()}

    assert lines(other) <= lines(kept) | lines(beyond)
    assert text_beyond(kept, kept) == ""
    if not kept.count("`") and not kept.count("%%"):
        whole = appended(kept, "T", "", "", beyond)
        assert whole.startswith(kept)
        assert lines(beyond) <= lines(whole)


@pytest.mark.parametrize(
    "text",
    [
        '[r]: A.md "a title\nof two lines"\n[s]: A.md\n',
        "[r]: A.md 'it\\'s'\n[s]: A.md \"\\\"\"\n",
        "[r]:\n  A.md\n  (a\n  title)\n[s]: A.md\n",
        "[a label\nof two lines]: A.md\n[s]: A.md\n",
        "> [r\n> s]: A.md 't\n> u'\n> [s]: A.md\n",
        "Text.\n> [r]: A.md\n> [s]: A.md\n",
    ],
)
def test_definitions_are_followed_over_line_breaks(text: str) -> None:
    changed = redirected(text, lambda link: "New.md")
    assert changed == text.replace("A.md", "New.md")


@pytest.mark.parametrize("text", ["[r\n\ns]: A.md\n", "Text.\n[r]: A.md\n", "[r]: A.md 't' u\n"])
def test_what_is_no_definition_stays(text: str) -> None:
    assert redirected(text, lambda link: "New.md") == text


def test_a_label_that_is_defined_twice_is_that_of_the_first() -> None:
    text = "[r]\n\n[r]: A.md\n[r]: B.md\n"
    assert text_beyond(text, text) == ""
    assert text_beyond("x [r]\n\n[r]: B.md\n", text) == "[r][r-2]\n\n[r-2]: A.md\n[r-2]: B.md"


def test_a_link_in_the_shown_text_of_another_is_redirected_too() -> None:
    text = "[see ![[A]] now](A.md)"
    assert redirected(text, lambda link: "N" if link.style == "wikilink" else "N.md") == (
        "[see ![[N]] now](N.md)"
    )


def test_a_destination_leads_from_folder_to_folder() -> None:
    assert destination("a/b.md", "a/c.md", "x.md") == "b.md"
    assert destination("a/b.md", "c.md", "x.md") == "a/b.md"
    assert destination("b.md", "a/c/d.md", "../x.md") == "../../b.md"
    assert destination("a/b.md", "c/d.md", "/x.md") == "/a/b.md"
