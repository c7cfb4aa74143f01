"""How long does a search take in a process that stays?

    python benchmarks/search.py [--sizes 1000,10000]
    python benchmarks/search.py --vault MY_VAULT

Makes a vault of each size, of sentences whose words are as frequent as in a language. With
`--vault` one that is there is measured as it is. "CPU" is the processor's time, the others are the
time that passes. What a process costs that starts, `benchmarks/startup.py` tells.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import by_commas, median_and_p95, open_vault, parser_of
from made_notes import write_notes

from amem_cli.analyzer.link_evidence import near_notes
from amem_cli.index.sync import embed_missing
from amem_cli.memory.steps import WEIGHED
from amem_cli.search.search import MODES, Filters, search

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.workspace.workspace import Workspace

QUESTIONS = 50


def questions(workspace: Workspace, count: int) -> list[str]:
    """Some words of notes, in another order."""
    dice = random.Random(0)
    paths = [note.path for note in workspace.index.notes.summaries()]
    asked = []
    for path in dice.choices(paths, k=count):
        words = " ".join(workspace.index.text.passages(path)).split()
        asked.append(" ".join(dice.sample(words, min(6, len(words)))) or "anything")
    return asked


def timed(call: Callable[[str], object], asked: Sequence[str]) -> str:
    call(asked[0])
    clock, cpu = [], []
    for question in asked:
        started, used = time.perf_counter(), time.process_time()
        call(question)
        cpu.append(1000 * (time.process_time() - used))
        clock.append(1000 * (time.perf_counter() - started))
    median, p95 = median_and_p95(clock)
    return f"{median:.1f} | {p95:.1f} | {statistics.median(cpu):.1f}"


def staying(workspace: Workspace, asked: Sequence[str], places: dict[str, Any]) -> None:
    print(f"\n| a process that stays, {len(asked)} questions | median ms | p95 ms | CPU ms |")
    print("|---|---|---|---|")
    index, encoder = workspace.index, workspace.encoder

    def asking(mode: Any, **values: Any) -> Callable[[str], object]:
        return lambda query: search(index, query, encoder=encoder, mode=mode, **values)

    vector = timed(encoder.encode_question, asked)
    print(f"| a question's vector | {vector} |")
    some = [note.path for note in index.notes.summaries()][:20]
    print(f"| near notes of a note, as for its links | {timed(partial(near_to, index), some)} |")
    for mode in MODES:
        print(f"| {mode} | {timed(asking(mode, neighbors=False), asked)} |")
        print(f"| {mode}, with neighbours | {timed(asking(mode), asked)} |")
        for name, filters in places.items():
            cells = timed(asking(mode, filters=filters, neighbors=False), asked)
            print(f"| {mode}, {name} | {cells} |")


def near_to(index: MemoryIndex, path: str) -> None:
    vector = index.vectors.of_note(path)
    if vector is not None:
        near_notes(index, path, "\n\n".join(index.text.passages(path)), vector, WEIGHED)


def measure(root: Path) -> None:
    workspace = open_vault(root)
    embed_missing(workspace.ports, workspace.encoder)
    index = workspace.index
    print(f"\n## {index.notes.count():,} notes", flush=True)
    asked = questions(workspace, QUESTIONS)
    tag = next(iter(index.notes.tag_counts()), "none")
    some = next(index.notes.summaries())
    places = {
        f"--tag {tag}": Filters(tags=(tag,)),
        "--since a year": Filters(since=datetime(int(some.made[:4]), 1, 1)),
        "--path of a folder": Filters(path=some.path.rpartition("/")[0] or "*"),
    }
    staying(workspace, asked, places)
    workspace.close()


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--vault", type=Path, help="measure this one instead of making any")
    parser.add_argument("--sizes", default="1000,10000")
    chosen = parser.parse_args()
    if chosen.vault is not None:
        measure(chosen.vault)
        return
    for size in map(int, by_commas(chosen.sizes)):
        with tempfile.TemporaryDirectory() as folder:
            write_notes(Path(folder), size, 2)
            measure(Path(folder))


if __name__ == "__main__":
    main()
