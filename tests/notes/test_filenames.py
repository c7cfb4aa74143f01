"""A name that is made of any title can be kept by every system the vault may come to."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amem_cli.markdown.links import format_link, parse_link
from amem_cli.notes.names import (
    conflict_copy,
    file_name,
    is_linkable,
    title_of,
    with_suffix,
    without_conflict_mark,
)

DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {
    f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"
}
titles = st.one_of(
    st.text(),
    st.text(st.characters(codec=None)),
    st.lists(
        st.sampled_from(
            [
                *("con", "COM1", "nul.txt", ".", "..", "-", "~", " ", "/", ":", "%", "%%", ".md"),
                *("word ", "图", "e\u0301", "🇩🇪", "👍🏽", "\u202e", "\u200d", "(conflicted copy)"),
                *(".sync-conflict-20240101-120000-ABC", "-DESKTOP-ABC1234", "a" * 60, "\ud800"),
            ]
        )
    ).map("".join),
)


def is_portable(name: str) -> bool:
    stem = name.removesuffix(".md")
    return (
        name.endswith(".md")
        and len(name.encode()) <= 200
        and not re.search(r'[\x00-\x1f\x7f/\\:*?"<>|#^\[\]]|%%', name)
        and not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Cn") for letter in name)
        and name[0] not in ".-~ "
        and stem[-1] not in ". "
        and stem.split(".")[0].rstrip().lower() not in DEVICES
        and unicodedata.is_normalized("NFC", name)
        and any(unicodedata.category(letter)[0] in "LNS" for letter in stem)
    )


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Plain title", "Plain title.md"),
        ("README.md", "README.md"),
        ("Foo: bar / baz?", "Foo - bar - baz.md"),
        ("10:30", "10-30.md"),
        ("a\\b|c", "a-b-c.md"),
        ('say "hi" <now>', "say hi now.md"),
        ("C# [draft] ^x", "C draft x.md"),
        ("100%% sure", "100% sure.md"),
        ("CON", "CON_.md"),
        ("nul.tar", "nul_.tar.md"),
        ("Lpt¹", "Lpt¹_.md"),
        ("aux.falcon.x", "aux_.falcon.x.md"),
        ("Console", "Console.md"),
        ("..hidden", "hidden.md"),
        ("--help", "help.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("dots and blanks. . ", "dots and blanks.md"),
        ("two\nlines\tand\x00nul", "two lines and nul.md"),
        ("\u202eevil\u200b", "evil.md"),
        ("e\u0301", "é.md"),
        ("图书馆", "图书馆.md"),
        ("🎉", "🎉.md"),
        ("", "Untitled.md"),
        ("?!…", "Untitled.md"),
        ("\u3164", "Untitled.md"),
        ("Plan (conflicted copy)", "Plan conflicted copy.md"),
    ],
)
def test_a_name_of_a_title(title: str, name: str) -> None:
    assert file_name(title) == name


@given(titles)
@example("con\u200d")
@example("a" * 196 + "é" + "con")
@example("((conflicted copy))")
@example("CON .x")
def test_every_name_is_portable_and_made_once(title: str) -> None:
    name = file_name(title)
    assert is_portable(name)
    assert file_name(name) == name
    assert file_name(name.removesuffix(".md")) == name
    assert is_linkable(name)
    assert not conflict_copy(name)
    link = parse_link(format_link(name.removesuffix(".md"), title))
    assert link is not None
    assert link.target == name.removesuffix(".md")


@given(titles, st.integers(2, 10**6))
def test_a_suffix_keeps_a_name_portable(title: str, number: int) -> None:
    name = with_suffix(file_name(title), number)
    assert is_portable(name)
    assert name.endswith(f" {number}.md")
    assert file_name(name) == name


def test_suffixes_tell_long_names_apart() -> None:
    long = file_name("word " * 100)
    assert with_suffix("Name.md", 2) == "Name 2.md"
    assert len({with_suffix(long, number) for number in range(2, 30)}) == 28


def test_a_long_title_is_cut_between_words() -> None:
    assert file_name("word " * 100) == " ".join(["word"] * 39) + ".md"


@pytest.mark.parametrize("grapheme", ["e\u0323\u0307", "👍🏽"])
def test_a_long_title_is_cut_between_graphemes(grapheme: str) -> None:
    composed = unicodedata.normalize("NFC", grapheme)
    for lead in range(8):
        stem = file_name("x" * lead + grapheme * 100).removesuffix(".md")
        assert stem[lead:] == composed * (len(stem[lead:]) // len(composed))


def test_a_sequence_too_long_for_a_name_leaves_none_of_it() -> None:
    assert file_name("a" + "\u0301" * 300) == "Untitled.md"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("# A **bold** [[Note|plan]] ##\n\ntext", "A bold plan"),
        ("\n\n## Opening\ntext", "Opening"),
        ("intro\n\n# Main\n", "Main"),
        ("A first sentence. A second.\n\n## Sources\n", "A first sentence"),
        ("Is it so? Yes.", "Is it so?"),
        ("I met Dr. Smith at noon. Then we left.", "I met Dr. Smith at noon"),
        ("今天天气很好。我们去公园。", "今天天气很好"),
        ("- [ ] buy milk\n- eggs", "buy milk"),
        ("# C#", "C#"),
        ("```\n# comment\n```\nprose", "prose"),
        ("```\ncode\n```", "code"),
        ("%% hidden %%\n![[pic.png]]\n\nwords", "words"),
        ("#\n***\n", "Untitled"),
        ("", "Untitled"),
        (
            "From 2027 the pivots of all clocks get Moebius 9010 instead of the old oil.",
            "From 2027 the pivots of all clocks get Moebius 9010",
        ),
        (
            "Decided: we take the used deck oven, because the new one costs twice as much.",
            "Decided: we take the used deck oven",
        ),
        (
            "The pipe is 9 cm short of it. This replaces [[Stove sweep]] of the year before last.",
            "The pipe is 9 cm short of it",
        ),
        (
            "Ah. The clock of the town hall strikes again, since Monday at noon sharp.",
            "Ah. The clock of the town hall strikes again",
        ),
        ("… and then the old clock struck twice", "… and then the old clock struck twice"),
        ("word " * 40, " ".join(["word"] * 12)),
        ("字" * 100, "字" * 60),
        ("x" * 59 + "👨\u200d👩\u200d👧", "x" * 59),
    ],
)
def test_a_title_of_a_text(content: str, title: str) -> None:
    assert title_of(content) == title


@given(st.text(), st.integers(10, 80))
def test_a_title_is_one_short_line(content: str, limit: int) -> None:
    title = title_of(content, limit)
    assert title == title.strip() != ""
    assert len(title) <= limit
    assert "\n" not in title


@pytest.mark.parametrize(
    "name",
    [
        "Note.sync-conflict-20240101-120000-ABCDEFG.md",
        "Note (Ann's conflicted copy 2024-01-01).md",
        "Note (conflicted copy).md",
        "Note (Conflicted copy MacBook 202501011200).md",
        "Note (conflicted copy 2024-01-01 120000).md",
        "Note (Case Conflict 1).md",
        "Note (Case Conflict).md",
        "Note (Unicode Encoding Conflict).md",
        "Note (Selective Sync Conflict 2).md",
        "Note (Whitespace Conflict).md",
        "Note (white space conflict).md",
        "Note (SFConflict ann@x.y 2024-01-01-12-00-00).md",
        "Note_conflict-20240101-120000.md",
        "Note_conflict-kim-20240101-120000.md",
        "Note (conflicting copy 2022-08-30).md",
        "Note (case clash from Ann 2024-01-01).md",
        "Note [conflicted].md",
        "Note_DiskStation_Apr-15-1123-2023_Conflict.md",
        "Note_My-Mac.local_Apr-15-112355-2023_Conflict.md",
        "Note_Andy-PC_Jan-03-0901-2013_CaseConflict.md",
        "Note_Andy-PC_Jan-03-0901-2013_WhiteSpaceConflict_1.md",
        "Note (Kims in Konflikt stehende Kopie 2024-01-01).md",
        "Note (Copie en conflit de Kim 2024-01-01).md",
        "Note (Copia conflictiva de Kim 2024-01-01).md",
        "Note (copia en conflicto de Kim 2024-01-01).md",
        "Note (Copia in conflitto di Kim 2024-01-01).md",
        "Note (Co\u0301pia em conflito de Kim 2024-01-01).md",
        "Note (Kim's conflicterende kopie 2024-01-01).md",
        "Note (Kims motstridiga kopia 2024-01-01).md",
        "Note (kopia powodująca konflikt Kim 2024-01-01).md",
        "Note (конфликтующая копия Kim 2024-01-01).md",
        "Note (Kim の競合コピー 2024-01-01).md",
        "Note (Kim 的冲突副本 2024-01-01).md",
        "Note (Kim 的衝突複本 2024-01-01).md",
        "Note (Kim의 충돌된 사본 2024-01-01).md",
        # A second one on the same day, and by other programs and in other languages.
        "Note (Kim's conflicted copy 2024-01-02 (1)).md",
        "Note_DiskStation_Apr-15-112345-2023_Conflict(1).md",
        "Note (# Edit conflict 2024-01-01 k2v2c9C #).md",
        "Note (# Name clash 2024-01-01 k2v2c9C #).md",
        "Note-conflict-2024-01-01.md",
        "Note (Kim çakışan kopyası 2024-01-01).md",
        "Note (Kims konflikteksemplar 2024-01-01).md",
        "Note (Kims kopia i konflikt 2024-01-01).md",
        "Note (Kim, kopia będąca w konflikcie 2024-01-01).md",
        "Note (Salinan Konflik Kim 2024-01-01).md",
        "Note (Kim สำเนาที่ขัดแย้งกัน 2024-01-01).md",
        "Note-DESKTOP-AB12CD3.md",
        "Note-LAPTOP-AB12CD3-2.md",
        *("n.md~", "4913", "5036", "#n.md#", ".n.md.swp", "x.tmp", ".amem-1f2e.tmp", "~$n.docx"),
        *("n.md.part", "n.md.crdownload", ".~lock.n.odt#"),
    ],
)
def test_conflict_copies_and_leftovers(name: str) -> None:
    assert conflict_copy(name)
    if name.startswith("Note"):
        assert without_conflict_mark(name) == "Note.md"


@pytest.mark.parametrize(
    "name",
    [
        *("Note.md", "Note 2.md", "2024.md", "4913.md", "Conflict of interest.md", "Note (1).md"),
        *(
            "Law (case conflict of laws).md",
            "A_b_Jan-03_CaseConflict.md",
            "My DESKTOP.md",
            "sync-conflict.md",
            "tmp.md",
        ),
        *("Konflikt (Kopie).md", "Plan_Conflict.md", "War_and_Conflict.md", "Note (copy).md"),
        "A_b_Jan-03_CaseConflict.md",
        *("Law (copyright conflict).md", "On-conflict-2024.md", "Ring (kopje).md", "A (copy) B.md"),
    ],
)
def test_names_of_notes(name: str) -> None:
    assert not conflict_copy(name)
