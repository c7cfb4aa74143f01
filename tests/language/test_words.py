"""How text is cut into words, terms and sentences."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.index.text import indexable_text, search_terms
from amem_cli.language.words import (
    cjk_bigrams,
    distance,
    is_stopword,
    mistakes_allowed,
    nearest_spelling,
    sentences,
    stem,
    words,
)

KNOWN = [("vacuum", 3), ("photographi", 2), ("table", 9), ("cable", 4), ("postgr", 1), ("walru", 1)]


def finds(query: str, text: str) -> bool:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "create virtual table notes using fts5"
        "(body, tokenize='porter unicode61 remove_diacritics 2')"
    )
    connection.execute("insert into notes values (?)", (indexable_text(text),))
    terms = " OR ".join(f'"{term}"' for term in search_terms(query))
    hits = connection.execute("select count(*) from notes where notes match ?", (terms,))
    return bool(hits.fetchone()[0])


def test_words_keep_identifiers_joined_words_and_signs() -> None:
    assert words("C++ and c#: backend_xmin, dead-tuple") == [
        "c++",
        "and",
        "c#",
        "backend_xmin",
        "dead-tuple",
    ]


def test_words_are_folded_and_lose_possessive_endings() -> None:
    assert words("Pell’s STRASSE Straße ﬁne") == ["pell", "strasse", "strasse", "fine"]


def test_a_number_reads_the_same_with_point_comma_or_colon() -> None:
    assert words("3,420 3.420 8:15") == ["3.420", "3.420", "8.15"]


def test_marks_belong_to_their_word() -> None:
    assert words("नमस्ते दुनिया") == ["नमस्ते", "दुनिया"]


def test_bigrams_overlap() -> None:
    assert cjk_bigrams("数据库") == ["数据", "据库"]
    assert cjk_bigrams("数") == ["数"]
    assert cjk_bigrams("") == []


def test_search_terms_drop_stop_words_unless_there_is_nothing_else() -> None:
    assert search_terms("how does the vacuum work") == ["vacuum", "work"]
    assert search_terms("to be or not to be") == ["to", "be", "or", "not"]


def test_a_stop_word_of_another_language_stays_where_it_is_a_subject() -> None:
    assert search_terms("car insurance") == ["car", "insurance"]
    assert search_terms("wer hat die Rahmen bezahlt") == ["rahmen", "bezahlt"]
    assert not is_stopword("war")
    assert is_stopword("war", "de")


def test_joined_words_are_searched_whole_and_in_parts() -> None:
    assert search_terms("dead-tuples") == ["dead-tuples", "dead", "tuples"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("数据库", "关于数据库的笔记"),
        ("データ", "このデータは古い"),
        ("데이터", "새로운데이터베이스"),
        ("c++", "Learning C++ again"),
        ("Strasse", "Die Straße ist lang"),
        ("3,420", "Honorar 3.420 €"),
        ("backend_xmin", "oldest `backend_xmin` held"),
        ("café", "the CAFE is closed"),
        ("ｆｕｌｌ", "full width"),
    ],
)
def test_a_full_text_table_finds_what_was_cut_the_same_way(query: str, text: str) -> None:
    assert finds(query, text)


def test_c_is_not_found_for_c_plus_plus() -> None:
    assert not finds("c++", "vitamin C")


def test_sentences_survive_abbreviations_numbers_and_list_items() -> None:
    assert sentences("Dr. Smith paid 3.5 euros. He left, e.g. early.\n- one\n- two. More") == [
        "Dr. Smith paid 3.5 euros.",
        "He left, e.g. early.",
        "- one",
        "- two.",
        "More",
    ]
    assert sentences("Am 18. Mai war es so. Wirklich!") == ["Am 18. Mai war es so.", "Wirklich!"]
    assert sentences("between 8 and 10. Nothing else") == ["between 8 and 10.", "Nothing else"]


def test_chinese_sentences_end_without_blanks() -> None:
    assert sentences("今天天气很好。我们去吧！好") == ["今天天气很好。", "我们去吧！", "好"]


def test_a_wrapped_paragraph_is_read_across_lines() -> None:
    wrapped = "This sentence is long enough to have been wrapped by an editor\nat the margin."
    assert sentences(wrapped) == [wrapped.replace("\n", " ")]


def test_inflected_forms_share_a_stem() -> None:
    assert stem("rahmen") == stem("rahme")
    assert stem("queries") == stem("query")
    assert stem("links") == stem("linking")


@given(st.text(alphabet="数据库ab c-_+#'."))
def test_every_search_term_of_a_text_finds_it(text: str) -> None:
    index = f" {' '.join(words(indexable_text(text)))} "
    for term in search_terms(text):
        assert " ".join(words(term)).strip() in index


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("vaccum", "vacuum"),
        ("vacuun", "vacuum"),
        ("photograpy", "photographi"),
        ("phtography", "photographi"),
        ("tabel", "table"),
        ("wlarus", "walru"),
        ("zebra", None),
        ("tab", None),
    ],
)
def test_a_typo_gives_the_word_that_was_meant(typed: str, meant: str | None) -> None:
    assert nearest_spelling(typed, KNOWN) == meant


def test_of_two_as_near_the_more_frequent_is_meant() -> None:
    assert nearest_spelling("zable", KNOWN) == "table"


def test_numbers_short_words_and_chinese_are_taken_as_they_are() -> None:
    assert [mistakes_allowed(word) for word in ("2024", "c", "知识管理", "ab1cd")] == [0] * 4


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distance_is_symmetric_and_nothing_only_for_the_same(left: str, right: str) -> None:
    assert distance(left, right, 2) == distance(right, left, 2)
    assert (distance(left, right, 2) == 0) == (left == right)
