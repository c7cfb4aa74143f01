"""An index file that is lost, broken, old or of another vault costs time and nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest

from amem_cli.errors import EncoderError, IndexFault
from amem_cli.index.file import record_clean_close
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.workspace.workspace import Workspace
from tests.conftest import Program
from tests.fakes.encoder import FakeEncoder
from tests.fakes.prepared_encoder import with_quick_encoder
from tests.faults.index_states import index_dump, rebuilt_dump, set_aside_files
from tests.index_dump import canonical_dump
from tests.vaults import open_vault, tree_hashes, write_note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

NOTES = 40


def fill(root: Path, notes: int = NOTES) -> None:
    for number in range(notes):
        text = f"# Note {number}\n\nwalrus {number} meets [[note {number + 1}]] #tag{number % 5}\n"
        write_note(root, f"notes/note {number}.md", text * 4)


@pytest.fixture
def vault(amem: Program) -> Path:
    amem.environment |= with_quick_encoder(amem.folder / "cache")
    root = amem.vault()
    fill(root)
    assert amem("list").code == 0
    return root


def overwrite(path: Path, content: bytes) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(content)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").write_text("x")


def a_link(path: Path) -> None:
    other = path.parents[2] / "another.db"
    connection = apsw.Connection(str(other))
    connection.execute("CREATE TABLE precious(x)")
    connection.close()
    path.unlink()
    path.symlink_to(other)


def another_program(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE notes(x)")
    connection.close()


def garbage(path: Path) -> None:
    """16 KiB of noise in the middle, as by a failing disk."""
    data = bytearray(path.read_bytes())
    middle = len(data) // 8192 * 4096
    data[middle : middle + 16384] = np.random.default_rng(1).bytes(16384)
    overwrite(path, bytes(data))


def halved(path: Path) -> None:
    overwrite(path, path.read_bytes()[: path.stat().st_size // 2 + 100])


def another_version(version: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        connection = apsw.Connection(str(path))
        connection.pragma("user_version", version)
        connection.close()

    return change


FAULTS: dict[str, Callable[[Path], None]] = {
    "garbage in the middle": garbage,
    "garbage in the header": lambda path: overwrite(path, b"x" * 100 + path.read_bytes()[100:]),
    "truncated": halved,
    "zero bytes": lambda path: overwrite(path, b""),
    "zeros": lambda path: overwrite(path, bytes(path.stat().st_size)),
    "a text": lambda path: overwrite(path, b"not a database\n" * 1000),
    "a folder": a_folder,
    "a link": a_link,
    "of another program": another_program,
    "of a newer version": another_version(99),
    "of an older version": another_version(1),
    "deleted": lambda path: path.unlink(),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_index_is_made_anew(amem: Program, vault: Path, fault: str) -> None:
    before = tree_hashes(vault)
    FAULTS[fault](vault / ".amem/index.db")
    answer = amem("search", "walrus 7", "--mode", "keyword", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["hits"][0]["path"] == "notes/note 7.md"
    assert len(answer.err.splitlines()) <= 1
    assert ("is rebuilt" in answer.err) == (fault not in ("zero bytes", "deleted"))
    assert index_dump(vault) == rebuilt_dump(vault)
    assert tree_hashes(vault) == before
    assert amem("index", "--check").code == 0
    assert amem("list").err == ""


def test_a_link_at_the_place_of_the_index_is_not_followed(amem: Program, vault: Path) -> None:
    a_link(vault / ".amem/index.db")
    other = (amem.folder / "another.db").read_bytes()
    assert amem("list").code == 0
    assert (amem.folder / "another.db").read_bytes() == other
    assert not (vault / ".amem/index.db").is_symlink()


@pytest.mark.slow
def test_indexes_that_were_set_aside_do_not_pile_up(amem: Program, vault: Path) -> None:
    for number in range(3):
        overwrite(vault / ".amem/index.db", b"garbage %d" % number)
        assert amem("list").code == 0
        assert [path.read_bytes() for path in set_aside_files(vault)] == [b"garbage %d" % number]
    assert amem("index", "--rebuild").code == 0
    assert set_aside_files(vault) == []


def test_set_aside_indexes_are_not_offered_to_git(amem: Program, vault: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=vault, check=True)
    overwrite(vault / ".amem/index.db", b"garbage")
    assert amem("list").code == 0
    command = ["git", "status", "--porcelain", "-uall"]
    status = subprocess.run(command, cwd=vault, capture_output=True, text=True, check=True)
    assert set_aside_files(vault) != []
    assert [line for line in status.stdout.splitlines() if "index" in line or "tmp" in line] == []


def damage_words(vault: Path) -> None:
    """Spoil the words in a file that looks as the program left it."""
    connection = apsw.Connection(str(vault / ".amem/index.db"))
    connection.execute("UPDATE words_data SET block = zeroblob(length(block)) WHERE id > 10")
    connection.close()
    record_clean_close(vault / ".amem/index.db")


def test_damage_that_only_a_search_meets_is_told_and_gone_after_it(
    amem: Program, vault: Path
) -> None:
    damage_words(vault)
    first = amem("search", "walrus 7", "--mode", "keyword")
    assert (first.code, first.out) == (3, "")
    assert "the index is damaged" in first.err and "Run the command again" in first.err
    second = amem("search", "walrus 7", "--mode", "keyword", "--json")
    assert (second.code, second.json["hits"][0]["path"]) == (0, "notes/note 7.md")
    assert index_dump(vault) == rebuilt_dump(vault)


def test_index_check_reports_damage_in_the_file(amem: Program, vault: Path) -> None:
    damage_words(vault)
    answer = amem("index", "--check", "--json")
    assert answer.code == 1
    assert any("the index file: " in line for line in answer.json["differences"])


# An index that is whole, but not the newest of this vault.


def test_an_older_copy_of_the_index_is_brought_up_to_date(amem: Program, vault: Path) -> None:
    index = vault / ".amem/index.db"
    older = index.read_bytes()
    amem("add", "A walrus was added.", "--title", "Later", "--no-wait")
    (vault / "notes/note 3.md").unlink()
    (vault / "notes/note 4.md").rename(vault / "notes/moved.md")
    write_note(vault, "notes/note 5.md", "penguin\n")
    assert amem("list").code == 0
    overwrite(index, older)
    hits = amem("search", "penguin", "--mode", "keyword", "--json").json["hits"]
    assert [hit["path"] for hit in hits if hit["via"] is None] == ["notes/note 5.md"]
    assert index_dump(vault) == rebuilt_dump(vault)


def test_an_index_of_another_vault_is_brought_up_to_date(amem: Program, vault: Path) -> None:
    other = amem.folder / "other"
    assert amem("init", "other").code == 0
    fill(other, 10)
    write_note(other, "notes/note 3.md", "penguin\n")
    for text in ("One.", "Two."):
        amem("--vault", "other", "add", text, "--no-wait")
    amem("add", "Three.", "--no-wait")
    overwrite(vault / ".amem/index.db", (other / ".amem/index.db").read_bytes())
    assert amem("list").code == 0
    assert index_dump(vault) == rebuilt_dump(vault)
    assert amem("index", "--check").code == 0


LOOP = """
import sys
from pathlib import Path
from amem_cli.workspace.workspace import Workspace
from amem_cli.index.sync import synchronise
workspace = Workspace(Path(sys.argv[1]))
for number in range(1_000_000):
    (workspace.root / "notes" / f"loop {number % 50}.md").write_text(f"loop walrus {number}")
    synchronise(workspace.ports)
    print(number, flush=True)
