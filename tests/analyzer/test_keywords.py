"""Keywords, tags and links of notes in English, German and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.analyzer.analyzer import TagUse, suggest_tags
from amem_cli.analyzer.keywords import candidate_phrases, extract_keywords
from amem_cli.analyzer.link_evidence import LinkCandidate, gather_evidence
from amem_cli.notes.note import Note
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
TRIPOD = """Stativ
Kaufe das Stativ von Gitzo doch nicht. Die Stative sind zu schwer, und der Kugelkopf meines alten
Stativs passt auf die Schnellwechselplatte. Habe noch Garantie auf den Kugelkopf.
"""
CONTRACTS = """Verträge prüfen
Der Vertrag mit Kessler läuft aus. In den Verträgen steht eine Kündigungsfrist, und die
Kündigungsfrist im Mietvertrag ist länger.
"""
VECTORS = (
    "向量数据库\n\n笔记存进向量数据库之后，检索变慢了。索引没有建好，明天用HNSW索引重新测一遍。"
)
READING = "周末\n\n在读《小王子》，狐狸那一段很慢。驯养就是建立联系，驯养也要时间。"
DOUGH = "發酵時間\n\n老麵的發酵時間太短，麵團發不起來。冬天的發酵時間要加倍。"


def test_names_identifiers_and_joined_words_keep_their_spelling() -> None:
    phrases = candidate_phrases(VACUUM, 12)
    assert "Marta Lindqvist" in phrases
    assert "backend_xmin" in phrases
    assert any("hot-standby" in phrase for phrase in phrases)


def test_a_name_is_not_cut_at_an_abbreviation() -> None:
    text = "Die Probe ist jetzt im Gemeindesaal St. Anna, nicht mehr in der Turnhalle."
    phrases = candidate_phrases(text, 12)
    assert "St. Anna" in phrases
    assert not any(phrase.endswith("St") for phrase in phrases)


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


def test_the_forms_of_a_german_noun_give_one_keyword_as_the_text_spells_it() -> None:
    keywords = candidate_phrases(TRIPOD, 10)
    assert "Stativ" in keywords
    assert not {"Stative", "Stativs"} & set(keywords)
    assert len([each for each in candidate_phrases(CONTRACTS, 10) if "rtr" in each]) == 1


def test_a_verb_that_opens_a_german_sentence_is_no_keyword() -> None:
    assert not {"Kaufe", "Habe"} & set(extract_keywords(TRIPOD, encode, limit=10))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(VECTORS, "向量数据库"), (READING, "小王子"), (DOUGH, "發酵時間")],
)
def test_chinese_keywords_are_words(text: str, wanted: str) -> None:
    keywords = extract_keywords(text, encode)
    assert wanted in keywords
    assert "HNSW" in candidate_phrases(VECTORS, 5)
    others = "".join(each for each in keywords if each != wanted)
    assert not set("的了在就也把") & set(others)


def test_a_word_that_other_notes_hold_too_is_known_for_one() -> None:
    text = "晚饭\n\n砂锅豆腐没放盐，豆腐还是香。砂锅是外婆那口。"
    known = {"砂锅", "豆腐", "外婆"}
    keywords = extract_keywords(text, encode, document_frequency=lambda word: 3 * (word in known))
    assert keywords
    assert set(keywords) <= known


@given(st.text("的了烤箱计划买二手《》，。 a", max_size=80))
def test_chinese_keywords_stand_in_the_text(text: str) -> None:
    for phrase in [*extract_keywords(text, encode), *candidate_phrases(text, 10)]:
        assert phrase in text


def test_a_chinese_tag_counts_as_said_within_a_run() -> None:
    title, text = "周六的烘焙课", "烘焙课上做了酸面包。"
    uses = [TagUse("烘焙", 3, encode([title])[0]), TagUse("跑步", 3, encode(["xyz"])[0])]
    assert suggest_tags(encode([title])[0], title, text, uses, []) == ["烘焙"]


def test_a_chinese_title_that_a_note_names_speaks_for_a_link() -> None:
    note = Note("n.md", "1", "周报", "烤箱温度表要重做，先抄一份。", created="2026-03-20")
    older = [
        LinkCandidate("a.md", "烤箱温度表", "每层差十度。", 0.4, 0),
        LinkCandidate("b.md", "跑步", "烤箱。", 0.4, 1),
    ]
    named, other = gather_evidence(note, older, document_frequency=lambda word: 2, total=64)
    assert named.mentioned
    assert named.features["title"] > other.features["title"]
    assert not other.mentioned


@pytest.mark.parametrize(
    ("title", "pieces"),
    [
        ("Dead tuples of the jobs table", {"dead tuples", "jobs table", "jobs", "tuples"}),
        ("Reviewing highlights", {"highlights", "highlight", "reviewing", "review"}),
        ("数据库", {"数据库", "数据"}),
        ("Tables", {"tp"}),
    ],
)
def test_what_the_title_says_is_no_keyword(title: str, pieces: set[str]) -> None:
    text = f"{title}\n\n{VACUUM}\n\nHighlights of the 数据库 and the jobs table: a review tp tp."
    found = {each.casefold() for each in extract_keywords(text, encode, title=title, limit=9)}
    assert found and not found & pieces
