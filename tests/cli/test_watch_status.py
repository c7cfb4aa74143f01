"""What a watcher shows of itself: its lines and its status."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

from amem_cli.index.sync import SyncReport
from amem_cli.memory.outcome import EvolvedNote, ModelUse, NewLink, Outcome
from amem_cli.notes.note import Metadata
from amem_cli.terminal.watching import news_document, news_rows, status_lines
from amem_cli.watch.watcher import status_after
from amem_cli.watch.worker import WatchEvent
from amem_cli.workspace.watch_lock import WatchStatus

NOON = datetime(2026, 3, 2, 12, 0).astimezone()
STATUS = WatchStatus(4711, "desk", "2026-03-02T09:00:00+00:00", notes=3176)
REASON = "both haul out on the ice to rest between two long dives for clams and fish"
LEARNED = Outcome(
    path="notes/walrus.md",
    id="20260302120000",
    title="海象 Walrus",
    metadata=Metadata(
        keywords=("walrus", "ice"), tags=("animal",), context="How the walrus sleeps."
    ),
    written=("keywords", "tags", "context"),
    links=(NewLink("20260301120000", "notes/seal.md", "Seal", "example_of", REASON, 0.8),),
    evolved=(EvolvedNote("20260301120000", "notes/seal.md", "Seal", (), "now about ice too"),),
    use=ModelUse(2, 700, 34, 3.0),
)


def test_many_changed_notes_are_named_by_the_first_few() -> None:
    report = SyncReport(
        added=("a.md",), changed=("b.md", "c.md", "d.md", "e.md", "f.md"), moved=(("g.md", "h.md"),)
    )
    assert [row[0][0] for row in news_rows(WatchEvent("noticed", "", {}, report))] == [
        "new: a.md",
        "changed: b.md, c.md, d.md and 2 more",
        "moved: g.md → h.md",
    ]


def test_a_json_line_holds_the_note_that_was_learned() -> None:
    document = news_document(WatchEvent("learned", "Walrus", {"path": "a.md"}, LEARNED), NOON)
    assert (document["event"], document["path"]) == ("learned", "a.md")
    assert document["note"]["links"][0]["reason"] == REASON


def test_a_note_that_is_still_being_edited_is_no_reason_to_rest() -> None:
    thinking = status_after(STATUS, WatchEvent("thinking", "a.md", {"path": "a.md"}))
    assert (thinking.state, thinking.doing) == ("thinking", "a.md")
    waits = Outcome("a.md", None, "A", pending=True, problems=("is being edited",))
    after = status_after(thinking, WatchEvent("waiting", "A", {"path": "a.md"}, waits))
    assert (after.state, after.doing, after.reason) == ("watching", "", "")


def test_a_rest_is_told_with_its_bare_reason() -> None:
    news = WatchEvent("waiting", "resting: on battery", {"reason": "on battery"})
    status = status_after(STATUS, news)
    assert (status.state, status.reason) == ("resting", "on battery")
    assert status_lines(status, NOON)[0] == "resting: on battery"


def test_what_it_asks_stays_until_it_is_answered() -> None:
    asking = WatchEvent("asking", "30 of 40 notes are gone at once", {"missing": 30, "notes": 40})
    status = status_after(STATUS, asking)
    for news in (
        WatchEvent("watching", "watching 40 notes", {"notes": 40}),
        WatchEvent("waiting", "resting: many", {"reason": "many"}),
        WatchEvent("noticed", "1 added", {"notes": 41}),
        WatchEvent("well", "all is watched again", {"trouble": ""}),
    ):
        status = status_after(status, news)
        assert (status.state, status.reason) == ("asking", asking.text)
    status = status_after(status, WatchEvent("well", "no note is missing any more", {"missing": 0}))
    assert (status.state, status.reason) == ("watching", "")


def test_trouble_with_the_folder_stays_beside_what_is_done() -> None:
    news = WatchEvent(
        "trouble", "the limit is reached; looking every few seconds", {"trouble": "limit"}
    )
    status = status_after(
        status_after(STATUS, news), WatchEvent("thinking", "a.md", {"path": "a.md"})
    )
    assert (status.state, status.trouble) == ("thinking", news.text)
    assert status_lines(status, NOON)[:2] == ["thinking: a.md", f"! {news.text}"]
    status = status_after(status, WatchEvent("well", "all is watched again", {"trouble": ""}))
    assert status.trouble == ""


def test_a_failure_is_shown_until_something_succeeds() -> None:
    failed = WatchEvent("trouble", "the vault: the disk is full", {"paths": [], "reason": "full"})
    status = status_after(STATUS, failed)
    assert (status.state, status.reason) == ("failing", failed.text)
    assert status_after(status, WatchEvent("noticed", "1 changed", {})).state == "watching"


def test_vectors_in_the_making_are_counted() -> None:
    news = WatchEvent("embedding", "128 of 7,667 passages searchable by meaning", {"done": 128})
    status = status_after(STATUS, news)
    assert (status.state, status.reason) == ("embedding", news.text)
    thinking = status_after(status, WatchEvent("thinking", "a.md", {"path": "a.md"}))
    assert status_after(thinking, news).state == "thinking"
    assert status_after(status, WatchEvent("searchable", "done", {})).state == "watching"


def test_a_status_tells_since_when_and_where_it_runs() -> None:
    now = datetime(2026, 3, 2, 11, 30, tzinfo=timezone.utc)
    assert status_lines(replace(STATUS, notes=1, pending=1200), now) == [
        "starting",
        "1 note, 1,200 pending",
        "learned 0 (0 links, 0 evolved)",
        f"process 4711 on desk, since {now.astimezone():%Y-%m-%d}"
        f" {datetime.fromisoformat(STATUS.started).astimezone():%H:%M} (2.5 h)",
    ]