"""


def killed_while_indexing(vault: Path, rounds: int) -> None:
    """Leave the index as a process does that is killed in the middle of its writing."""
    child = subprocess.Popen(
        [sys.executable, "-c", LOOP, str(vault)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for _ in range(rounds):
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()


def test_changes_lost_with_the_write_ahead_log_are_read_again(vault: Path) -> None:
    killed_while_indexing(vault, 12)
    assert (vault / ".amem/index.db-wal").stat().st_size > 0
    (vault / ".amem/index.db-wal").unlink()
    again = Workspace(vault)
    synchronise(again.ports)
    again.close()
    assert index_dump(vault) == rebuilt_dump(vault)


@pytest.mark.slow
def test_an_older_copy_under_a_newer_write_ahead_log_is_not_trusted(
    amem: Program, vault: Path
) -> None:
    older = (vault / ".amem/index.db").read_bytes()
    held = Workspace(vault)
    for number in range(60):
        write_note(vault, f"notes/more {number}.md", f"more {number} " * 1500)
        synchronise(held.ports)
    held.index.file.rows("PRAGMA wal_checkpoint(PASSIVE)")
    write_note(vault, "notes/note 5.md", "penguin\n")
    synchronise(held.ports)
    log = (vault / ".amem/index.db-wal").read_bytes()
    held.close()
    (vault / ".amem/index.db").write_bytes(older)
    (vault / ".amem/index.db-wal").write_bytes(log)
    answer = amem("list")
    assert (answer.code, "is rebuilt" in answer.err) == (0, True)
    assert index_dump(vault) == rebuilt_dump(vault)


# What happens to the files of an index while a process holds it open.


@pytest.fixture
def held(vault: Path) -> Iterator[Workspace]:
    workspace = Workspace(vault)
    synchronise(workspace.ports)
    yield workspace
    workspace.close()


def older_copy_renamed_over(path: Path, older: bytes) -> None:
    other = path.with_name("other.db")
    other.write_bytes(older)
    other.replace(path)


def older_copy_written_over(path: Path, older: bytes) -> None:
    path.write_bytes(older)


def only(suffix: str) -> Callable[[Path, bytes], None]:
    return lambda path, _: path.with_name(path.name + suffix).unlink()


def all_files(path: Path, _: bytes) -> None:
    for part in path.parent.glob("index.db*"):
        part.unlink()


UNDER_A_PROCESS: dict[str, Callable[[Path, bytes], None]] = {
    "deleted": only(""),
    "log deleted": only("-wal"),
    "shared memory deleted": only("-shm"),
    "all deleted": all_files,
    "older copy moved over it": older_copy_renamed_over,
    "older copy written over it": older_copy_written_over,
    "text written over it": lambda path, _: older_copy_written_over(path, b"text" * 5000),
    "truncated": lambda path, _: os.truncate(path, 5000),
}


@pytest.mark.parametrize("event", UNDER_A_PROCESS)
@pytest.mark.parametrize("first", ["a read", "a write", "another process"])
def test_an_index_changed_under_a_process_is_noticed(
    amem: Program, vault: Path, held: Workspace, event: str, first: str
) -> None:
    index = vault / ".amem/index.db"
    older = index.read_bytes()
    for number in range(3):
        write_note(vault, f"notes/new {number}.md", f"new walrus {number}\n")
        synchronise(held.ports)
    held.index.file.rows("PRAGMA wal_checkpoint(PASSIVE)")
    write_note(vault, "notes/note 1.md", "changed\n")
    synchronise(held.ports)
    UNDER_A_PROCESS[event](index, older)
    if first == "another process":
        assert amem("list").code == 0
    if first == "a write":
        before = held.index.notes.count()
        with held.index.changing():
            held.index.usage.count(["x"], "2026-01-01")
        assert held.index.notes.count() == before
    write_note(vault, "notes/note 2.md", "penguin\n")
    synchronise(held.ports)
    assert list(held.index.text.keyword_scores(["penguin"], 5)) == ["notes/note 2.md"]
    assert canonical_dump(held.index) == rebuilt_dump(vault)
    assert index_dump(vault) == canonical_dump(held.index)
    assert held.index.damage() == []
    held.close()
    assert index_dump(vault) == rebuilt_dump(vault)


TEAR = """
import sys, time
from pathlib import Path
path = Path(sys.argv[1])
whole = path.read_bytes()
with path.open("r+b", buffering=0) as file:
    file.seek(4096)
    file.write(bytes(len(whole) - 4096))
    print("torn", flush=True)
    time.sleep(0.6)
    file.seek(0)
    file.write(whole)
