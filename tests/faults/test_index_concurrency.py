"""Several processes and threads on one vault: nothing is refused, nothing is torn, all is found."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from amem_cli.index.connection import Database
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.notes.note import PropertyNames, parse_note
from amem_cli.search.search import search
from amem_cli.workspace.workspace import Workspace
from tests.conftest import Program
from tests.fakes.encoder import FakeEncoder
from tests.faults.index_states import index_dump, rebuilt_dump
from tests.index_dump import canonical_dump
from tests.vaults import open_vault, write_note

pytestmark = pytest.mark.slow

ACTOR = """
import random, sys, time
from pathlib import Path
from amem_cli.search.search import search
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.workspace.workspace import Workspace
from tests.fakes.encoder import FakeEncoder
root, kind, name, seconds = Path(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
chance, encoder, end = random.Random(name), FakeEncoder(), time.monotonic() + seconds
rounds = 0
while time.monotonic() < end:
    workspace = Workspace(root)
    for _ in range(chance.randrange(1, 6)):
        rounds += 1
        if kind == "writer":
            note = root / "notes" / f"{name} {chance.randrange(12)}.md"
            if note.exists() and chance.random() < 0.2:
                note.unlink()
            else:
                other = chance.randrange(12)
                note.write_text(f"walrus {rounds} of [[{name} {other}]] #t{rounds % 7}")
            synchronise(workspace.ports)
            embed_missing(workspace.ports, encoder)
        else:
            synchronise(workspace.ports)
            search(workspace.index, "walrus", encoder=None, mode="keyword")
            list(workspace.index.notes.summaries())
            with workspace.index.changing():
                workspace.index.usage.count(["x"], "2026-01-01")
    workspace.close()
print("done", rounds)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(processes: list[subprocess.Popen[str]]) -> list[str]:
    answers = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, ""), err
        answers.append(out)
    return answers


@pytest.mark.parametrize("beginning", ["with an index", "without an index"])
def test_four_writers_and_four_readers_agree(tmp_path: Path, beginning: str) -> None:
    open_vault(tmp_path).index.close()
    if beginning == "without an index":
        (tmp_path / ".amem/index.db").unlink()
    (tmp_path / "notes").mkdir()
    kinds = ["writer", "reader"] * 4
    actors = [start(ACTOR, tmp_path, kind, f"{kind}{n}", 2.5) for n, kind in enumerate(kinds)]
    assert all(answer.startswith("done") for answer in finish(actors))
    workspace, encoder = Workspace(tmp_path), FakeEncoder()
    synchronise(workspace.ports)
    embed_missing(workspace.ports, encoder)
    assert workspace.index.damage() == []
    workspace.close()
    assert index_dump(tmp_path) == rebuilt_dump(tmp_path, encoder)
    assert list((tmp_path / ".amem").glob("index.db.unusable*")) == []


def test_the_index_survives_processes_that_are_killed_while_indexing(tmp_path: Path) -> None:
    open_vault(tmp_path).index.close()
    (tmp_path / "notes").mkdir()
    chance = random.Random(7)
    for number in range(6):
        actors = [start(ACTOR, tmp_path, "writer", f"{number}{each}", 60) for each in "ab"]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any(
            (tmp_path / "notes").glob(f"{number}[ab] *.md")
        ):
            time.sleep(0.02)
        time.sleep(0.2 + chance.random() * 0.5)
        for actor in actors:
            actor.kill()
            actor.communicate()
        workspace = Workspace(tmp_path)
        synchronise(workspace.ports)
        assert workspace.index.damage() == []
        workspace.close()
    workspace, encoder = Workspace(tmp_path), FakeEncoder()
    embed_missing(workspace.ports, encoder)
    workspace.close()
    assert len(list((tmp_path / "notes").glob("*.md"))) > 6
    assert index_dump(tmp_path) == rebuilt_dump(tmp_path, encoder)


ADD = """
import sys
from pathlib import Path
from amem_cli.editing.add import NewNote, add
from amem_cli.workspace.workspace import Workspace
workspace = Workspace(Path(sys.argv[1]))
for number in range(int(sys.argv[2])):
    add(workspace.ports, NewNote(content=f"Text {number}.", title="The same title"))
workspace.close()
"""


def test_notes_added_at_once_with_one_title_are_all_there(tmp_path: Path) -> None:
    open_vault(tmp_path).index.close()
    finish([start(ADD, tmp_path, 50) for _ in range(4)])
    notes = sorted(tmp_path.rglob("*.md"))
    parsed = [
        parse_note(path.name, path.read_bytes(), PropertyNames.of(Workspace(tmp_path).settings))
        for path in notes
    ]
    assert len(parsed) == 200
    assert len({note.id for note in parsed}) == 200
    ports = open_vault(tmp_path)
    synchronise(ports)
    assert ports.index.notes.count() == 200
    assert len(ports.index.events.read()) == 200
    ports.index.close()
    assert index_dump(tmp_path) == rebuilt_dump(tmp_path)


def test_commands_that_meet_a_broken_index_at_once_make_one_new(
    amem: Program, tmp_path: Path
) -> None:
    assert amem("init", "v").code == 0
    root = amem.folder / "v"
    for number in range(30):
        write_note(root, f"notes/{number}.md", f"walrus {number}\n")
    (root / ".amem/index.db").write_bytes(b"garbage" * 1000)
    commands = [start(ACTOR, root, "reader", f"r{number}", 0.01) for number in range(6)]
    finish(commands)
    assert len(list((root / ".amem").glob("index.db.unusable-*"))) == 1
    assert index_dump(root) == rebuilt_dump(root)


def test_threads_share_an_index(tmp_path: Path) -> None:
    """One thread brings the index up to date while others search it."""
    workspace, encoder = Workspace(tmp_path), FakeEncoder()
    (tmp_path / ".amem").mkdir()
    for number in range(30):
        write_note(tmp_path, f"{number}.md", f"walrus {number}\n")
    synchronise(workspace.ports)
    embed_missing(workspace.ports, encoder)
    failures: list[BaseException] = []
    stop = threading.Event()

    def reading() -> None:
        try:
            while not stop.is_set():
                search(workspace.index, "walrus", encoder=encoder)
                with workspace.index.changing():
                    workspace.index.usage.count(["x"], "2026-01-01")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=reading, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(40):
        write_note(tmp_path, f"{number % 12}.md", f"walrus {number} again\n")
        synchronise(workspace.ports)
        embed_missing(workspace.ports, encoder)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert canonical_dump(workspace.index) == rebuilt_dump(tmp_path, encoder)
    workspace.close()


def test_a_transaction_that_fails_leaves_nothing_and_blocks_nothing(tmp_path: Path) -> None:
    index = Database(tmp_path / "index.db")
    with pytest.raises(KeyError), index.changing(), index.changing():
        index.set_meta("a", "1")
        raise KeyError
    assert index.meta("a") is None
    other = Database(tmp_path / "index.db")
    with other.changing():
        other.set_meta("a", "2")
    assert index.meta("a") == "2"
    index.close()
    other.close()
