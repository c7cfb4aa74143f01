"""How long a shell waits for a completion in a vault of many notes, beside Python's own start.

python benchmarks/completion.py [NOTES]
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 15
LINES = (
    "amem model u",
    "amem config set evolution.mode ",
    "amem show topic-77",
    "amem show ",
    "amem list --tag t",
)


def measured(command: list[str], folder: Path, **variables: str) -> tuple[float, float]:
    """The medians of milliseconds by the clock and of the processor."""
    clock, processor = [], []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(
            command, cwd=folder, env={**os.environ, **variables}, capture_output=True, check=True
        )
        clock.append(1000 * (time.perf_counter() - began))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        processor.append(1000 * spent)
    return statistics.median(clock), statistics.median(processor)


def main() -> None:
    """Make the vault, then print a line for each completion."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "notes").mkdir()
        for number in range(count):
            text = f"---\ntags:\n  - tag/{number % 300}\n---\nText {number}.\n"
            (folder / f"notes/Topic-{number} and more.md").write_text(text)
        amem = [sys.executable, "-m", "amem_cli"]
        for line in (["init", ".", "--adopt"], ["list", "-k", "1"]):
            subprocess.run([*amem, *line], cwd=folder, check=True, capture_output=True)
        print(f"{count:,} notes; median of {RUNS}, in ms     clock  processor")
        print(
            "{:<36} {:8.0f} {:8.0f}".format(
                "python -c pass", *measured([sys.executable, "-c", "pass"], folder)
            )
        )
        for line in LINES:
            given = {"_AMEM_COMPLETE": "complete_zsh", "COMP_WORDS": line}
            print("{:<36} {:8.0f} {:8.0f}".format(repr(line), *measured(amem, folder, **given)))


if __name__ == "__main__":
    main()
