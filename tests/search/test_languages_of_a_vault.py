"""The notes of a vault tell their languages together, and a query is read in the one it fits."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.sync import refresh, synchronise
from amem_cli.search.search import search
from tests.index_dump import canonical_dump
from tests.vaults import open_vault, write_note

# Turns of a dialogue, each with a word or a name that is a word of grammar elsewhere.
ENGLISH = {
    "Ben": "Ben: Take care, bye!",
    "Dan": "Dan: Con artists got me, lost 40 pounds.",
    "Meg": "Meg: Off to LA, back Sunday.",
    "den": "Dan: Painted the den green.",
    "van": "Ben: The van is fixed, so we can go camping and I will bring the tents.",
    "van again": "Meg: Kids love camping with la familia.",
    "pan": "Dan: Paella para todos, the big pan is here.",
    "Jos": "Meg: Jos and Kun are moving out, and I am not sad about it.",
    "die": "Ben: The die is worn, so the print is not sharp any more.",
    "San Jose": "Dan: I was in San Jose for a week and it was hot there all the time.",
}
GERMAN = {
    "Keller": "Der Keller ist nach dem Regen wieder feucht, weil das Fallrohr voller Laub ist.",
    "Nachbarn": "Die Nachbarn haben uns ihre Leiter geliehen, und wir geben sie morgen zurück.",
    "Hochzeit": "Die Hochzeit war im Mai, und es gab Kuchen für alle, die noch da waren.",
    "Reifen": "Reifen gewechselt, Schrauben nachgezogen.",
    "Werkzeug": "Schraubenschlüssel verliehen.",
}
FRENCH = {
    "cave": "La cave est humide après la pluie, parce que les gouttières sont pleines de feuilles.",
    "voisin": "Les voisins nous ont prêté une échelle, et nous devons la rendre avant samedi.",
}


def a_vault(root: Path, *parts: Mapping[str, str]) -> VaultPorts:
    for name, text in (item for part in parts for item in part.items()):
        write_note(root, f"{name}.md", f"{text}\n")
    ports = open_vault(root)
    synchronise(ports)
    return ports


def found(ports: VaultPorts, query: str) -> list[str]:
    hits = search(ports.index, query, encoder=None, mode="keyword", neighbors=False)
    return [hit.note.path.removesuffix(".md") for hit in hits]


def foreign_stems(index: MemoryIndex) -> set[str]:
    """Notes with words that no text has."""
    return {str(path) for path, term, *_ in canonical_dump(index)["words"] if "ß" in str(term)}


def test_an_english_vault_has_no_stems_of_other_languages(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, ENGLISH)
    assert ports.index.text.languages() == ("en",)
    assert not foreign_stems(ports.index)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("where did Ben lose the den", ["ben", "lose", "den"]),
        ("van de la con", ["van", "de", "la", "con"]),
        ("para todos", ["para", "todos"]),
        ("who is Jos", ["jos"]),
        ("die wer war", ["die", "wer", "war"]),
    ],
)
def test_only_english_words_of_grammar_are_empty_there(
    tmp_path: Path, query: str, terms: list[str]
) -> None:
    assert a_vault(tmp_path, ENGLISH).index.text.search_terms(query) == terms


def test_both_languages_of_a_mixed_vault_are_found_in_other_inflections(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, ENGLISH, GERMAN)
    assert set(ports.index.text.languages()) == {"en", "de"}
    for query, note in (
        ("Nachbar", "Nachbarn"),
        ("die Hochzeiten", "Hochzeit"),
        # Notes that have no word of grammar at all.
        ("gewechselte Schraube", "Reifen"),
        ("Schraubenschluessel", "Werkzeug"),
        ("painting", "den"),
    ):
        assert found(ports, query)[:1] == [note], query
    assert "van.md" not in foreign_stems(ports.index)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("war die Hochzeit schon", ["hochzeit"]),
        ("die is worn", ["die", "worn"]),
        # As good in both; more notes are in English.
        ("die", ["die"]),
    ],
)
def test_a_query_is_read_in_the_language_that_explains_it_best(
    tmp_path: Path, query: str, terms: list[str]
) -> None:
    assert a_vault(tmp_path, ENGLISH, GERMAN).index.text.search_terms(query) == terms


def test_notes_without_words_of_grammar_are_told_together(tmp_path: Path) -> None:
    german = (
        "Zahnarzt verschoben auf Montag",
        "Reifen gewechselt",
        "Kette geölt, Bremse nachgestellt",
        "Anruf bei Versicherung, Schaden noch offen",
        "Pflanzen vom Balkon geholt",
        "Rechnungen bezahlt",
    )
    ports = a_vault(tmp_path, dict(zip("abcdef", german, strict=True)))
    assert "de" in ports.index.text.languages()
    assert found(ports, "Rechnung") == ["f"]
    assert found(ports, "Pflanze") == ["e"]


def test_a_language_counts_while_enough_notes_are_in_it(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, ENGLISH)
    for name, text in GERMAN.items():
        refresh(ports, [write_note(tmp_path, f"{name}.md", f"{text}\n").name])
    assert found(ports, "Nachbar") == ["Nachbarn"]
    for name in GERMAN:
        (tmp_path / f"{name}.md").unlink()
    synchronise(ports)
    assert ports.index.text.languages() == ("en",)
    assert not foreign_stems(ports.index)


NOTES = {**ENGLISH, **GERMAN, **FRENCH}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(NOTES)), st.booleans()), max_size=20))
def test_a_rebuilt_index_equals_the_one_that_followed_each_note(
    steps: list[tuple[str, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        live = open_vault(root)
        for name, is_there in steps:
            write_note(root, f"{name}.md", f"{NOTES[name]}\n")
            if not is_there:
                (root / f"{name}.md").unlink()
            refresh(live, [f"{name}.md"])
        rebuilt = open_vault(root, index="rebuilt.db")
        synchronise(rebuilt)
        # What a clock says differs.
        assert canonical_dump(live.index) == canonical_dump(rebuilt.index)
        for ports in (live, rebuilt):
            ports.index.close()
