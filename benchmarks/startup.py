"""How long does a cold command take, from its start to its end?

    python benchmarks/startup.py [--notes 1000 | --vault DIR] [--runs 15] [--query WORDS]

Whole processes, in turns, so that other work on the machine strikes all of them alike. The notes
are made here, or copied from `--vault`. Each row is the median of the runs on the clock, in
processor time (user and system) and in memory, with its ratio to the bare import of what every
amem command needs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from made_notes import fill

WARM_UPS = 2
# Only files older than two seconds are known by their times.
SETTLED_SECONDS = 2.5
BARE = "python -c 'import typer, rich, apsw'"


class Command(NamedTuple):
    """A command line to be measured."""

    name: str
    arguments: list[str]
    environment: Mapping[str, str]


class Cost(NamedTuple):
    """What one process took."""

    seconds: float
    processor: float
    megabytes: float


def measured(command: Command) -> Cost:
    started = time.perf_counter()
    with subprocess.Popen(
        command.arguments,
        env=dict(command.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if process.returncode != 0:
        raise SystemExit(f"{command.name} ended with exit code {process.returncode}")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def amem_commands(vault: Path, query: str, environment: dict[str, str]) -> list[Command]:
    script = Path(sys.executable).with_name("amem")
    amem = [str(script)] if script.exists() else [sys.executable, "-m", "amem_cli"]
    inside = {**environment, "AMEM_VAULT": str(vault)}
    index = Command("amem index", [*amem, "index"], inside)
    measured(Command("amem init", [*amem, "init", "--adopt", str(vault)], environment))
    measured(index)
    time.sleep(SETTLED_SECONDS)
    measured(index)
    title = next(path for path in sorted(vault.rglob("*.md"))).stem
    hundred = vault.with_name("a hundred queries")
    hundred.write_text(f"{query}\n" * 100, encoding="utf-8")
    lines = (
        ["--help"],
        ["--version"],
        ["list"],
        ["search", query, "--mode", "keyword"],
        ["show", title],
        ["search", query, "--mode", "semantic"],
        ["search", query],
        ["search", "--queries", str(hundred)],
    )
    plain = [Command("python -c pass", [sys.executable, "-c", "pass"], environment)]
    plain.append(Command(BARE, [sys.executable, "-c", "import typer, rich, apsw"], environment))
    return plain + [Command(f"amem {shown(line)}", [*amem, *line], inside) for line in lines]


def shown(line: list[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in line)


def table(commands: list[Command], costs: Mapping[str, list[Cost]]) -> str:
    medians = {
        name: Cost(*(statistics.median(values) for values in zip(*each, strict=True)))
        for name, each in costs.items()
    }
    bare = medians[BARE]
    lines = ["| command | clock ms | ratio | CPU ms | ratio | MB |", "|---|---|---|---|---|---|"]
    for command in commands:
        cost = medians[command.name]
        lines.append(
            f"| `{command.name}` | {cost.seconds * 1000:.0f} | {cost.seconds / bare.seconds:.2f}"
            f" | {cost.processor * 1000:.0f} | {cost.processor / bare.processor:.2f}"
            f" | {cost.megabytes:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=1000, help="how many notes to make")
    parser.add_argument("--vault", type=Path, help="copy these notes instead")
    parser.add_argument("--runs", type=int, default=15, help="runs of each command")
    parser.add_argument("--query", default="garden bridge", help="what is searched")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        fill(top / "vault", given.vault, given.notes, 10)
        environment = {**os.environ, "AMEM_STATE_DIR": str(top / "state")}
        environment |= {"AMEM_CONFIG_DIR": str(top / "config"), "AMEM_LLM_BACKEND": "none"}
        # As pip installs a package, with its bytecode.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        commands = amem_commands(top / "vault", given.query, environment)
        costs: dict[str, list[Cost]] = {command.name: [] for command in commands}
        for number in range(WARM_UPS + given.runs):
            for command in commands:
                cost = measured(command)
                if number >= WARM_UPS:
                    costs[command.name].append(cost)
        print(f"{len(list((top / 'vault').rglob('*.md')))} notes, {given.runs} runs of each")
        print(table(commands, costs))


if __name__ == "__main__":
    main()
