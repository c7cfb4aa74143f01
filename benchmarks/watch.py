"""How soon is an edit searchable while a vault is watched, and what does watching cost?

    python benchmarks/watch.py [--notes 1000 | --vault FOLDER] [--edits 200] [--idle 60]

Makes a vault, or copies one, and starts `amem watch` on it without a language model: how long until
all of it is searchable and watched, and how much memory does that take? Then it edits notes as
editors do (in place, and by a temporary file that takes the note's name), and asks the index until
each edit is found by a word of its own; the processor time of that is counted too. Then nothing
happens for a while, in which the watcher's processor time, memory and writes are counted (Linux).
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from made_notes import copy_notes, sentences, write_notes

from amem_cli.index.memory_index import MemoryIndex
from amem_cli.vault.template import adopt_vault

LONGEST_WORK = 1800.0
PATIENCE = 30.0


def notes_of(root: Path) -> list[Path]:
    """Notes below no folder with a dot."""
    inside = (path.relative_to(root) for path in root.rglob("*.md"))
    visible = [path for path in inside if not any(part.startswith(".") for part in path.parts)]
    return sorted(root / path for path in visible if (root / path).is_file())


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def by_renaming(path: Path, text: str) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text)
    temporary.replace(path)


SAVES: dict[str, Callable[[Path, str], None]] = {"in place": in_place, "renamed": by_renaming}


def until(holds: Callable[[], bool]) -> float:
    """Seconds until something holds; infinity where it does not."""
    started = time.perf_counter()
    while time.perf_counter() - started < PATIENCE:
        if holds():
            return time.perf_counter() - started
        time.sleep(0.004)
    return float("inf")


def edit_and_find(
    root: Path, index: MemoryIndex, edits: int, pause: float
) -> dict[str, list[float]]:
    """Seconds from the end of a save to the edit being found, by the way of saving."""
    random_ = random.Random(1)
    said = sentences(random_)
    notes = notes_of(root)
    found: dict[str, list[float]] = {name: [] for name in SAVES}
    for number in range(edits):
        name = list(SAVES)[number % len(SAVES)]
        note = random_.choice(notes)
        path, word = note.relative_to(root).as_posix(), f"zq{number}x"
        SAVES[name](note, f"{next(said)}\n{word}\n")
        found[name].append(until(lambda w=word, p=path: w_found(index, w, p)))  # type: ignore[misc]
        time.sleep(pause * random_.random())
    return found


def w_found(index: MemoryIndex, word: str, path: str) -> bool:
    return list(index.text.keyword_scores([word], 2)) == [path]


def processor_seconds(process: int) -> float:
    """What a process has used so far."""
    times = psutil.Process(process).cpu_times()
    return times.user + times.system


def at_rest(process: int) -> None:
    """Wait until nothing is left to do, such as old passages without a vector."""
    end = time.monotonic() + LONGEST_WORK
    while time.monotonic() < end:
        before = processor_seconds(process)
        time.sleep(3)
        if processor_seconds(process) - before < 0.1:
            return


def cost(process: int, seconds: float) -> str:
    """Processor time, memory and writes of an idle process (Linux)."""
    if not sys.platform.startswith("linux"):
        return "the cost of idling is measured on Linux only"
    at_rest(process)
    before = figures(process)
    time.sleep(seconds)
    after = figures(process)
    ticks = (after["ticks"] - before["ticks"]) / os.sysconf("SC_CLK_TCK")
    return (
        f"idle for {seconds:.0f} s: {100 * ticks / seconds:.2f} % of one core,"
        f" {after['memory'] / 1e3:.0f} MB resident, {after['written'] - before['written']} bytes"
        " written"
    )


def figures(process: int) -> dict[str, int]:
    folder = Path(f"/proc/{process}")
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    memory = int((folder / "status").read_text().split("VmRSS:")[1].split()[0])
    written = int((folder / "io").read_text().split("\nwrite_bytes:")[1].split()[0])
    return {"ticks": int(fields[11]) + int(fields[12]), "memory": memory, "written": written}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--vault", type=Path, help="a folder of notes; a copy of it is edited")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--pause", type=float, default=0.5, help="longest pause between edits")
    parser.add_argument("--idle", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        if options.vault is not None:
            copy_notes(options.vault, root)
        else:
            write_notes(root, options.notes, 5)
        adopt_vault(root)
        command = [sys.executable, "-m", "amem_cli", "--vault", str(root)]
        environment = {**os.environ, "AMEM_LLM_BACKEND": "none"}
        started = time.perf_counter()
        watcher = subprocess.Popen(
            [*command, "watch", "--settle", "86400"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert watcher.stdout is not None
        while "  watching " not in watcher.stdout.readline():
            pass
        first = time.perf_counter() - started
        memory = psutil.Process(watcher.pid).memory_info().rss / 1e6
        index = MemoryIndex(root / ".amem" / "index.db")
        print(f"{index.notes.count()} notes; load of the machine {os.getloadavg()[0]:.1f}")
        print(f"first start: watched after {first:.1f} s; {memory:.0f} MB resident then")
        try:
            before = processor_seconds(watcher.pid)
            edits = edit_and_find(root, index, options.edits, options.pause)
            time.sleep(5)
            used = processor_seconds(watcher.pid) - before
            print(f"processor time: {1000 * used / options.edits:.0f} ms an edit")
            for name, seconds in edits.items():
                lost = sum(each == float("inf") for each in seconds)
                ordered = sorted(seconds)
                print(
                    f"saved {name}: {len(seconds)} edits, {lost} not found; searchable after"
                    f" {statistics.median(seconds):.2f} s (median),"
                    f" {ordered[int(len(ordered) * 0.95)]:.2f} s (95th percentile)"
                )
            print(cost(watcher.pid, options.idle))
        finally:
            index.close()
            watcher.terminate()
            watcher.wait(60)


if __name__ == "__main__":
    main()
