"""The language files: every field is known, of its kind, and can be used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from amem_cli import data
from amem_cli.analyzer.cue_patterns import expression
from amem_cli.language.lexicon import PLACE, language_of, languages

FILES = data.names("languages")
CUES = ("acts", "states", "alone", "joined")
LISTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("replaced", "refuted", "confirmed", "settled"), CUES),
    "changed": ("acts", "states", "alone", "concluding"),
    "doubts": ("denials", "denials_behind", "suppositions", "question_ends"),
    "references": (
        "determiners", "fillers", "narrowing", "documents", "parts", "part_numbers", "quoting",
        "what", "says", "within", "articles", "parts_behind", "of_notes", "relatives", "pronouns",
        "between", "prepositions", "joined_by", "agents", "itself", "written", "written_behind",
    ),
    "dates": (
        "months", "weekdays", "full", "days", "months_named", "weekdays_named",
        "weekdays_of_last_week", "today", "yesterday", "day_before_yesterday", "this_week",
        "last_week", "this_month", "last_month", "this_year", "last_year", "ago",
    ),
}  # fmt: skip
TEXTS = {
    "words": {
        "pointing", "time", "units", "generic", "everyday", "unfit", "unfit_verbs", "particles",
        "particle_characters", "after_verbs",
    },
    "links": {
        "both_speak", "quoted", "mentions", "tagged", "close", "supersedes", "contradicts",
        "supports", "settles", "revises", "comma", "conjunction", "superseded_since",
        "now_supersedes", "now_contradicts", "now_supports", "now_related",
    },
}  # fmt: skip
ROWS = {"months": 12, "weekdays": 7}
UNITS = {"day", "week", "month", "year"}
PLACES = {"year", "month", "month_number", "day", "weekday", "number", "unit"}


def faults(told: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a file, by field."""
    told = {"name": None, **told}
    if not isinstance(told.pop("name"), str):
        yield "name"
    for table, fields in told.items():
        if table in LISTS:
            for field, texts in fields.items():
                if field == "units" and table == "dates":
                    sound = set(texts) <= UNITS and all(
                        isinstance(row, str) for row in texts.values()
                    )
                else:
                    sound = field in LISTS[table] and _is_sound(table, field, texts)
                if not sound:
                    yield f"{table}.{field}"
        elif table in TEXTS:
            for field, text in fields.items():
                if field not in TEXTS[table] or not isinstance(text, str):
                    yield f"{table}.{field}"
            if table == "links" and set(fields) != TEXTS[table]:
                yield table
        elif table == "numbers":
            yield from (f"{table}.{key}" for key in fields if not key.isdecimal())
        elif table != "separable":
            yield table


def _is_sound(table: str, field: str, texts: list[str]) -> bool:
    if not isinstance(texts, list) or not all(text.strip("/ ") for text in texts):
        return False
    if field in ROWS:
        return len(texts) == ROWS[field]
    for text in texts:
        template = text if table == "dates" else expression(text)
        try:
            re.compile(PLACE.sub("x", template))
        except re.error:
            return False
        if table == "dates" and not set(PLACE.findall(text)) <= PLACES:
            return False
    return True


@pytest.mark.parametrize("name", FILES)
def test_a_language_file_is_sound(name: str) -> None:
    assert re.fullmatch(r"[a-z]{2,3}\.toml", name)
    assert list(faults(data.table(f"languages/{name}"))) == []


def test_english_comes_first_and_every_file_is_read() -> None:
    codes = [each.code for each in languages()]
    assert codes[0] == "en"
    assert sorted(codes) == sorted(name.removesuffix(".toml") for name in FILES)


def test_a_language_needs_no_more_than_its_name_and_folds_what_it_tells() -> None:
    acts = ["Vervangt", r"/\bstraße\b/"]
    read = language_of(
        "nl", {"name": "Dutch", "replaced": {"acts": acts}, "numbers": {"2": "Twee"}}
    )
    assert read.field("replaced.acts") == ("vervangt", r"/\bstrasse\b/")
    assert read.numbers == {"twee": 2}
    assert read.field("dates.ago") == ()
