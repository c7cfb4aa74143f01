"""A few letters find the names that hold them, the likeliest first."""

from __future__ import annotations

import pytest

from amem_cli.terminal.picker import PickerEntry, folded, ranked


def best(query: str, *titles: str, aside: str = "") -> list[str]:
    entries = [PickerEntry(folded(title), folded(aside)) for title in titles]
    return [titles[place] for place in ranked(query, entries)]


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("tea", ["Tea", "Tea ceremony", "Green tea", "Steam", "The plan"]),
        ("wr", ["wren", "weekly wrap", "dowry", "weekly review"]),
        ("review week", ["weekly review"]),
        ("strasse", ["Straße"]),
        ("カ", ["ガス"]),
        ("地鉄", ["地下鉄"]),
        ("한", ["한국"]),
    ],
)
def test_titles_come_in_the_order_of_how_well_they_fit(query: str, titles: list[str]) -> None:
    assert best(query, *sorted(titles, reverse=True)) == titles


def test_what_does_not_hold_every_word_is_not_found_and_equals_keep_their_order() -> None:
    assert best("tea milk", "Tea", "Milk") == []
    assert best("tea milk", "Tea", aside="#milk") == ["Tea"]
    assert best("", "b", "a") == best("  ", "b", "a") == ["b", "a"]
    assert best("a", "xa 1", "xa 2") == ["xa 1", "xa 2"]
