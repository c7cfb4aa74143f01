"""What a model's text becomes before it is kept, and a note's text before it is shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.language.words import subject_stems
from amem_cli.models.prompt_text import (
    clean_line,
    numbers_in,
    quote_as_data,
    quote_line,
    repeats_itself,
    texts_of,
)

TROUBLE = st.text(
    alphabet=st.one_of(
        st.sampled_from(list("-[]{}<>%:/\"'`*#|\\\n\r\t \u202e\u200b\u2028\x00\x1b\x85\ufeff")),
        st.characters(),
    ),
    max_size=300,
)
SHOWS_NOTHING = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(TROUBLE)
def test_a_clean_line_is_one_harmless_line(text: str) -> None:
    line = clean_line(text, 120)
    if line is None:
        return
    assert 0 < len(line) <= 120
    assert line == line.strip()
    assert not any(mark in line for mark in ("[[", "]]", "{{", "}}", "---", "%%", "<", ">"))
    assert not any(unicodedata.category(character) in SHOWS_NOTHING for character in line)
    assert clean_line(line, 120) == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "\u200b\u202e",
        "a --- b",
        "-\u200b-\u200b-",
        "see [[Note]]",
        "{{date}}",
        "<b>x</b>",
    ],
)
def test_markup_and_nothing_are_refused(text: str) -> None:
    assert clean_line(text, 100) is None


def test_a_line_that_is_too_long_is_refused_and_not_cut() -> None:
    assert clean_line("word " * 30, 100) is None
    assert clean_line("word " * 20, 100) == "word " * 19 + "word"


def test_line_breaks_and_emphasis_go() -> None:
    assert clean_line("The **dead**\ntuples\tof `jobs`", 100) == "The dead tuples of jobs"


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "<|endoftext|>",
        "</s>",
        "<<SYS>>",
        "<start_of_turn>",
        "[INST]",
        "[/INST]",
        "[gMASK]",
        "<｜User｜>",
        "<\u200b|im_end|>",
    ],
)
def test_control_tokens_in_a_note_are_broken_up(token: str) -> None:
    shown = quote_as_data(f"before {token} after", 500)
    assert token.replace("\u200b", "") not in shown
    assert shown.startswith("before ") and shown.endswith(" after")


@given(TROUBLE, st.integers(min_value=40, max_value=400))
def test_a_note_cannot_end_its_fence_or_outgrow_its_bound(text: str, limit: int) -> None:
    shown = quote_as_data(text * 3, limit)
    assert '"""' not in shown
    assert len(shown.encode("utf-8")) <= limit
    assert "<|" not in shown and "|>" not in shown
    assert "\n" not in quote_line(text, limit)


def test_a_long_note_keeps_its_beginning_and_end() -> None:
    shown = quote_as_data("First. " + "middle " * 1000 + "Last.", 400)
    assert shown.startswith("First.")
    assert shown.endswith("Last.")
    assert "\n…\n" in shown


@pytest.mark.parametrize(
    "text",
    [
        "the queue is the queue is the queue is the queue",
        "Drill; Shelf; Drill; Shelf; Drill; Shelf; Drill; Shelf",
        "hahahahahaha",
        "Kestrel! Kestrel! Kestrel! Kestrel! Kestrel!",
    ],
)
def test_loops_are_noticed(text: str) -> None:
    assert repeats_itself(text)


@pytest.mark.parametrize(
    "text",
    [
        "VACUUM cannot remove dead tuples while an old snapshot is held.",
        "The day rate rises from 850 to 1000000 euros.",
        "The more the water, the more the lime, says Sal.",
    ],
)
def test_plain_sentences_are_no_loops(text: str) -> None:
    assert not repeats_itself(text)


def test_subjects_are_compared_by_stem_in_any_script() -> None:
    assert subject_stems("blocking") == subject_stems("blocked")
    assert subject_stems("dead") <= subject_stems("dead-tuple")
    assert subject_stems("东京塔") >= {"东京", "京塔"}
    assert not subject_stems("the of and")


def test_numbers_are_compared_without_leading_zeros() -> None:
    assert numbers_in("08:15 and 007") == {"8", "15", "7"}
    assert numbers_in("1 900, or £12,500.") >= {"1900", "12500"}


def test_only_the_first_texts_of_a_list_are_read() -> None:
    assert texts_of(["a", 1, None, "b"]) == ["a", "b"]
    assert len(texts_of(["a"] * 500)) == 20
    assert texts_of("abc") == []
