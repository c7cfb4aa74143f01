"""The language files, and what is said of a faulty one."""

from __future__ import annotations

import pytest

from amem_cli import data
from amem_cli.language.lexicon import (
    LanguageFileError,
    check_expressions,
    languages,
    read_language,
)

FILES = data.names("languages")
MINIMAL = 'name = "Dutch"\n'


@pytest.mark.parametrize("name", FILES)
def test_a_language_file_is_sound(name: str) -> None:
    read = read_language(name, data.text(f"languages/{name}"))
    check_expressions(read)
    assert read.name
    assert read.links


def test_english_comes_first_and_every_file_is_read() -> None:
    codes = [each.code for each in languages()]
    assert codes[0] == "en"
    assert sorted(codes) == sorted(name.removesuffix(".toml") for name in FILES)


def test_a_language_needs_no_more_than_its_name_and_folds_what_it_tells() -> None:
    text = MINIMAL + '[replaced]\nacts = ["Vervangt", \'/\\bstraße\\b/\']\n[numbers]\n2 = "Twee"\n'
    read = read_language("nl.toml", text)
    assert read.field("replaced.acts") == ("vervangt", r"/\bstrasse\b/")
    assert read.numbers == {"twee": 2}
    assert read.field("dates.ago") == ()


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("nl.toml", "name = ", "nl.toml: not TOML"),
        ("dutch-x.toml", MINIMAL, "must be a language code"),
        ("nl.toml", "", "`name`: missing"),
        ("nl.toml", MINIMAL + "[replace]\n", "`replace`: unknown; a table is one of"),
        ("nl.toml", MINIMAL + "[replaced]\nact = []\n", "`replaced.act`: unknown"),
        ("nl.toml", MINIMAL + '[replaced]\nacts = "x"\n', "`replaced.acts`: must be a list"),
        ("nl.toml", MINIMAL + '[replaced]\nacts = [" "]\n', "holds an empty phrase"),
        ("nl.toml", MINIMAL + '[dates]\nmonths = ["mei"]\n', "must have 12 rows, has 1"),
        ("nl.toml", MINIMAL + '[dates]\nunits = { hour = "uur" }\n', "'hour' is none of day"),
        ("nl.toml", MINIMAL + '[numbers]\ntwee = "2"\n', "must be a number in digits"),
        ("nl.toml", MINIMAL + "[words]\ntime = 3\n", "`words.time`: must be a text"),
        ("nl.toml", MINIMAL + '[links]\ncomma = ", "\n', "`links`: lacks both_speak"),
        ("nl.toml", MINIMAL + "words = 3\n", "`words`: must be a table"),
        ("nl.toml", MINIMAL + "[replaced]\nacts = ['/(/']\n", "is no regular expression"),
        ("nl.toml", MINIMAL + "[dates]\nago = ['{count} geleden']\n", "unknown place: {count}"),
    ],
)
def test_a_fault_is_named_with_its_file_and_field(name: str, text: str, fault: str) -> None:
    with pytest.raises(LanguageFileError) as refused:
        check_expressions(read_language(name, text))
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)
