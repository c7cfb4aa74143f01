"""Words of Chinese, Japanese, Korean and German notes are found, and everyday strings too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.sync import synchronise
from amem_cli.search.search import Hit, Mode, search
from amem_cli.search.snippet import marks
from tests.fakes.encoder import FakeEncoder
from tests.vaults import indexed, open_vault, write_note

NOTES = {
    "zh/猫": "今天我们收养了一只猫,我的猫很可爱,名字叫小白。",
    "zh/项目": "我用Python写了一个脚本,整理知识管理的笔记。数据库放在本地。",
    "zh/会议": "项目会议改到星期五下午三点,地点在上海办公室。",
    "zh/茶": "绿茶用八十度的水泡，红茶用沸水。",
    "ja/会議": "来週の会議は東京で行います。資料はＡＢＣ社から届く予定です。",
    "ja/犬": "近所の犬がよく吠える。散歩は朝にするといい。",
    "ja/データ": "データベースのバックアップを毎日取る。ﾊﾞｯｸｱｯﾌﾟの場所はサーバー。",
    "ko/학교": "오늘 학교에서 수학 시험을 봤다. 선생님이 칭찬하셨다.",
    "ko/물": "물을 하루에 여덟 잔 마시는 것이 좋다고 한다.",
    "ko/책": "도서관에서 빌린 책을 다음 주까지 반납해야 한다.",
    "de/Vermieter": "Frau Müller hat die Kaution für die Wohnung in Zürich nicht gezahlt.",
    "de/Haus": "Die alten Häuser in der Straße am Fluss werden im Frühling renoviert.",
    "de/Tür": "Die Haustür klemmt, und der Schlosser kommt am Montag.",
    "de/Rechnung": "Drei Rechnungen sind offen, die größte ist vom Dachdecker.",
    "de/Mail": "Herr Mueller schrieb: die Strasse ist gesperrt, wir fahren durch den Wald.",
    "en/Müller": "Dan Muller paid the deposit for the flat in Zurich.",
    "en/cafe": "The café on the corner has naïve paintings.",
    "en/cpp": "Templates in C++ are resolved when the program is compiled.",
    "en/csharp": "The service is written in C# and runs on .NET 8.",
    "en/c": "Vitamin C helps, and so does sleep. A net result of nothing.",
    "en/node": "The bundler needs node.js 20; see https://example.org/docs/setup?step=2 for more.",
    "en/js": "JS engines differ. A node in a graph has neighbours.",
    "en/version": "Upgraded to Python 3.11.2 on the laptop.",
    "en/other version": "Python 3.12 has 11 changes and 2 fixes that matter.",
    "en/phrase": "An old snapshot holds back the dead tuples of the table.",
    "en/words": "Tuples can be unpacked. The plant is dead.",
    "en/a-b": "The a-b test of the landing page ran for two weeks.",
    "en/key": "The setting is timeout:30 in src/server/settings.py by ana@example.com.",
    "en/tag": "Bought seedlings. #garden/balcony",
    "en/emoji": "We won the quiz 🎉 and celebrated.",
    "en/and": "Cats AND dogs: NOT friends, it's a NEAR miss.",
    "en/walk": "Walking to work takes twenty minutes.",
}


def vault_of(root: Path, notes: Mapping[str, str]) -> Iterator[MemoryIndex]:
    """The index of notes by their names, until a test ends."""
    for name, text in notes.items():
        write_note(root, f"{name}.md", f"{text}\n")
    ports = indexed(open_vault(root))
    yield ports.index
    ports.index.close()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    yield from vault_of(tmp_path_factory.mktemp("vault"), NOTES)


def hits_of(index: MemoryIndex, query: str) -> list[Hit]:
    return search(index, query, encoder=None, mode="keyword", neighbors=False, limit=10)


def found(index: MemoryIndex, query: str) -> list[str]:
    return [hit.note.path.removesuffix(".md") for hit in hits_of(index, query)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # One character, at the beginning, in the middle and at the end of a run.
        ("猫", ["zh/猫"]),
        ("茶", ["zh/茶"]),
        ("水", ["zh/茶"]),
        ("犬", ["ja/犬"]),
        ("朝", ["ja/犬"]),
        ("물", ["ko/물"]),
        ("책", ["ko/책"]),
        # Two, and more.
        ("会议", ["zh/会议", "ja/会議"]),
        ("上海", ["zh/会议"]),
        ("东京", ["ja/会議"]),
        ("東京", ["ja/会議"]),
        ("知识管理", ["zh/项目"]),
        ("データベース", ["ja/データ"]),
        ("バックアップ", ["ja/データ"]),
        ("吠える", ["ja/犬"]),
        # Particles, in the note or in the query.
        ("학교", ["ko/학교"]),
        ("수학 시험", ["ko/학교"]),
        ("책은", ["ko/책"]),
        ("도서관", ["ko/책"]),
        # Scripts that meet, and other widths.
        ("用Python写", ["zh/项目"]),
        ("python", ["zh/项目", "en/version", "en/other version"]),
        ("ABC", ["ja/会議"]),
        ("ＡＢＣ", ["ja/会議"]),
        ("ﾊﾞｯｸｱｯﾌﾟ", ["ja/データ"]),
        ("ｐｙｔｈｏｎ ３.１１.２", ["en/version"]),
    ],
)
def test_chinese_japanese_and_korean_words_are_found(
    index: MemoryIndex, query: str, expected: list[str]
) -> None:
    best = found(index, query)
    assert set(expected) <= set(best)
    if len(query) <= 2:
        assert best == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Müller", {"de/Vermieter", "de/Mail", "en/Müller"}),
        ("Mueller", {"de/Vermieter", "de/Mail"}),
        ("muller", {"de/Vermieter", "en/Müller"}),
        ("MÜLLER", {"de/Vermieter", "de/Mail", "en/Müller"}),
        ("Zürich", {"de/Vermieter", "en/Müller"}),
        ("Haus", {"de/Haus"}),
        ("Häuser", {"de/Haus"}),
        ("haeuser", {"de/Haus"}),
        ("Straße", {"de/Haus", "de/Mail"}),
        ("Strasse", {"de/Haus", "de/Mail"}),
        ("Rechnung", {"de/Rechnung"}),
        ("der Rechnungen", {"de/Rechnung"}),
        ("große", {"de/Rechnung"}),
        ("Wälder", {"de/Mail"}),
        ("Haustüren", {"de/Tür"}),
        ("Hausschlüssel", set()),
        ("Schloss", {"de/Tür"}),
        ("cafe", {"en/cafe"}),
        ("naive", {"en/cafe"}),
    ],
)
def test_german_words_are_found_in_every_inflection_and_spelling(
    index: MemoryIndex, query: str, expected: set[str]
) -> None:
    assert expected <= set(found(index, query))
    assert expected or not found(index, query)


def test_the_stems_of_german_words_do_not_disturb_english_notes(index: MemoryIndex) -> None:
    assert found(index, "walks") == ["en/walk"]
    assert "en/walk" not in found(index, "Wald")
    assert found(index, "deposits")[0] == "en/Müller"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("c++", ["en/cpp"]),
        ("C++", ["en/cpp"]),
        ("c#", ["en/csharp"]),
        (".net", ["en/csharp"]),
        ("3.11.2", ["en/version"]),
        ("3.11", ["en/version"]),
        ("a-b", ["en/a-b"]),
        ('"dead tuples"', ["en/phrase"]),
        ("“dead tuples”", ["en/phrase"]),
        ('"知识管理"', ["zh/项目"]),
        ('"我用Python写"', ["zh/项目"]),
        ("「整理知识」", ["zh/项目"]),
        ("timeout:30", ["en/key"]),
        ("src/server/settings.py", ["en/key"]),
        ("settings.py", ["en/key"]),
        ("ana@example.com", ["en/key", "en/node"]),
        ("https://example.org/docs/setup?step=2", ["en/node", "en/key"]),
        ("example.org", ["en/node", "en/key"]),
        ("node.js", ["en/node", "en/js"]),
        ("#garden", ["en/tag"]),
        ("#garden/balcony", ["en/tag"]),
        ("🎉", ["en/emoji"]),
        ("🎉🎉", ["en/emoji"]),
        ("cats AND dogs", ["en/and"]),
        ("NEAR", ["en/and"]),
        ("it's", ["en/and"]),
        ("it’s", ["en/and"]),
        ("templ*", ["en/cpp"]),
        ("seedl", ["en/tag"]),
        ("snapsoht", ["en/phrase"]),
        ("*", []),
        ('"', []),
        ('""', []),
        ("::", []),
        ("'", []),
    ],
)
def test_everyday_strings_find_what_holds_them(
    index: MemoryIndex, query: str, expected: list[str]
) -> None:
    assert found(index, query) == expected


def test_a_phrase_that_is_nowhere_gives_its_words(index: MemoryIndex) -> None:
    for query in ('"tuples dead"', '"dead tuple', "“tuples dead”"):
        assert set(found(index, query)) == {"en/phrase", "en/words"}


@pytest.mark.parametrize(
    ("query", "path", "marked"),
    [
        ("猫", "zh/猫", ["猫", "猫"]),
        ("知识管理", "zh/项目", ["知识管理"]),
        ('"知识管理"', "zh/项目", ["知识管理"]),
        ("用Python写", "zh/项目", ["用Python写"]),
        ("バックアップ", "ja/データ", ["バックアップ", "ﾊﾞｯｸｱｯﾌﾟ"]),
        ("ABC", "ja/会議", ["ＡＢＣ"]),
        ("학교", "ko/학교", ["학교"]),
        ("Häuser", "de/Haus", ["Häuser"]),
        ("Haus", "de/Haus", ["Häuser"]),
        ("Mueller", "de/Vermieter", ["Müller"]),
        ("Strasse", "de/Haus", ["Straße"]),
        ("cafe", "en/cafe", ["café"]),
        ('"dead tuples"', "en/phrase", ["dead", "tuples"]),
        ("templ*", "en/cpp", ["Templates"]),
        ("seedl", "en/tag", ["seedlings"]),
        ("c++", "en/cpp", ["C++"]),
    ],
)
def test_what_was_found_is_marked_in_the_snippet(
    index: MemoryIndex, query: str, path: str, marked: list[str]
) -> None:
    hit = next(hit for hit in hits_of(index, query) if hit.note.path == f"{path}.md")
    assert [hit.snippet[start:end] for start, end in hit.marks] == marked


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("猫", "最后我的猫回家了。"),
        ("Haus", "Die Häuser werden verkauft."),
        ("Mueller", "Frau Müller rief an."),
        ("cafe", "The café was closed."),
        ("abc", "ＡＢＣ社から届いた。"),
    ],
)
def test_the_snippet_of_a_long_note_shows_the_place(tmp_path: Path, query: str, line: str) -> None:
    filler = {"猫": "今天天气很好，我们去公园散步。" * 20, "abc": "今日は天気がいい。" * 40}
    padding = filler.get(query, "Das ist nicht das Thema und wird auch nicht wichtig. " * 20)
    write_note(tmp_path, "long.md", f"{padding}\n\n{padding}\n\n{line}\n\n{padding}\n")
    ports = open_vault(tmp_path)
    synchronise(ports)
    (hit,) = hits_of(ports.index, query)
    assert line.rstrip(".。") in hit.snippet
    assert hit.marks


WRITTEN_OTHERWISE = {
    # Soft hyphens, blanks without width, joiners: of web pages and PDF files.
    "soft": "Die Donau\u00addampf\u00adschiff\u00adfahrt ist lang; eine Ver\u00adsiche\u00adrung.",
    "zero": "The pass\u200bword policy and join\u2060ed\ufeff up, in \u202atheir\u202c own order.",
    "persian": "می\u200cخواهم کتاب\u200cها را ببرم.",
    "hash": "commit 3f2a9bc1d4e5 fixes issue GH-1234",
    "version": "We run v2.14.3 of the parser in production.",
    "runtime": "Built with python3.11 and 10.5mm of margin.",
    "virus": "COVID19 cases rose; set LANG to utf8 on an iPhone15Pro.",
    "disease": "Against COVID-19 and in UTF-8, for the iPhone 15 Pro.",
    "time": "Meeting at 2024-03-15T14:30:00Z with the builders.",
    "stamp": "backup_20230705T081500Z.tar is complete.",
    "polish": "A trip to Łódź and Wrocław in May.",
    "danish": "The bridge over Øresund; ask Søren.",
    "serbian": "Novak Đoković and Đorđević.",
    "icelandic": "Þórshöfn; œuvre; æsir; Davíð",
    "vietnamese": "Ông Đức",
    "turkish": "IĞDIR ilçesi, Diyarbakır",
    "maltese": "Ħamrun, Għarb; Sámi Áŋŋel and ŧ",
    "greek": "ὁ ἄνθρωπος μέτρον ἁπάντων",
    "units": "A disk of 512GB, 70 kg, at 7 pm.",
    "grouped": "Call 555-0199; ISBN 978-3-16-148410-0; 1,250,000 people; key aGVsbG8gd29ybGQ.",
    "identifier": "XMLHttpRequest asks getUserName; JavaScript, PDFs.",
    "initials": "The U.S.A. and J.R.R. Tolkien; the GDPR.",
    "other": "Another note about rivers and bread.",
}


@pytest.fixture(scope="module")
def otherwise(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    yield from vault_of(tmp_path_factory.mktemp("vault"), WRITTEN_OTHERWISE)


@pytest.mark.parametrize(
    ("query", "path", "marked"),
    [
        ("Donaudampfschifffahrt", "soft", "Donau\u00addampf\u00adschiff\u00adfahrt"),
        ("Versicherung", "soft", "Ver\u00adsiche\u00adrung"),
        ("Ver\u00adsicherung", "soft", "Ver\u00adsiche\u00adrung"),
        ("password", "zero", "pass\u200bword"),
        ('"password policy"', "zero", "pass\u200bword"),
        ("joined", "zero", "join\u2060ed"),
        ("their", "zero", "their"),
        ("میخواهم", "persian", "می\u200cخواهم"),
        ("می\u200cخواهم", "persian", "می\u200cخواهم"),
        ("کتاب", "persian", None),
        ("3f2a9bc", "hash", "3f2a9bc1d4e5"),
        ("3f2a9bc*", "hash", "3f2a9bc1d4e5"),
        ("3f2", "hash", "3f2a9bc1d4e5"),
        ("rivers 3f2a9bc", "hash", "3f2a9bc1d4e5"),
        ("GH-12*", "hash", "GH-1234"),
        ("2.14.3", "version", "v2.14.3"),
        ("v2.14.3", "version", "v2.14.3"),
        ("2.14", "version", "v2.14.3"),
        ("v2*", "version", "v2.14.3"),
        ("3.11", "runtime", "python3.11"),
        ("python 3.11", "runtime", "python3.11"),
        ("10.5", "runtime", "10.5mm"),
        ("2024-03-15", "time", "2024-03-15T14:30:00Z"),
        ("2024-03*", "time", "2024-03-15T14:30:00Z"),
        ("2024-03-15 14:30", "time", "2024-03-15T14:30:00Z"),
        ("2024-03-15T14:30", "time", "2024-03-15T14:30:00Z"),
        ("14:30", "time", "2024-03-15T14:30:00Z"),
        ("20230705", "stamp", "backup_20230705T081500Z"),
        ("Lodz", "polish", "Łódź"),
        ("Łódź", "polish", "Łódź"),
        ("wroclaw", "polish", "Wrocław"),
        ("Oresund", "danish", "Øresund"),
        ("soren", "danish", "Søren"),
        ("Dokovic", "serbian", "Đoković"),
        ("Dordevic", "serbian", "Đorđević"),
        ("Duc", "vietnamese", "Đức"),
        ("thorshofn", "icelandic", "Þórshöfn"),
        ("oeuvre", "icelandic", "œuvre"),
        ("aesir", "icelandic", "æsir"),
        ("david", "icelandic", "Davíð"),
        ("ığdır", "turkish", "IĞDIR"),
        ("igdir", "turkish", "IĞDIR"),
        ("diyarbakir", "turkish", "Diyarbakır"),
        ("hamrun", "maltese", "Ħamrun"),
        ("gharb", "maltese", "Għarb"),
        ("annel", "maltese", "Áŋŋel"),
        ("ανθρωπος", "greek", None),
        ("512 GB", "units", "512GB"),
        ("512 gb disk", "units", "512GB"),
        ("70kg", "units", None),
        ("7pm", "units", None),
        ("5550199", "grouped", "555-0199"),
        ("9783161484100", "grouped", "978-3-16-148410-0"),
        ("1250000", "grouped", "1,250,000"),
        ("user name", "identifier", None),
        ("USA", "initials", None),
        ("U.S.A.", "initials", None),
        ("JRR Tolkien", "initials", None),
        ("G.D.P.R.", "initials", None),
        ("http request", "identifier", None),
    ],
)
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_what_is_seen_alike_and_typed_on_any_keyboard_is_found(
    otherwise: MemoryIndex, mode: Mode, query: str, path: str, marked: str | None
) -> None:
    # To this encoder "512 GB" and "512GB" have nothing in common, as for one that cannot read them.
    encoder = FakeEncoder(reads=0.8)
    hits = search(otherwise, query, encoder=encoder, mode=mode, neighbors=False, limit=20)
    (hit,) = (hit for hit in hits if hit.note.path == f"{path}.md")
    assert hit.close and (hit is hits[0] or mode == "hybrid")
    shown = " ".join(hit.snippet[start:end] for start, end in hit.marks)
    assert marked is None or marked in shown


@pytest.mark.parametrize(
    "query", ["COVID-19", "COVID19", "UTF-8", "utf8", "iphone 15", "iPhone15Pro"]
)
def test_a_number_may_be_joined_to_a_word_or_not(otherwise: MemoryIndex, query: str) -> None:
    hits = search(otherwise, query, encoder=FakeEncoder(), mode="keyword", neighbors=False)
    assert {hit.note.path for hit in hits[:2] if hit.close} == {"virus.md", "disease.md"}


@pytest.mark.parametrize("query", ["1000", "9f2a9bc", "2.15", "2025-03-15", "9:30"])
def test_numbers_that_no_note_begins_with_find_none(otherwise: MemoryIndex, query: str) -> None:
    assert not any(hit.close for hit in hits_of(otherwise, query))


def test_letters_between_the_digits_of_a_key_or_picture_are_no_words(tmp_path: Path) -> None:
    picture = "iVBORw0KGgo12AAAAN99SUhEUg50tablesq77window12kept34"
    write_note(tmp_path, "a.md", f"![](data:image/png;base64,{picture})\n")
    ports = open_vault(tmp_path)
    synchronise(ports)
    assert not any(hit.close for hit in hits_of(ports.index, "window"))


def test_one_query_for_a_version_finds_every_way_to_write_it(tmp_path: Path) -> None:
    for name, text in (
        ("a", "Runs v3.12.1 here."),
        ("b", "Runs 3.12.1 here."),
        ("c", "Runs 13.12.1 here."),
        ("d", "Runs python 3.9 here."),
        ("e", "Runs python3.9 here."),
    ):
        write_note(tmp_path, f"{name}.md", text)
    ports = open_vault(tmp_path)
    synchronise(ports)
    for queries, names in ((("3.12.1", "v3.12.1"), "ab"), (("python3.9", '"python 3.9"'), "de")):
        for query in queries:
            close = [hit.note.path[0] for hit in hits_of(ports.index, query) if hit.close]
            assert sorted(close) == [*names]


PIECES = [
    "知识",
    "猫",
    "カナ",
    "ｶﾅ",
    "학교",
    "Häuser",
    "c++",
    ".net",
    "🙂",
    "a-b",
    "node.js",
    "3.11",
]
SIGNS = [
    '"',
    "'",
    "*",
    "“",
    "”",
    "「",
    "」",
    "(",
    ")",
    ":",
    "#",
    "-",
    "_",
    "\\",
    "/",
    " ",
    "\n",
    "\0",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from([*PIECES, *SIGNS])).map("".join)))
def test_no_query_fails(index: MemoryIndex, query: str) -> None:
    if not query.strip():
        return
    for hit in hits_of(index, query):
        assert 0 <= hit.score <= 1
        assert marks(hit.snippet, [query]) is not None
