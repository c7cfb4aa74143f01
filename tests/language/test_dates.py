"""Ids, moments, and days as people name them in any language."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.language.dates import (
    created_text,
    date_words,
    day_range,
    days_named,
    new_id,
    parse_moment,
    seconds_between,
)

# A Friday; and a Wednesday, the last day of a month that follows a shorter one.
TODAY, LAST_OF_JULY = date(2026, 3, 20), date(2024, 7, 31)
MOMENT = datetime(2026, 3, 2, 15, 0, 4)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# Ways to write 2 March 2026.
WRITTEN_OUT = (
    *("2026/03/02", "2026/3/2", "2026-3-2", "2026.03.02", "2026_03_02", "02.03.2026", "2.3.2026"),
    *("2. 3. 2026", "2 March 2026", "02 Mar 2026", "2-Mar-2026", "2nd March, 2026", "2. März 2026"),
    *("2 de marzo de 2026", "2 mars 2026", "March 2, 2026", "Mar. 2 2026", "March 2nd, 2026"),
    *("Monday, March 2, 2026", "Montag, 2. März 2026", "2026年3月2日", "2026年三月二號"),
)
moments = st.datetimes(timezones=st.one_of(st.none(), offsets))


def test_an_id_is_the_moment() -> None:
    assert new_id(MOMENT, lambda _: False) == "20260302150004"
    assert new_id(datetime(33, 4, 3, 1, 2, 3), lambda _: False) == "00330403010203"


def test_ids_of_one_second_are_numbered() -> None:
    ids: list[str] = []
    for _ in range(50):
        ids.append(new_id(MOMENT, set(ids).__contains__))
    assert ids == ["20260302150004", *(f"20260302150004-{number}" for number in range(2, 51))]


@given(moments, st.sets(st.integers(2, 60), max_size=40))
def test_an_id_is_free_and_well_formed(moment: datetime, numbers: set[int]) -> None:
    stamp = new_id(moment, lambda _: False)
    taken = {stamp, *(f"{stamp}-{number}" for number in numbers)}
    made = new_id(moment, taken.__contains__)
    assert made not in taken
    assert re.fullmatch(r"[0-9]{14}(-[1-9][0-9]*)?", made)


def test_few_questions_are_asked_where_many_ids_are_taken() -> None:
    asked = []

    def taken(candidate: str) -> bool:
        asked.append(candidate)
        return int(candidate.partition("-")[2] or 1) <= 10_000

    assert new_id(MOMENT, taken) == "20260302150004-10001"
    assert len(asked) < 50


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-02", datetime(2026, 3, 2)),
        ("20260302", datetime(2026, 3, 2)),
        ("2026-03-02T15:00", datetime(2026, 3, 2, 15)),
        ("2026-03-02 15:00:04", MOMENT),
        (" 2026-03-02T15:00:04.5\n", MOMENT.replace(microsecond=500_000)),
        ("2026-03-02T15:00:04,123456789", MOMENT.replace(microsecond=123_456)),
        ("2026-03-02T15:00:04Z", MOMENT.replace(tzinfo=timezone.utc)),
        ("2026-03-02T15:00:04+05:30", MOMENT.replace(tzinfo=timezone(timedelta(hours=5.5)))),
        ("2026-03-02T15:00:04-0800", MOMENT.replace(tzinfo=timezone(timedelta(hours=-8)))),
        ("2026-03-02T15:00:04+01", MOMENT.replace(tzinfo=timezone(timedelta(hours=1)))),
        ("202603021500", datetime(2026, 3, 2, 15)),
        ("20260302150004", MOMENT),
        ("20260302T1500", datetime(2026, 3, 2, 15)),
        ("20260302T150004.5", MOMENT.replace(microsecond=500_000)),
        ("20260302T150004Z", MOMENT.replace(tzinfo=timezone.utc)),
        ("20260302T150004+0530", MOMENT.replace(tzinfo=timezone(timedelta(hours=5.5)))),
        ("20260302150004Z", MOMENT.replace(tzinfo=timezone.utc)),
        *((text, datetime(2026, 3, 2)) for text in WRITTEN_OUT),
        ("2.3.2026 15:00", datetime(2026, 3, 2, 15)),
        ("2026/03/02 9:05", datetime(2026, 3, 2, 9, 5)),
        ("March 2, 2026 3:00 PM", datetime(2026, 3, 2, 15)),
        ("March 2, 2026, 12:00:04 am", datetime(2026, 3, 2, 0, 0, 4)),
        ("Mon, 02 Mar 2026 15:00:04 +0000", MOMENT.replace(tzinfo=timezone.utc)),
        # What programs and systems write of themselves.
        ("2026-03-02, 3:00:04\u202fp.m.", MOMENT),
        ("March 2, 2026 at 3:00 PM", datetime(2026, 3, 2, 15)),
        ("Montag, 2. März 2026 um 15:00 Uhr", datetime(2026, 3, 2, 15)),
        ("lundi 2 mars 2026 15:00", datetime(2026, 3, 2, 15)),
        ("2 de marzo de 2026 a las 15:00", datetime(2026, 3, 2, 15)),
        ("2026-03-02 Monday 15:00", datetime(2026, 3, 2, 15)),
        ("2026-03-02\u00a015:00", datetime(2026, 3, 2, 15)),
        (
            "Mon Mar 02 2026 15:00:04 GMT+0530 (India Standard Time)",
            MOMENT.replace(tzinfo=timezone(timedelta(hours=5.5))),
        ),
        (
            "2026-03-02T15:00:04+01:00[Europe/Berlin]",
            MOMENT.replace(tzinfo=timezone(timedelta(hours=1))),
        ),
        ("1772463604", MOMENT.replace(tzinfo=timezone.utc)),
        ("1772463604.25", MOMENT.replace(tzinfo=timezone.utc)),
        ("1772463604500", MOMENT.replace(microsecond=500_000, tzinfo=timezone.utc)),
    ],
)
def test_moments_are_read(text: str, moment: datetime) -> None:
    parsed = parse_moment(text)
    assert parsed == moment
    assert parsed.utcoffset() == moment.utcoffset()


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "2026", "2026-13-2", "2026-02-30", "2026-03-02T25:00", "202613021500"),
        *("2026-03-02T15", "2026-03-02T15:00+25:00", "2026-03-02Z", "12:30", "2026030215000"),
        *("20260302T15", "20260302T", "20260302Z", "20260302T15:00", "2026-03-02T1500"),
        # Nobody can tell which of the two is the month.
        *("02/03/2026", "2/3/2026", "02-03-2026", "13/03/2026"),
        *("2.3.26", "31.2.2026", "2 ma 2026", "2 jui 2026", "12 noon 2026", "March 2026"),
        *("2.3.2026 25:00", "2.3.3026", "1.2.3.2026", "2026-03-02 draft", "see 2026-03-02 (old)"),
        *("177246360", "17724636045", "2772463604", "1772463604.", "-1772463604"),
    ],
)
def test_texts_that_are_no_moment(text: str) -> None:
    with pytest.raises(ValueError):
        parse_moment(text)


@given(moments)
def test_a_written_moment_is_read_again(moment: datetime) -> None:
    parsed = parse_moment(created_text(moment))
    assert parsed == moment.replace(microsecond=0)
    assert parsed.utcoffset() == moment.utcoffset()


@given(st.text())
def test_any_text_is_a_moment_or_a_value_error(text: str) -> None:
    try:
        parse_moment(text)
    except ValueError:
        return
    assert any(letter.isdigit() for letter in text)


def test_created_is_written_to_the_second() -> None:
    assert created_text(MOMENT.replace(microsecond=999_999)) == "2026-03-02T15:00:04"
    assert created_text(MOMENT.replace(tzinfo=timezone.utc)) == "2026-03-02T15:00:04+00:00"


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
        ("the vote of sept 7", "2025-09-07", "2025-09-07"),
        ("on the 4th of march", "2026-03-04", "2026-03-04"),
        ("on 2026-03-04", "2026-03-04", "2026-03-04"),
        ("what i wrote on friday", "2026-03-13", "2026-03-13"),
        ("yesterday's note", "2026-03-19", "2026-03-19"),
        ("back in may", "2025-05-01", "2025-05-31"),
        ("el 4 de marzo", "2026-03-04", "2026-03-04"),
    ],
)
def test_a_sentence_names_days_in_its_language(text: str, first: str, last: str) -> None:
    [named] = days_named(text, TODAY)
    assert (f"{named.first}", f"{named.last}") == (first, last)


@pytest.mark.parametrize(
    "text",
    ["nächsten dienstag", "in drei wochen", "der märzhase", "punkt 4.3 der liste", "三个月",
     "下周二", "下个星期三", "每周二", "半月", "2031年1月1日", "十三月五日", "31. februar",
     "we may go", "31 february", "1234"],
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


@given(st.text("vor dreiWochn0123一十月日上周前letz. ", max_size=30), st.dates())
def test_any_text_names_days_in_order(text: str, today: date) -> None:
    for named in days_named(text, today):
        assert named.first <= named.last
        assert named.first <= today
        assert 0 <= named.start < named.end <= len(text)


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
def test_a_command_takes_days_as_english_names_them(text: str, first: str, last: str) -> None:
    assert [day.isoformat() for day in day_range(text, LAST_OF_JULY)] == [first, last]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterdayish",
        "2024-13",
        "2024-00",
        "0000",
        "9999y",
        "next week",
        "7",
        "gestern abend",
        "letzte",
        "上",
        "下周",
        "31. Februar",
        "vor 9999999 Jahren",
    ],
)
def test_what_names_no_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        day_range(text, LAST_OF_JULY)


@given(st.text(max_size=12) | st.from_regex(r"[0-9]{1,4} ?[dwmy]", fullmatch=True), st.dates())
def test_any_text_names_days_in_order_or_is_refused(text: str, today: date) -> None:
    try:
        first, last = day_range(text, today)
    except ValueError:
        return
    assert first <= last
