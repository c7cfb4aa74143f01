"""What the moment of a note means to a search."""

from __future__ import annotations

import math

import pytest

from amem_cli.language.dates import date_words, seconds_between


def test_a_day_is_found_by_its_digits_and_its_month_in_four_languages() -> None:
    found = date_words("2023-05-08T13:56:00").split()
    assert {"2023-05-08", "8", "May", "Mai", "mayo"} <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("text", ["", "yesterday", "2023-13-01", "May"])
def test_what_is_no_date_has_no_words(text: str) -> None:
    assert date_words(text) == ""


def test_moments_with_and_without_a_zone_are_not_compared() -> None:
    assert seconds_between("2023-05-08T13:56:00", "2023-05-08T14:56:00") == 3600
    assert seconds_between("2023-05-08T13:56:00Z", "2023-05-08T15:56:00+02:00") == 0
    assert seconds_between("2023-05-08T13:56:00Z", "2023-05-08T13:56:00") == math.inf
    assert seconds_between("", "2023-05-08") == math.inf
