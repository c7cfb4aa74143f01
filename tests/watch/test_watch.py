"""A vault under watch: what is found, what is asked, what is never lost."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.memory.outcome import ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.ports import Encoder, LanguageModel, ModelRequest
from amem_cli.vault.file_state import FileContent
from amem_cli.vault.folder import VaultFolder
from amem_cli.watch.folder_watch import FolderWatch
from amem_cli.watch.loop import Debouncer, Watch
from amem_cli.watch.worker import BackgroundWork, WatchEvent
from tests.fakes.encoder import FakeEncoder
from tests.fakes.language_model import EchoSchemaModel, ScriptedModel
from tests.vaults import open_vault, write_note

pytestmark = pytest.mark.slow

PATIENCE = 120.0


class Watched:
    """A watch that runs in a thread of its own, and all it told."""

    def __init__(self, root: Path, ports: VaultPorts, model: LanguageModel | None) -> None:
        self.root, self.ports, self.news = root, ports, list[WatchEvent]()
        self.opened: list[FolderWatch] = []
        self.reason = ""
        settings = ProcessSettings(settle_seconds=0.0, trusted=True)
        self.process = MemoryProcess(ports, FakeEncoder(), model, settings)
        self.encoder: Encoder = FakeEncoder()
        self.work = BackgroundWork(
            process=lambda: self.process,
            resting=lambda: self.reason,
            report=self.news.append,
            finished=lambda: None,
            unload=lambda: None,
            monotonic=time.monotonic,
        )
        self.watch = Watch(
            ports, self._hints, lambda: self.encoder, self.work, self.news.append, time.monotonic
        )
        self._thread = threading.Thread(target=self.watch.run)

    def _hints(self) -> FolderWatch:
        self.opened.append(FolderWatch(self.root))
        return self.opened[-1]

    def start(self) -> None:
        self._thread.start()
        self.until(lambda: "watching" in self.kinds)

    def stop(self) -> None:
        self.watch.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    @property
    def kinds(self) -> list[str]:
        return [news.kind for news in self.news]

    @property
    def paths(self) -> set[str]:
        return {summary.path for summary in self.ports.index.notes.summaries()}

    def until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, [(news.kind, news.text) for news in self.news]
            time.sleep(0.01)

    def until_found(self, word: str, path: str) -> None:
        self.until(lambda: self.found(word) == [path])

    def found(self, word: str) -> list[str]:
        return list(self.ports.index.text.keyword_scores([word], 5))


@contextmanager
def watching(
    root: Path,
    model: LanguageModel | None = None,
    ports: VaultPorts | None = None,
    dirty: Debouncer | None = None,
) -> Iterator[Watched]:
    watched = Watched(root, ports or open_vault(root), model)
    if dirty is not None:
        watched.watch.debouncer = dirty
    watched.start()
    try:
        yield watched
    finally:
        watched.stop()


def test_a_note_that_an_editor_deletes_and_makes_anew_is_never_gone(tmp_path: Path) -> None:
    write_note(tmp_path, "a.md", "The walrus sleeps.\n")
    # A loaded machine may take more than the usual two seconds between the two.
    with watching(tmp_path, dirty=Debouncer(grace=PATIENCE)) as watched:
        for number in range(5):
            (tmp_path / "a.md").unlink()
            time.sleep(0.3)
            write_note(tmp_path, "a.md", f"The walrus sleeps, {number}.\n")
            time.sleep(0.3)
        watched.until(lambda: watched.found("4") == ["a.md"])
        assert not any(news.detail.get("removed") for news in watched.news)


def test_many_notes_gone_at_once_are_asked_about_and_stay_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amem_cli.watch.loop.TICK_SECONDS", 0.2)
    root = tmp_path / "vault"
    for number in range(30):
        write_note(root, f"notes/{number}.md", f"Number {number}.\n")
    with watching(root) as watched:
        watched.until(lambda: watched.kinds.count("learned") == 30)
        shutil.move(root / "notes", tmp_path / "away")
        watched.until(lambda: len(watched.watch.vanished) == 30)
        assert len(watched.paths) == 30
        shutil.move(tmp_path / "away", root / "notes")
        watched.until(lambda: "well" in watched.kinds)
        assert not watched.watch.vanished
        assert len(watched.paths) == 30
        shutil.rmtree(root / "notes")
        watched.until(lambda: len(watched.watch.vanished) == 30)
        # What `amem index` does in another terminal.
        synchronise(watched.ports)
        watched.until(lambda: watched.kinds.count("well") >= 2)
        assert not watched.watch.vanished
        assert watched.paths == set()
        write_note(root, "notes/new.md", "The walrus sleeps.\n")
        watched.until(lambda: not watched.ports.index.queue.pending() and watched.paths)


def test_notes_that_vanished_while_nobody_watched_are_asked_about_too(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    for number in range(30):
        write_note(root, f"notes/{number}.md", f"Number {number}.\n")
    ports = open_vault(root)
    with watching(root, ports=ports) as watched:
        watched.until(lambda: not ports.index.queue.pending())
    shutil.rmtree(root / "notes")
    with watching(root, ports=ports) as watched:
        watched.until(lambda: "asking" in watched.kinds)
        assert len(watched.paths) == 30


def test_many_passages_without_vectors_are_counted_while_they_get_them(tmp_path: Path) -> None:
    for number in range(150):
        write_note(tmp_path, f"{number}.md", f"Number {number}.\n")
    with watching(tmp_path) as watched:
        told = [news.detail for news in watched.news if news.kind == "embedding"]
        assert [(each["done"], each["total"]) for each in told] == [(128, 150)]


def test_what_the_machine_writes_makes_no_work(tmp_path: Path) -> None:
    model = EchoSchemaModel(seed=1)
    with watching(tmp_path, model) as watched:
        for number in range(4):
            text = f"Croissant dough {number} tears where the butter is cold.\n"
            write_note(tmp_path, f"notes/{number}.md", text)
        watched.until(lambda: watched.kinds.count("learned") >= 4)
        watched.until(lambda: not watched.ports.index.queue.pending())
        time.sleep(1.0)
        assert watched.kinds.count("thinking") == 4


def _in_place(note: Path, text: str) -> None:
    note.write_text(text)


def _by_rename(note: Path, text: str) -> None:
    temporary = note.with_name(".typed.tmp")
    temporary.write_text(text)
    temporary.replace(note)


def _with_a_backup(note: Path, text: str) -> None:
    backup = note.with_name(note.name + "~")
    note.rename(backup)
    note.write_text(text)
    backup.unlink()


def _deleted_and_made_anew(note: Path, text: str) -> None:
    note.unlink()
    note.write_text(text)


def _emptied_first(note: Path, text: str) -> None:
    note.write_text("")
    note.write_text(text)


@pytest.mark.parametrize(
    "save", [_in_place, _by_rename, _with_a_backup, _deleted_and_made_anew, _emptied_first]
)
@pytest.mark.parametrize("is_new", [True, False])
def test_who_types_while_the_model_thinks_wins(
    tmp_path: Path, save: Callable[[Path, str], None], is_new: bool
) -> None:
    """Whatever the editor, and also where the note has its front matter already."""
    note = tmp_path / "notes/a.md"
    mine = "My own last word on the matter.\n"

    def type_meanwhile(request: ModelRequest) -> str:
        before = note.read_text()
        if "matter" not in before:
            save(note, before.replace("Croissant dough tears where the butter is cold.\n", mine))
        return "{}"

    header = "" if is_new else "---\nid: '20260101120000'\nmood: calm # as ever\n---\n"
    text = f"{header}Croissant dough tears where the butter is cold.\n"
    with watching(tmp_path, ScriptedModel([type_meanwhile] * 50)) as watched:
        write_note(tmp_path, "notes/a.md", text)
        watched.until(
            lambda: "learned" in watched.kinds and not watched.ports.index.queue.pending()
        )
        assert note.read_text().endswith(mine)
        assert "Croissant" not in note.read_text().rpartition("---\n")[2]
        assert is_new or "mood: calm # as ever\n" in note.read_text()


def test_hints_that_were_lost_are_made_up_for(tmp_path: Path) -> None:
    with watching(tmp_path) as watched:
        hints = watched.opened[-1]
        hints.take()
        write_note(tmp_path, "a.md", "The walrus sleeps.\n")
        hints.take()
        hints._lose_hints()
        watched.until(lambda: watched.found("walrus") == ["a.md"])


class _Poisoned(VaultFolder):
    """A vault in which reading one note is a bug."""

    def read(self, path: str) -> FileContent:
        if path == "bad.md":
            raise ZeroDivisionError("a bug")
        return super().read(path)


def test_a_bug_with_one_note_stops_no_other(tmp_path: Path) -> None:
    ports = replace(open_vault(tmp_path), vault=_Poisoned(tmp_path))
    with watching(tmp_path, ports=ports) as watched:
        write_note(tmp_path, "bad.md", "This breaks.\n")
        write_note(tmp_path, "good.md", "The walrus sleeps.\n")
        watched.until(lambda: watched.found("walrus") == ["good.md"])
        watched.until(lambda: "trouble" in watched.kinds)
        write_note(tmp_path, "better.md", "The penguin swims.\n")
        watched.until(lambda: watched.found("penguin") == ["better.md"])


def test_an_index_that_is_exchanged_for_an_older_one_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amem_cli.watch.loop.TICK_SECONDS", 0.2)
    root, older = tmp_path / "vault", tmp_path / "older.db"
    write_note(root, "a.md", "The walrus sleeps.\n")
    ports = open_vault(root)
    synchronise(ports)
    ports.index.file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    index = root / ".amem/index.db"
    shutil.copy(index, older)
    with watching(root, ports=ports) as watched:
        write_note(root, "b.md", "The penguin swims.\n")
        watched.until_found("penguin", "b.md")
        for path in (root / ".amem").glob("index.db-*"):
            path.unlink()
        older.replace(index)
        write_note(root, "c.md", "The seal dives.\n")
        watched.until_found("seal", "c.md")
        watched.until_found("penguin", "b.md")
        watched.until_found("walrus", "a.md")


def test_a_vault_that_was_replaced_is_watched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amem_cli.watch.loop.TICK_SECONDS", 0.2)
    root = tmp_path / "vault"
    write_note(root, "a.md", "The walrus sleeps.\n")
    with watching(root) as watched:
        other = tmp_path / "other"
        # What the watcher is about to write may be gone before it is copied.
        shutil.copytree(root, other, ignore=shutil.ignore_patterns("intents", "*.tmp"))
        root.rename(tmp_path / "old")
        other.rename(root)
        watched.until(lambda: len(watched.opened) > 1)
        write_note(root, "b.md", "The penguin swims.\n")
        watched.until(lambda: watched.found("penguin") == ["b.md"])


def test_another_process_at_work_is_waited_for(tmp_path: Path) -> None:
    other = open_vault(tmp_path, index="other.db")
    with watching(tmp_path) as watched, other.changes.working(0.0) as mine:
        assert mine
        write_note(tmp_path, "a.md", "The walrus sleeps.\n")
        watched.until(lambda: watched.ports.index.queue.pending())
        time.sleep(0.5)
        assert "thinking" not in watched.kinds