"""


@pytest.mark.parametrize("first", ["a process that has it open", "a process that opens it"])
def test_a_slow_checkpoint_of_another_process_is_waited_for(
    vault: Path, held: Workspace, first: str
) -> None:
    # All pages wait in the log: whoever has it open sees none of the file's own.
    held.index.file.rows("PRAGMA wal_autocheckpoint = 0")
    held.index.file.rows("VACUUM")
    # Not here: closing a file that SQLite has open in the same process drops its locks.
    other = subprocess.Popen(
        [sys.executable, "-c", TEAR, str(vault / ".amem/index.db")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "torn\n"
    told: list[str] = []
    reader = held if first == "a process that has it open" else Workspace(vault, notify=told.append)
    synchronise(reader.ports)
    other.communicate(timeout=60)
    reader.close()
    assert told == []
    assert list((vault / ".amem").glob("index.db.unusable*")) == []
    assert index_dump(vault) == rebuilt_dump(vault)


def test_a_vector_never_goes_to_the_text_of_another_index(tmp_path: Path) -> None:
    """The index is deleted while a model is encoding."""
    fill(tmp_path, 6)
    ports = open_vault(tmp_path)
    synchronise(ports)
    encoder = FakeEncoder()

    class Deleting(FakeEncoder):
        def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
            vectors = encoder.encode(texts, query=query)
            if not self.encoded:
                self.encoded.append("")
                (tmp_path / "notes/note 0.md").unlink()
                all_files(tmp_path / ".amem/index.db", b"")
                other = open_vault(tmp_path)
                synchronise(other)
                other.index.close()
            return vectors

    embed_missing(ports, Deleting())
    synchronise(ports)
    embed_missing(ports, encoder)
    assert canonical_dump(ports.index) == rebuilt_dump(tmp_path, encoder)


def test_a_vector_never_goes_to_a_text_that_took_the_number_of_its_own(tmp_path: Path) -> None:
    write_note(tmp_path, "a.md", "walrus\n")
    ports, encoder = open_vault(tmp_path), FakeEncoder()
    synchronise(ports)
    ports.index.vectors.use_encoder(encoder.model_id, encoder.dimension)
    [job] = ports.index.vectors.passages_to_embed()
    other = open_vault(tmp_path)
    write_note(tmp_path, "a.md", "penguin\n")
    synchronise(other)
    with ports.index.changing():
        ports.index.vectors.store([job.passage], encoder.encode(["walrus"]))
    other.index.close()
    assert embed_missing(ports, encoder) == 1
    assert canonical_dump(ports.index) == rebuilt_dump(tmp_path, encoder)


# A disk without space.


@pytest.fixture
def small_disk(vault: Path) -> Iterator[Path]:
    """The program's own folder on a disk of 2 MB that is full but for a little."""
    state = vault / ".amem"
    kept = vault.parent / "kept"
    shutil.copytree(state, kept)
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(state)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("file systems can be mounted by root only")
    try:
        shutil.copytree(kept, state, dirs_exist_ok=True)
        yield state
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)


