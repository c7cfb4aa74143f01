"""How long does a search take, in a process that starts and in one that stays?

    python benchmarks/search.py
    python benchmarks/search.py --texts FOLDER --sizes 10000
    python benchmarks/search.py --vault MY_VAULT

Makes a vault of each size, of the paragraphs of FOLDER's `.md` and `.txt` files or, without one, of
generated sentences whose words are as frequent as in a language (Zipf). With `--vault` one that is
there is measured as it is. All commands of a table take turns, so that other work on the machine
meets all of them alike; their times are also given as multiples of a bare
`python -c "import typer, rich, apsw"`. "CPU" is the processor's time, "clock" the time that passes.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.analyzer.link_evidence import near_notes
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.language.lexicon import languages
from amem_cli.memory.steps import WEIGHED
from amem_cli.search.search import MODES, Filters, search
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.workspace import Workspace

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex

VOCABULARY = 30_000
SYLLABLES = ("ka", "ro", "min", "tel", "sor", "va", "den", "li", "pra", "gu", "nos", "fe")
FOLDERS, TAGS = 20, 40
QUESTIONS = 50
QUESTIONS_IN_A_FILE = 100
BARE = "import typer, rich, apsw"
OPTIONS = {"llm_backend": "none", "llm_judge": "off", "git_commit": "off"}


def paragraphs(folder: Path) -> list[str]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".md", ".txt"))
    pieces = (piece for path in files for piece in path.read_text(errors="replace").split("\n\n"))
    return [" ".join(piece.split()) for piece in pieces if len(piece) > 40]


def sentences(dice: random.Random) -> Iterator[str]:
    """Texts of one to three sentences, without end."""
    words = sorted(
        {
            word
            for each in languages()
            if each.code in ("en", "de")
            for word in each.words["everyday"]
        }
    )
    dice.shuffle(words)
    while len(words) < VOCABULARY:
        words.append("".join(dice.choices(SYLLABLES, k=dice.randint(2, 4))))
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    while True:
        drawn = iter(dice.choices(words, weights, k=60))
        said = (
            " ".join(next(drawn) for _ in range(dice.randint(6, 18)))
            for _ in range(dice.randint(1, 3))
        )
        yield " ".join(f"{each.capitalize()}." for each in said)


def write_vault(root: Path, size: int, texts: Iterator[str], dice: random.Random) -> None:
    adopt_vault(root)
    for number in range(size):
        folder = root / f"folder {number % FOLDERS}"
        folder.mkdir(exist_ok=True)
        created = (
            f"202{number % 6}-{1 + number % 12:02}-{1 + number % 28:02}T10:{number % 60:02}:00"
        )
        header = f"---\ncreated: {created}\ntags:\n  - tag{number % TAGS}\n---\n"
        link = f" [[note {dice.randrange(size)}]]" if number % 2 else ""
        (folder / f"note {number}.md").write_text(f"{header}{next(texts)}{link}\n")


def opened(root: Path) -> Workspace:
    workspace = Workspace(root, overrides=OPTIONS)
    synchronise(workspace.ports)
    embed_missing(workspace.ports, workspace.encoder)
    return workspace


def questions(workspace: Workspace, count: int, dice: random.Random) -> list[str]:
    """Some words of notes, in another order."""
    paths = [note.path for note in workspace.index.notes.summaries()]
    asked = []
    for path in dice.choices(paths, k=count):
        words = " ".join(workspace.index.text.passages(path)).split()
        asked.append(" ".join(dice.sample(words, min(6, len(words)))) or "anything")
    return asked


def run_once(command: Sequence[str], root: Path) -> tuple[float, float]:
    """Seconds on the clock and of the processor that a process takes."""
    variables = {**os.environ, "AMEM_VAULT": str(root), "AMEM_LLM_BACKEND": "none"}
    # An installed program is compiled, and so is this one after its first run.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return elapsed, used.ru_utime + used.ru_stime


def cold(root: Path, rounds: int, asked: Sequence[str]) -> None:
    print(
        f"\n| a process that starts, {rounds} rounds | clock ms, median | least | CPU ms | × bare |"
    )
    print("|---|---|---|---|---|")
    amem = [sys.executable, "-m", "amem_cli", "search"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(asked[:QUESTIONS_IN_A_FILE]))
        file.flush()
        commands = {
            "bare import": [sys.executable, "-c", BARE],
            **{f"search, {mode}": [*amem, asked[0], "--mode", mode] for mode in MODES},
            "--queries, a question": [*amem, "--queries", file.name],
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for turn in range(rounds + 1):
            for name, command in commands.items():
                used = run_once(command, root)
                if turn:
                    times[name].append(used)
    bare = statistics.median(clock for clock, _ in times["bare import"])
    for name, each in times.items():
        part = len(asked[:QUESTIONS_IN_A_FILE]) if name.startswith("--queries") else 1
        clock = statistics.median(clock for clock, _ in each)
        least, cpu = min(clock for clock, _ in each), statistics.median(cpu for _, cpu in each)
        cells = (f"{1000 * value / part:.0f}" for value in (clock, least, cpu))
        print(f"| {name} | {' | '.join(cells)} | {clock / part / bare:.1f} |")


def timed(call: Callable[[str], object], asked: Sequence[str]) -> str:
    call(asked[0])
    clock, cpu = [], []
    for question in asked:
        started, used = time.perf_counter(), time.process_time()
        call(question)
        cpu.append(1000 * (time.process_time() - used))
        clock.append(1000 * (time.perf_counter() - started))
    p95 = sorted(clock)[int(0.95 * (len(clock) - 1))]
    return f"{statistics.median(clock):.1f} | {p95:.1f} | {statistics.median(cpu):.1f}"


def staying(workspace: Workspace, asked: Sequence[str], places: dict[str, Any]) -> None:
    print(f"\n| a process that stays, {len(asked)} questions | median ms | p95 ms | CPU ms |")
    print("|---|---|---|---|")
    index, encoder = workspace.index, workspace.encoder

    def asking(mode: Any, **values: Any) -> Callable[[str], object]:
        return lambda query: search(index, query, encoder=encoder, mode=mode, **values)

    print(
        f"| a question's vector | {timed(lambda text: encoder.encode([text], query=True), asked)} |"
    )
    near = timed(
        lambda path: near_to(index, path), [note.path for note in index.notes.summaries()][:20]
    )
    print(f"| near notes of a note, as for its links | {near} |")
    for mode in MODES:
        print(f"| {mode} | {timed(asking(mode, neighbors=False), asked)} |")
        print(f"| {mode}, with neighbours | {timed(asking(mode), asked)} |")
        for name, filters in places.items():
            cells = timed(asking(mode, filters=filters, neighbors=False), asked)
            print(f"| {mode}, {name} | {cells} |")


def near_to(index: MemoryIndex, path: str) -> None:
    vector, weighed = index.vectors.of_note(path), WEIGHED
    if vector is not None:
        near_notes(index, path, "\n\n".join(index.text.passages(path)), vector, weighed)


def measure(root: Path, rounds: int, dice: random.Random) -> None:
    workspace = opened(root)
    index = workspace.index
    print(f"\n## {index.notes.count():,} notes", flush=True)
    asked = questions(workspace, max(QUESTIONS, QUESTIONS_IN_A_FILE), dice)
    tag = next(iter(index.notes.tag_counts()), "none")
    some = next(index.notes.summaries())
    places = {
        f"--tag {tag}": Filters(tags=(tag,)),
        "--since a year": Filters(since=_a_year_of(some.created or some.modified)),
        "--path of a folder": Filters(path=some.path.rpartition("/")[0] or "*"),
    }
    staying(workspace, asked[:QUESTIONS], places)
    workspace.close()
    cold(root, rounds, asked)


def _a_year_of(created: str) -> Any:
    from datetime import datetime

    return datetime(int(created[:4]), 1, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--texts", type=Path, help="folder of real texts")
    parser.add_argument("--vault", type=Path, help="measure this one instead of making any")
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    dice = random.Random(0)
    if chosen.vault is not None:
        measure(chosen.vault, chosen.rounds, dice)
    for size in [] if chosen.vault else [int(each) for each in chosen.sizes.split(",") if each]:
        found = paragraphs(chosen.texts) if chosen.texts else []
        kind = (
            f"{len(found):,} paragraphs of {chosen.texts.name}" if found else "generated sentences"
        )
        print(f"texts: {kind}")
        texts = iter(dice.choices(found, k=size)) if found else sentences(dice)
        with tempfile.TemporaryDirectory() as folder:
            write_vault(Path(folder), size, texts, dice)
            measure(Path(folder), chosen.rounds, dice)


if __name__ == "__main__":
    main()
