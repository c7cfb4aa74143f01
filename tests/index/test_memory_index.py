"""The index file: what is stored is found, whatever the words; what is broken is set aside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from amem_cli.errors import Problem
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.records import KnownFile, NoteLink, NoteRecord
from amem_cli.journal.events import Event
from amem_cli.notes.note import Note


def a_record(path: str, body: str = "text", **values: object) -> NoteRecord:
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    links = values.pop("links_in_text", ())
    note = Note(path=path, id=None, title=stem, body=body)
    for name, value in values.items():
        object.__setattr__(note, name, value)
    file = KnownFile(len(body), 1, 1, 1, 10, f"sha-{path}-{body}", note.id)
    return NoteRecord(note, file, f"hash-{body}", "2026-01-01T00:00:00+00:00", links, (body,))  # type: ignore[arg-type]


@pytest.fixture
def index(tmp_path: Path) -> MemoryIndex:
    return MemoryIndex(tmp_path / "index.db")


def embed(index: MemoryIndex, vectors: dict[str, list[float]], model: str = "test") -> None:
    index.vectors.use_encoder(model, len(next(iter(vectors.values()))))
    for job in index.vectors.passages_to_embed():
        vector = np.array([vectors[job.summary.path]], dtype=np.float32)
        index.vectors.store([job.passage], vector / np.linalg.norm(vector))


def test_a_note_is_found_by_each_of_its_names(index: MemoryIndex) -> None:
    index.files.store(a_record("notes/Über Tee.md", id="20260101120000", aliases=("Chai",)))
    index.files.store(a_record("Other.md", id="20260201120000"))
    for name in (
        "20260101120000",
        "notes/Über Tee.md",
        "Über Tee",
        "über tee.md",
        "chai",
        "202601",
    ):
        assert [note.path for note in index.notes.find(name)] == ["notes/Über Tee.md"], name
    assert index.notes.find("nothing") == []
    assert index.notes.find("%") == []


def test_an_unchanged_passage_keeps_its_vector(index: MemoryIndex) -> None:
    index.files.store(a_record("a.md"))
    embed(index, {"a.md": [1, 0, 0]})
    index.files.store(a_record("a.md", links_in_text=(NoteLink("b", "wikilink"),)))
    assert index.vectors.passages_to_embed() == []
    index.files.store(a_record("a.md", keywords=("new",)))
    assert len(index.vectors.passages_to_embed()) == 1


def test_a_huge_note_is_embedded_in_part_and_found_by_all_its_words(index: MemoryIndex) -> None:
    record = a_record("a.md", "text")
    passages = tuple(f"passage number{number}" for number in range(500))
    object.__setattr__(record, "passages", passages)
    index.files.store(record)
    index.vectors.use_encoder("test", 3)
    assert len(index.vectors.passages_to_embed()) == 200
    assert list(index.text.keyword_scores(["number499"], 5)) == ["a.md"]


def test_pending_follows_from_notes_and_events(index: MemoryIndex) -> None:
    for name in ("old.md", "done.md", "new.md"):
        index.files.store(a_record(name, name, id=f"2026010112000{len(name)}"))
    index.files.store(a_record("refused.md", "r", refused=Problem("refused.md", 1, "tabs")))
    events = [
        Event("1", "t", "baseline", known=("hash-old.md",)),
        Event("2", "t", "process", note="20260101120007", text_hash="hash-done.md"),
    ]
    index.events.store("j", "p", events)
    assert [note.path for note in index.queue.pending()] == ["new.md"]
    assert index.queue.unprocessed() == ["new.md", "old.md"]
    index.queue.count_failure("new.md", "busy")
    index.queue.count_failure("new.md", "busy")
    assert index.queue.pending()[0].attempts == 2
    index.files.store(a_record("done.md", "another text", id="20260101120007"))
    assert {note.path for note in index.queue.pending()} == {"new.md", "done.md"}


def test_an_index_of_another_version_is_set_aside_but_for_its_counters(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    index = MemoryIndex(path)
    index.files.store(a_record("a.md"))
    index.usage.count(["a.md"], "2026-01-01")
    index.file.rows("PRAGMA user_version = 99")
    index.close()
    anew = MemoryIndex(path)
    assert anew.notes.count() == 0
    assert anew.usage.of("a.md") == (1, "2026-01-01")
    assert len(list(tmp_path.glob("index.db.unusable-*"))) >= 1


def store(index: MemoryIndex, path: str) -> None:
    with index.changing():
        index.files.store(a_record(path))


class _Exchanged:
    """An index in use that gives way to an older copy, again and again while it is filled."""

    def __init__(self, folder: Path, times: int) -> None:
        self.path, self._older = folder / "index.db", folder / "older.db"
        MemoryIndex(self.path).close()
        self._older.write_bytes(self.path.read_bytes())
        self._times, self.fills = times, 0
        self.index = MemoryIndex(self.path, refill=self._fill)

    def exchange(self) -> None:
        self._times -= 1
        other = self.path.with_name("other.db")
        other.write_bytes(self._older.read_bytes())
        for part in self.path.parent.glob("index.db-*"):
            part.unlink()
        other.replace(self.path)

    def _fill(self) -> None:
        self.fills += 1
        store(self.index, "a.md")
        if self._times > 0:
            self.exchange()
        store(self.index, "b.md")


@pytest.mark.parametrize("times", [1, 2, 4])
def test_an_index_that_is_exchanged_while_it_is_filled_is_filled_again(
    tmp_path: Path, times: int
) -> None:
    exchanged = _Exchanged(tmp_path, times)
    exchanged.exchange()
    store(exchanged.index, "c.md")
    paths = {summary.path for summary in exchanged.index.notes.summaries()}
    assert paths == {"a.md", "b.md", "c.md"}


def test_an_exchanged_index_that_could_not_be_filled_is_filled_by_the_next_change(
    tmp_path: Path,
) -> None:
    failures = [OSError("the folder is away"), None]

    def fill() -> None:
        failure = failures.pop(0)
        if failure is not None:
            raise failure
        store(opened, "a.md")

    path = tmp_path / "index.db"
    opened = MemoryIndex(path, refill=fill)
    opened.file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    path.unlink()
    with pytest.raises(OSError, match="away"):
        store(opened, "b.md")
    store(opened, "b.md")
    assert {summary.path for summary in opened.notes.summaries()} == {"a.md", "b.md"}
