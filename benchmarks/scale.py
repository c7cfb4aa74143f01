"""How does search by vectors grow with the number of notes, and what does one more note cost?

    python benchmarks/scale.py VECTORS.npy|FOLDER... [--sizes 1000,100000] [--only amem,...]

VECTORS.npy holds float32 embeddings, one a row; a FOLDER of texts is embedded first, a paragraph a
vector. Copies with a little noise fill up the larger sizes. Beside the index of amem stands a
float scan of sqlite-vec. Each is built, closed, and then asked by a process of its own, whose first
answer and memory are shown. The column of processor time is to be compared where other work keeps
the machine busy.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.records import KnownFile, NoteRecord
from amem_cli.notes.note import Note

Floats = NDArray[np.float32]
Search = Callable[[Floats], list[int]]
Add = Callable[[int, Floats], None]

NOISE = 0.03
WANTED = 10
QUERIES = 100
ADDED = 101
PORTION = 1000


def unit(vectors: NDArray[np.floating]) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Floats = (vectors / lengths).astype(np.float32)
    return scaled


def disturbed(vectors: Floats, random: np.random.Generator) -> Floats:
    return unit(vectors + random.normal(0, NOISE, vectors.shape).astype(np.float32))


def embeddings(sources: Sequence[Path]) -> Floats:
    """The vectors of a .npy, or of the paragraphs of all texts in folders."""
    if sources[0].suffix == ".npy":
        return unit(np.load(sources[0]))
    texts = sorted(
        {
            paragraph.strip()
            for source in sources
            for path in source.rglob("*")
            if path.suffix in (".md", ".txt")
            for paragraph in path.read_text("utf-8", "replace").split("\n\n")
            if len(paragraph.strip()) > 80
        }
    )
    # Not for the process that is measured.
    from common import usual_encoder

    return unit(usual_encoder(None).encode(texts))


def corpus(real: Floats, size: int) -> Floats:
    """The real vectors, then disturbed copies of them."""
    random = np.random.default_rng(1)
    filled = np.empty((size, real.shape[1]), dtype=np.float32)
    for start in range(0, size, len(real)):
        part = real[: size - start]
        filled[start : start + len(part)] = disturbed(part, random) if start else part
    return filled


def portions(vectors: Floats) -> Iterator[tuple[range, Floats]]:
    for start in range(0, len(vectors), PORTION):
        part = vectors[start : start + PORTION]
        yield range(start, start + len(part)), part


def a_record(number: int) -> NoteRecord:
    note = Note(path=f"{number:08}.md", id=None, title=str(number), body="text")
    file = KnownFile(4, 1, 1, 1, 10, str(number), None)
    return NoteRecord(note, file, str(number), "2026-01-01T00:00:00+00:00", (), ("text",))


def build_amem(folder: Path, vectors: Floats) -> None:
    index = MemoryIndex(folder / "index.db")
    for numbers, _ in portions(vectors):
        with index.changing():
            for number in numbers:
                index.files.store(a_record(number))
    index.vectors.use_encoder("benchmark", vectors.shape[1])
    jobs = [job.passage for job in index.vectors.passages_to_embed()]
    for numbers, part in portions(vectors):
        index.vectors.store(jobs[numbers.start : numbers.stop], part)
    index.close()


def open_amem(folder: Path) -> tuple[Search, Add]:
    index = MemoryIndex(folder / "index.db")

    def search(query: Floats) -> list[int]:
        return [int(path.removesuffix(".md")) for path in index.vectors.scores(query, WANTED)]

    def add(number: int, vector: Floats) -> None:
        index.vectors.use_encoder("benchmark", len(vector))
        with index.changing():
            index.files.store(a_record(number))
            index.vectors.store([index.vectors.passages_to_embed()[0].passage], vector[np.newaxis])

    return search, add


def with_sqlite_vec(folder: Path) -> apsw.Connection:
    db = apsw.Connection(str(folder / "vectors.db"))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    return db


def open_sqlite_vec(folder: Path) -> tuple[Search, Add]:
    db = with_sqlite_vec(folder)
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "normal")

    def search(query: Floats) -> list[int]:
        sql = "SELECT note FROM vectors WHERE embedding MATCH ? AND k = ?"
        return [row[0] for row in db.execute(sql, (query.tobytes(), WANTED))]

    def add(number: int, vector: Floats) -> None:
        db.execute("INSERT INTO vectors VALUES(?, ?)", (number, vector.tobytes()))

    return search, add


def build_sqlite_vec(folder: Path, vectors: Floats) -> None:
    db = with_sqlite_vec(folder)
    db.execute(
        "CREATE VIRTUAL TABLE vectors USING vec0(note INTEGER PRIMARY KEY,"
        f" embedding float[{vectors.shape[1]}] distance_metric=cosine)"
    )
    with db:
        rows = ((number, vector.tobytes()) for number, vector in enumerate(vectors))
        db.executemany("INSERT INTO vectors VALUES(?, ?)", rows)
    db.close()


SYSTEMS: dict[str, tuple[Callable[[Path, Floats], None], Callable[[Path], Any]]] = {
    "sqlite-vec float": (build_sqlite_vec, open_sqlite_vec),
    "amem": (build_amem, open_amem),
}


def peak_megabytes() -> float:
    """Largest memory of this process so far; of Linux's two figures the one free of its parent."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1e3
    except (OSError, IndexError):
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used / 1e6 if sys.platform == "darwin" else used / 1e3


