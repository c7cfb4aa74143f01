"""Tags obey Obsidian's rules, and a person's spelling stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.markdown.links import (
    MAX_TAG_LENGTH,
    find_hashtags,
    is_valid_tag,
    leading_tag,
    merge_tags,
    normalise_tag,
    rewrite_hashtags,
    tag_key,
)

texts = st.one_of(st.text(), st.text(st.sampled_from("#ab1 -_/.é\u0301图🎉\u200d'\t"), max_size=80))


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("postgres", "postgres"),
        ("#postgres", "postgres"),
        ("##a", "a"),
        ("machine  learning", "machine-learning"),
        (" Databases / Postgres ", "Databases/Postgres"),
        ("a//b/", "a/b"),
        ("R & D", "R-D"),
        ("it's (done)!", "its-done"),
        ('"quoted"', "quoted"),
        ("c++", "c"),
        ("y2024", "y2024"),
        ("2024-03", "2024-03"),
        ("snake_case", "snake_case"),
        ("图书/馆", "图书/馆"),
        ("标签，后", "标签后"),
        ("🎉 party", "🎉-party"),
        ("e\u0301", "é"),
        ("a\u202eb\x00c", "abc"),
        ("\u0301a", "a"),
    ],
)
def test_a_tag_of_a_text(text: str, tag: str) -> None:
    assert normalise_tag(text) == tag


@pytest.mark.parametrize("text", ["", "#", "2024", "12", "!?", "---", "/", " ", "_/_"])
def test_a_text_that_is_no_tag(text: str) -> None:
    assert normalise_tag(text) is None


def test_a_long_tag_is_cut_between_words() -> None:
    assert normalise_tag("word " * 30) == "-".join(["word"] * 12)
    assert normalise_tag("a" * 100) == "a" * MAX_TAG_LENGTH
    assert normalise_tag("a" * 59 + "x\u0323\u0307\u0301") == "a" * 59


@pytest.mark.parametrize(
    ("tags", "valid"),
    [
        (("a", "Inbox/to-read", "y1", "_x", "图", "🎉", "1-2"), True),
        (("", "1", "#a", "a b", "a/", "/a", "a//b", "a.b", "a,b", "a\u202e"), False),
    ],
)
def test_what_is_a_tag(tags: tuple[str, ...], valid: bool) -> None:
    assert [is_valid_tag(tag) for tag in tags] == [valid] * len(tags)


def test_tags_are_compared_without_case() -> None:
    assert tag_key("Inbox/To-Read") == tag_key("#inbox/to-read")
    assert tag_key("É") == tag_key("e\u0301")
    assert tag_key("a-b") != tag_key("a_b")


def test_merging_keeps_the_existing_spelling() -> None:
    existing = ["Machine-Learning", "odd tag"]
    assert merge_tags(existing, ["machine learning", "#New", "new", "2024", ""]) == [
        *existing,
        "New",
    ]
    assert merge_tags([], []) == []
    assert merge_tags([], ["-dash", "a--b", "--", "#_x"]) == ["-dash", "a--b", "_x"]


@given(st.lists(texts, max_size=6), st.lists(texts, max_size=6))
def test_merging_again_adds_nothing(existing: list[str], added: list[str]) -> None:
    merged = merge_tags(existing, added)
    assert merged[: len(existing)] == existing
    assert merge_tags(merged, added) == merged


def test_what_cannot_be_seen_makes_no_other_tag() -> None:
    text = "#gar\u00adden and #pass\u200bword/a and #garden"
    assert find_hashtags(text) == ["garden", "password/a"]
    assert tag_key("gar\u00adden") == tag_key("#Garden")
    renamed = rewrite_hashtags(text, lambda tag: "plot" if tag == "garden" else tag)
    assert renamed == "#plot and #pass\u200bword/a and #plot"


def test_a_text_may_begin_with_a_tag() -> None:
    assert leading_tag("a/b, c") == "a/b"
    assert leading_tag("/a/ c") == "a"
    assert leading_tag("12 a") is None
