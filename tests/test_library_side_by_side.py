"""One vault used from many threads and processes at once, after a fork, and after it was closed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from amem_cli import AgenticMemorySystem, AmemError
from amem_cli.index.sync import check_index, embed_missing, synchronise
from amem_cli.workspace.workspace import Workspace
from tests.fakes.tiny_gguf import write_tiny_gguf
from tests.index_dump import canonical_dump

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[1]


def run_python(code: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """A program of a user's, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def assert_whole(vault: Path) -> None:
    """The index is what the notes say, and equals one made from nothing."""
    workspace = Workspace(vault, overrides={"llm_backend": "none"})
    try:
        synchronise(workspace.ports)
        embed_missing(workspace.ports, workspace.encoder)
        assert check_index(workspace.ports) == []
        live = canonical_dump(workspace.index)
        assert not list((vault / ".amem" / "intents").glob("*.json"))
    finally:
        workspace.close()
    (vault / ".amem" / "index.db").unlink()
    fresh = Workspace(vault, overrides={"llm_backend": "none"})
    try:
        synchronise(fresh.ports)
        embed_missing(fresh.ports, fresh.encoder)
        rebuilt = canonical_dump(fresh.index)
        for table, rows in live.items():
            # Vectors of one text differ in their last bits with what is encoded beside it.
            places = slice(2) if table == "vectors" else slice(None)
            assert [row[places] for row in rebuilt[table]] == [row[places] for row in rows], table
    finally:
        fresh.close()


def test_eight_threads_lose_no_note_and_no_change(tmp_path: Path) -> None:
    memory = AgenticMemorySystem(vault=tmp_path / "v", llm_backend="none")
    errors: list[BaseException] = []
    kept: dict[str, str] = {}

    def work(number: int) -> None:
        try:
            for turn in range(2):
                name = f"worker {number} turn {turn}"
                note_id = memory.add_note(f"Notebook of {name}: the kettle sings.", title=name)
                assert memory.search(name, k=3)
                note = memory.read(note_id)
                assert note is not None and name in note.content
                if turn == 0:
                    assert memory.delete(note_id)
                    assert memory.read(note_id) is None
                else:
                    assert memory.update(
                        note_id, content=f"Changed by {name}.", tags=[f"w{number}"]
                    )
                    kept[note_id] = f"Changed by {name}."
                assert len(memory.memories) >= len(kept) - 8
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    with memory:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(kept) == 8
        found = {note_id: note.content for note_id, note in memory.memories.items()}
        assert found == kept
    assert_whole(tmp_path / "v")


def test_four_processes_lose_no_note_and_no_change(tmp_path: Path) -> None:
    code = """
        import sys
        from amem_cli import AgenticMemorySystem
        name = sys.argv[2]
        with AgenticMemorySystem(vault=sys.argv[1], llm_backend="none") as memory:
            ids = [memory.add_note(f"Letter {n} of {name} about herons.") for n in range(3)]
            assert memory.delete(ids[0])
            for each in ids[1:]:
                assert memory.update(each, content=f"Answer of {name} to {each}.")
                assert memory.search("herons", k=2) is not None
            print(*ids[1:])
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "v")]
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    running = [
        subprocess.Popen(
            [*command, f"writer{number}"], env=environment, stdout=subprocess.PIPE, text=True
        )
        for number in range(4)
    ]
    ids = {number: each.communicate(timeout=120)[0].split() for number, each in enumerate(running)}
    assert [each.returncode for each in running] == [0, 0, 0, 0]
    with AgenticMemorySystem(vault=tmp_path / "v", llm_backend="none") as memory:
        found = {note_id: note.content for note_id, note in memory.memories.items()}
    assert found == {
        each: f"Answer of writer{number} to {each}."
        for number, mine in ids.items()
        for each in mine
    }
    assert_whole(tmp_path / "v")


CALLS: list[Callable[[AgenticMemorySystem], object]] = [
    lambda memory: memory.add_note("text"),
    lambda memory: list(memory.memories),
]


@pytest.mark.parametrize("call", CALLS)
def test_what_was_closed_says_so(
    tmp_path: Path, call: Callable[[AgenticMemorySystem], object]
) -> None:
    memory = AgenticMemorySystem(vault=tmp_path / "v", llm_backend="none")
    memory.close()
    memory.close()
    assert "closed" in repr(memory)
    with pytest.raises(AmemError, match="closed"):
        call(memory)


def test_closing_waits_for_calls_that_are_under_way(tmp_path: Path) -> None:
    memory = AgenticMemorySystem(vault=tmp_path / "v", llm_backend="none")
    done: list[str] = []

    def work() -> None:
        try:
            while True:
                done.append(memory.add_note(f"Line {len(done)} of the log."))
        except AmemError as error:
            done.append(error.message)

    thread = threading.Thread(target=work)
    thread.start()
    while len(done) < 2:
        time.sleep(0.01)
    memory.close()
    thread.join(120)
    assert done[-1] == "this memory is closed"
    assert len(list((tmp_path / "v" / "notes").glob("*.md"))) == len(done) - 1
    assert_whole(tmp_path / "v")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_told_to_open_the_vault_itself(tmp_path: Path) -> None:
    code = """
        import multiprocessing, sys
        from amem_cli import AgenticMemorySystem, AmemError
        memory = AgenticMemorySystem(vault=sys.argv[1], llm_backend="none")
        first = memory.add_note("Written before the fork.")

        def child():
            calls = (
                lambda: memory.search("fork"),
                lambda: AgenticMemorySystem(vault=sys.argv[1], llm_backend="none"),
            )
            for call in calls:
                try:
                    call()
                except AmemError as error:
                    print(error.message, flush=True)
            memory.close()

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
        assert process.exitcode == 0
        assert memory.read(first).content == "Written before the fork."
        memory.add_note("Written by the parent.")
        print(len(memory.memories))
    """
    done = run_python(code, str(tmp_path / "v"))
    told = "a memory was opened before this process was forked"
    assert done.stdout.splitlines() == [told, told, "2"]
    assert_whole(tmp_path / "v")


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_program_that_ends_without_closing_leaves_no_child(tmp_path: Path, ending: str) -> None:
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    code = f"""
        import os, psutil, sys
        from amem_cli import AgenticMemorySystem
        memory = AgenticMemorySystem(
            vault=sys.argv[1], llm_backend="llama.cpp", llm_model=sys.argv[2]
        )
        memory.add_note("Herons stand still in shallow water. They fish at dawn.")
        print(*(child.pid for child in psutil.Process().children(recursive=True)), flush=True)
        {ending}
    """
    children = [
        int(each) for each in run_python(code, str(tmp_path / "v"), str(model)).stdout.split()
    ]
    assert children
    end = time.monotonic() + 60
    while any(psutil.pid_exists(each) for each in children) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(psutil.pid_exists(each) for each in children)


def test_a_program_that_closes_nothing_leaves_no_lock_and_says_nothing(tmp_path: Path) -> None:
    code = """
        import signal, sys
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        from amem_cli import AgenticMemorySystem
        memory = AgenticMemorySystem(vault=sys.argv[1], llm_backend="none")
        memory.add_note("Herons stand still in shallow water.")
        memory.search("herons")
        assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    """
    done = run_python(code, str(tmp_path / "v"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert_whole(tmp_path / "v")


def test_what_nobody_holds_any_more_is_closed(tmp_path: Path) -> None:
    memory = AgenticMemorySystem(vault=tmp_path / "v", llm_backend="none")
    memory.add_note("Herons stand still.")
    opened = memory._workspace
    del memory
    gc.collect()
    assert opened.is_closed
