"""Days as people name them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.language.dates import day_range

# A Wednesday, the last day of a month that follows a shorter one.
TODAY = date(2024, 7, 31)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("today", "2024-07-31", "2024-07-31"),
        ("Yesterday", "2024-07-30", "2024-07-30"),
        ("7d", "2024-07-24", "2024-07-24"),
        ("2 weeks ago", "2024-07-17", "2024-07-17"),
        ("1m", "2024-06-30", "2024-06-30"),
        ("7 months", "2023-12-31", "2023-12-31"),
        ("1y", "2023-07-31", "2023-07-31"),
        ("this week", "2024-07-29", "2024-08-04"),
        ("last  week", "2024-07-22", "2024-07-28"),
        ("this month", "2024-07-01", "2024-07-31"),
        ("last month", "2024-06-01", "2024-06-30"),
        ("last year", "2023-01-01", "2023-12-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2023", "2023-01-01", "2023-12-31"),
        ("2024-03-05", "2024-03-05", "2024-03-05"),
        ("2024-03-05T15:00", "2024-03-05", "2024-03-05"),
    ],
)
def test_a_text_names_its_first_and_last_day(text: str, first: str, last: str) -> None:
    assert [day.isoformat() for day in day_range(text, TODAY)] == [first, last]


@pytest.mark.parametrize(
    "text", ["", "yesterdayish", "2024-13", "2024-00", "0000", "9999y", "next week", "7"]
)
def test_what_names_no_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        day_range(text, TODAY)


@given(st.text(max_size=12) | st.from_regex(r"[0-9]{1,4} ?[dwmy]", fullmatch=True), st.dates())
def test_any_text_names_days_in_order_or_is_refused(text: str, today: date) -> None:
    try:
        first, last = day_range(text, today)
    except ValueError:
        return
    assert first <= last
