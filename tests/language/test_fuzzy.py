"""A few letters find the names that hold them, the likeliest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.language.fuzzy_match import PickerEntry, folded, ranked

TEXT = st.text(alphabet="aäbß é東ー́ﬁ", max_size=12)
ENTRIES = st.lists(
    st.builds(lambda a, b: PickerEntry(folded(a), folded(b)), TEXT, TEXT), max_size=8
)


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


@given(TEXT, ENTRIES)
def test_a_longer_query_finds_nothing_that_its_beginning_does_not(
    query: str, entries: list[PickerEntry]
) -> None:
    found = ranked(query, entries)
    for end in range(1, len(query)):
        shorter = ranked(query[:end], entries)
        assert set(found) <= set(shorter)
        assert ranked(query, entries, shorter) == found
