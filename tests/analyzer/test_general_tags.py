"""General tags are given where words and meaning of a note bear them out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from amem_cli.analyzer.analyzer import fitting_general_tags, general_names
from amem_cli.markdown.links import is_valid_tag

BREAD = "Mix the flour with yeast and butter, knead the dough, and bake it in a hot oven."


def chosen(title: str, text: str, near: float = 0.0) -> list[str]:
    """The tags if all that the note speaks for is `near` it, and the others are not."""

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        # Those without a word in the note come last, at most four of them.
        vectors = np.zeros((len(texts), 2), dtype=np.float32)
        vectors[:-4, 0] = near
        return vectors

    return fitting_general_tags(title, text, np.array([1.0, 0.0], dtype=np.float32), encode)


def test_a_note_gets_the_tag_that_its_words_speak_for() -> None:
    assert chosen("Sunday", BREAD)[0] == "recipe"


def test_a_german_note_gets_the_german_name() -> None:
    text = "Das Mehl mit der Hefe und Butter mischen, kneten und im Ofen backen. Es ist einfach."
    assert chosen("Sonntag", text)[0] == "rezept"


def test_one_word_is_enough_only_where_the_meaning_agrees() -> None:
    text = "We put it back beside the oven and left."
    assert chosen("Tuesday", text) == []
    assert chosen("Tuesday", text, near=0.4) == ["recipe"]


@pytest.mark.parametrize("text", ["", "Nothing of note.", "数据库清理失败的监控记录。"])
def test_a_note_without_such_words_gets_none(text: str) -> None:
    assert chosen("x", text) == []


def test_every_general_tag_is_one_short_word() -> None:
    assert all(is_valid_tag(name) and "-" not in name for name in general_names())
