"""Whatever tools do to the folder between two commands, the index is what a new one would be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_cli.index.sync import SyncReport, embed_missing, synchronise
from amem_cli.workspace.workspace import Workspace
from tests.conftest import Program
from tests.fakes.encoder import FakeEncoder
from tests.faults.index_states import rebuilt_dump
from tests.index_dump import canonical_dump
from tests.repositories import TestRepository, new_repository, person
from tests.vaults import write_note


class Held:
    """A vault that one process holds open while others change the folder."""

    def __init__(self, root: Path) -> None:
        (root / ".amem").mkdir(parents=True, exist_ok=True)
        self.root = root
        self.encoder = FakeEncoder()
        self.workspace = Workspace(root, environment={**os.environ, "AMEM_LLM_BACKEND": "none"})

    def read(self) -> SyncReport:
        """Bring the index up to date, and hold it against one made from nothing."""
        report = synchronise(self.workspace.ports)
        embed_missing(self.workspace.ports, self.encoder)
        assert canonical_dump(self.workspace.index) == rebuilt_dump(self.root, self.encoder)
        return report

    def used(self, key: str) -> int:
        return self.workspace.index.usage.of(key)[0]

    def use(self, *keys: str) -> None:
        with self.workspace.index.changing():
            self.workspace.index.usage.count(keys, "2026-01-01")


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    one = Held(tmp_path / "v")
    yield one
    one.workspace.close()


def with_id(number: int, text: str) -> str:
    return f'---\nid: "202601011200{number:02}"\n---\n{text}\n'


def test_a_renamed_note_stays_the_same_note(held: Held) -> None:
    write_note(held.root, "a.md", with_id(1, "about tea"))
    write_note(held.root, "b.md", "see [[a]]\n")
    held.read()
    held.use("20260101120001", "b.md")
    (held.root / "a.md").rename(held.root / "c.md")
    (held.root / "b.md").rename(held.root / "d.md")
    report = held.read()
    assert set(report.moved) == {("a.md", "c.md"), ("b.md", "d.md")}
    assert (held.used("20260101120001"), held.used("d.md")) == (1, 1)
    assert held.workspace.index.links.incoming("c.md") == []


def test_a_rename_of_letter_case_only_is_one(held: Held) -> None:
    write_note(held.root, "Tea.md", "about tea\n")
    write_note(held.root, "b.md", "see [[tea]]\n")
    held.read()
    held.use("Tea.md")
    (held.root / "Tea.md").rename(held.root / "TEA.md")
    assert held.read().moved == (("Tea.md", "TEA.md"),)
    assert held.used("TEA.md") == 1
    assert [source for source, _ in held.workspace.index.links.incoming("TEA.md")] == ["b.md"]


@pytest.mark.parametrize("ids", [True, False])
def test_two_notes_may_swap_their_names(held: Held, ids: bool) -> None:
    for number, name in enumerate(("a", "b")):
        text = f"text of {name}"
        write_note(held.root, f"{name}.md", with_id(number, text) if ids else f"{text}\n")
    write_note(held.root, "c.md", "[[a]]\n")
    held.read()
    a, b, other = (held.root / name for name in ("a.md", "b.md", "other"))
    a.rename(other)
    b.rename(a)
    other.rename(b)
    held.read()
    found = held.workspace.index.notes.find("20260101120000" if ids else "b")
    assert [note.path for note in found] == ["b.md"]
    assert list(held.workspace.index.text.keyword_scores(["text"], 5, ["b.md"])) == ["b.md"]
    assert held.workspace.index.text.passages("b.md") == ["text of a"]


def test_a_note_renamed_and_edited_keeps_its_identity_by_its_id(held: Held) -> None:
    write_note(held.root, "a.md", with_id(1, "one"))
    write_note(held.root, "b.md", "without an id\n")
    held.read()
    held.use("20260101120001", "b.md")
    (held.root / "a.md").unlink()
    write_note(held.root, "folder/c.md", with_id(1, "one, edited"))
    (held.root / "b.md").rename(held.root / "d.md")
    write_note(held.root, "d.md", "without an id, edited\n")
    report = held.read()
    assert report.moved == (("a.md", "folder/c.md"),)
    assert (report.added, report.removed) == (("d.md",), ("b.md",))
    assert held.used("20260101120001") == 1


def test_links_to_a_deleted_note_heal_when_it_comes_back(held: Held) -> None:
    write_note(held.root, "a.md", with_id(1, "about tea"))
    source = write_note(held.root, "b.md", "see [[a]] and ![[a#Heading|shown]]\n")
    held.read()
    before = source.read_bytes()
    kept = (held.root / "a.md").read_bytes()
    (held.root / "a.md").unlink()
    assert held.read().removed == ("a.md",)
    assert source.read_bytes() == before
    index = held.workspace.index
    assert (index.links.incoming("a.md"), len(index.links.written("b.md"))) == ([], 2)
    (held.root / "a.md").write_bytes(kept)
    assert held.read().added == ("a.md",)
    assert [path for path, _ in index.links.incoming("a.md")] == ["b.md", "b.md"]


EMPTY = {
    "empty": "",
    "white space": " \n\t\n\n",
    "front matter only": "---\ntags: [x]\n---\n",
    "an open front matter": "---\n",
    "a byte order mark": "\ufeff",
}


@pytest.mark.parametrize("kind", EMPTY)
def test_a_note_without_text_is_a_note(held: Held, kind: str) -> None:
    write_note(held.root, "a.md", EMPTY[kind])
    write_note(held.root, "b.md", "[[a]]\n")
    assert held.read().added == ("a.md", "b.md")
    assert [path for path, _ in held.workspace.index.links.incoming("a.md")] == ["b.md"]
    write_note(held.root, "a.md", "filled\n")
    assert held.read().changed == ("a.md",)
    write_note(held.root, "a.md", EMPTY[kind])
    report = held.read()
    assert (report.changed, report.removed) == (("a.md",), ())


def test_a_note_that_is_emptied_and_filled_again_keeps_its_identity(held: Held) -> None:
    """As an editor writes that truncates first and is met in between."""
    write_note(held.root, "a.md", with_id(1, "about tea"))
    held.read()
    held.use("20260101120001")
    (held.root / "a.md").write_bytes(b"")
    report = held.read()
    assert (report.changed, report.removed) == (("a.md",), ())
    write_note(held.root, "a.md", with_id(1, "about tea, and more"))
    held.read()
    assert held.used("20260101120001") == 1
    assert [note.path for note in held.workspace.index.notes.find("20260101120001")] == ["a.md"]


# Git goes back and forth in history; the journal is part of it.


@pytest.fixture
def repository(amem: Program) -> TestRepository:
    """Three commits: 600 notes; all edited, some renamed; some processed by the machine."""
    root = amem.folder / "v"
    assert amem("init", "v").code == 0
    for number in range(600):
        write_note(root, f"notes/{number:03}.md", f"walrus {number} of [[{number + 1:03}]]\n")
    write_note(root, "notes/kept.md", with_id(1, "kept"))
    repo = new_repository(root, person(amem.folder / "home"))
    repo.save(".", message="first")
    for number in range(600):
        write_note(root, f"notes/{number:03}.md", f"penguin {number} of [[{number + 1:03}]]\n")
    (root / "notes/000.md").rename(root / "notes/renamed.md")
    (root / "notes/001.md").unlink()
    (root / "notes/kept.md").rename(root / "notes/kept elsewhere.md")
    repo.save(".", message="second")
    return repo


def process(amem: Program, root: Path, *titles: str) -> None:
    for title in titles:
        answer = amem("--vault", str(root), "add", f"{title} text.", "--title", title, "--no-wait")
        assert answer.code == 0, answer.err
    assert amem("--vault", str(root), "link", titles[0], titles[-1]).code == 0


def test_checkouts_stashes_and_rebases_are_followed(
    amem: Program, repository: TestRepository
) -> None:
    root, git = repository.top, repository.git
    process(amem, root, "One", "Two")
    repository.save(".", message="third")
    held = Held(root)
    try:
        held.read()
        events = len(held.workspace.index.events.read())
        pending = {note.path for note in held.workspace.index.queue.pending()}
        assert events >= 3
        held.use("20260101120001")
        for target in ("HEAD~1", "HEAD~1", "main"):
            git("checkout", "-q", target)
            held.read()
        assert len(held.workspace.index.events.read()) == events
        assert {note.path for note in held.workspace.index.queue.pending()} == pending
        assert held.used("20260101120001") == 1
        git("checkout", "-q", "HEAD~2")
        held.read()
        assert [event.kind for event in held.workspace.index.events.read()] == ["baseline"]
        found = held.workspace.index.notes.find("20260101120001")
        assert [note.path for note in found] == ["notes/kept.md"]
        git("checkout", "-q", "main")

        process(amem, root, "Three", "One")
        write_note(root, "notes/002.md", "stashed\n")
        held.read()
        more = len(held.workspace.index.events.read())
        assert more > events
        git("stash", "-q", "-u")
        held.read()
        assert len(held.workspace.index.events.read()) == events
        git("stash", "pop", "-q")
        held.read()
        assert len(held.workspace.index.events.read()) == more
        assert list(held.workspace.index.text.keyword_scores(["stashed"], 5)) == ["notes/002.md"]
    finally:
        held.workspace.close()


def test_a_rebase_joins_two_journals(amem: Program, repository: TestRepository) -> None:
    root, git = repository.top, repository.git
    git("checkout", "-q", "-b", "other")
    process(amem, root, "Other", "Another")
    repository.save(".", message="of the other branch")
    held = Held(root)
    try:
        held.read()
        ours = len(held.workspace.index.events.read())
        git("checkout", "-q", "main")
        held.read()
        assert [event.kind for event in held.workspace.index.events.read()] == ["baseline"]
        process(amem, root, "Main", "Side")
        repository.save(".", message="of the main branch")
        held.read()
        theirs = len(held.workspace.index.events.read())
        git("checkout", "-q", "other")
        git("rebase", "-q", "main")
        held.read()
        assert len(held.workspace.index.events.read()) == ours + theirs - 1
        assert held.workspace.index.notes.find("Main") != []
        assert held.workspace.index.notes.find("Other") != []
    finally:
        held.workspace.close()
    assert amem("--vault", str(root), "index", "--check").code == 0
