"""One workspace used by several callers at once: what they see, and how one of them stops."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote
from amem_cli.errors import NotFoundError
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.connection import Caller, Stopped
from amem_cli.workspace.workspace import Workspace
from tests.fakes.chat_server import ChatServer
from tests.fakes.encoder import FakeEncoder
from tests.fakes.judge import FakeJudge

PATIENCE = 60.0
DIVING = (
    "The walrus dives to the bottom of the shallow sea and digs clams out of the mud there"
    " with its whiskers, several hundred of them in an hour."
)


def opened(root: Path, server: ChatServer | None = None) -> Workspace:
    """A new vault with an encoder that takes no time."""
    root.mkdir()
    adopt_vault(root)
    overrides = {"llm_backend": "none"}
    if server is not None:
        overrides = {"llm_backend": "openai", "llm_model": "m", "llm_base_url": server.url}
    workspace = Workspace(root, overrides=overrides)
    workspace.models.encoder = FakeEncoder()
    return workspace


def test_a_search_is_answered_and_a_cancelled_add_ends_while_the_model_thinks(
    tmp_path: Path,
) -> None:
    with ChatServer() as server:
        server.faults = ["drip"]
        workspace, adding = opened(tmp_path / "v", server), Caller()

        def add() -> bool:
            with workspace.call(adding):
                return workspace.add(NewNote("Clams live in mud.")).outcome.pending

        with ThreadPoolExecutor() as pool:
            added = pool.submit(add)
            end = time.monotonic() + PATIENCE
            while not server.requests:
                assert time.monotonic() < end
                time.sleep(0.02)
            with workspace.call():
                (hit,) = workspace.search("clams", mode="keyword").hits
            assert not added.done()
            adding.stop()
            assert added.result(PATIENCE)
        with workspace.call():
            assert [note.path for note in workspace.index.queue.pending()] == [hit.note.path]
        workspace.close()
        assert (tmp_path / "v" / hit.note.path).read_text().endswith("Clams live in mud.\n")


def test_a_note_that_the_judge_had_no_time_for_is_pending_until_the_next_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = FakeJudge()
    monkeypatch.setenv("AMEM_LLM_JUDGE", "on")
    monkeypatch.setattr("amem_cli.models.judge.open_judge", lambda *_: judge)
    workspace = opened(tmp_path / "v")
    with workspace.call():
        workspace.add(NewNote(DIVING, title="Walrus"))
        judge.answers = 0
        added = workspace.add(NewNote(f"{DIVING} So it was in May.", title="In May")).outcome
        assert added.pending and added.links
        assert workspace.stats().pending == 1
        judge.answers = 8
        with workspace.evolving([added.path]) as batch:
            [done] = batch.outcomes()
        assert [each.after for each in done.changed_links] == [None]
        assert workspace.stats().pending == 0
    workspace.close()


def test_a_call_that_was_stopped_writes_nothing(tmp_path: Path) -> None:
    workspace, caller = opened(tmp_path / "v"), Caller()
    with pytest.raises(Stopped), workspace.call(caller, in_step=False):
        caller.stop()
        workspace.add(NewNote("Never."))
    with workspace.call():
        assert workspace.index.notes.count() == 0
    workspace.close()


def test_progress_is_refused_once_nobody_waits() -> None:
    shown: list[str] = []

    def show(label: str, at_once: bool) -> nullcontext[None]:
        shown.append(label)
        return nullcontext()

    caller = Caller(show)
    with caller.progress("embedding") as progress:
        progress(1, 3)
        caller.stop()
        with pytest.raises(Stopped):
            progress(2, 3)
    with pytest.raises(Stopped):
        caller.step("searching")
    with pytest.raises(Stopped), caller.interruptible(lambda: None):
        pytest.fail("it began all the same")
    assert shown == ["embedding"]


def test_what_a_stop_interrupts_is_never_the_next_work() -> None:
    caller, answered, closed = Caller(), threading.Event(), []

    def interrupt() -> None:
        answered.set()
        closed.append("model")

    with caller.interruptible(interrupt):
        caller.stop()
        caller.stop()
        assert answered.wait(PATIENCE)
    # Left only when the interruption is over.
    assert closed == ["model"]


def test_who_does_not_see_private_notes_finds_none_and_gets_none_named(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "v")
    with workspace.call():
        workspace.add(NewNote("---\nprivate: true\n---\nThe walrus secret.", title="Diary"))
        workspace.add(NewNote("The walrus dives. See [[Diary]].", title="Walrus"))
    with workspace.call(Caller(sees_private=False)):
        hits = workspace.search("walrus").hits
        assert [hit.note.title for hit in hits] == ["Walrus"]
        assert workspace.show(workspace.note("Walrus")).links == ()
        with pytest.raises(NotFoundError):
            workspace.note("Diary")
        assert all("Diary" not in each.event.path for each in workspace.history(limit=50))
    with workspace.call():
        assert {hit.note.title for hit in workspace.search("walrus").hits} == {"Walrus", "Diary"}
    workspace.close()


def test_no_verb_gives_away_private_notes(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "v")
    with workspace.call():
        workspace.add(NewNote("---\nprivate: true\n---\n" + DIVING, title="Diary"))
        workspace.add(NewNote(DIVING, title="Walrus"))
        workspace.add(NewNote("Seals bask. See [[Diary]] and [[Walrus]].", title="Seals"))
        assert workspace.stats().notes == 3
    with workspace.call(Caller(sees_private=False)):
        assert workspace.stats().notes == 2
        seals = workspace.note("Seals")
        assert [near.note.title for near in workspace.related(seals, limit=9)] == ["Walrus"]
    workspace.close()


def test_the_journal_names_the_client_of_each_call(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "v")
    for client in ("one 1.0", "", "two 2.0"):
        with workspace.call(Caller(client=client)):
            workspace.add(NewNote(f"Text of {client or 'the user'}."), wait=False)
    with workspace.call():
        events = [each.event for each in workspace.history(limit=50) if each.event.kind == "add"]
    assert [event.extra.get("client") for event in events] == ["one 1.0", None, "two 2.0"]
    workspace.close()
