"""Events, ownership by them, the exact bytes they replaced, and the files of the journal."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.errors import Problem, SettingsError
from amem_cli.journal.events import (
    Change,
    Event,
    LinkRecord,
    from_record,
    splice_between,
    to_record,
)
from amem_cli.journal.files import JournalFolder
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


NAME = "2026-01-test.jsonl"


def an_event(number: int, text: str = "") -> Event:
    time = "2026-01-01T00:00:00+00:00"
    return Event(id=f"e{number:05}", time=time, kind="evolve", reason=text)


def news(journal: JournalFolder, positions: dict[str, str]) -> list[str]:
    """Ids of the events that are new, and the positions moved on."""
    found = journal.read_new(positions, [])
    if found.restarted:
        positions.clear()
    positions.update({file.name: file.position for file in found.files})
    return [event.id for file in found.files for event in file.events]


def read_so_far() -> int:
    try:
        told = Path("/proc/self/io").read_text(encoding="ascii")
    except OSError:
        pytest.skip("this system does not count what a process reads")
    found = re.search(r"rchar: (\d+)", told)
    assert found is not None
    return int(found[1])


def test_positions_are_the_same_whoever_reads(tmp_path: Path) -> None:
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    for number in range(5):
        journal.append([an_event(number)])
        assert news(journal, positions) == [f"e{number:05}"]
        fresh = dict[str, str]()
        assert len(news(JournalFolder(tmp_path, "test"), fresh)) == number + 1
        assert fresh == positions


def test_what_another_process_adds_or_changes_is_found(tmp_path: Path) -> None:
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    journal.append([an_event(1)])
    assert news(journal, positions) == ["e00001"]
    JournalFolder(tmp_path, "test").append([an_event(2)])
    journal.append([an_event(3)])
    assert news(journal, positions) == ["e00002", "e00003"]
    journal.append([an_event(4)])
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes().replace(b"e00001", b"e00000"))
    assert news(journal, positions) == ["e00000", "e00002", "e00003", "e00004"]
    # Another reader's position is no beginning for what this one has added.
    journal.append([an_event(5)])
    assert news(journal, {}) == ["e00000", "e00002", "e00003", "e00004", "e00005"]
    assert news(journal, positions) == ["e00005"]


def test_a_damaged_line_of_its_own_is_told_with_its_number(tmp_path: Path) -> None:
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    journal.append([an_event(1), an_event(2)])
    news(journal, positions)
    with (tmp_path / NAME).open("ab") as stream:
        stream.write(b"{}\n{torn")
    problems: list[Problem] = []
    journal.read_new(positions, problems)
    assert [problem.line for problem in problems] == [3, 4]
    journal.append([an_event(3)])
    assert news(journal, positions) == ["e00003"]


def test_events_for_which_the_disk_has_no_room_are_told_of_and_none_is_half_there(
    tmp_path: Path,
) -> None:
    resource = pytest.importorskip("resource")
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    journal.append([an_event(1)])
    assert news(journal, positions) == ["e00001"]
    before = (tmp_path / NAME).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * len(before) + 50, hard))
    try:
        with pytest.raises(SettingsError):
            journal.append([an_event(2), an_event(3, "why " * 50)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / NAME).read_bytes() == before
    journal.append([an_event(4)])
    assert news(journal, positions) == ["e00004"]


def test_one_more_event_costs_no_reading_of_the_others(tmp_path: Path) -> None:
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    journal.append([an_event(number, "why " * 500) for number in range(500)])
    assert len(news(journal, positions)) == 500
    assert (tmp_path / NAME).stat().st_size > 1_000_000
    for number in range(500, 503):
        before = read_so_far()
        journal.append([an_event(number)])
        assert news(journal, positions) == [f"e{number:05}"]
        assert read_so_far() - before < 100_000
