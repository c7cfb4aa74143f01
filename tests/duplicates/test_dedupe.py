"""Notes that say the same are found, and those that only look like it are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.duplicates.compare import duplicates_of, note_with_text, same_series, text_key
from amem_cli.duplicates.find import Duplicates, find_duplicates
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault, tree_hashes, write_note

LONG = (
    "The walrus hauls out on the ice to rest between dives. Its whiskers feel the clams in the mud,"
    " and its tusks are for climbing back.\n\nA herd lies close together and is loud about it.\n"
)
OTHER = (
    "Sourdough wants a warm kitchen and a patient baker. The starter doubles within six hours when"
    " it was fed rye, and falls back when it is hungry again.\n"
)


def ports_of(root: Path, notes: dict[str, str], *, embed: bool = True) -> VaultPorts:
    ports = open_vault(root)
    for name, text in notes.items():
        write_note(root, f"{name}.md", text)
    synchronise(ports)
    if embed:
        embed_missing(ports, FakeEncoder(dimension=384))
    return ports


def told(found: Duplicates) -> list[tuple[str, str, list[str]]]:
    """Kind, kept note and the others of each group."""
    return [
        (group.kind, group.kept.path, [each.note.path for each in group.others])
        for group in found.groups
    ]


def found_in(root: Path, **notes: str) -> list[tuple[str, str, list[str]]]:
    return told(find_duplicates(ports_of(root, notes)))


@pytest.mark.parametrize(
    "copy",
    [
        LONG.replace("\n", "\r\n"),
        f"---\ntags: [x]\ncontext: Of the walrus.\n---\n\n\n{LONG}\n\n",
        LONG.replace("\n\n", "  \n\n\n\t\n"),
        f"\ufeff# Other\n\n{LONG}",
    ],
)
def test_what_a_reader_does_not_see_makes_no_difference(tmp_path: Path, copy: str) -> None:
    assert found_in(tmp_path, One=LONG, Other=copy) == [("exact", "One.md", ["Other.md"])]


@pytest.mark.parametrize("copy", [LONG.replace(" and ", " a nd "), f"    {LONG}", f"- {LONG}"])
def test_blanks_within_lines_and_indentation_make_a_difference(tmp_path: Path, copy: str) -> None:
    first = "- walrus\n"
    kinds = {kind for kind, *_ in found_in(tmp_path, One=first + LONG, Other=first + copy)}
    assert "exact" not in kinds


def test_the_form_of_accents_makes_no_difference_and_case_does() -> None:
    assert text_key("Caf\u00e9 au lait", ()) == text_key("Cafe\u0301 au lait", ())
    assert text_key("Polish", ()) != text_key("polish", ())
    assert text_key("# Other\n\nText", ("Name",)) != text_key("Text", ("Name",))
    assert text_key(" \n\t\n", ()) == ""


@pytest.mark.parametrize(
    "edited",
    [
        LONG.replace("rest", "sleep").replace("loud", "noisy"),
        LONG.replace("walrus", "wlarus").replace("together", "togehter"),
        f"# A thought\n\n{LONG}",
        LONG.partition("\n")[0],
        "A herd lies close together and is loud about it.\n\n" + LONG.partition("\n")[0],
        LONG + "\nCalves stay with their mothers for two years.\n",
    ],
)
def test_an_edited_copy_is_a_near_duplicate(tmp_path: Path, edited: str) -> None:
    ((kind, _, others),) = found_in(tmp_path, Walrus=LONG, Edited=edited, Bread=OTHER)
    assert (kind, len(others)) == ("near", 1)


def test_notes_on_one_matter_are_no_duplicates(tmp_path: Path) -> None:
    text = (
        "The walrus and the seal share the ice. Both dive, but only one of them has tusks to use."
    )
    assert found_in(tmp_path, Walrus=LONG, Seal=text, Bread=OTHER) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-03-01", "2026-03-02"),
        ("Minutes 1 March", "Minutes 8 March"),
        ("Invoice 12", "Invoice 13"),
        ("Weekly review Monday", "Weekly review Friday"),
    ],
)
def test_notes_of_a_series_from_one_template_are_no_duplicates(
    tmp_path: Path, one: str, other: str
) -> None:
    template = "## Who was there\n\n## What was said about the plan\n\n## What is to be done next\n"
    assert same_series(one, other)
    assert found_in(tmp_path, **{one: template, other: template}) == []


def test_templates_and_what_was_not_filled_in_are_no_duplicates(tmp_path: Path) -> None:
    form = "## Places to see\n\n## Where to eat\n\n## How to get there from the station\n"
    notes = {"templates/City": form, "Kyoto": form, "Osaka": form, "Person template": LONG}
    assert found_in(tmp_path, **notes, Walrus=LONG) == []


def test_copies_and_time_stamps_in_a_name_are_no_series() -> None:
    assert not same_series("Walrus", "Walrus 2")
    assert not same_series("Walrus (1)", "Walrus")
    assert not same_series("20260302150004 Walrus", "20260302150105 Walrus")
    assert not same_series("Walrus", "Seal")


def test_texts_that_differ_in_their_numbers_are_no_duplicates(tmp_path: Path) -> None:
    text = "Order {} went to the harbour on the {}th and cost {} euros, paid by the keeper himself."
    notes = {"A": text.format(12, 3, 40), "B": text.format(13, 8, 75)}
    assert found_in(tmp_path, **notes) == []


def test_a_note_that_is_quoted_in_a_long_one_is_no_duplicate(tmp_path: Path) -> None:
    (quoted, _) = LONG.split("\n\n")
    assert found_in(tmp_path, Walrus=quoted, Essay=f"{OTHER}\n{quoted}\n\n{OTHER * 3}") == []


def test_a_few_words_are_only_the_same_under_the_same_name(tmp_path: Path) -> None:
    notes = {"Milk": "To do.\n", "Rent": "To do.\n", "a/Call": "Ring back.\n"}
    notes |= {"b/Call": "Ring back.\n", "Empty": "\n", "Empty too": "---\ntags: [a]\n---\n"}
    assert found_in(tmp_path, **notes) == [("exact", "a/Call.md", ["b/Call.md"])]


def test_chinese_notes_are_compared_as_well(tmp_path: Path) -> None:
    text = "海象在潜水之间爬上冰面休息。它的胡须能感觉到泥里的蛤蜊，獠牙用来爬回冰上。"
    other = "酸面团需要温暖的厨房和耐心的面包师，酵头喂了黑麦以后六小时之内会涨一倍。"
    notes = {"一": text, "二": text.replace("休息", "睡觉") + "\n它很吵。", "三": other}
    # The stand-in for an encoder does not cut Chinese into words.
    ((kind, _, others),) = told(find_duplicates(ports_of(tmp_path, notes, embed=False)))
    assert (kind, len(others)) == ("near", 1)


def test_the_linked_the_older_and_the_uncopied_note_is_kept(tmp_path: Path) -> None:
    old, new = (f"---\ncreated: 202{year}-01-01\n---\n{LONG}" for year in (1, 5))
    assert found_in(tmp_path / "a", New=new, Old=old)[0][1] == "Old.md"
    assert found_in(tmp_path / "b", New=new, Old=old, Links="See [[New]].")[0][1] == "New.md"
    assert found_in(tmp_path / "c", **{"Note": new, "Note 2": old})[0][1] == "Note.md"
    private = LONG.join(("---\nprivate: true\n---\n", ""))
    assert found_in(tmp_path / "d", Private=private, Old=old)[0][1] == "Private.md"


def test_what_the_other_has_beyond_the_kept_note_is_told(tmp_path: Path) -> None:
    more = f"{LONG}\nCalves stay with their mothers.\n"
    notes = {"A": f"---\ncreated: 2020-01-01\n---\n{LONG}", "B": more}
    (group,) = find_duplicates(ports_of(tmp_path, notes)).groups
    assert group.others[0].beyond == "Calves stay with their mothers."


def test_without_vectors_words_alone_are_compared(tmp_path: Path) -> None:
    ports = ports_of(tmp_path, {"A": LONG, "B": f"{LONG}\nOne more.\n", "C": OTHER}, embed=False)
    found = find_duplicates(ports)
    assert not found.by_meaning
    assert told(found) == [("near", "A.md", ["B.md"])]
    assert told(find_duplicates(ports, exact_only=True)) == []


def test_a_higher_threshold_finds_fewer(tmp_path: Path) -> None:
    ports = ports_of(tmp_path, {"A": LONG, "B": LONG.partition("\n")[0].replace("rest", "sleep")})
    assert len(find_duplicates(ports, threshold=0.6).groups) == 1
    assert find_duplicates(ports, threshold=0.99).groups == ()


def test_one_note_alone_can_be_asked_about(tmp_path: Path) -> None:
    ports = ports_of(tmp_path, {"A": LONG, "B": LONG, "C": OTHER, "D": OTHER})
    assert told(find_duplicates(ports, among=["D.md"])) == [("exact", "C.md", ["D.md"])]


def test_looking_writes_nothing(tmp_path: Path) -> None:
    ports = ports_of(tmp_path, {"A": LONG, "B": LONG, "C": f"{LONG}\nMore.\n"})
    before = tree_hashes(tmp_path)
    find_duplicates(ports)
    assert tree_hashes(tmp_path) == before
    assert ports.index.events.read() == []


def test_a_text_that_is_there_is_known_before_it_is_added(tmp_path: Path) -> None:
    ports = ports_of(tmp_path, {"A": LONG, "B": OTHER})
    known = note_with_text(ports, f"---\ntags: [x]\n---\n{LONG}\n\n", title="Mine")
    assert known is not None
    assert known.path == "A.md"
    assert note_with_text(ports, LONG, besides="A.md") is None
    assert note_with_text(ports, LONG + "More.") is None
    assert note_with_text(ports, " \n") is None


def test_a_note_names_its_duplicates_the_exact_one_first(tmp_path: Path) -> None:
    ports = ports_of(tmp_path, {"A": LONG, "B": LONG, "C": f"{LONG}\nMore.\n", "D": OTHER})
    found = [(each.note.path, each.kind) for each in duplicates_of(ports, "A.md")]
    assert found == [("B.md", "exact"), ("C.md", "near")]
