"""What German and Chinese notes say of older ones, and what only looks as if they said it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.analyzer.cues import Statement, statements
from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.language.lexicon import languages
from amem_cli.markdown.links import find_links
from amem_cli.notes.note import Note
from tests.fuzz.growth import grows_in_proportion

OLDER = [
    LinkCandidate("a.md", "Ofenplan", "Wir kaufen einen Miwe.", 0.5, 0, 0, created="2026-03-04"),
    LinkCandidate("b.md", "烤箱计划", "我们买一台新烤箱。", 0.4, 1, created="2026-03-09"),
    LinkCandidate("c.md", "Route durch den Harz", "Im Regen.", 0.1, 2, created="2026-03-19"),
    LinkCandidate("d.md", "搬家清單", "紙箱二十個。", 0.1, 6, created="2026-02-11"),
]


def said(body: str) -> list[Statement]:
    """What a note says of the notes that it links, or else of `OLDER`."""
    names = [link.target for link in find_links(body)]
    linked = [
        LinkCandidate(f"{name}.md", name, name, 0.1, 5, created="2026-03-04") for name in names
    ]
    older = linked or OLDER
    note = Note("n.md", "1", "News", body, created="2026-03-20T10:00:00")
    return statements(note, older, [0.1] * len(older), document_frequency=lambda word: 2, total=64)


GERMAN = [
    ("Das ersetzt [[Rührplan]], der war mir zu hektisch.", "supersedes"),
    ("Diese Notiz löst [[Packliste Island]] ab.", "supersedes"),
    ("Wir heben den Beschluss vom 4. März auf.", "supersedes"),
    ("Statt [[Freitagsrunde]] gibt es ab Mai ein Frühstück.", "supersedes"),
    ("[[Setup im Keller]] ist seit heute hinfällig, der Vermieter braucht den Raum.", "supersedes"),
    ("Der Preis in [[Angebot Kessler]] gilt nicht mehr.", "supersedes"),
    ("[[Zeitplan Umbau]] ist veraltet: die Fenster kommen erst im Juni.", "supersedes"),
    ("Der Beschluss vom 9.3. ist vom Tisch.", "supersedes"),
    ("Vor zwei Wochen beschlossen, jetzt doch nicht: kein Leasing.", "supersedes"),
    ("Den Workflow finde ich too slow, das ersetzt den Plan vom 9. März.", "supersedes"),
    ("Korrektur zu [[Eröffnung]]: es wird der 15. Mai.", "contradicts"),
    ("Korrektur: [[Sitzhöhe]] ist 72 Zentimeter.", "contradicts"),
    ("Was ich in [[Wasserhärte]] geschrieben habe, ist falsch.", "contradicts"),
    ("[[Wasserhärte]] stimmt nicht, im Labor kamen 14 Grad heraus.", "contradicts"),
    ("Meine Schätzung von gestern war falsch, es sind 40 Meter.", "contradicts"),
    ("Was ich letzte Woche notiert habe, war ein Irrtum.", "contradicts"),
    ("Heute gemerkt, dass [[Gärzeit]] falsch ist.", "contradicts"),
    ("Das widerspricht [[Gärzeit]], und zwar deutlich.", "contradicts"),
    ("Das bestätigt [[Backtest]]: zu wenig Unterhitze.", "supports"),
    ("Die Vermutung vom 4. März hat sich bestätigt.", "supports"),
]
NOT_GERMAN = [
    "Das ersetzt [[Rührplan]] nicht, nur den Rührer.",
    "Ersetzt das [[Rührplan]]?",
    "Falls das [[Rührplan]] ersetzt, sag bitte Bescheid.",
    "Ich glaube nicht, dass [[Gärzeit]] falsch ist.",
    "Sie meinte: „[[Wasserhärte]] ist falsch.“",
    "Der Lötkolben löst [[Fritz]] das Problem.",
    "Das Treffen findet am Freitag statt, wie in [[Freitagsrunde]].",
    "[[Mia]] wohnt nicht mehr in Kiel.",
    "[[Lunch]] wird durch [[Review]] ersetzt.",
    "Das ersetzt den Filter von [[Boiler]].",
    "Ich ersetze [[Bob]] an der Kasse.",
    "Korrektur lesen bis Freitag, dann [[Manuskript]] abgeben.",
    "[[Adapter]] sitzt falsch herum im Gehäuse.",
    "[[Chor]] fällt diese Woche aus.",
    "Wir heben [[Kiste]] in den Keller.",
    "Das kann doch nicht wahr sein, [[Miete]].",
    "Nächsten Dienstag ist der Beschluss vom letzten Jahr nicht falsch.",
]
CHINESE = [
    ("这取代了[[冬季菜单]]。", "supersedes"),
    ("[[冬季菜单]]已经作废，下周换新的。", "supersedes"),
    ("[[跑步安排]]不再适用，膝盖还没好。", "supersedes"),
    ("[[开店日期]]改为六月十五日。", "supersedes"),
    ("我收回[[春游计划]]里说的话。", "supersedes"),
    ("更新[[座椅高度]]：改成72厘米。", "supersedes"),
    ("3月9日的决定作废，改租一台。", "supersedes"),
    ("三月九日定的方案全部推翻。", "supersedes"),
    ("烤箱计划作废，先用旧的。", "supersedes"),
    ("這推翻了[[搬家日期]]。", "supersedes"),
    ("[[開幕日期]]不再有效，等場地確認。", "supersedes"),
    ("《搬家清單》作廢，紙箱夠了。", "supersedes"),
    ("[[水质记录]]里的数据有误，多写了一个零。", "contradicts"),
    ("[[面粉配方]]里写的比例不对，水应该再少一点。", "contradicts"),
    ("这与[[发酵笔记]]矛盾：低温的反而更酸。", "contradicts"),
    ("更正：[[座椅高度]]应为72厘米。", "contradicts"),
    ("昨天写的那个价格错了，是三千二。", "contradicts"),
    ("我们三月九日说的温度不对，要两百三。", "contradicts"),
    ("[[烤箱決定]]裡的價格寫錯了。", "contradicts"),
    ("這與[[發酵筆記]]不符，低溫的反而更酸。", "contradicts"),
    ("这证实了[[漏水猜测]]：果然是阀门。", "supports"),
    ("果然，[[漏水猜测]]没错。", "supports"),
]
NOT_CHINESE = [
    "这没有取代[[冬季菜单]]。",
    "新菜单并不会取代[[冬季菜单]]。",
    "[[冬季菜单]]作废了吗？",
    "[[冬季菜单]]是不是作废了",
    "[[冬季菜单]]作废了吗。",
    "如果[[冬季菜单]]作废，就重新印。",
    "[[冬季菜单]]可能已经作废。",
    "阿明说“[[冬季菜单]]作废了”。",
    "旧流程被[[新流程]]取代了。",
    "这取代了[[净水器]]的旧滤芯。",
    "[[小美]]不再住在台北。",
    "[[合唱团]]这周取消了。",
    "今天重看烤箱计划，水壶作废了。",
    "原来的烤箱计划是三月买。",
    "取代不了[[老配方]]。",
    "未来取代什么，看[[老配方]]。",
    "[[發票]]還沒作廢。",
    "我沒有推翻[[搬家日期]]。",
    "下周三的计划作废。",
]


@pytest.mark.parametrize(("body", "relation"), [*GERMAN, *CHINESE])
def test_a_note_says_in_german_or_chinese_what_became_of_an_older_one(
    body: str, relation: str
) -> None:
    assert [(each.relation, each.sure) for each in said(body)] == [(relation, True)]


@pytest.mark.parametrize("body", [*NOT_GERMAN, *NOT_CHINESE])
def test_what_is_denied_asked_quoted_or_said_of_something_else_changes_nothing_unasked(
    body: str,
) -> None:
    assert not [each for each in said(body) if each.sure]


@given(
    st.sampled_from([body for body, _ in CHINESE if "[[" in body]),
    st.sampled_from(["如果{}", "也许{}", "是否{}", "{}吗？", "他说：“{}”", "> {}"]),
)
def test_a_chinese_cue_in_doubt_is_none(body: str, frame: str) -> None:
    assert not [each for each in said(frame.format(body.rstrip("。"))) if each.sure]


def test_the_day_before_what_was_decided_on_it_counts_too() -> None:
    for body in ("Yesterday's decision is wrong.", "Last week I wrote 18 grams, that is wrong."):
        assert [each.sure for each in said(body)] == [True]


# Letters that phrases begin, go on and end with, in all languages.
LETTERS = sorted(
    {piece for each in languages() for texts in each.phrases.values() for text in texts
     for piece in text.strip("/").split()[:1] if piece.isalpha()}
)  # fmt: skip


@given(
    st.lists(st.sampled_from([*LETTERS, "Ofenplan", "烤箱计划", "4.", "März", "3月9日", ",", "。"]))
)
def test_any_row_of_words_of_the_language_files_is_read(pieces: list[str]) -> None:
    for joint in (" ", ""):
        for each in said(joint.join(pieces)):
            assert 0 <= each.older < len(OLDER)


@pytest.mark.parametrize(
    "piece",
    ["der alte ", "mein ", "ist damit ", "löst ", "nicht ", "was ich ", "vor 3 ", "4. ", "wie ich ",
     "的", "那个", "没", "里写的", "被", "第三", "三月", "上", "改", "now ", "the old ", "was "],
)  # fmt: skip
def test_no_text_makes_the_expressions_slow(piece: str) -> None:
    grows_in_proportion(
        said, lambda size: f"{piece * (size // len(piece))} falsch 作废 wrong", 100_000
    )
