"""When the description of a text no longer fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.journal.events import Change, Event
from amem_cli.journal.provenance import provenance
from amem_cli.memory.outdated import (
    LEAST_LIKENESS,
    outdated_fields,
    sketch_likeness,
    text_sketch,
)
from amem_cli.notes.note import Note

WORDS = [f"word{number}" for number in range(60)]


@given(st.text(max_size=300))
def test_a_sketch_has_one_length_and_is_like_itself(text: str) -> None:
    sketch = text_sketch(text)
    assert len(sketch) == 64
    assert sketch_likeness(sketch, sketch) == 1.0


@given(st.permutations(WORDS))
def test_the_order_of_the_words_does_not_count(order: list[str]) -> None:
    assert text_sketch(" ".join(order)) == text_sketch(" ".join(WORDS))


@pytest.mark.parametrize(("kept", "fits"), [(60, True), (54, True), (15, False), (0, False)])
def test_the_likeness_follows_the_share_of_the_words(kept: int, fits: bool) -> None:
    other = [*WORDS[:kept], *(f"other{number}" for number in range(60 - kept))]
    likeness = sketch_likeness(text_sketch(" ".join(WORDS)), text_sketch(" ".join(other)))
    assert (likeness >= LEAST_LIKENESS) is fits


def test_a_small_edit_of_a_text_without_blanks_is_small() -> None:
    text = "数据库的事务很长。长事务会阻止数据库清理。数据库需要监控。我们每周检查一次。"
    edited = text.replace("每周", "每天")
    assert sketch_likeness(text_sketch(text), text_sketch(edited)) >= LEAST_LIKENESS


def described(sketch: str) -> list[Event]:
    change = Change("keywords", [], ["dead tuples", "replica"])
    return [
        Event("1", "", "process", note="n", text_hash="old", sketch=sketch),
        Event("2", "", "construct", note="n", cause="1", changes=(change,)),
    ]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("The replica keeps a snapshot and with it dead tuples.", []),
        ("The night train leaves at seven.", ["keywords"]),
    ],
)
def test_what_was_described_is_outdated_with_another_text(body: str, fields: list[str]) -> None:
    events = described(text_sketch("The replica keeps a snapshot and with it dead tuples."))
    note = Note("n.md", "n", "Monday", body, keywords=("dead tuples", "replica"))
    assert outdated_fields(note, provenance(events), events, "new") == fields


def test_a_context_that_another_note_gave_goes_with_the_text() -> None:
    change = Change("context", "", "Since Monday it holds no more.")
    run = Event("1", "", "process", note="n", text_hash="old", sketch=text_sketch("The replica."))
    events = [run, Event("2", "", "evolve", note="n", cause="0", changes=(change,))]
    note = Note("n.md", "n", "Monday", "A night train to Rome.", context=change.after)
    assert outdated_fields(note, provenance(events), events, "new") == ["context"]
    same = Note("n.md", "n", "Monday", "The  replica", context=change.after)
    assert outdated_fields(same, provenance(events), events, "new") == []


def test_a_text_that_was_processed_is_not_outdated() -> None:
    events = described(text_sketch("The replica."))
    note = Note("n.md", "n", "Monday", "Other.", keywords=("dead tuples", "replica"))
    assert outdated_fields(note, provenance(events), events, "old") == []
