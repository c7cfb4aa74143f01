"""Events, ownership by them, and the exact bytes they replaced."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from amem_cli.journal.events import (
    Change,
    Event,
    LinkRecord,
    from_record,
    splice_between,
    to_record,
)
from amem_cli.journal.provenance import provenance

MACHINE_LINK = LinkRecord("20260101000000", "notes/b.md", "[[b]]", "supports", 0.8, "both on x")


def event(number: int, kind: str, *changes: Change, by: str = "machine", links: int = 0) -> Event:
    return Event(
        id=f"{number:04}",
        time="2026-01-01T00:00:00+00:00",
        kind=kind,
        by=by,
        changes=changes,
        links=(MACHINE_LINK,) * links,
    )


def test_an_event_survives_its_json() -> None:
    whole = Event(
        id="1",
        time="2026-01-01T00:00:00+00:00",
        kind="link",
        note="20260102000000",
        changes=(Change("links", [], ["[[b]]"]),),
        links=(MACHINE_LINK,),
        splice=splice_between(b"a\n", b"ab\n", "1", "2"),
        problems=("one",),
        seconds=1.5,
    )
    assert from_record(json.loads(json.dumps(to_record(whole)))) == whole


def test_fields_of_a_newer_version_are_kept() -> None:
    record = {"id": "1", "time": "t", "kind": "link", "colour": "green"}
    assert to_record(from_record(record)) == {**record, "by": "machine"}


def test_the_machine_owns_what_it_added_and_nothing_else() -> None:
    owned = provenance(
        [
            event(1, "add", Change("tags", [], ["mine"]), by="person"),
            event(2, "construct", Change("tags", ["mine"], ["mine", "its"])),
            event(3, "construct", Change("context", "", "Its sentence.")),
        ]
    )
    assert owned.tags == {"its"}
    assert owned.may_replace_context("Its sentence.")
    assert not owned.may_replace_context("My sentence.")


def test_what_a_person_set_again_is_the_persons() -> None:
    owned = provenance(
        [
            event(1, "construct", Change("keywords", [], ["a", "b"])),
            event(2, "release", Change("keywords", ["a", "b"], ["b"]), by="person"),
            event(3, "edit", Change("keywords", ["b"], ["b", "a"]), by="person"),
        ]
    )
    assert owned.keywords == {"b"}


def test_a_link_that_a_person_removed_is_declined() -> None:
    owned = provenance(
        [
            event(1, "link", Change("links", [], ["[[b]]"]), links=1),
            event(2, "edit", Change("links", ["[[b]]"], []), by="person"),
        ]
    )
    assert owned.links == {}
    assert owned.declined == {MACHINE_LINK.target}


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_a_splice_restores_the_exact_bytes(head: str, old: str, new: str, tail: str) -> None:
    try:
        before, after = (head + old + tail).encode(), (head + new + tail).encode()
    except UnicodeEncodeError:
        return
    splice = splice_between(before, after, _sha(before), _sha(after))
    assert splice is not None
    removed, inserted = splice.removed.encode(), splice.inserted.encode()
    start = splice.offset
    assert after[start : start + len(inserted)] == inserted
    assert after[:start] + removed + after[start + len(inserted) :] == before


def _sha(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
