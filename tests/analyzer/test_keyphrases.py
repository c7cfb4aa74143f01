"""Keywords of notes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.analyzer.keywords import candidate_phrases, extract_keywords
from tests.fakes.letter_encoder import encode

VACUUM = """VACUUM cannot remove dead tuples
VACUUM cannot remove dead tuples while an old snapshot is held. Look at `backend_xmin` of the
replica: hot-standby feedback keeps dead tuples alive on the primary. Marta Lindqvist saw it first,
and Marta Lindqvist fixed the replica of Kestrel Outdoor.
"""
GERMAN = """Kleinunternehmer bleiben?
Der Steuerberater rät zur Kleinunternehmerregelung. Die Umsatzgrenze steigt, und die
Kleinunternehmerregelung spart mir die Voranmeldungen. Trotzdem lohnt die Regelbesteuerung.
"""


def test_names_identifiers_and_joined_words_keep_their_spelling() -> None:
    phrases = candidate_phrases(VACUUM, 12)
    assert "Marta Lindqvist" in phrases
    assert "backend_xmin" in phrases
    assert any("hot-standby" in phrase for phrase in phrases)


def test_german_compounds_stay_whole() -> None:
    assert "Kleinunternehmerregelung" in extract_keywords(GERMAN, encode)


def test_a_repeated_chinese_term_is_found() -> None:
    text = "数据库的事务很长。长事务会阻止数据库清理。数据库需要监控。"
    assert "数据库" in candidate_phrases(text, 3)


def test_a_normal_note_has_a_few_and_a_tiny_one_fewer() -> None:
    assert 2 <= len(extract_keywords(VACUUM, encode)) <= 5
    assert len(extract_keywords("Call Marta about tickets", encode)) == 1
    assert len(extract_keywords(VACUUM, encode, limit=2)) == 2


def test_keywords_do_not_repeat_one_another() -> None:
    folded = [keyword.casefold() for keyword in extract_keywords(VACUUM, encode)]
    assert len(set(folded)) == len(folded)
    assert sum("tuples" in keyword for keyword in folded) <= 1


@pytest.mark.parametrize("text", ["", "   \n", "the and of", "12 34", "![](x.png)", "---"])
def test_nothing_meaningful_has_no_keywords(text: str) -> None:
    assert extract_keywords(text, encode) == []
    assert candidate_phrases(text, 5) == []


@given(st.text(max_size=400))
def test_keywords_stand_in_the_text(text: str) -> None:
    for phrase in [*extract_keywords(text, encode), *candidate_phrases(text, 10)]:
        assert phrase in text
        assert phrase.strip() == phrase != ""


@pytest.mark.parametrize("piece", ["a-", "Aa ", "数", "x_", "[[a", "**", "a. ", "`", "{{"])
def test_long_hostile_text_is_read(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(extract_keywords(text, encode)) <= 6


def test_keywords_hold_no_verbs_and_no_numbers_before_things() -> None:
    text = "Rota\n\nMaya and Theo. Callum thinks the oven happens to be hot. 30 quid for Devon."
    folded = " ".join(extract_keywords(text, encode)).casefold().split()
    assert not {"thinks", "happens", "30"} & set(folded)


def test_a_part_of_a_name_is_no_keyword_beside_it() -> None:
    text = "Post\n\nA letter came from Saltby Water about the dam. We called Saltby Water."
    keywords = extract_keywords(text, encode)
    assert "Saltby Water" in keywords
    assert not {"Saltby", "Water"} & set(keywords)
