"""What a watcher shows of itself: the picture on a terminal, its lines, and its status."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from rich.cells import cell_len
from rich.console import Console

from amem_cli.index.sync import SyncReport
from amem_cli.memory.outcome import EvolvedNote, ModelUse, NewLink, Outcome
from amem_cli.notes.note import Metadata
from amem_cli.terminal.watching import WatchBoard, news_document, news_lines, status_lines, summary
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


def shown(board: WatchBoard, width: int, height: int) -> list[str]:
    """The board's lines on a terminal of this size."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, height=height, markup=False)
    console.print(board, end="")
    return stream.getvalue().removesuffix("\n").split("\n")


@pytest.fixture
def board() -> WatchBoard:
    board = WatchBoard("~/notes", STATUS, "Qwen3-4B", 60.0)
    for news in (
        WatchEvent("watching", "watching 3,176 notes", {"notes": 3176}),
        WatchEvent("noticed", "1 added", {}, SyncReport(added=("notes/walrus.md",))),
        WatchEvent("learned", "Walrus", {"path": "notes/walrus.md"}, LEARNED),
    ):
        board.status = status_after(board.status, news)
        board.take(news, NOON)
    return board


def test_it_shows_what_is_watched_what_was_learned_the_queue_and_what_it_cost(
    board: WatchBoard,
) -> None:
    board.status = replace(board.status, pending=5, state="thinking", doing="notes/auk.md")
    board.queue = ["notes/auk.md", "b.md", "c.md", "d.md"]
    text = "\n".join(shown(board, 120, 30))
    for part in (
        "amem watch  ~/notes",
        "3,176 notes · learned 1 (1 link, 1 evolved) · 734 tokens · Qwen3-4B",
        "12:00  new: notes/walrus.md",
        "12:00  海象 Walrus",
        "#animal · walrus, ice",
        "How the walrus sleeps.",
        f"→ Seal  example of: {REASON}",
        "↻ Seal  ",
        "now about ice too",
        "5 pending: notes/auk.md, b.md, c.md and 1 more",
        "● processing notes/auk.md",
        "Ctrl-C ends",
    ):
        assert part in text, part


@pytest.mark.parametrize("width", [12, 30, 48, 80, 200])
@pytest.mark.parametrize("height", [1, 2, 6, 7, 13, 14, 40])
def test_it_fills_a_terminal_of_any_size_and_never_more(
    board: WatchBoard, width: int, height: int
) -> None:
    board.add_notice("! a notice\twith\nmany " + "words " * 200, NOON)
    lines = shown(board, width, height)
    assert len(lines) == height
    assert all(cell_len(line) <= width for line in lines)
    assert lines[-1].startswith("● watching"[:width])


def test_on_a_narrow_terminal_a_reason_is_broken_and_not_cut(board: WatchBoard) -> None:
    words = " ".join(shown(board, 40, 30)).split()
    assert " ".join(REASON.split()) in " ".join(words)


def test_a_question_is_told_to_its_end_on_a_narrow_terminal(board: WatchBoard) -> None:
    question = "52 of 105 notes are gone at once, notes/a.md first; put them back, or let them go:"
    news = WatchEvent("asking", f"{question} amem index", {"missing": 52})
    board.status = status_after(board.status, news)
    assert " ".join(" ".join(shown(board, 44, 16)).split()).endswith(f"? {news.text}")


def test_what_notes_say_steers_no_terminal(board: WatchBoard) -> None:
    bad = "\x1b[31m\x1b]52;c;YmFk\x07\u202e\n\r"
    board.take(WatchEvent("learned", bad, {}, replace(LEARNED, title=bad)), NOON)
    board.status = replace(board.status, doing=bad, state="thinking", trouble=bad)
    board.queue, board.vault, board.model = [bad], bad, bad
    text = "\n".join(shown(board, 80, 30))
    assert not {"\x1b", "\x07", "\u202e", "\r"} & set(text)
    assert len(text.split("\n")) == 30


def test_the_summary_says_what_came_of_it(board: WatchBoard) -> None:
    assert summary(board, timedelta(hours=2, minutes=13, seconds=59)) == (
        "watched ~/notes for 2 h 13 min · learned 1 (1 link, 1 evolved) · 0 pending · 734 tokens\n"
        "amem history NOTE shows what was written and why"
    )


def test_many_changed_notes_are_named_by_the_first_few() -> None:
    report = SyncReport(
        added=("a.md",), changed=("b.md", "c.md", "d.md", "e.md", "f.md"), moved=(("g.md", "h.md"),)
    )
    assert [line for line, _ in news_lines(WatchEvent("noticed", "", {}, report))] == [
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
        f" {datetime.fromisoformat(STATUS.started).astimezone():%H:%M} (2 h 30 min)",
    ]
