"""The worker beside a watch: which note is taken when, and what is left alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import FieldEdits, update
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.outcome import ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.ports import ModelRequest
from amem_cli.vault.file_state import SystemClock
from amem_cli.watch.worker import BackgroundWork, WatchEvent
from tests.fakes.encoder import FakeEncoder
from tests.fakes.language_model import EchoSchemaModel, ScriptedModel
from tests.vaults import open_vault, write_note

HOUR = 3600.0


class Desk:
    """A worker whose rounds the test calls for, with a clock that the test moves."""

    def __init__(
        self, root: Path, model: EchoSchemaModel | ScriptedModel | None, settle: float = 0.0
    ) -> None:
        self.root, self.now, self.news = root, 0.0, list[WatchEvent]()
        self.ports = replace(open_vault(root), clock=SystemClock())
        settings = ProcessSettings(settle_seconds=settle, trusted=True)
        self.process = MemoryProcess(self.ports, FakeEncoder(), model, settings)
        self.work = BackgroundWork(
            process=lambda: self.process,
            resting=lambda: "",
            report=self.news.append,
            finished=lambda: None,
            unload=lambda: None,
            monotonic=lambda: self.now,
        )

    def round(self) -> list[str]:
        """What a round tells of the notes that it took."""
        synchronise(self.ports)
        embed_missing(self.ports, self.process.encoder)
        before = len(self.news)
        self.work.round()
        return [news.kind for news in self.news[before:]]


def test_a_note_whose_properties_cannot_be_edited_is_tried_once(tmp_path: Path) -> None:
    model = EchoSchemaModel(seed=1)
    desk = Desk(tmp_path, model)
    text = "---\nkeywords:\n  mine: x\n---\nThe walrus sleeps.\n"
    write_note(tmp_path, "odd.md", text)
    assert desk.round() == ["thinking", "waiting"]
    calls = len(model.requests)
    (told,) = (news for news in desk.news if news.kind == "waiting")
    assert told.result.pending and "odd.md" in told.result.problems[0]
    desk.now += 10 * HOUR
    assert desk.round() == []
    assert len(model.requests) == calls
    assert (tmp_path / "odd.md").read_text() == text
    write_note(tmp_path, "odd.md", "The walrus sleeps.\n")
    assert desk.round() == ["thinking", "learned"]


def test_a_note_that_rests_rests_no_longer_once_a_command_wrote_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, None, settle=HOUR)
    path = add(desk.ports, NewNote("The walrus sleeps.", title="Walrus"))
    write_note(tmp_path, path, "The penguin swims.\n")
    assert desk.round() == []
    (note,) = desk.ports.index.notes.summaries()
    update(desk.ports, note, FieldEdits(content="The auk flies."))
    assert desk.round() == ["thinking", "learned"]


def test_who_goes_on_editing_is_left_in_peace_from_the_last_edit_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path, None, settle=5.0)
    write_note(tmp_path, "a.md", "The walrus sleeps.\n")
    assert desk.round() == []
    # The clock of the worker says that it has rested; the file says that it was written just now.
    desk.now += 10.0
    write_note(tmp_path, "a.md", "The penguin swims.\n")
    assert desk.round() == []


def test_a_text_that_failed_is_tried_later_and_another_text_at_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedModel())
    write_note(tmp_path, "a.md", "The walrus sleeps.\n")
    assert desk.round() == ["thinking", "waiting"]
    assert desk.round() == []
    desk.now += 61.0
    assert desk.round() == ["thinking", "waiting"]
    desk.now += 61.0
    assert desk.round() == []
    write_note(tmp_path, "a.md", "The penguin swims.\n")
    assert desk.round() == ["thinking", "waiting"]


def test_a_worker_that_begins_anew_goes_on_waiting_for_what_failed(tmp_path: Path) -> None:
    write_note(tmp_path, "a.md", "The walrus sleeps.\n")
    assert Desk(tmp_path, ScriptedModel()).round() == ["thinking", "waiting"]
    again = Desk(tmp_path, ScriptedModel())
    assert again.round() == []
    again.now += 61.0
    assert again.round() == ["thinking", "waiting"]


def test_what_failed_with_one_text_does_not_hold_up_the_next(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedModel())
    write_note(tmp_path, "a.md", "The walrus sleeps.\n")
    assert desk.round() == ["thinking", "waiting"]
    desk.process = replace(desk.process, model=None)
    desk.now += 61.0
    assert desk.round() == ["thinking", "learned"]
    write_note(tmp_path, "a.md", "The penguin swims.\n")
    # As after a start of the program, which knows only what the index does.
    assert Desk(tmp_path, None).round() == ["thinking", "learned"]


def test_a_bug_with_one_note_keeps_no_other_from_its_turn(tmp_path: Path) -> None:
    def fail_for_one(request: ModelRequest) -> str:
        if re.search(r"^(Title|New note): a\b", request.text, re.MULTILINE):
            raise ZeroDivisionError("a bug")
        return "{}"

    desk = Desk(tmp_path, ScriptedModel([fail_for_one] * 50))
    write_note(tmp_path, "a.md", "The walrus sleeps.\n")
    write_note(tmp_path, "b.md", "The penguin swims.\n")
    assert desk.round() == ["thinking", "waiting", "thinking", "learned"]
    assert desk.news[1].result.problems == ("ZeroDivisionError: a bug",)
    assert desk.round() == []
    desk.now += 61.0
    assert desk.round() == ["thinking", "waiting"]
    desk.now += 61.0
    assert desk.round() == []


def test_with_other_settings_what_rests_and_what_failed_is_looked_at_anew(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ScriptedModel(), settle=HOUR)
    write_note(tmp_path, "rests.md", "The walrus sleeps. The seal dives.\n")
    assert desk.round() == []
    desk.process = replace(desk.process, settings=ProcessSettings(settle_seconds=0.0))
    assert desk.round() == []
    desk.work.renew()
    assert desk.round() == ["thinking", "waiting"]
    assert desk.round() == []
    desk.process = replace(desk.process, model=None)
    desk.work.renew()
    assert desk.round() == ["thinking", "learned"]


def test_other_settings_are_taken_up_after_the_note_at_hand(tmp_path: Path) -> None:
    desk = Desk(tmp_path, None)

    def renew(request: ModelRequest) -> str:
        desk.work.renew()
        return "{}"

    desk.process = replace(desk.process, model=ScriptedModel([renew] * 50))
    for name in ("a", "b"):
        write_note(tmp_path, f"{name}.md", f"The walrus sleeps by {name}.\n")
    assert desk.round() == ["thinking", "learned"]
    assert desk.round() == ["thinking", "learned"]