def ask(name: str, folder: Path, first: int) -> None:
    """In a process of its own: open, search, add; print what was found and how long it took."""
    queries, added = np.load(folder / "queries.npy"), np.load(folder / "added.npy")
    before, began = peak_megabytes(), time.perf_counter()
    search, add = SYSTEMS[name][1](folder)
    search(queries[0])
    told: dict[str, Any] = {"cold": time.perf_counter() - began}
    lists: dict[str, list[Any]] = {"found": [], "times": [], "computing": [], "adding": []}
    for query in queries:
        started, busy = time.perf_counter(), time.process_time()
        lists["found"].append(search(query))
        lists["times"].append(time.perf_counter() - started)
        lists["computing"].append(time.process_time() - busy)
    told["memory"] = peak_megabytes() - before
    for number, vector in enumerate(added, first):
        started = time.perf_counter()
        add(number, vector)
        lists["adding"].append(time.perf_counter() - started)
    print(json.dumps({**told, **lists}), flush=True)
    # Without tidying up: what was added is thrown away.
    os._exit(0)


def measure(name: str, vectors: Floats, queries: Floats, exact: list[set[int]]) -> float:
    """Print one row of the table; the median in milliseconds of computing."""
    size = len(vectors) - ADDED
    with tempfile.TemporaryDirectory() as folder:
        SYSTEMS[name][0](Path(folder), vectors[:size])
        gc.collect()
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        np.save(Path(folder) / "queries.npy", queries)
        np.save(Path(folder) / "added.npy", vectors[size:])
        command = [sys.executable, __file__, "--ask", name, folder, str(size)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    answer = json.loads(told)
    shares = [
        len(wanted.intersection(found)) / WANTED
        for wanted, found in zip(exact, answer["found"], strict=True)
    ]
    median, p95 = 1e3 * np.quantile(answer["times"], (0.5, 0.95))
    computing = float(np.median(answer["computing"])) * 1e3
    print(
        f"| {size:,} | {name} | {np.mean(shares):.3f} | {median:.2f} |"
        f" {p95:.2f} | {computing:.2f} | {answer['cold'] * 1e3:.0f} |"
        f" {np.median(answer['adding']) * 1e3:.2f} | {disk / 1e6:.1f} | {answer['memory']:.0f} |",
        flush=True,
    )
    return computing


def main() -> None:
    if sys.argv[1:2] == ["--ask"]:
        ask(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--only", default=",".join(SYSTEMS), help="systems, by commas")
    options = parser.parse_args()
    real = embeddings(options.sources)
    print(f"{len(real):,} real vectors of {real.shape[1]} numbers; {os.cpu_count()} cores\n")
    columns = ("median ms", "p95 ms", "CPU ms", "first ms", "add ms", "disk MB", "memory MB")
    print("\n| notes | | recall@10 |", " | ".join(columns), "|")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for size in map(int, options.sizes.split(",")):
        vectors = corpus(real, size + ADDED)
        random = np.random.default_rng(2)
        queries = disturbed(real[random.choice(len(real), QUERIES)], random)
        near = (np.argpartition(-(vectors[:size] @ query), WANTED)[:WANTED] for query in queries)
        exact = [set(places.tolist()) for places in near]
        medians = {name: measure(name, vectors, queries, exact) for name in options.only.split(",")}
        if {"amem", "sqlite-vec float"} <= set(medians):
            ratio = medians["sqlite-vec float"] / medians["amem"]
            print(f"sqlite-vec's float scan computes {ratio:.1f} times as long as amem")


if __name__ == "__main__":
    main()
