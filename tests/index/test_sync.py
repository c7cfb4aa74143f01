"""The index follows the folder, and a rebuilt one equals it."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from amem_cli.editing.edit import record_baseline
from amem_cli.errors import Problem
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import check_index, embed_missing, synchronise
from amem_cli.notes.front_matter import read_header
from amem_cli.notes.note import parse_note
from amem_cli.search.read import note_named
from amem_cli.vault.file_state import FileContent, FileState
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.template import adopt_vault, create_vault
from tests.fakes.encoder import FakeEncoder
from tests.index_dump import canonical_dump
from tests.vaults import open_vault, tree_hashes, write_note


def dump_of(root: Path, encoder: FakeEncoder, *, index: str) -> object:
    ports = open_vault(root, index=index)
    synchronise(ports)
    embed_missing(ports, encoder)
    dump = canonical_dump(ports.index)
    ports.index.close()
    return dump


def test_new_changed_moved_and_removed_notes_are_seen(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "a.md", "one\n")
    write_note(tmp_path, "b.md", '---\nid: "20260101120000"\n---\ntwo\n')
    assert synchronise(ports).added == ("a.md", "b.md")
    write_note(tmp_path, "a.md", "one, changed\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "b.md").rename(tmp_path / "notes" / "c.md")
    report = synchronise(ports)
    assert (report.added, report.changed, report.removed) == ((), ("a.md",), ())
    assert report.moved == (("b.md", "notes/c.md"),)
    (tmp_path / "a.md").unlink()
    assert synchronise(ports).removed == ("a.md",)
    assert [note.path for note in ports.index.notes.summaries()] == ["notes/c.md"]


def test_an_unchanged_vault_is_not_read_again(tmp_path: Path, ports: VaultPorts) -> None:
    for number in range(20):
        write_note(tmp_path, f"{number}.md", f"note {number}\n")
    synchronise(ports)
    read: list[str] = []
    original = ports.vault.read

    def counted(path: str) -> FileContent:
        read.append(path)
        return original(path)

    object.__setattr__(ports.vault, "read", counted)
    report = synchronise(ports)
    assert (read, report.changed) == ([], ())


def test_a_change_within_the_clocks_granularity_is_seen(tmp_path: Path, ports: VaultPorts) -> None:
    from amem_cli.vault.file_state import SystemClock

    object.__setattr__(ports, "clock", SystemClock())
    note = write_note(tmp_path, "a.md", "one\n")
    synchronise(ports)
    times = note.stat()
    write_note(tmp_path, "a.md", "two\n")
    os.utime(note, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert synchronise(ports).changed == ("a.md",)


@pytest.mark.parametrize("seed", range(3))
def test_a_rebuilt_index_equals_the_live_one(tmp_path: Path, seed: int) -> None:
    root = tmp_path / "vault"
    create_vault(root)
    encoder = FakeEncoder()
    live = open_vault(root)
    record_baseline(live)
    chance = random.Random(seed)
    for step in range(12):
        notes = sorted(path for path in root.rglob("*.md") if ".amem" not in path.parts)
        note = chance.choice(notes)
        match chance.randrange(4):
            case 0:
                write_note(root, f"notes/new {step}.md", f"# New\n\nabout [[{note.stem}]] {step}\n")
            case 1:
                note.write_bytes(note.read_bytes() + f"\nmore {step} #tag{step}\n".encode())
            case 2:
                note.rename(note.with_name(f"renamed {step}.md"))
            case 3:
                note.unlink()
        synchronise(live)
        embed_missing(live, encoder)
    assert check_index(live) == []
    dump = canonical_dump(live.index)
    assert dump == dump_of(root, encoder, index="rebuilt.db")


def test_adopting_touches_no_note(tmp_path: Path, ports: VaultPorts) -> None:
    for number in range(300):
        folder = f"folder {number % 7}"
        write_note(
            tmp_path, f"{folder}/note {number}.md", f"text {number} [[note {number + 1}]]\r\n"
        )
    write_note(tmp_path, "odd.md", "---\na: 1\na: 2\n---\nbody\n")
    write_note(tmp_path, ".obsidian/app.json", "{}")
    before = tree_hashes(tmp_path)
    adopt_vault(tmp_path)
    assert record_baseline(ports) == 301
    after = tree_hashes(tmp_path)
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) == {".gitignore", ".gitattributes"}
    ignored = tmp_path / ".gitignore"
    assert {".trash/", ".amem-*.tmp"} <= set(ignored.read_text().splitlines())
    assert ports.index.queue.pending() == []
    assert [problem.path for problem in ports.index.files.problems()] == ["odd.md"]
    adopt_vault(tmp_path)
    assert tree_hashes(tmp_path) == after
    # Whoever wants deleted notes in git takes the line out, and it stays out.
    ignored.write_text(ignored.read_text().replace(".trash/\n", ""))
    adopt_vault(tmp_path)
    assert ".trash/" not in ignored.read_text()


def test_one_bad_note_does_not_hide_the_others(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "bomb.md", "---\na: " + "[" * 50_000 + "\n---\nwalrus\n")
    write_note(tmp_path, "good.md", "penguin\n")
    (tmp_path / "odd.md").write_bytes(b"---\ntitle: caf\xe9\n---\nbody \xff\n")
    synchronise(ports)
    assert ports.index.notes.count() == 3
    assert list(ports.index.text.keyword_scores(["walrus"], 5)) == ["bomb.md"]


class _HalfSaved(VaultFolder):
    """A vault in which an editor has emptied a file as its size is asked, and written it as it is
    read."""

    saving = True

    def read(self, path: str) -> FileContent:
        content = super().read(path)
        return replace(content, state=content.state._replace(size=0)) if self.saving else content


def test_a_file_that_was_being_saved_as_it_was_read_is_known_with_its_size(tmp_path: Path) -> None:
    vault = _HalfSaved(tmp_path)
    ports = replace(open_vault(tmp_path), vault=vault)
    write_note(tmp_path, "a.md", "The walrus sleeps.\n")
    synchronise(ports)
    vault.saving = False
    synchronise(ports)
    assert ports.index.files.states()["a.md"].size == (tmp_path / "a.md").stat().st_size


def test_a_file_that_holds_the_known_bytes_is_not_parsed_again(
    tmp_path: Path, ports: VaultPorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = write_note(tmp_path, "a.md", "---\ntitle: Walrus\n---\nIt sleeps.\n")
    synchronise(ports)
    os.utime(note, ns=(0, 1_700_000_000_123_456_789))

    def refuse(text: str) -> None:
        pytest.fail("the header was parsed")

    read_header.cache_clear()
    parse_note.cache_clear()
    monkeypatch.setattr("amem_cli.notes.front_matter.read_tree", refuse)
    report = synchronise(ports)
    summary = note_named(ports.index, "a.md")
    assert (report.changed, summary.modified) == ((), "2023-11-14T22:13:20+00:00")
    assert ports.index.files.states()["a.md"].mtime_ns == 1_700_000_000_123_456_789


class _Closed(VaultFolder):
    """A vault one folder of which cannot be listed for the moment."""

    closed = ""

    def scan(self, problems: list[Problem] | None = None) -> Iterator[FileState]:
        for state in super().scan(problems):
            if not self.closed or not state.path.startswith(f"{self.closed}/"):
                yield state

    def is_readable(self, folder: str) -> bool:
        return folder != self.closed and super().is_readable(folder)


def test_notes_in_a_folder_that_cannot_be_read_stay_as_they_were(tmp_path: Path) -> None:
    vault = _Closed(tmp_path)
    ports = replace(open_vault(tmp_path), vault=vault)
    write_note(tmp_path, "closed/secret.md", "penguin\n")
    write_note(tmp_path, "open.md", "walrus\n")
    synchronise(ports)
    vault.closed = "closed"
    (tmp_path / "open.md").unlink()
    report = synchronise(ports)
    assert (report.removed, report.out_of_reach) == (("open.md",), ("closed/secret.md",))
    assert ports.index.notes.summary("closed/secret.md") is not None
    vault.closed = ""
    (tmp_path / "closed/secret.md").unlink()
    assert synchronise(ports).removed == ("closed/secret.md",)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs another user")
def test_a_folder_that_is_closed_to_the_user_is_not_readable() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        root = Path(name)
        root.chmod(0o755)
        vault = VaultFolder(root)
        (root / "closed").mkdir(mode=0)
        (root / "open").mkdir()
        child = os.fork()
        if child == 0:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            told = [vault.is_readable(folder) for folder in ("closed", "open", "gone", "")]
            os._exit(0 if told == [False, True, True, True] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_renamed_note_is_recognised_where_only_its_new_place_is_looked_at(
    tmp_path: Path, ports: VaultPorts
) -> None:
    write_note(tmp_path, "old.md", "---\nid: 20260302150000\n---\nwalrus\n")
    synchronise(ports)
    (tmp_path / "old.md").rename(tmp_path / "new.md")
    report = synchronise(ports, within={"new.md"})
    assert report.moved == (("old.md", "new.md"),)
    assert [summary.path for summary in ports.index.notes.summaries()] == ["new.md"]


def test_a_copy_of_a_note_is_no_rename(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "old.md", "---\nid: 20260302150000\n---\nwalrus\n")
    synchronise(ports)
    write_note(tmp_path, "copy.md", "---\nid: 20260302150000\n---\nwalrus\n")
    report = synchronise(ports, within={"copy.md"})
    assert (report.added, report.moved) == (("copy.md",), ())


def test_only_what_is_looked_at_changes(tmp_path: Path, ports: VaultPorts) -> None:
    for path in ("a/one.md", "a/two.md", "ab.md", "b.md"):
        write_note(tmp_path, path, "walrus\n")
    synchronise(ports)
    for path in ("a/one.md", "a/two.md", "ab.md", "b.md"):
        (tmp_path / path).unlink()
    report = synchronise(ports, within={"a"}, keep_missing={"a/two.md"})
    assert (report.removed, report.missing) == (("a/one.md",), ("a/two.md",))
    assert synchronise(ports, within={"ab.md"}).removed == ("ab.md",)
    assert synchronise(ports).removed == ("a/two.md", "b.md")
