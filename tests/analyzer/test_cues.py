"""What a note says of older ones: cues, and what they point at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.analyzer.cues import Statement, statements
from amem_cli.analyzer.link_choice import sentence_features
from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.analyzer.own_words import own_sentences
from amem_cli.analyzer.revisions import signed_sentences
from amem_cli.markdown.links import find_links
from amem_cli.notes.note import Note

OVEN = LinkCandidate(
    "notes/Deck oven.md", "Deck oven plan", "We buy a Miwe.", 0.5, 0, 0, created="2026-03-04T10:00"
)
BAKE = LinkCandidate(
    "notes/Bake 14.md", "Bake 14", "A gummy crumb.", 0.4, 1, created="2026-03-09T10:00"
)
TRAM = LinkCandidate(
    "notes/Tram.md", "Tram times", "Late again.", 0.1, 2, created="2026-02-11T10:00"
)
OLDER = [OVEN, BAKE, TRAM]


def said(
    body: str,
    strength: float = 0.1,
    title: str = "News",
    among: Sequence[LinkCandidate] = tuple(OLDER),
) -> list[Statement]:
    note = Note("n.md", "1", title, body, created="2026-03-20T10:00:00")
    strengths = [strength, *[min(strength, 0.1)] * (len(among) - 1)]
    return statements(note, among, strengths, document_frequency=lambda word: 2, total=64)


@pytest.mark.parametrize(
    ("body", "older", "relation", "pointer"),
    [
        ("This replaces the decision of 4 March.", OVEN, "supersedes", "day"),
        ("The decision of March 4th is cancelled.", OVEN, "supersedes", "day"),
        ("Not four trays as in my Deck oven plan: it is no longer valid.", OVEN, "supersedes", ""),
        ("Confirms that bake 14 had too little heat.", BAKE, "supports", "title"),
        ("My “Bake 14” was wrong about the flour.", BAKE, "contradicts", "title"),
        ("So the figure I wrote last week is false.", BAKE, "contradicts", "time"),
        ("What we decided in February is off the table.", TRAM, "supersedes", "time"),
    ],
)
def test_a_cue_counts_for_what_its_sentence_points_at(
    body: str, older: LinkCandidate, relation: str, pointer: str
) -> None:
    [statement] = said(body)
    assert OLDER[statement.older] is older
    assert (statement.relation, statement.sure) == (relation, True)
    assert pointer in ("", statement.pointer)


CLAIMS = (
    "this replaces the decision of 4 March",
    "[[Deck oven plan]] is wrong",
    "this supersedes the Deck oven plan",
    "what we decided in February is cancelled",
    "this confirms what [[Bake 14]] says",
)


@given(
    st.sampled_from(CLAIMS),
    st.sampled_from(
        [
            "If it works, {}.",
            "Perhaps {}.",
            "Is it so that {}?",
            "{}?",
            "I never said that {}.",
            "It may be that {}.",
            "Dilwyn said “I heard from all of them that {} for good”.",
            'Dilwyn said "I heard from all of them that {} for good".',
            "> {}.",
            "```\n{}.\n```",
            "    x = 1\n\n`{}`?",
        ]
    ),
)
def test_what_is_denied_asked_supposed_or_quoted_is_no_cue(claim: str, frame: str) -> None:
    assert said(f"{claim[0].upper()}{claim[1:]}.")
    assert not [each for each in said(frame.format(claim), 0.9) if each.sure]


@given(st.text(max_size=300), st.floats(0, 1))
def test_any_text_is_read(text: str, strength: float) -> None:
    for each in said(text, strength, title=text[:30]):
        assert 0 <= each.older < len(OLDER)


def test_a_cue_that_points_at_nothing_is_only_proposed_for_the_nearest_note() -> None:
    [statement] = said("So it wasn't the Miwe at all.", 0.8)
    assert OLDER[statement.older] is OVEN
    assert (statement.relation, statement.pointer, statement.sure) == (
        "contradicts",
        "subject",
        False,
    )
    assert said("So it wasn't the Miwe at all.", 0.2) == []
    assert said("The Miwe came on Monday.", 0.9) == []


def test_a_sentence_with_a_link_revises_the_linked_note_alone() -> None:
    for text in ("[[Deck oven]]: so it wasn't the Miwe.", "It wasn't the Miwe ([[Deck oven]])."):
        [statement] = said(text, 0.8)
        assert OLDER[statement.older] is OVEN and not statement.sure
    for text in ("[[Bake 14]]: so it wasn't the Miwe.", "[[Nowhere]]: so it wasn't the Miwe."):
        assert OVEN not in [OLDER[each.older] for each in said(text, 0.8)]


def test_what_a_linked_note_is_called_is_no_sign_of_change() -> None:
    note = Note("n.md", "1", "News", "See [[Deck oven|the Miwe again]].")
    assert signed_sentences(own_sentences(note)) == []


def test_a_title_is_not_quoted_for_a_sentence_of_the_text() -> None:
    [statement] = said("So it wasn't the Miwe at all.", 0.8, title="Not the Miwe deck oven")
    assert statement.sentence == "So it wasn't the Miwe at all."


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("This replaces the Sunday evening review.", True),
        ("On Friday now, instead of the Sunday evening review of old.", False),
        ("This replaces the Sunday evening review meeting.", False),
        ("This replaces the Sunday evening.", False),
        ("This replaces the evening milk.", False),
    ],
)
def test_a_title_is_named_in_part(text: str, sure: bool) -> None:
    title = "I review new notes on Sunday evening"
    older = LinkCandidate("notes/Review.md", title, "Slowly.", 0.2, 3, created="2026-02-11T10:00")
    found = [each for each in said(text, among=[*OLDER, older]) if each.sure]
    assert [each.pointer for each in found] == ["title"] * sure


def test_two_notes_that_are_named_in_part_are_not_told_apart() -> None:
    names = ("Evening review of Sunday", "Review on Sunday evening")
    alike = [LinkCandidate(f"{name}.md", name, "Slowly.", 0.2, 3) for name in names]
    found = said("This replaces the Sunday evening review.", among=alike)
    assert not [each for each in found if each.sure]


def test_what_is_replaced_must_be_something_that_the_older_note_speaks_of() -> None:
    assert said("We take the used deck oven instead of the Miwe.", 0.8)
    assert said("The Miwe bakes at 18 instead of 30, so we lost two hours.", 0.8) == []


def said_of_links(body: str) -> list[Statement]:
    """What a note says of the notes that it links."""
    names = [link.target.removesuffix(".md") for link in find_links(body)]
    older = [
        LinkCandidate(f"notes/{name}.md", name, name, 0.1, 5, created="2026-03-04")
        for name in names
    ]
    note = Note("n.md", "1", "News", body, created="2026-03-20T10:00:00")
    return statements(note, older, [0.1] * len(older), document_frequency=lambda word: 2, total=64)


@pytest.mark.parametrize(
    ("body", "relation"),
    [
        ("This replaces [[Boiler]].", "supersedes"),
        ("This replaces what [[Boiler]] says: it is too warm.", "supersedes"),
        ("What [[Boiler]] says is wrong.", "contradicts"),
        ("[[Friday review]] is superseded.", "supersedes"),
        ("[[Seat height]] is wrong: it is 72 cm.", "contradicts"),
        ("[[Seat height]] is no longer valid.", "supersedes"),
        ("Instead of [[Friday review]] we take a walk.", "supersedes"),
        ("Correction to [[Opening date]]: it is 15 May.", "contradicts"),
        ("Nobody came on Monday, so this supersedes [[Friday review]].", "supersedes"),
        ("So [[Deck oven plan]] is dead, we take a used one.", "supersedes"),
        ("So point two of [[Deck oven|the oven]] is wrong.", "contradicts"),
        ("The figure in [[Seat height]] was wrong.", "contradicts"),
        ("My order ([[Order of the stories]]) is wrong: the clock comes last.", "contradicts"),
        ("[[Tank]], which is out of date, said otherwise.", "supersedes"),
        ("- [[Tank]] is not valid anymore in the points 4 and 5", "supersedes"),
        ("What I wrote in [[Tank]] is wrong.", "contradicts"),
        ("This replaces my old plan in [[Spring]].", "supersedes"),
        ("I take back what I wrote in [[Spring]].", "supersedes"),
        ("This contradicts [[Spring]].", "contradicts"),
        ("It confirms [[Spring]].", "supports"),
        ("[[Anika's list]] was never hers, she says.", "contradicts"),
        ("[[Opening date]] moved to 15 June.", "supersedes"),
        ("[Seat height](Seat%20height.md) is wrong.", "contradicts"),
        ("So (a) in [[Where from]] is wrong & the supers are innocent.", "contradicts"),
        ("I've crossed the price off the list in [[Spring]].", "supersedes"),
    ],
)
def test_a_link_that_is_the_subject_or_the_object_of_a_cue_is_spoken_of(
    body: str, relation: str
) -> None:
    [statement] = said_of_links(body)
    assert (statement.relation, statement.pointer, statement.sure) == (relation, "link", True)


@pytest.mark.parametrize(
    "body",
    [
        "See [[Budget 2026]]. The kettle in the kitchen is broken and no longer works.",
        "I am reading [[Dune]]. My knee was wrong again after the long run.",
        "We no longer have time for the garden, as [[Project A]] takes the weekends.",
        "[[Mia]] moved to Berlin with her two cats.",
        "[[Piano practice]]: the metronome becomes 80 next week.",
        "Our team replaced the server, and I drank [[Tea]].",
        "Talked with [[Bob]] about the trip. He is no longer afraid.",
        "[[Project A]]: the server was moved to the new rack.",
        "[[Mia]] is no longer in Berlin.",
        "[[Bob]] turns out to be a baker.",
        "[[Bob]] was wrong about the weather.",
        "The man from [[Berlin]] was wrong.",
        "[[Ida]] said, that is wrong.",
        "Bob replaces [[Alice]] in goal.",
        "I replaced [[Bob]] at the till.",
        "[[Emma]] contradicts [[Dune]] in every scene.",
        "Lunch is replaced by [[Review]].",
        "The old way is superseded by [[Review]].",
        "[[Tea]] is nice. The team no longer uses the old server.",
        "It has nothing to do with [[Bob]].",
        "I told [[Mia]] the tram was cancelled.",
        "[[Opening date|It]] was set last month. The kettle with its lid is wrong for induction.",
        "[[Mia]] is dead tired.",
        "[[Choir]] is cancelled this week.",
        "In [[Berlin]] the museum is closed, the train was wrong.",
        "[[Dune]] was dropped at the library.",
        "This replaces the lamp next to [[Sofa]].",
        "This replaces the filter of [[Boiler]].",
        "[[Bob]] never was a friend of trams.",
        "With [[Anna]] it is wrong to joke.",
        "It was [[Mia]], not Bob, who was right.",
    ],
)
def test_a_cue_about_something_else_or_about_a_person_says_nothing_of_a_linked_note(
    body: str,
) -> None:
    assert said_of_links(body) == []


def test_a_link_leads_to_the_note_at_the_end_of_its_path() -> None:
    rye = [
        LinkCandidate(f"{folder}/Rye.md", "Rye", "Bread.", 0.1, 5, created="2026-03-04")
        for folder in "ab"
    ]

    def older(body: str) -> list[int]:
        note = Note("n.md", "1", "News", body, created="2026-03-20")
        found = statements(note, rye, [0.1, 0.1], document_frequency=lambda word: 2, total=9)
        return [each.older for each in found]

    assert older("This replaces [[b/Rye]].") == [1]
    assert older("This replaces [rye](../a/Rye.md).") == [0]
    assert older("This replaces [[Rye]].") == []


def test_of_notes_that_may_be_revised_those_whose_words_are_nearest_are_proposed() -> None:
    text = "The pump in the well: pressure 0.14 bar."
    wells = [LinkCandidate(f"notes/{at}.md", f"Well {at}", text, 0.6, at) for at in range(3)]
    body = "The pump of the well: pressure is now 0.16 bar, up from 0.14."
    note = Note("n.md", "1", "News", body, created="2026-03-20T10:00:00")
    for farthest in range(3):
        near = {each.path: float(at != farthest) for at, each in enumerate(wells)}

        def nearness(_: str, near: Mapping[str, float] = near) -> Mapping[str, float]:
            return near

        found = statements(
            note,
            wells,
            [0.9] * 3,
            document_frequency=lambda word: 2,
            total=64,
            nearness=nearness,
        )
        assert {each.older for each in found} == {0, 1, 2} - {farthest}


def test_sentences_are_compared_with_a_note_without_text() -> None:
    def encode(texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), 2), np.float32)

    note = Note("n.md", "1", "News", "One thing is so. Another is not.")
    for row in sentence_features(list(own_sentences(note)), "", "", encode):
        assert np.isfinite(row).all()
