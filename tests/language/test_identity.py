"""Ids are unique and sortable, and every common way to write a moment is read."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.language.dates import created_text, new_id, parse_moment

MOMENT = datetime(2026, 3, 2, 15, 0, 4)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# Ways to write 2 March 2026.
WRITTEN_OUT = (
    *("2026/03/02", "2026/3/2", "2026-3-2", "2026.03.02", "2026_03_02", "02.03.2026", "2.3.2026"),
    *("2. 3. 2026", "2 March 2026", "02 Mar 2026", "2-Mar-2026", "2nd March, 2026", "2. März 2026"),
    *("2 de marzo de 2026", "2 mars 2026", "March 2, 2026", "Mar. 2 2026", "March 2nd, 2026"),
    *("Monday, March 2, 2026", "Montag, 2. März 2026"),
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
        *((text, datetime(2026, 3, 2)) for text in WRITTEN_OUT),
        ("2.3.2026 15:00", datetime(2026, 3, 2, 15)),
        ("2026/03/02 9:05", datetime(2026, 3, 2, 9, 5)),
        ("March 2, 2026 3:00 PM", datetime(2026, 3, 2, 15)),
        ("March 2, 2026, 12:00:04 am", datetime(2026, 3, 2, 0, 0, 4)),
        ("Mon, 02 Mar 2026 15:00:04 +0000", MOMENT.replace(tzinfo=timezone.utc)),
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
        # Nobody can tell which of the two is the month.
        *("02/03/2026", "2/3/2026", "02-03-2026", "13/03/2026"),
        *("2.3.26", "31.2.2026", "2 ma 2026", "2 jui 2026", "12 noon 2026", "March 2026"),
        *("2.3.2026 25:00", "2.3.3026", "1.2.3.2026"),
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
