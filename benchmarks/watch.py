"""How soon is an edit searchable while a vault is watched, and what does watching cost?

    python benchmarks/watch.py [--notes 1000 | --vault FOLDER] [--edits 200] [--idle 60]

Makes a vault, or copies one, and starts `amem watch` on it without a language model: how long until
all of it is searchable and watched, and how much memory does that take? Then it edits notes as
editors do (in place, and by a temporary file that takes the note's name), and asks the index until
each edit is found by a word of its own; the processor time of that is counted too. Then nothing
happens for a while, in which the watcher's processor time, memory and writes are counted (Linux).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
from common import median_and_p95, parser_of
from made_notes import fill, sentences

from amem_cli.index.memory_index import MemoryIndex
from amem_cli.vault.template import adopt_vault

LONGEST_WORK = 1800.0
PATIENCE = 30.0
# Between two edits.
LONGEST_PAUSE = 0.5
WAYS = ("in place", "renamed")


def notes_of(root: Path) -> list[Path]:
    """Notes below no folder with a dot."""
    found = [path for path in sorted(root.rglob("*.md")) if path.is_file()]
    return [path for path in found if "/." not in path.relative_to(root.parent).as_posix()]


def save(path: Path, text: str, way: str) -> None:
    """Write a note as editors do: in place, or by a file that takes its name."""
    if way == "in place":
        path.write_text(text)
    else:
        temporary = path.with_suffix(".tmp")
        temporary.write_text(text)
        temporary.replace(path)


def until(holds: Callable[[], bool]) -> float:
    """Seconds until something holds; infinity where it does not."""
    started = time.perf_counter()
    while time.perf_counter() - started < PATIENCE:
        if holds():
            return time.perf_counter() - started
        time.sleep(0.004)
    return float("inf")


def edit_and_find(root: Path, index: MemoryIndex, edits: int) -> dict[str, list[float]]:
    """Seconds from the end of a save to the edit being found, by the way of saving."""
    random_ = random.Random(1)
    said = sentences(random_)
    notes = notes_of(root)
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(edits):
        way, note = WAYS[number % 2], random_.choice(notes)
        path, word = note.relative_to(root).as_posix(), f"zq{number}x"
        save(note, f"{next(said)}\n{word}\n", way)
        found[way].append(until(partial(is_found, index, word, path)))
        time.sleep(LONGEST_PAUSE * random_.random())
    return found


def is_found(index: MemoryIndex, word: str, path: str) -> bool:
    return list(index.text.keyword_scores([word], 2)) == [path]


def processor_seconds(process: psutil.Process) -> float:
    """What a process has used so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def at_rest(process: psutil.Process) -> None:
    """Wait until nothing is left to do, such as old passages without a vector."""
    end = time.monotonic() + LONGEST_WORK
    while time.monotonic() < end:
        before = processor_seconds(process)
        time.sleep(3)
        if processor_seconds(process) - before < 0.1:
            return


def cost(process: psutil.Process, seconds: float) -> str:
    """Processor time, memory and writes of an idle process (Linux)."""
    if not sys.platform.startswith("linux"):
        return "the cost of idling is measured on Linux only"
    at_rest(process)
    used, written = processor_seconds(process), process.io_counters().write_bytes
    time.sleep(seconds)
    used, written = processor_seconds(process) - used, process.io_counters().write_bytes - written
    return (
        f"idle for {seconds:.0f} s: {100 * used / seconds:.2f} % of one core,"
        f" {process.memory_info().rss / 1e6:.0f} MB resident, {written} bytes written"
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--vault", type=Path, help="a folder of notes; a copy of it is edited")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--idle", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        fill(root, options.vault, options.notes, 5)
        adopt_vault(root)
        command = [sys.executable, "-m", "amem_cli", "--vault", str(root)]
        environment = {**os.environ, "AMEM_LLM_BACKEND": "none"}
        started = time.perf_counter()
        watching = [*command, "watch", "--settle", "86400"]
        watcher = subprocess.Popen(watching, stdout=subprocess.PIPE, text=True, env=environment)
        assert watcher.stdout is not None
        while "  watching " not in watcher.stdout.readline():
            pass
        first = time.perf_counter() - started
        process = psutil.Process(watcher.pid)
        memory = process.memory_info().rss / 1e6
        index = MemoryIndex(root / ".amem" / "index.db")
        print(f"{index.notes.count()} notes; load of the machine {os.getloadavg()[0]:.1f}")
        print(f"first start: watched after {first:.1f} s; {memory:.0f} MB resident then")
        try:
            before = processor_seconds(process)
            edits = edit_and_find(root, index, options.edits)
            time.sleep(5)
            used = processor_seconds(process) - before
            print(f"processor time: {1000 * used / options.edits:.0f} ms an edit")
            for way, seconds in edits.items():
                lost = seconds.count(float("inf"))
                median, p95 = median_and_p95(seconds)
                print(
                    f"saved {way}: {len(seconds)} edits, {lost} not found; searchable after"
                    f" {median:.2f} s (median), {p95:.2f} s (95th percentile)"
                )
            print(cost(process, options.idle))
        finally:
            index.close()
            watcher.terminate()
            watcher.wait(60)


if __name__ == "__main__":
    main()