def fill_disk(folder: Path, *, leave: int) -> Path:
    filler = folder / "filler"
    free = os.statvfs(folder)
    filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - leave)))
    return filler


def test_a_full_disk_is_told_and_costs_nothing(
    amem: Program, vault: Path, small_disk: Path
) -> None:
    filler = fill_disk(small_disk, leave=64 * 1024)
    for number in range(40):
        write_note(vault, f"notes/long {number}.md", f"penguin {number} " * 3000)
    before = tree_hashes(vault)
    answer = amem("search", "penguin", "--mode", "keyword")
    assert (answer.code, answer.out) == (3, "")
    assert "no space is left for the index" in answer.err and "hint: Free" in answer.err
    assert amem("add", "Another.", "--no-wait").code == 3
    filler.unlink()
    shutil.rmtree(vault / "notes")
    fill(vault, 5)
    assert amem("search", "walrus", "--mode", "keyword").code == 0
    assert index_dump(vault) == rebuilt_dump(vault)
    assert {path: tag for path, tag in before.items() if "/" not in path}.items() <= tree_hashes(
        vault
    ).items()


def test_a_process_goes_on_when_there_is_space_again(vault: Path, small_disk: Path) -> None:
    filler = fill_disk(small_disk, leave=96 * 1024)
    held = Workspace(vault)
    synchronise(held.ports)
    write_note(vault, "notes/long.md", "penguin " * 60_000)
    with pytest.raises(IndexFault, match="no space is left"):
        synchronise(held.ports)
    assert held.index.text.keyword_scores(["walrus"], 100) != {}
    filler.unlink()
    synchronise(held.ports)
    assert list(held.index.text.keyword_scores(["penguin"], 5)) == ["notes/long.md"]
    dump = canonical_dump(held.index)
    held.close()
    assert dump == rebuilt_dump(vault)


def test_an_unchanged_vault_is_searched_on_a_full_disk(
    amem: Program, vault: Path, small_disk: Path
) -> None:
    fill_disk(small_disk, leave=0)
    answer = amem("search", "walrus 7", "--mode", "keyword", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["hits"][0]["path"] == "notes/note 7.md"
    assert amem("add", "Another.", "--no-wait").code == 3


# Vectors.


def embedded(root: Path, encoder: FakeEncoder) -> VaultPorts:
    fill(root, 8)
    ports = open_vault(root)
    synchronise(ports)
    embed_missing(ports, encoder)
    return ports


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_query_that_is_no_number_is_refused(tmp_path: Path, value: float) -> None:
    ports = embedded(tmp_path, FakeEncoder())
    vector = np.full(64, value, dtype=np.float32)
    with pytest.raises(EncoderError, match="not finite"):
        ports.index.vectors.scores(vector, 5)
    with pytest.raises(EncoderError, match="not finite"):
        ports.index.vectors.scores(vector, 5, ["notes/note 1.md"])
    with pytest.raises(EncoderError, match="not finite"):
        ports.index.vectors.store([1], vector[np.newaxis])


def test_vectors_of_another_dimension_are_refused(tmp_path: Path) -> None:
    ports = embedded(tmp_path, FakeEncoder())
    with pytest.raises(EncoderError, match="not of the model of the index"):
        ports.index.vectors.scores(np.ones(3, dtype=np.float32), 5)
    write_note(tmp_path, "new.md", "text\n")
    synchronise(ports)
    [job] = ports.index.vectors.passages_to_embed()
    with pytest.raises(EncoderError, match="not of the model of the index"):
        ports.index.vectors.store([job.passage], np.ones((1, 3), dtype=np.float32))
