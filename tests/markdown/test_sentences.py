"""What of a text is told in sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.markdown.plain_text import plain_text, with_boxes
from amem_cli.markdown.sentences import only_sentences

MUTE = [
    "# The walrus",
    "> ## The walrus",
    "- [[Walrus]]\n- [[Seals|The seals]]",
    "* [Walrus](Walrus.md), [[Seals]]",
    "1. [[Walrus]]",
    "[[Walrus]]\n[[Seals]]",
    "See also [[Walrus]].",
    "Related: [[Walrus]], [[Seals]]",
    "keeper:: [[Marta]]",
    "#zoo #walrus",
    "Tags: #zoo, #walrus",
    "tags: zoo, walrus",
    "| animal | food |\n|---|---|\n| walrus | herring |",
    "animal | food\n--- | ---\nwalrus | herring",
    "```\nwalrus = 1\n```",
    "    walrus = 1",
    "- `walrus --feed`",
    "%% a walrus %%",
    "<https://zoo.example/walrus>",
    "![[walrus.png]]",
]
TOLD = [
    "The walrus is fed.",
    "- The walrus is fed",
    "- [[Marta]]: keeper of the walrus",
    "[[Marta]] feeds the [[Walrus]].",
    "The walrus is fed by our keeper\n[[Marta Ilves]].",
    "Fed at `12:00` sharp.",
    "> The walrus is fed.",
    "**Walrus**: fed at noon",
    "海象在中午喂食。",
    "a | b is a choice",
]


@pytest.mark.parametrize("text", MUTE)
def test_what_is_no_sentence_is_blank(text: str) -> None:
    assert not only_sentences(text).strip()
    around = only_sentences(f"Otters sleep.\n\n{text}\n\nSeals swim.\n")
    assert around.split() == ["Otters", "sleep.", "Seals", "swim."]


@pytest.mark.parametrize("text", TOLD)
def test_sentences_stay_as_they_are(text: str) -> None:
    assert only_sentences(text) == text
    assert only_sentences(f"# Zoo\n{text}\n\n#zoo").strip() == text


def test_only_the_sentence_with_nothing_but_a_link_goes() -> None:
    assert only_sentences("See [[Oven]]. We take it.").split() == ["We", "take", "it."]
    assert only_sentences("Up: [[Home]]\nWe take it. [[Oven]]").split() == ["We", "take", "it."]


@given(st.text("aA b[]|#`-:.\n>~%\0", max_size=300))
def test_every_character_keeps_its_place(text: str) -> None:
    kept = only_sentences(text)
    assert len(kept) == len(text) and kept.count("\n") == text.count("\n")
    assert all(
        one in (other, " ") for one, other in zip(kept, text.replace("\0", " "), strict=True)
    )


def test_the_box_of_a_task_is_text_but_in_code() -> None:
    assert plain_text(with_boxes("- [x] done\n- [/] begun\n")) == "[x] done\n[/] begun"
    code = "```\n- [x] a = b\n```"
    assert with_boxes(code) == code
