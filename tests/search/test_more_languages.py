"""Words of many languages and scripts are found in other inflections and spellings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.data import table
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.language.detect import language_of, named_shares
from amem_cli.language.words import LATIN_LANGUAGES, fold, fold_scripts, stems
from amem_cli.search.search import search
from amem_cli.search.snippet import marks
from tests.search.test_languages import vault_of

NOTES = {
    "fr": "Les réunions du comité sont trop longues, et nous avons décidé de les écourter.",
    "es": "Las reuniones de los lunes se cancelaron porque el proyecto está terminado.",
    "it": "Le riunioni del condominio sono state spostate a giovedì, anche se non piace a tutti.",
    "pt": "As receitas da minha avó não estão escritas, mas eu também sei fazer os bolos.",
    "nl": "De vergaderingen over de begroting duren te lang, en wij hebben geen tijd meer.",
    "sv": "Mötena om trädgården är inte viktiga, men vi måste också köpa blommor.",
    "da": "Cyklerne er ikke repareret, og jeg skal også købe nye lygter til dem.",
    "fi": "Kokousten aika on muutettu, mutta se ei ole vielä kalenterissa.",
    "pl": "Książki są już oddane do biblioteki, ale nie wszystkie przeczytane przez nas.",
    "ru": "Завтра встречаемся с учителями, потому что уроков музыки больше не будет.",
    "el": "Οι συναντήσεις με τους γείτονες έγιναν στην αυλή.",
    "ar": "أعدت الكتب إلى المكتبة أمس واشتريت دفتراً جديداً للمدرسة.",
    "he": "החזרתי את הספרים לספרייה ואחר כך הלכתי לפגישה בבית הקפה.",
    "hi": "पुस्तकालय की किताबें लौटाईं और बैठकें अगले सप्ताह रखीं।",
    "th": "การประชุมเลื่อนไปเป็นวันศุกร์ ต้องซื้อกาแฟและดอกไม้",
    "zh-Hans": "洗衣机脱水的时候声音很大，要找人来修。",
    "zh-Hant": "廚房的電燈壞了，明天請師傅來換。",
    "en": "The meeting about the garden was moved, and the running costs are not known.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    yield from vault_of(tmp_path_factory.mktemp("vault"), NOTES)


@pytest.mark.parametrize(
    ("language", "query"),
    [
        ("fr", "comités"),
        ("fr", "longue"),
        ("es", "reunión"),
        ("es", "reuniones"),
        ("it", "riunione"),
        ("pt", "receita"),
        ("nl", "vergadering"),
        ("sv", "möte"),
        ("da", "cykler"),
        ("fi", "kokous"),
        ("pl", "książka"),
        ("ru", "учитель"),
        ("ru", "урок"),
        ("el", "συνάντηση"),
        ("ar", "كتب"),
        ("ar", "المكتبه"),
        ("ar", "أَعَدْتُ"),
        ("he", "ספרייה"),
        ("he", "פגישה"),
        ("he", "סְפָרִים"),
        ("hi", "किताब"),
        ("hi", "बैठक"),
        ("th", "ประชุม"),
        ("th", "กาแฟ"),
        ("zh-Hans", "洗衣機"),
        ("zh-Hans", "聲音"),
        ("zh-Hant", "电灯"),
        ("zh-Hant", "厨房"),
    ],
)
def test_a_word_is_found_as_somebody_else_writes_it(
    index: MemoryIndex, language: str, query: str
) -> None:
    hits = search(index, query, mode="keyword", encoder=None)
    assert hits and hits[0].note.path == f"{language}.md"
    assert hits[0].marks, "what was found is shown"


@pytest.mark.parametrize("query", ["run", "runs", "gardens", "costs"])
def test_english_is_found_as_before(index: MemoryIndex, query: str) -> None:
    assert [hit.note.path for hit in search(index, query, mode="keyword", encoder=None)] == [
        "en.md"
    ]


def test_small_words_of_a_query_do_not_count(index: MemoryIndex) -> None:
    hits = search(
        index, "quando sono spostate le riunioni anche questa", mode="keyword", encoder=None
    )
    assert [hit.note.path for hit in hits][:1] == ["it.md"]


def test_traditional_and_simplified_characters_are_marked_where_they_are() -> None:
    text = "廚房的電燈壞了"
    assert [text[start:end] for start, end in marks(text, ["电灯"])] == ["電燈"]


def test_the_languages_of_a_text_are_those_it_has_words_of() -> None:
    for code in ("fr", "it", "pt", "nl", "sv", "fi", "pl"):
        assert code in language_of(NOTES[code]).possible
    assert not language_of(NOTES["en"]).possible
    mixed = f"{NOTES['en']} {NOTES['nl']}"
    assert language_of(mixed).possible == {"nl"}


def test_each_language_that_a_text_can_tell_has_folded_words_a_stemmer_and_a_name() -> None:
    rows = table("function_words.toml")
    assert set(rows) == set(LATIN_LANGUAGES)
    for code, row in rows.items():
        assert row == fold(row)
        assert len(set(row.split())) == len(row.split()), code
        assert "another" not in named_shares({code: 1.0})


@given(st.text())
def test_folding_of_scripts_twice_changes_nothing_more(text: str) -> None:
    once = fold_scripts(fold(text))
    assert fold_scripts(once) == once
    assert all(stem[2:] or text for word in once.split() for stem in stems(word, LATIN_LANGUAGES))
