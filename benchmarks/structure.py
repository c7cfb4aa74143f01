"""How large the code is, what a command runs through, and how often.

    python benchmarks/structure.py --size
    python benchmarks/structure.py
    python benchmarks/structure.py --against ../amem-before
    python benchmarks/structure.py --against ../amem-before --vault oldwinter.tar.gz --notes 200

A command enters a module if it calls one of its functions or defines one of its classes; a module
of nothing but constants that is only imported does not count.
The commands work on a copy of the template vault, with the bundled encoder and no language model.
With `--vault`, the notes of a folder or an archive are adopted together with a copy of each, and
some of them are processed without a language model.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PACKAGE = "amem_cli"
TEXT = "Sourdough needs a longer proof in a cold kitchen, as wild yeast slows below 20 degrees."

# Writes how often which function was called, after whatever the command prints itself.
TRACED = """
import atexit, collections, json, os, sys, threading
called = collections.Counter()
def enter(frame, event, argument):
    if event == "call":
        called[frame.f_code.co_filename, frame.f_code.co_name] += 1
    elif event == "c_call" and argument.__name__ == "execute":
        called["", "execute"] += 1
def tell():
    sys.setprofile(None)
    with open(os.environ["AMEM_TRACE"], "w") as file:
        json.dump([(*place, count) for place, count in called.items()], file)
atexit.register(tell)
from amem_cli.__main__ import main
threading.setprofile(enter)
sys.setprofile(enter)
main()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="another checkout, shown beside this one")
    parser.add_argument("--size", action="store_true", help="only files and lines")
    parser.add_argument("--vault", type=Path, help="folder or archive of notes to process")
    parser.add_argument("--notes", type=int, default=200, help="how many of them")
    given = parser.parse_args()
    checkouts = [each for each in (given.against, Path(__file__).parents[1]) if each is not None]
    columns = [figures(checkout.resolve(), given) for checkout in checkouts]
    for name in columns[-1]:
        values = "".join(f"{column.get(name, '-'):>12}" for column in columns)
        print(f"{name:<42}{values}")


def figures(checkout: Path, given: argparse.Namespace) -> dict[str, str]:
    """All figures of one checkout that are asked for, by name."""
    found = sizes(checkout)
    if given.size:
        return found
    found |= traces(checkout)
    return found | (processing(checkout, given.vault, given.notes) if given.vault else {})


def sizes(checkout: Path) -> dict[str, str]:
    """Files and lines of Python, of the package and beside it."""
    found = {}
    for folder in (PACKAGE, "tests", "benchmarks"):
        files = sorted((checkout / folder).rglob("*.py"))
        files = [each for each in files if "node_modules" not in each.parts]
        lines = sum(len(each.read_bytes().splitlines()) for each in files)
        found[f"{folder}: files"], found[f"{folder}: lines"] = f"{len(files):,}", f"{lines:,}"
    return found


def traces(checkout: Path) -> dict[str, str]:
    """How many modules each command runs through."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "work" / "vault"
        vault.mkdir(parents=True)
        amem(checkout, vault, "init", ".")
        amem(checkout, vault, "evolve")
        found = {
            "add": (adding := amem(checkout, vault, "add", TEXT)),
            "search": amem(checkout, vault, "search", "how long does dough proof"),
        }
        # A file's times are trusted once they are older than two seconds.
        for path in vault.rglob("*.md"):
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3600))
        amem(checkout, vault, "list")
        found["list"] = amem(checkout, vault, "list")
        note = next(path for path in vault.glob("notes/*.md") if "Sourdough" in path.name)
        note.write_text(note.read_text(encoding="utf-8") + "\nSalt slows it too.\n", "utf-8")
        os.utime(note, (note.stat().st_atime, note.stat().st_mtime - 600))
        found["an edited file (watch --once)"] = amem(checkout, vault, "watch", "--once")
        found["undo"] = amem(checkout, vault, "undo", last_metadata(vault))
    own = f"{checkout / PACKAGE}{os.sep}"
    of = {(Path(path).name, name): count for path, name, count in adding}
    counts = {
        "calls an add": sum(count for path, _, count in adding if path),
        "calls an add, of amem's own": sum(count for path, _, count in adding if own in path),
        "times an add parses a header": of.get(("front_matter.py", "read_tree"), 0),
        "times an add tells a language": of.get(("detect.py", "language_of"), 0)
        or sum(count for (_, name), count in of.items() if name == "detect_language"),
        "statements an add runs": of.get(("", "execute"), 0),
    }
    for name, calls in found.items():
        entered = {path for path, function, _ in calls if own in path and function[0] != "<"}
        counts[f"modules entered by {name}"] = len(entered)
    return {name: f"{count:,}" for name, count in counts.items()}


def processing(checkout: Path, notes: Path, count: int) -> dict[str, str]:
    """Seconds for one of so many notes in a vault that was just adopted, without a language model.

    Args:
        notes: a folder or a tar archive; each note is there twice, so that the vault is large.
    """
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "work" / "vault"
        if notes.is_dir():
            shutil.copytree(notes, vault)
        else:
            shutil.unpack_archive(notes, vault, filter="data")
        for path in [*vault.rglob("*.md")]:
            shutil.copy(path, path.with_name(f"{path.stem} again.md"))
        run(checkout, vault, sys.executable, "-m", PACKAGE, "init", "--adopt", ".")
        run(checkout, vault, sys.executable, "-m", PACKAGE, "index")
        began = time.monotonic()
        run(checkout, vault, sys.executable, "-m", PACKAGE, "evolve", "--all", "-k", str(count))
        seconds = (time.monotonic() - began) / count
        return {f"seconds a note, of {len([*vault.rglob('*.md')]):,}": f"{seconds:.3f}"}


def last_metadata(vault: Path) -> str:
    """Id of the newest event by which metadata was written."""
    files = (vault / ".amem" / "journal").glob("*.jsonl")
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    events = [json.loads(line) for line in lines]
    return max(str(each["id"]) for each in events if each["kind"] == "construct")


def amem(checkout: Path, folder: Path, *arguments: str) -> list[tuple[str, str, int]]:
    """Run a command; returns the file and name of each function with the number of its calls."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as trace:
        run(checkout, folder, sys.executable, "-c", TRACED, *arguments, AMEM_TRACE=trace.name)
        return [(path, name, count) for path, name, count in json.load(trace)]


def run(checkout: Path, folder: Path, *words: str, **variables: str) -> None:
    """Run a program with a checkout's package.

    Raises:
        SystemExit: it failed.
    """
    own = {
        "PYTHONPATH": str(checkout),
        "AMEM_LLM_BACKEND": "none",
        "AMEM_CONFIG_DIR": str(folder.parent / "config"),
        "AMEM_STATE_DIR": str(folder.parent / "state"),
    }
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **own, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words[2:])}: {done.stderr or done.stdout}")


if __name__ == "__main__":
    main()
