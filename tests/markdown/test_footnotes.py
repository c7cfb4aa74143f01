"""Footnotes of two texts that come to stand in one note still lead each to their own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.duplicates.merge_text import text_beyond
from amem_cli.markdown.footnotes import find_footnotes, with_own_footnotes

KEPT = "First claim.[^1]\n\n[^1]: First source.\n"


@pytest.mark.parametrize(
    ("kept", "other", "beyond"),
    [
        (
            KEPT,
            "Second claim.[^1] Again.[^1]\n\n[^1]: Second source.\n",
            "Second claim.[^2] Again.[^2]\n\n[^2]: Second source.",
        ),
        # The same source is the same footnote, whatever its label.
        (KEPT, "Second claim.[^1]\n\n[^1]: First source.  \n", "Second claim.[^1]"),
        (
            KEPT,
            "Zeroth.[^1]\n\nFirst claim.[^2]\n\n[^1]: New source.\n[^2]: First source.\n",
            "Zeroth.[^3]\n\n[^3]: New source.",
        ),
        # Labels are compared without regard to case and need not be numbers.
        (
            "A.[^Note] B.[^note-2]\n\n[^Note]: One.\n[^note-2]: Two.\n",
            "C.[^note]\n\n[^note]: Three.\n",
            "C.[^note-3]\n\n[^note-3]: Three.",
        ),
        # What has no text in its own note gets none from the other.
        (KEPT, "Unfinished.[^1]\n", "Unfinished.[^2]"),
        ("Unfinished.[^1]\n", "Claim.[^1]\n\n[^1]: Source.", "Claim.[^2]\n\n[^2]: Source."),
        # Brackets that are no footnotes.
        (
            KEPT,
            "```\n[^1]: x\n```\n\nSee `[^1]`, \\[^1], [[^1]] and [^1].\n\n[^1]: S.\n",
            "```\n[^1]: x\n```\n\nSee `[^1]`, \\[^1], [[^1]] and [^2].\n\n[^2]: S.",
        ),
        ("Not [^a-z].\n", "Not [^a-z] either.\n", "Not [^a-z] either."),
        (
            KEPT,
            "$x[^1]$, [here](a/[^1]) and $5.[^1]\n\n$$\ny[^1]\n$$\n\n[^1]: S.\n",
            "$x[^1]$, [here](a/[^1]) and $5.[^2]\n\n$$\ny[^1]\n$$\n\n[^2]: S.",
        ),
        (
            KEPT,
            "$5.[^1] or US$6,[^1] and $$ 7.[^1]\n\n[^1]: $$ is dollars.\n",
            "$5.[^2] or US$6,[^2] and $$ 7.[^2]\n\n[^2]: $$ is dollars.",
        ),
        (KEPT, "A backslash \\\\[^1]\n\n[^1]: S.\n", "A backslash \\\\[^2]\n\n[^2]: S."),
        # A footnote of several paragraphs is one, and so is one that names another.
        (
            "A.[^1]\n\n[^1]: Same.\n\n    Below.\n",
            "B.[^1]\n\n[^1]: Same.\n\n    Other.\n\n    Below.\n\nEnd.\n",
            "B.[^2]\n\n[^2]: Same.\n\n    Other.\n\n    Below.\n\nEnd.",
        ),
        (
            "A.[^a]\n\n[^a]: See [^b].\n\n[^b]: One.\n",
            "B.[^a]\n\n[^a]: See [^b].\n\n[^b]: Two.\n",
            "B.[^a-2]\n\n[^a-2]: See [^b-2].\n\n[^b-2]: Two.",
        ),
        (KEPT, "> Quoted.[^1]\n>\n> [^1]: Else.\n", "> Quoted.[^2]\n>\n\n> [^2]: Else."),
        ("A.[^1]\r\n\r\n[^1]: One.\r\n", "B.[^1]\r\n\r\n[^1]: Two.\r\n", "B.[^2]\n\n[^2]: Two."),
    ],
)
def test_each_reference_still_leads_to_its_own_text(kept: str, other: str, beyond: str) -> None:
    assert text_beyond(kept, other) == beyond


def test_of_definitions_below_one_another_only_the_new_one_comes() -> None:
    kept = "A.[^1]\n\n[^1]: One.\n[^2]: Two.\n"
    other = "B.[^2] C.[^4]\n\n[^2]: Two.\n[^4]: Four.\n"
    assert text_beyond(kept, other) == "B.[^2] C.[^4]\n\n[^4]: Four."


PIECES = st.sampled_from(
    [
        "[^1]",
        "[^2]",
        "[^a]",
        "[^A]: ",
        "\n[^1]: ",
        "\n[^2]: x",
        "\n\n",
        "    in",
        "w",
        "\n# H\n",
        "$",
        "$$",
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS, TEXTS)
def test_only_labels_change_and_no_footnote_gets_the_text_of_another(kept: str, other: str) -> None:
    fresh = with_own_footnotes(other, kept)
    assert re.sub(r"\[\^[^\]]*\]", "", fresh) == re.sub(r"\[\^[^\]]*\]", "", other)
    assert with_own_footnotes(kept, kept).casefold() == kept.casefold()
    assert text_beyond(kept, kept) == ""
    ours = {each.label: each.content for each in reversed(find_footnotes(kept))}
    for each in find_footnotes(fresh):
        if each.label in ours and "[^" not in each.content:
            same = [one.content for one in find_footnotes(fresh) if one.label == each.label]
            assert ours[each.label] in same
