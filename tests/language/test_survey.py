"""Which share of texts is in which language, and that lists and names say nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.language.detect import (
    OTHER,
    detect_language,
    language_of,
    language_shares,
    named_shares,
)
from amem_cli.markdown.plain_text import prose
from tests.documents import TOP

ENGLISH = (
    "The cellar is damp again after the rain, because the downpipe is full of leaves and the water"
    " cannot drain away any more. I will ask the neighbour for his ladder on Saturday."
)
# The same in other languages, with what each counts as.
OTHERS = [
    (
        "de",
        "Der Keller ist nach dem Regen wieder feucht, weil das Fallrohr voller Laub ist und das"
        " Wasser nicht mehr ablaufen kann. Am Samstag frage ich den Nachbarn nach seiner Leiter.",
    ),
    (
        "fr",
        "La cave est de nouveau humide après la pluie, parce que la descente est pleine de feuilles"
        " et que l'eau ne peut plus s'écouler. Samedi, je demanderai son échelle au voisin.",
    ),
    (
        "es",
        "El sótano está otra vez húmedo después de la lluvia, porque la bajante está llena de hojas"
        " y el agua ya no puede salir. El sábado le pediré la escalera al vecino.",
    ),
    (
        "it",
        "La cantina è di nuovo umida dopo la pioggia, perché il pluviale è pieno di foglie e"
        " l'acqua non riesce più a defluire. Sabato chiederò la scala al vicino.",
    ),
    (
        "pt",
        "O porão está úmido de novo depois da chuva, porque a calha está cheia de folhas e a água"
        " não consegue mais escoar. No sábado vou pedir a escada ao vizinho.",
    ),
    (
        "nl",
        "De kelder is na de regen weer vochtig, omdat de regenpijp vol bladeren zit en het water"
        " niet meer kan weglopen. Zaterdag vraag ik de buurman om zijn ladder.",
    ),
    (
        "sv",
        "Källaren är fuktig igen efter regnet, eftersom stupröret är fullt av löv och vattnet inte"
        " längre kan rinna undan. På lördag frågar jag grannen om hans stege.",
    ),
    (
        "pl",
        "Piwnica jest po deszczu znowu wilgotna, bo rynna jest pełna liści i woda nie może już"
        " odpływać. W sobotę poproszę sąsiada o drabinę.",
    ),
    (
        "fi",
        "Kellari on sateen jälkeen taas kostea, koska syöksytorvi on täynnä lehtiä eikä vesi pääse"
        " enää valumaan pois. Lauantaina pyydän naapurilta tikkaita.",
    ),
    (
        "hu",
        "A pince az eső után megint nedves, mert az esőcsatorna tele van levelekkel, és a víz már"
        " nem tud lefolyni. Szombaton elkérem a szomszéd létráját.",
    ),
    (
        "tr",
        "Bodrum yağmurdan sonra yine nemli, çünkü yağmur borusu yaprakla dolu ve su artık akamıyor."
        " Cumartesi günü komşudan merdivenini isteyeceğim.",
    ),
    (
        OTHER,
        "Tầng hầm lại ẩm sau cơn mưa, vì ống thoát nước đầy lá và nước không thể chảy đi nữa. Thứ"
        " bảy tôi sẽ mượn thang của người hàng xóm.",
    ),
    (
        "id",
        "Ruang bawah tanah lembap lagi setelah hujan, karena pipa talang penuh daun dan air tidak"
        " bisa mengalir lagi. Hari Sabtu saya akan meminjam tangga tetangga.",
    ),
    ("ru", "После дождя в подвале снова сыро, потому что водосток забит листьями."),
    ("el", "Το υπόγειο είναι πάλι υγρό μετά τη βροχή, γιατί η υδρορροή είναι γεμάτη φύλλα."),
    ("zh", "雨后地下室又潮了，因为落水管里全是树叶，水排不出去。星期六我去向邻居借梯子。"),
    ("ja", "雨のあと地下室がまた湿っている。雨どいが落ち葉で詰まって水が流れないからだ。"),
    ("ko", "비가 온 뒤 지하실이 다시 눅눅해졌다. 홈통이 나뭇잎으로 막혀 있기 때문이다."),
    ("ar", "القبو رطب مرة أخرى بعد المطر لأن المزراب مليء بأوراق الشجر."),
    ("he", "המרתף שוב לח אחרי הגשם כי המרזב מלא בעלים."),
    ("hi", "बारिश के बाद तहखाना फिर से नम है क्योंकि नाली पत्तों से भरी है।"),
    ("th", "ห้องใต้ดินชื้นอีกครั้งหลังฝนตก เพราะท่อระบายน้ำเต็มไปด้วยใบไม้"),
]
TELL_NOTHING = [
    "",
    "12345 ?!",
    "git rebase --onto main",
    "- [ ] Buy milk\n- [ ] Call Anna\n- [ ] Pay rent\n- [x] Book flights Lisbon\n- [ ] Dentist 9am",
    "Anna Schmidt, Kofi Mensah, Bob Miller, Jane Doe, Marisol Vega, Juan Pérez, Søren Holm",
    "200 g flour\n7 g salt\n130 g water\n2 eggs\n50 g butter\n1 tsp vanilla\nbake 35 minutes",
    "雨后",
]

# Invented vaults of people who jot down English without many words of grammar.
TERSE = json.loads((TOP / "tests/data/terse_english_vaults.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("language", "text"), [("en", ENGLISH), *OTHERS])
def test_a_paragraph_tells_its_language(language: str, text: str) -> None:
    assert language_of(text)[:2] == (language, True)


@pytest.mark.parametrize("text", TELL_NOTHING)
def test_lists_and_names_tell_nothing(text: str) -> None:
    assert not (language_of(text).code and language_of(text).is_clear)
    assert language_shares([text, ENGLISH]) == {"en": 1.0}
    assert detect_language(text) in ("en", "zh")


@pytest.mark.parametrize("text", [ENGLISH, OTHERS[0][1]])
def test_a_wrapped_paragraph_is_as_good_as_one_line(text: str) -> None:
    words = text.split()
    wrapped = "\n".join(" ".join(words[at : at + 11]) for at in range(0, len(words), 11))
    assert language_of(wrapped) == language_of(text)


def test_shares_count_words_whatever_the_script() -> None:
    chinese = dict(OTHERS)["zh"]
    shares = language_shares([ENGLISH, ENGLISH, chinese, chinese])
    assert list(shares) == ["en", "zh"]
    # The same said in both; a Chinese word is about two characters, an English one five letters.
    assert shares["zh"] == pytest.approx(0.4, abs=0.06)
    assert sum(shares.values()) == pytest.approx(1)
    assert named_shares({"de": 0.62, "en": 0.377, "th": 0.003}) == "German 62 %, English 38 %"
    assert language_shares([]) == {}


@pytest.mark.parametrize(
    ("person", "english"), [("engineer", 1.0), ("cafe", 1.0), ("photographer", 0.48)]
)
def test_the_vaults_of_three_people(person: str, english: float) -> None:
    lines = (TOP / f"tests/data/gold/{person}/notes.jsonl").read_text(encoding="utf-8")
    notes = [prose(json.loads(line)["content"]) for line in lines.splitlines()]
    shares = language_shares(notes)
    assert shares["en"] == pytest.approx(english, abs=0.02)
    assert set(shares) <= {"en", "de"}


@pytest.mark.parametrize("person", TERSE)
def test_terse_english_is_not_taken_for_another_language(person: str) -> None:
    notes = TERSE[person]
    assert set(language_shares(notes)) <= {"en"}
    assert all(language_of(note).code in ("", "en") for note in notes)


@given(st.text())
def test_any_text_can_be_surveyed(text: str) -> None:
    assert sum(language_shares([text]).values()) == pytest.approx(
        1 if language_shares([text]) else 0
    )
