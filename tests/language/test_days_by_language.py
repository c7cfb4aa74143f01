"""Days as German, Chinese and others call them."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.language.dates import day_range, days_named, parse_moment

# A Friday.
TODAY = date(2026, 3, 20)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("am 4. märz", "2026-03-04", "2026-03-04"),
        ("vom 4.3. war die rede", "2026-03-04", "2026-03-04"),
        ("am 31. dez.", "2025-12-31", "2025-12-31"),
        ("vorgestern im keller", "2026-03-18", "2026-03-18"),
        ("letzten dienstag", "2026-03-17", "2026-03-17"),
        ("vor zwei wochen", "2026-03-03", "2026-03-09"),
        ("vor einem monat", "2026-02-05", "2026-03-07"),
        ("was habe ich letzte woche geschrieben", "2026-03-07", "2026-03-19"),
        ("im letzten jahr", "2025-01-01", "2025-12-31"),
        ("three days ago", "2026-03-17", "2026-03-17"),
        ("我3月4日写的", "2026-03-04", "2026-03-04"),
        ("三月四號的決定", "2026-03-04", "2026-03-04"),
        ("在二月二十八日", "2026-02-28", "2026-02-28"),
        ("2025年11月3日那天", "2025-11-03", "2025-11-03"),
        ("昨天的笔记", "2026-03-19", "2026-03-19"),
        ("前天", "2026-03-18", "2026-03-18"),
        ("上周二说的", "2026-03-10", "2026-03-10"),
        ("上個禮拜五", "2026-03-13", "2026-03-13"),
        ("周二说的", "2026-03-17", "2026-03-17"),
        ("上周写的", "2026-03-07", "2026-03-19"),
        ("两周前", "2026-03-03", "2026-03-09"),
        ("十天以前", "2026-03-10", "2026-03-10"),
        ("上个月的账", "2026-02-01", "2026-02-28"),
        ("一月份", "2026-01-01", "2026-01-31"),
        ("le 4 mars", "2026-03-04", "2026-03-04"),
        ("el 4 de marzo", "2026-03-04", "2026-03-04"),
    ],
)
def test_a_sentence_names_days_in_its_language(text: str, first: str, last: str) -> None:
    [named] = days_named(text, TODAY)
    assert (f"{named.first}", f"{named.last}") == (first, last)


@pytest.mark.parametrize(
    "text",
    ["nächsten dienstag", "in drei wochen", "der märzhase", "punkt 4.3 der liste", "三个月",
     "下周二", "下个星期三", "每周二", "半月", "2031年1月1日", "十三月五日", "31. februar"],
)  # fmt: skip
def test_what_is_to_come_or_no_day_names_none(text: str) -> None:
    assert days_named(text, TODAY) == []


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Gestern", "2026-03-19", "2026-03-19"),
        ("letzte Woche", "2026-03-09", "2026-03-15"),
        ("diesen Monat", "2026-03-01", "2026-03-31"),
        ("vor 3 Tagen", "2026-03-17", "2026-03-17"),
        ("4. März", "2026-03-04", "2026-03-04"),
        ("Dienstag", "2026-03-17", "2026-03-17"),
        ("上周", "2026-03-09", "2026-03-15"),
        ("今天", "2026-03-20", "2026-03-20"),
        ("去年", "2025-01-01", "2025-12-31"),
        ("三月四日", "2026-03-04", "2026-03-04"),
    ],
)
def test_a_command_takes_days_in_any_language(text: str, first: str, last: str) -> None:
    assert [f"{day}" for day in day_range(text, TODAY)] == [first, last]


@pytest.mark.parametrize(
    "text", ["gestern abend", "letzte", "上", "下周", "31. Februar", "vor 9999999 Jahren"]
)
def test_what_is_no_day_in_any_language_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        day_range(text, TODAY)


@pytest.mark.parametrize(
    "text", ["2026年3月4日", "2026 年 3 月 4 日", "2026年三月四號", "4. März 2026", "4 mars 2026"]
)
def test_a_note_is_dated_in_its_language(text: str) -> None:
    assert parse_moment(text) == datetime(2026, 3, 4)


@given(st.text("vor dreiWochn0123一十月日上周前letz. ", max_size=30), st.dates())
def test_any_text_names_days_in_order(text: str, today: date) -> None:
    for named in days_named(text, today):
        assert named.first <= named.last
        assert named.first <= today
        assert 0 <= named.start < named.end <= len(text)
