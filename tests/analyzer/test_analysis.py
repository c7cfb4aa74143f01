"""The offline analyzer: tags, links and evolution."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.analyzer.analyzer import (
    TaggedNeighbour,
    TagUse,
    suggest_tags,
)
from amem_cli.analyzer.cues import Statement
from amem_cli.analyzer.link_choice import changed_contexts, score_links, statement_reason
from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.journal.link_decisions import Evolution
from amem_cli.markdown.links import is_valid_tag
from amem_cli.notes.note import MemoryLink, Note
from tests.fakes.letter_encoder import encode

NOTE = Note(
    path="notes/new.md",
    id="20260302150004",
    title="Root cause of the Monday delays",
    body="A transaction of analyst_ro on the replica held dead tuples in the jobs table. "
    "Oksana leaves her notebook open over the weekend.",
    created="2026-03-02T15:00:04",
)
RELATED = LinkCandidate(
    path="notes/oksana.md",
    title="Lunch with Oksana",
    text="Oksana keeps her notebook open as analyst_ro, it is only the replica.",
    similarity=0.62,
    rank=0,
    reverse_rank=0,
    created="2026-01-05T12:00:00",
)
UNRELATED = (
    LinkCandidate("notes/a.md", "Bread", "Flour, water, salt and a cold kitchen.", 0.08, 3, 9),
    LinkCandidate("notes/b.md", "Tram", "The tram was late again on the way home.", 0.12, 2, 8),
    LinkCandidate("notes/c.md", "Climbing", "New shoes for the gym, size 42.", 0.05, 4, None),
    LinkCandidate("notes/d.md", "Piano", "The piano stays with the new people.", 0.15, 1, 7),
)
FREQUENCIES = {"oksana": 2, "analyst_ro": 2, "replica": 4, "notebook": 3}


def frequency(word: str) -> int:
    return FREQUENCIES.get(word, 2)


def links_of(note: Note, *candidates: LinkCandidate, total: int = 64) -> list[MemoryLink]:
    return linked(note, candidates, frequency, total)


def linked(
    note: Note,
    candidates: Sequence[LinkCandidate],
    frequency: Callable[[str], int] = lambda word: 40,
    total: int = 64,
    minimum: float = 0.3,
) -> list[MemoryLink]:
    return score_links(
        note, candidates, document_frequency=frequency, total=total, minimum=minimum
    ).links


def test_only_the_related_note_is_linked() -> None:
    [link] = links_of(NOTE, *UNRELATED, RELATED)
    assert link.target == "notes/oksana.md"
    assert link.relation == "related"
    assert 0.5 < link.strength <= 1
    assert "Oksana" in link.reason
    assert "analyst_ro" in link.reason
    assert link.reason.startswith("Both speak of")


def test_the_reason_is_in_the_language_of_the_note() -> None:
    note = Note("n.md", None, "Rahmen", "Die Rahmen für Nele und die Ausstellung sind nicht da.")
    other = LinkCandidate("o.md", "Nele", "Nele hat die Ausstellung und die Rahmen.", 0.7, 0, 0)
    [link] = links_of(note, other, *UNRELATED)
    assert link.reason.startswith("In beiden geht es um")


def test_a_reason_in_japanese_names_no_particles() -> None:
    note = Note("n.md", None, "縮み", "錆漆を今日だけ塗った。砥の粉を混ぜてから。")
    other = LinkCandidate("o.md", "錆漆", "砥の粉を混ぜてから、錆漆は先生だけ。", 0.9, 0, 0)
    [link] = links_of(note, other, *UNRELATED)
    assert "砥の粉を混ぜてから" in link.reason
    assert "だけ" not in link.reason


def test_similar_vectors_alone_make_no_link() -> None:
    lookalike = dataclasses.replace(UNRELATED[0], similarity=0.9, rank=0, reverse_rank=0)
    assert links_of(NOTE, lookalike, *UNRELATED[1:]) == []


def test_what_two_notes_share_says_more_if_they_are_in_two_languages() -> None:
    german = "Oksana lässt das Notebook als analyst_ro offen, es ist ja nur die Replica."
    (same,) = linked(NOTE, [RELATED], frequency, 64, 0.0)
    (other,) = linked(NOTE, [dataclasses.replace(RELATED, text=german)], frequency, 64, 0.0)
    assert other.strength > same.strength


def test_a_word_that_every_note_has_ties_nothing() -> None:
    assert linked(NOTE, [*UNRELATED, RELATED], lambda word: 64) == []


def test_a_mentioned_title_is_the_reason() -> None:
    older = LinkCandidate(
        "p.md", "Postgres upgrade plan", "Cutover by replication.", 0.5, 0, 0, created="2026-01-01"
    )
    note = dataclasses.replace(NOTE, body="See the Postgres upgrade plan and its cutover date.")
    [link] = links_of(note, older, *UNRELATED)
    assert link.reason == "Mentions “Postgres upgrade plan”."
    assert link.relation == "related"


REVIEW = LinkCandidate("r.md", "Friday review", "Half past four.", 0.2, 3, created="2026-01-01")


@pytest.mark.parametrize(
    "body",
    [
        "It replaces the Friday review.",
        "It replaces the Friday review, which nobody came to.",
        "An hour on Monday replaces my old Friday review from now on.",
        "We replaced our “Friday review” with a walk.",
        "It does not only replace lunch, it replaces the Friday review!",
        "Der Montag ersetzt das bisherige Friday review.",
        "Das Gespräch löst das Friday review vom Herbst ab.",
        "Das Gespräch ersetzt das Friday review, das nicht half.",
        "> They met.\n\n> [!note] Changed\n> This replaces the Friday review.",
        "> They met.\n- This replaces the Friday review.",
    ],
)
def test_a_note_that_says_what_it_replaces_supersedes_it_whatever_its_title(body: str) -> None:
    """Both words of the title are everyday ones."""
    note = dataclasses.replace(NOTE, body=body)
    [link] = linked(note, [*UNRELATED, REVIEW])
    assert (link.target, link.relation) == ("r.md", "supersedes")
    assert "Friday review" in link.reason
    older = dataclasses.replace(NOTE, body=body, created="2025-01-01")
    assert linked(older, [*UNRELATED, REVIEW]) == []


@pytest.mark.parametrize(
    "body",
    [
        "It replaces the Friday review template.",
        "It replaces the Friday review of the garden.",
        "It replaces the Friday review's second half.",
        "It replaces lunch, and the Friday review stays.",
        "Nothing replaces the Friday review.",
        "It was replaced by the Friday review.",
        "Das löst das Friday review nicht aus.",
        "Das löst das Friday review nicht ab.",
        "Das Gespräch ersetzt das Friday review am Montag nicht.",
        "Das Gespräch ersetzt kaum das Friday review.",
        "A walk hardly replaces the Friday review.",
        "It replaces the Monday review. The Friday review stays.",
    ],
)
def test_what_is_denied_supposed_or_about_something_else_supersedes_nothing(body: str) -> None:
    note = dataclasses.replace(NOTE, body=body)
    found = linked(note, [*UNRELATED, REVIEW])
    assert [link.relation for link in found if link.target == "r.md"] in ([], ["related"])


def test_shared_tags_speak_for_a_link() -> None:
    weak = dataclasses.replace(RELATED, text="The replica again, by Oksana.", reverse_rank=None)
    tagged = dataclasses.replace(weak, tags=("postgres/vacuum",))
    plain = linked(NOTE, [weak, *UNRELATED], frequency, minimum=0.0)
    note = dataclasses.replace(NOTE, tags=("postgres/vacuum",))
    with_tags = linked(note, [tagged, *UNRELATED], frequency, minimum=0.0)
    assert with_tags[0].strength > plain[0].strength


def test_no_candidates_no_links() -> None:
    assert links_of(NOTE, total=0) == []


def test_chinese_terms_are_joined_in_the_reason() -> None:
    note = Note("n.md", None, "清理", "长事务阻止数据库清理，需要监控。")
    other = LinkCandidate("o.md", "监控", "数据库清理失败的监控记录。", 0.7, 0, 0)
    [link] = links_of(note, other, *UNRELATED)
    assert "数据库" in link.reason


def vector(text: str) -> npt.NDArray[np.float32]:
    return np.asarray(encode([text])[0], dtype=np.float32)


VOCABULARY = [TagUse("postgres/vacuum", 5), TagUse("family", 9), TagUse("bread", 4)]


def test_tags_come_from_the_near_notes() -> None:
    near = [
        TaggedNeighbour(("postgres/vacuum",), 0.7),
        TaggedNeighbour(("postgres/vacuum",), 0.6),
        TaggedNeighbour(("postgres/vacuum", "family"), 0.5),
        TaggedNeighbour(("family",), 0.1),
    ]
    tags = suggest_tags(vector("dead tuples"), "Vacuum", "dead tuples", VOCABULARY, near)
    assert tags == ["postgres/vacuum"]


def test_a_word_of_the_text_alone_gives_no_tag() -> None:
    text = "We had bread and cheese with the family."
    assert suggest_tags(vector(text), "Tuesday", text, VOCABULARY, []) == []


def test_a_title_makes_no_tag_of_its_own() -> None:
    assert suggest_tags(vector("x"), "Dead Tuples", "replica", [], []) == []


def test_the_first_tag_of_a_vault_does_not_spread() -> None:
    only = [TaggedNeighbour(("first",), 0.2)]
    assert suggest_tags(vector("x"), "piano", "", [TagUse("first", 1)], only) == []


@given(st.text(max_size=30), st.lists(st.text(max_size=9), max_size=6))
def test_suggested_tags_are_valid(title: str, names: list[str]) -> None:
    uses = [TagUse(name, 3, vector(name)) for name in names]
    near = [TaggedNeighbour(tuple(names), 0.9)] * 8
    assert all(map(is_valid_tag, suggest_tags(vector(title), title, title, uses, near)))


@pytest.mark.parametrize("piece", ["[[", "-", "{{", "a, ", "数", "x. ", "<a", "**", "`", "> "])
def test_hostile_text_is_analysed(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    hostile = dataclasses.replace(RELATED, text=text)
    assert isinstance(links_of(dataclasses.replace(NOTE, body=text), hostile), list)


def test_a_note_that_quotes_a_title_of_everyday_words_is_linked_with_it() -> None:
    older = dataclasses.replace(
        RELATED, path="notes/r.md", title="Write for a reader who has forgotten", text="Say it all."
    )
    body = "The night nurse leaves a sheet. Write for a reader who has forgotten, I told myself."
    new = dataclasses.replace(NOTE, title="The handover", body=body)
    (link,) = linked(new, [older], total=50)
    assert link.target == older.path
    without = dataclasses.replace(new, body="The night nurse leaves a sheet for those who forget.")
    assert not linked(without, [older], total=50)


def changed(body: str, older: LinkCandidate, base: str = "") -> list[Evolution]:
    new = dataclasses.replace(NOTE, body=body)
    _, said = score_links(new, [older], document_frequency=lambda word: 40, total=50, minimum=0.0)
    return changed_contexts(new, said, [older], lambda each: base or each.context, encode)


def test_only_a_note_that_is_spoken_of_changes() -> None:
    assert changed("Oksana is on the replica again.", RELATED) == []


def test_a_superseded_note_says_so_in_its_context() -> None:
    older = dataclasses.replace(RELATED, context="Oksana works on the replica.")
    body = "This replaces [[Lunch with Oksana]]."
    [change] = changed(body, older)
    assert change.context == (
        "Oksana works on the replica — since 2026-03-02 replaced by "
        "“Root cause of the Monday delays”."
    )
    assert not change.waits
    again = dataclasses.replace(older, context=change.context)
    assert changed(body, again) == []
    [first] = changed(body, dataclasses.replace(older, context=""))
    assert first.context == "Since 2026-03-02 replaced by “Root cause of the Monday delays”."


@pytest.mark.parametrize(
    ("language", "words", "quoted"),
    [
        ("de", "löst ab", "Bestätigt „Oksana“ („löst ab“)."),
        ("en", "no longer", "Says that it confirms “Oksana” (“no longer”)."),
        ("de", "nicht", "Bestätigt „Oksana“."),
    ],
)
def test_the_words_that_tell_are_quoted_as_the_language_does(
    language: str, words: str, quoted: str
) -> None:
    body = {"de": "Das ist die Probe, die es für alle gibt.", "en": "This is the one for us all."}
    said = Statement(0, "confirmed", "title", words, "", "", "", acts=True, sure=True)
    note = dataclasses.replace(NOTE, body=body[language])
    assert statement_reason(note, "Oksana", said) == quoted


def test_the_context_says_what_holds_now_once_and_within_its_length() -> None:
    older = dataclasses.replace(RELATED, context="Oksana works on the replica.")
    body = "This replaces [[Lunch with Oksana]]. She queries a copy of the warehouse from now on."
    [change] = changed(body, older)
    news = "since 2026-03-02: She queries a copy of the warehouse from now on."
    assert change.context == f"Oksana works on the replica — {news}"
    assert changed(body, dataclasses.replace(older, context=change.context)) == []
    [first] = changed(body, dataclasses.replace(older, context=""))
    assert first.context == news[0].upper() + news[1:]
    other = "So [[Lunch with Oksana]] is wrong: her notebook reads from a snapshot of Sunday."
    [next_change] = changed(
        other, dataclasses.replace(older, context=change.context), older.context
    )
    assert next_change.context is not None
    assert "warehouse" not in next_change.context and "— corrected 2026" in next_change.context
    [long] = changed(body, dataclasses.replace(older, context="word " * 35))
    assert long.context is not None and len(long.context) <= 240
    assert long.context.startswith("word " * 34) and long.context.endswith("…")
    # Nothing of a context goes for lack of room.
    assert changed(body, dataclasses.replace(older, context="word " * 80)) == []


OVEN = LinkCandidate("烤箱决定.md", "烤箱决定", "面包店买新烤箱。", 0.5, 0, created="2026-01-05")
USED = "我们买了罗西面包店的二手烤箱因为它便宜很多"


def test_a_text_without_blanks_is_cut_between_its_characters() -> None:
    [change] = changed(f"[[烤箱决定]]作废，{USED * 9}。", OVEN)
    assert change.context is not None
    assert USED in change.context and change.context.endswith("…") and len(change.context) <= 240
    base = "面包店的新烤箱要花一万四千欧元六月交货" * 11
    [kept] = changed(f"[[烤箱决定]]作废，{USED}。", dataclasses.replace(OVEN, context=base[:190]))
    assert kept.context is not None and kept.context.startswith(base[:190])
    assert changed(f"[[烤箱决定]]作废，{USED}。", dataclasses.replace(OVEN, context=base)) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "Correction: what I wrote in [[Lunch with Oksana]] is wrong. It was on 25 September.",
            "Correction: what I wrote in Lunch with Oksana is wrong. It was on 25 September.",
        ),
        (
            "[[Lunch with Oksana]] is out of date. The analysts share one warehouse login now.",
            "The analysts share one warehouse login now.",
        ),
        (
            "- [[Lunch with Oksana]] is out of date\n- The tram was late again today",
            "replaced by “Root cause of the Monday delays”",
        ),
        (
            "[[Lunch with Oksana]] is wrong: her notebook reads from a snapshot. We had soup.",
            "Lunch with Oksana is wrong: her notebook reads from a snapshot.",
        ),
    ],
)
def test_the_sentence_with_the_new_fact_is_quoted(body: str, said: str) -> None:
    [change] = changed(body, dataclasses.replace(RELATED, context="Oksana works on the replica."))
    assert change.context is not None
    assert change.context.rstrip(".").endswith(said.rstrip("."))


@pytest.mark.parametrize("other", ["2026-03-02T16:30:00+02:00", "2026-03-02T09:00:04-05:00"])
def test_which_note_is_older_is_told_by_the_moment_whatever_its_time_zone(other: str) -> None:
    new = dataclasses.replace(
        NOTE, body="This replaces [[Friday review]].", created="2026-03-02T15:00:00Z"
    )
    older = dataclasses.replace(REVIEW, created=other)
    assert [link.relation for link in linked(new, [older])] == ["supersedes"]
    newer = dataclasses.replace(REVIEW, created="2026-03-02T14:59:00-01:00")
    assert linked(new, [newer]) == []


def test_of_two_notes_of_one_day_only_one_can_replace_the_other() -> None:
    first = Note(
        "a.md", "20260302", "Plan one", "This replaces [[Plan two]].", created="2026-03-02"
    )
    second = Note(
        "b.md", "20260303", "Plan two", "This replaces [[Plan one]].", created="2026-03-02"
    )

    def relations(new: Note, old: Note) -> list[str]:
        older = LinkCandidate(
            old.path, old.title, old.body, 0.1, 3, created=old.created, key=old.id or ""
        )
        return [link.relation for link in linked(new, [older]) if link.relation != "related"]

    assert relations(first, second) == []
    assert relations(second, first) == ["supersedes"]


def test_a_note_of_many_cues_is_read_in_a_moment() -> None:
    note = dataclasses.replace(
        NOTE, body="replaces " * 120_000 + "\n\n" + "[[Plan]] is wrong. " * 9_000
    )
    many = [
        dataclasses.replace(REVIEW, path=f"{n}.md", title=f"Opening plan {n}") for n in range(30)
    ]
    counted = [0]

    def frequency(word: str) -> int:
        counted[0] += 1
        return 40

    assert linked(note, many, frequency) == []
    assert counted[0] < 1_000
