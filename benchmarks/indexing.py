"""How much longer does it take to index notes than to encode their texts?

    python benchmarks/indexing.py [FOLDER] [--notes 2000] [--slices 8] [--unchanged 10000]

The notes are the markdown files of FOLDER, or made up, one to three passages long.
They come into a vault slice by slice. Each slice is indexed as `amem index` does it (reading,
parsing, words, vectors), and its texts are given to the bare encoder in one call, now the one
first and now the other, so that other work on the machine disturbs both alike. Processor time is
to be compared where there is much of that.

Then a vault of unchanged notes is brought up to date by a process of its own that counts the notes
it opens, and once more after one of them changed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import open_vault, parser_of
from made_notes import sentences
from remembered_vectors import PassingEncoder

from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.models.encoder_files import DEFAULT_ENCODER
from amem_cli.models.prepared import PreparedEncoder
from amem_cli.settings import user_cache_folder

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, Vectors

OPENED = """
import json, sys, time
opened = []
sys.addaudithook(
    lambda event, args: opened.append(str(args[0]))
    if event == "open" and str(args[0]).endswith(".md") else None
)
from pathlib import Path
from amem_cli.workspace.workspace import Workspace
from amem_cli.index.sync import synchronise
workspace = Workspace(Path(sys.argv[1]), overrides={"llm_judge": "off", "git_commit": "off"})
started = time.perf_counter()
report = synchronise(workspace.ports)
seconds = time.perf_counter() - started
workspace.close()
print(json.dumps({"seconds": seconds, "opened": len(opened), "changed": len(report.changed)}))
"""


@dataclass
class Spent:
    """Seconds on the clock and of the processor, all threads together."""

    clock: float = 0.0
    processor: float = 0.0

    def measure(self, work: Callable[[], object]) -> None:
        clock, processor = time.perf_counter(), time.process_time()
        work()
        self.clock += time.perf_counter() - clock
        self.processor += time.process_time() - processor


class WatchedEncoder(PassingEncoder):
    """The encoder, with the time spent in it and the texts it was given.

    Args:
        listens: it keeps the texts alone, and makes up vectors.
    """

    def __init__(self, encoder: Encoder, *, listens: bool = False) -> None:
        super().__init__(encoder)
        self._listens = listens
        self.spent, self.texts = Spent(), list[str]()

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        self.texts.extend(texts)
        if self._listens:
            return np.full((len(texts), self.dimension), self.dimension**-0.5, dtype=np.float32)
        found: list[Vectors] = []
        self.spent.measure(lambda: found.append(self._encoder.encode(texts, query=query)))
        return found[0]

    def encode_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        if self._listens:
            return self.encode(texts), [b""] * len(texts)
        self.texts.extend(texts)
        found: list[tuple[Vectors, list[bytes]]] = []
        self.spent.measure(lambda: found.append(self._encoder.encode_passages(texts)))
        return found[0]


def made_up(count: int) -> list[str]:
    """Texts of notes of one to three passages, with a heading, a link and a tag."""
    chance = random.Random(5)
    said, texts = sentences(chance), []
    for number in range(count):
        paragraphs = [
            " ".join(islice(said, chance.randint(3, 9))) for _ in range(chance.randint(1, 3))
        ]
        linked = f"See [[note {chance.randrange(count)}]]. #topic/{chance.randrange(30)}"
        texts.append(f"# Note {number}\n\n" + "\n\n".join([*paragraphs, linked]) + "\n")
    return texts


def notes_of(folder: Path | None, count: int) -> list[str]:
    if folder is None:
        return made_up(count)
    files = sorted(folder.rglob("*.md"))[:count]
    return [file.read_text(encoding="utf-8", errors="replace") for file in files]


def write(root: Path, texts: Sequence[str], first: int = 0) -> None:
    folder = root / "notes" / str(first)
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts, first):
        (folder / f"note {number}.md").write_text(text, encoding="utf-8")


def texts_to_embed(slices: Sequence[Sequence[str]], encoder: Encoder) -> list[list[str]]:
    """What the encoder is given for each slice."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        workspace = open_vault(root)
        for place, texts in enumerate(slices):
            listening = WatchedEncoder(encoder, listens=True)
            write(root, texts, place * len(slices[0]))
            synchronise(workspace.ports)
            embed_missing(workspace.ports, listening)
            found.append(listening.texts)
        workspace.close()
    return found


def compare(texts: Sequence[str], count: int) -> None:
    cache = user_cache_folder(os.environ) / "encoders"
    encoder = PreparedEncoder(DEFAULT_ENCODER, cache=cache)
    encoder.encode(["warm up"] * 64)
    size = max(1, len(texts) // count)
    slices = [texts[start : start + size] for start in range(0, size * count, size)]
    passages = texts_to_embed(slices, encoder)
    whole, reading, bare = Spent(), Spent(), Spent()
    watched = WatchedEncoder(encoder)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        workspace = open_vault(root)
        ports = workspace.ports

        def index() -> None:
            reading.measure(lambda: synchronise(ports))
            embed_missing(ports, watched)

        for place, notes in enumerate(slices):
            write(root, notes, place * size)
            works: list[tuple[Spent, Callable[[], object]]]
            works = [(whole, index), (bare, partial(encoder.encode, passages[place]))]
            for spent, work in works if place % 2 else reversed(works):
                spent.measure(work)
        workspace.close()
    assert sorted(watched.texts) == sorted(text for each in passages for text in each)
    print(f"{size * count} notes, {len(watched.texts)} passages, {count} slices")
    print(f"{'':28}{'seconds':>9}{'passages/s':>12}{'CPU s':>9}")
    rest = Spent(
        whole.clock - reading.clock - watched.spent.clock,
        whole.processor - reading.processor - watched.spent.processor,
    )
    for name, spent in (
        ("bare encoder", bare),
        ("amem index", whole),
        ("  reading, parsing, words", reading),
        ("  encoding", watched.spent),
        ("  storing vectors", rest),
    ):
        speed = len(watched.texts) / spent.clock
        print(f"{name:28}{spent.clock:9.2f}{speed:12.1f}{spent.processor:9.2f}")
    print(f"share of the bare throughput: {100 * bare.clock / whole.clock:.1f} % on the clock,")
    print(f"{100 * bare.processor / whole.processor:.1f} % of processor time")


def run_again(root: Path, what: str) -> None:
    program = [sys.executable, "-c", OPENED, str(root)]
    said = json.loads(subprocess.run(program, capture_output=True, check=True).stdout)
    print(what + ": {seconds:.2f} s, {opened} notes opened, {changed} changed".format(**said))


def unchanged(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        workspace = open_vault(root)
        write(root, made_up(count))
        # Files count as settled two seconds after they were written.
        time.sleep(2.5)
        started = time.perf_counter()
        synchronise(workspace.ports)
        print(f"\n{count} notes, first reading: {time.perf_counter() - started:.2f} s")
        workspace.close()
        run_again(root, "again, nothing changed")
        note = root / "notes/0/note 7.md"
        note.write_text(note.read_text(encoding="utf-8") + "\nOne more line.\n", encoding="utf-8")
        run_again(root, "again, one note changed")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--slices", type=int, default=8)
    parser.add_argument("--unchanged", type=int, default=10_000, help="0 leaves it out")
    options = parser.parse_args()
    compare(notes_of(options.folder, options.notes), options.slices)
    if options.unchanged:
        unchanged(options.unchanged)


if __name__ == "__main__":
    main()
