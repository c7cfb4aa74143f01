"""How the code is built: modules, lines, imports, and how many modules a command runs through.

    python benchmarks/structure.py
    python benchmarks/structure.py --against ../amem-before

Imports are counted as grimp reads them, those inside functions and for types included. A command
enters a module if it calls one of its functions or defines one of its classes; a module of nothing
but constants that is only imported does not count.
The commands work on a copy of the template vault, with the bundled encoder and no language model.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import networkx

PACKAGE = "amem_cli"
LONG = 500
TEXT = "Sourdough needs a longer proof in a cold kitchen, as wild yeast slows below 20 degrees."

# Prints the modules whose functions were called, after whatever the command prints itself.
TRACED = """
import atexit, os, sys, threading
called = set()
def enter(frame, event, argument):
    if event == "call" and frame.f_code.co_name not in ("<module>", "<lambda>"):
        called.add(frame.f_code.co_filename)
def tell():
    sys.setprofile(None)
    top = os.path.join(sys.argv[0], "")
    with open(os.environ["AMEM_TRACE"], "w") as file:
        file.write("\\n".join(name for name in called if name.startswith(top)))
atexit.register(tell)
from amem_cli.__main__ import main
threading.setprofile(enter)
sys.setprofile(enter)
main()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="another checkout, shown beside this one")
    given = parser.parse_args()
    checkouts = [each for each in (given.against, Path(__file__).parents[1]) if each is not None]
    columns = [figures(checkout.resolve()) for checkout in checkouts]
    for name in columns[-1]:
        values = "".join(f"{column.get(name, '-'):>12}" for column in columns)
        print(f"{name:<42}{values}")


def figures(checkout: Path) -> dict[str, str]:
    """All figures of one checkout, by name."""
    sources = {module_of(path, checkout): path for path in (checkout / PACKAGE).rglob("*.py")}
    return {**sizes(sources), **imports(checkout), **traces(checkout)}


def module_of(path: Path, checkout: Path) -> str:
    """The dotted name of a module."""
    parts = path.relative_to(checkout).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sizes(sources: dict[str, Path]) -> dict[str, str]:
    """Modules, lines and comments; an `__init__` that only says what a package is is no module."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in sources.items()}
    modules = [name for name, text in texts.items() if len(ast.parse(text).body) > 1]
    lines = [line.strip() for text in texts.values() for line in text.splitlines()]
    comments = sum(line.startswith("#") for line in lines)
    longest = max(texts, key=lambda name: texts[name].count("\n"))
    return {
        "modules": str(len(modules)),
        "lines": f"{len(lines):,}",
        f"modules of more than {LONG} lines": str(
            sum(text.count("\n") > LONG for text in texts.values())
        ),
        "lines of the longest": str(texts[longest].count("\n")),
        "comment lines per 100": f"{100 * comments / len(lines):.1f}",
        "classes of a name that others have": str(shared_names(texts.values())),
    }


def shared_names(texts: Iterable[str]) -> int:
    """How many classes share their name with one of another module."""
    names: list[str] = []
    for text in texts:
        names += [each.name for each in ast.parse(text).body if isinstance(each, ast.ClassDef)]
    return sum(names.count(name) > 1 for name in names)


def imports(checkout: Path) -> dict[str, str]:
    """Import arrows between packages and inside them, and cycles, those of lazy imports too."""
    arrows = list(arrows_of(checkout))
    graph = networkx.DiGraph((a, b) for a, b in arrows)
    running = networkx.DiGraph(arrows_of(checkout, types=False))
    cycles = [each for each in networkx.strongly_connected_components(running) if len(each) > 1]
    importers = dict(graph.in_degree())
    return {
        "import arrows between packages": str(sum(top(a) != top(b) for a, b in arrows)),
        "import arrows inside packages": str(sum(top(a) == top(b) for a, b in arrows)),
        "modules with one importer": str(sum(count == 1 for count in importers.values())),
        "import cycles, lazy ones too": str(len(cycles)),
    }


def arrows_of(checkout: Path, *, types: bool = True) -> Iterator[tuple[str, str]]:
    """Pairs of a module and one that it imports."""
    script = (
        "import grimp\n"
        f"graph = grimp.build_graph('{PACKAGE}', exclude_type_checking_imports={not types},"
        " cache_dir=None)\n"
        "for a in sorted(graph.modules):\n"
        "    for b in sorted(graph.find_modules_directly_imported_by(a)):\n"
        "        print(a, b)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        importer, _, imported = line.partition(" ")
        yield importer, imported


def top(module: str) -> str:
    """The package of a module; modules beside the packages are one of their own."""
    parts = module.split(".")
    return parts[1] if len(parts) > 2 else ""


def traces(checkout: Path) -> dict[str, str]:
    """How many modules each command runs through."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "work" / "vault"
        vault.mkdir(parents=True)
        amem(checkout, vault, "init", ".")
        amem(checkout, vault, "evolve")
        found = {
            "add": amem(checkout, vault, "add", TEXT),
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
    return {f"modules entered by {name}": str(count) for name, count in found.items()}


def last_metadata(vault: Path) -> str:
    """Id of the newest event by which metadata was written."""
    files = (vault / ".amem" / "journal").glob("*.jsonl")
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    events = [json.loads(line) for line in lines]
    return max(str(each["id"]) for each in events if each["kind"] == "construct")


def amem(checkout: Path, folder: Path, *arguments: str) -> int:
    """Run a command and count the modules that it entered.

    Raises:
        SystemExit: it failed.
    """
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as trace:
        variables = {
            "PYTHONPATH": str(checkout),
            "AMEM_TRACE": trace.name,
            "AMEM_LLM_BACKEND": "none",
            "AMEM_CONFIG_DIR": str(folder.parent / "config"),
            "AMEM_STATE_DIR": str(folder.parent / "state"),
        }
        script = f"import sys; sys.argv[0] = {str(checkout / PACKAGE)!r}\n{TRACED}"
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"amem {' '.join(arguments)}: {done.stderr or done.stdout}")
        return len(set(filter(None, trace.read().splitlines())))


if __name__ == "__main__":
    main()
