"""A commit of the machine's says what was changed because of what, and cannot be led by a note."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.git.batch import CommitBatch, commit_batch, commit_message, notices
from amem_cli.git.repository import CommitReport
from amem_cli.journal.events import Change, Event, LinkRecord, NoteWrite

DOUGH, YEAST, OVEN = "notes/Dough temperature.md", "notes/Yeast.md", "notes/Oven.md"


def event(number: int, kind: str, path: str = DOUGH, **values: object) -> Event:
    made = Event(
        f"{number:04x}", "2026-03-02T15:00:00+00:00", kind, note=f"id of {path}", path=path
    )
    return replace(made, **values)  # type: ignore[arg-type]


def link_to(path: str, reason: str = "both are about heat") -> LinkRecord:
    return LinkRecord(f"id of {path}", path, "[[x]]", "part_of", 0.8, reason)


def a_run(first: int = 1, path: str = DOUGH) -> list[Event]:
    """What the memory process records for one note."""
    cause = {"cause": f"{first:04x}", "trigger": f"id of {path}"}
    written = (Change("id", "", "1"), Change("keywords", [], ["k"]), Change("context", "", "C."))
    return [
        event(first, "process", path, cause="ffff"),
        event(first + 1, "construct", path, changes=written, **cause),
        event(first + 2, "link", path, links=(link_to(YEAST), link_to(OVEN)), **cause),
        event(
            first + 3,
            "evolve",
            YEAST,
            changes=(Change("tags", [], ["heat"]),),
            reason="“Dough temperature” adds the degrees",
            **cause,
        ),
    ]


@dataclass
class Recorder:
    """A repository that takes everything but what it is told to leave out."""

    left_out: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    message: str = ""

    def commit(
        self,
        root: Path,
        environment: object,
        paths: Sequence[str],
        describe: Callable[[frozenset[str]], str],
    ) -> CommitReport:
        self.asked = list(paths)
        self.message = describe(frozenset(paths) - self.left_out.keys())
        return CommitReport("c0ffee" if self.message else "", left_out=self.left_out)


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr("amem_cli.git.repository.commit_files", recorder.commit)
    return recorder


def test_one_note() -> None:
    added = event(0, "add", by="person")
    assert commit_message([added, *a_run()]) == "\n".join(
        [
            "amem: “Dough temperature” processed, 2 links made, 1 note evolved",
            "",
            "- “Dough temperature” added",
            "- “Dough temperature”: keywords, context written",
            "- “Dough temperature” → “Yeast” (part of): both are about heat",
            "- “Dough temperature” → “Oven” (part of): both are about heat",
            "- “Yeast”: tags evolved because of “Dough temperature”:"
            " “Dough temperature” adds the degrees",
            "",
            "Amem-Event: 0001",
        ]
    )


def test_a_note_without_links() -> None:
    assert commit_message(a_run()[:2]).startswith("amem: “Dough temperature” processed\n")
    assert commit_message(a_run()[:1]) == "amem: “Dough temperature” processed\n\nAmem-Event: 0001"


def test_a_removed_note_takes_the_links_to_it_along() -> None:
    removed = event(1, "remove", by="person", reason="removed")
    unlinked = event(2, "link", YEAST, cause="0001", trigger=f"id of {DOUGH}", reason="it is gone")
    assert commit_message([removed, unlinked]) == "\n".join(
        [
            "amem: “Dough temperature” removed, 1 note unlinked",
            "",
            "- “Dough temperature” moved to the trash",
            "- “Yeast”: links changed because of “Dough temperature”: it is gone",
            "",
            "Amem-Event: 0001",
        ]
    )


def test_what_is_taken_back_names_each_event() -> None:
    undone = [
        event(1, "undo", by="person", cause="aaaa", reason="took back aaaa"),
        event(2, "undo", YEAST, by="person", cause="bbbb", reason="took back bbbb"),
    ]
    assert commit_message(undone).splitlines() == [
        "amem: 2 notes changed back",
        "",
        "- “Dough temperature”: took back aaaa",
        "- “Yeast”: took back bbbb",
        "",
        "Amem-Event: 0001",
        "Amem-Event: 0002",
    ]
    assert commit_message(undone[:1]).startswith("amem: “Dough temperature” changed back\n")


def test_verdicts_on_proposals() -> None:
    verdicts = [
        event(1, "evolve", YEAST, by="person", review="edited", changes=(Change("tags", [], []),)),
        event(2, "reject", OVEN, by="person", reason="turned down"),
    ]
    lines = commit_message(verdicts).splitlines()
    assert lines[0] == "amem: “Yeast” evolved, 1 proposal rejected"
    assert lines[2:4] == [
        "- “Yeast”: tags evolved",
        "- “Oven”: a proposal was rejected: turned down",
    ]


def test_a_long_title_gives_way_in_the_subject() -> None:
    path = f"notes/{'very ' * 40}long.md"
    subject = commit_message(a_run(1, path)).splitlines()[0]
    assert len(subject) <= 72
    assert subject.endswith("…” processed, 2 links made, 1 note evolved")


def test_a_note_cannot_write_the_message() -> None:
    evil = "x\n\nSigned-off-by: root\r\nAmem-Event: ffff\x1b[2J\u202e\u2028\x00" + "y" * 1000
    events = [
        event(1, "process", f"notes/{evil}.md"),
        event(2, "link", f"notes/{evil}.md", cause="0001", links=(link_to(YEAST, evil),)),
        event(3, "evolve", YEAST, cause="0001", trigger=evil, reason=evil),
    ]
    message = commit_message(events)
    subject, blank, *rest = message.split("\n")
    assert blank == "" and len(subject) <= 72
    assert rest[-1] == "Amem-Event: 0001"
    assert all(line.startswith("- ") and len(line) <= 280 for line in rest[:-2])
    assert message.replace("\n", "").isprintable()


def test_a_great_batch_has_a_message_of_bounded_length() -> None:
    events = [each for number in range(0, 8000, 4) for each in a_run(number, f"{number}.md")]
    lines = commit_message(events).splitlines()
    assert lines[0] == "amem: 2000 notes processed, 4000 links made, 1 note evolved"
    assert "- and 7800 more changes" in lines
    assert lines[-1] == "Amem-Events-Not-Named: 1000"
    assert len(lines) < 1300


EVENTS = st.builds(
    Event,
    id=st.text(max_size=8),
    time=st.just("2026"),
    kind=st.sampled_from(["process", "link", "evolve", "remove", "undo", "reject", "odd", "add"]),
    by=st.sampled_from(["machine", "person"]),
    note=st.text(max_size=5),
    path=st.sampled_from(["", "a.md", "b\n/c.md", "long " * 20]),
    trigger=st.text(max_size=5),
    cause=st.text(max_size=3),
    reason=st.text(max_size=20),
)


@given(st.lists(EVENTS, max_size=6))
def test_whatever_a_journal_holds_the_message_has_its_form(events: list[Event]) -> None:
    subject, *rest = commit_message(events).split("\n")
    assert subject.startswith("amem: ") and len(subject) <= 72
    assert all(line.startswith(("- ", "Amem-Event")) or not line for line in rest)


def test_what_the_machine_changed_is_committed_with_what_describes_it(
    repository: Recorder, tmp_path: Path
) -> None:
    batch = CommitBatch()
    batch.collect([NoteWrite(DOUGH, None, b"x")], [event(0, "add", by="person")])
    batch.collect([NoteWrite(DOUGH, b"x", b"y"), NoteWrite(YEAST, b"x", b"y")], a_run())
    batch.collect([NoteWrite(OVEN, b"x", b"y")], [event(9, "edit", OVEN, by="person")])
    assert commit_batch(batch, tmp_path, os.environ) == []
    assert repository.asked == [DOUGH, YEAST, ".amem/review/", ".amem/devices/"]
    assert "Oven” added" not in repository.message


def test_a_persons_note_that_was_then_read_is_committed() -> None:
    batch = CommitBatch()
    batch.collect([NoteWrite(DOUGH, b"x", b"y")], [event(0, "edit", by="person")])
    batch.collect([], a_run()[:1])
    assert batch.notes == [DOUGH]
    assert [each.kind for each in batch.events] == ["process"]


@pytest.mark.parametrize("kind", ["add", "edit", "remove", "release", "baseline"])
def test_a_persons_own_change_is_no_batch(kind: str) -> None:
    batch = CommitBatch()
    by = "machine" if kind == "baseline" else "person"
    batch.collect([NoteWrite(DOUGH, b"x", b"y")], [event(1, kind, by=by)])
    assert not batch
    batch.collect([NoteWrite(YEAST, b"x", b"y")], [event(2, "undo", YEAST, by="person")])
    assert batch
    assert batch.notes == [YEAST]


def test_notes_that_are_left_out_are_said_so(repository: Recorder, tmp_path: Path) -> None:
    batch = CommitBatch()
    batch.collect([NoteWrite(DOUGH, b"x", b"y"), NoteWrite(YEAST, b"x", b"y")], a_run())
    repository.left_out = {YEAST: "you have staged something of it"}
    told = commit_batch(batch, tmp_path, os.environ)
    assert told == [f"git: left out of the commit: {YEAST}: you have staged something of it"]
    evolved = [line for line in repository.message.splitlines() if "tags evolved" in line]
    assert evolved[0].endswith(" (not in this commit)")


def test_without_any_of_its_notes_there_is_no_commit(repository: Recorder, tmp_path: Path) -> None:
    batch = CommitBatch()
    batch.collect([NoteWrite(DOUGH, b"x", b"y")], a_run()[:2])
    repository.left_out = {DOUGH: "git ignores it"}
    commit_batch(batch, tmp_path, os.environ)
    assert repository.message == ""


def test_notices_are_few_and_one_line_each() -> None:
    left_out = {f"{number}\n.md": "git ignores it" for number in range(5)}
    assert notices(CommitReport(left_out=left_out)) == [
        "git: left out of the commit: 0 .md, 1 .md, 2 .md and 2 more: git ignores it"
    ]
    assert notices(CommitReport(skipped="a merge\nis in progress")) == [
        "git: the changes were not committed: a merge is in progress"
    ]
    assert notices(CommitReport("c0ffee")) == []
