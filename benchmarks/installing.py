"""How long do an installation and the first note take, and how large is what is installed?

    python benchmarks/installing.py WHEEL [--extras base,local,map] [--pip-args "--find-links DIR"]

Each installation is made twice in a new environment, and the second time is reported: pip has all
packages in its cache then. Megabytes are those of the files that it put there, Python's own and pip
left out. Then one `amem add` in a new vault and a new home, per installation: how long it takes
until the note's file is there, until a search by words finds it, and one by meaning, and until it
has its description, which is the end of the command. Seconds on the clock; processor time of pip in
brackets.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

EXTRAS = ("base", "local", "map", "multilingual")
TITLE, TEXT = "Rye starter", "A rye starter ferments faster in a warm kitchen."
LOOK_SECONDS = 0.005
# Folders outside of the vault.
KINDS = ("CACHE", "CONFIG", "DATA", "STATE")
WORDS = "SELECT count(*) FROM notes WHERE path LIKE ?"
MEANING = "SELECT count(*) FROM notes JOIN passages USING (note) WHERE path LIKE ? AND embedded = 1"


class Installation(NamedTuple):
    """What pip took and left."""

    seconds: float
    processor: float
    megabytes: float
    packages: int


class FirstNote(NamedTuple):
    """Seconds from the start of `amem add`."""

    saved: float
    by_words: float
    by_meaning: float
    described: float


def install(folder: Path, wheel: Path, extra: str, pip_args: list[str]) -> Installation:
    """Install the wheel into a new environment."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    packages = Path(next((folder / "lib").glob("python*"))) / "site-packages"
    before = megabytes(folder)
    name = str(wheel) if extra == "base" else f"{wheel}[{extra}]"
    command = [folder / "bin/python", "-m", "pip", "install", "--quiet", *pip_args, name]
    used, started = os.times(), time.monotonic()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    seconds, now = time.monotonic() - started, os.times()
    processor = now.children_user + now.children_system
    processor -= used.children_user + used.children_system
    count = sum(1 for found in packages.glob("*.dist-info") if not is_pythons(found.name))
    return Installation(seconds, processor, megabytes(folder) - before, count)


def is_pythons(name: str) -> bool:
    """Whether a new environment has the package already."""
    return name.startswith(("pip-", "setuptools-"))


def megabytes(folder: Path) -> float:
    """The sum of the files of a folder, with what Python compiled of them."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def first_note(program: Path, folder: Path) -> FirstNote:
    """Add the first note of a new vault of a new user."""
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("AMEM_")}
    environment |= {f"AMEM_{kind}_DIR": str(folder / kind.lower()) for kind in KINDS}
    vault = folder / "vault"
    init = [program, "init", str(vault)]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL, env=environment)
    started = time.monotonic()
    add = [program, "add", "--title", TITLE, TEXT]
    nowhere = subprocess.DEVNULL
    adding = subprocess.Popen(add, cwd=vault, stdout=nowhere, stderr=nowhere, env=environment)

    def until(there: Callable[[], bool]) -> float:
        while not there():
            if adding.poll() is not None and not there():
                sys.exit(f"amem add ended with status {adding.returncode} before its time")
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - started

    saved = until((vault / "notes" / f"{TITLE}.md").exists)
    by_words = until(lambda: counted(vault, WORDS) > 0)
    by_meaning = until(lambda: counted(vault, MEANING) > 0)
    if adding.wait():
        sys.exit(f"amem add ended with status {adding.returncode}")
    return FirstNote(saved, by_words, by_meaning, time.monotonic() - started)


def counted(vault: Path, question: str) -> int:
    """A count in the index; 0 as long as there is none."""
    with suppress(sqlite3.Error):
        index = sqlite3.connect(f"file:{vault / '.amem/index.db'}?mode=ro", uri=True)
        with closing(index):
            (count,) = index.execute(question, (f"%{TITLE}.md",)).fetchone()
            return int(count)
    return 0


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extras", default="base,local")
    parser.add_argument("--pip-args", default="")
    given = parser.parse_args()
    extras = [extra for extra in EXTRAS if extra in given.extras.split(",")]
    installed, notes = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for extra in extras:
            place = folder / extra
            for _ in range(2):
                installed[extra] = install(
                    place, given.wheel.resolve(), extra, shlex.split(given.pip_args)
                )
            first_note(place / "bin/amem", folder / f"{extra}-warm")
            notes[extra] = first_note(place / "bin/amem", folder / f"{extra}-user")
            shutil.rmtree(place)
    print("| installation | packages | MB | `pip install`, seconds |\n|---|---|---|---|")
    for extra, took in installed.items():
        label = "`amem-cli`" if extra == "base" else f"`amem-cli[{extra}]`"
        seconds = f"{took.seconds:.0f} ({took.processor:.0f})"
        print(f"| {label} | {took.packages} | {took.megabytes:,.0f} | {seconds} |")
    print("\n| first `amem add` | saved | found by words | by meaning | described |")
    print("|---|---|---|---|---|")
    for extra, note in notes.items():
        print(f"| {extra} | {' | '.join(f'{seconds:.2f} s' for seconds in note)} |")


if __name__ == "__main__":
    main()
