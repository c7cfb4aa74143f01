"""How long does an agent wait for `amem mcp`: for the greeting, the tools and the first answers?

    python benchmarks/agents.py [--notes 1000] [--runs 7]

Whole processes on a vault that is made here, without a language model. Each row is the median of
the runs, in seconds: from the start of the process, or from the call to its answer, the first time
and when it is done again at once; the last row is the memory of the process after all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.startup import SETTLED_SECONDS, make_notes

CLIENT = {"name": "benchmark", "version": "1"}
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
CALLS = {
    "keyword search": ("search", {"query": "vacuum", "mode": "keyword"}),
    "search": ("search", {"query": "why is the table growing"}),
    "read": ("read", {"note": "Note 7"}),
    "add without waiting": ("add", {"content": "A note for the benchmark.", "wait": False}),
}


class Conversation:
    """A server and its times, in seconds since its start."""

    def __init__(self, vault: Path) -> None:
        self.times: dict[str, float] = {}
        self._number = 0
        self._began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "amem_cli", "--vault", str(vault), "mcp"],
            env={**os.environ, "AMEM_LLM_BACKEND": "none"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def say(self, method: str, params: dict[str, Any], number: int | None) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, step: str, method: str, params: dict[str, Any]) -> None:
        """Ask, and note how long the process has run when the answer is there."""
        assert self.process.stdout is not None
        self._number += 1
        asked = time.perf_counter()
        self.say(method, params, self._number)
        answer: dict[str, Any] = {}
        while answer.get("id") != self._number:
            answer = json.loads(self.process.stdout.readline())
        assert not answer["result"].get("isError"), answer
        first = step not in self.times
        since = self._began if method != "tools/call" else asked
        self.times[step if first else f"{step}, again"] = time.perf_counter() - since


def converse(vault: Path) -> dict[str, float]:
    talk = Conversation(vault)
    talk.ask("from the start to the greeting", "initialize", GREETING)
    talk.say("notifications/initialized", {}, None)
    talk.ask("from the start to the tools", "tools/list", {})
    for step, (tool, arguments) in CALLS.items():
        for _ in range(2):
            talk.ask(step, "tools/call", {"name": tool, "arguments": arguments})
    talk.times["memory, MB"] = psutil.Process(talk.process.pid).memory_info().rss / 1e6
    talk.process.communicate()
    return talk.times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        make_notes(vault, given.notes)
        amem = [sys.executable, "-m", "amem_cli"]
        subprocess.run([*amem, "init", str(vault), "--adopt"], check=True, capture_output=True)
        subprocess.run([*amem, "--vault", str(vault), "index"], check=True, capture_output=True)
        time.sleep(SETTLED_SECONDS)
        runs = [converse(vault) for _ in range(given.runs)]
    print(f"{given.notes} notes, median of {given.runs} runs\n")
    for step in runs[0]:
        print(f"{step:<34}{statistics.median(run[step] for run in runs):>8.3f}")


if __name__ == "__main__":
    main()
